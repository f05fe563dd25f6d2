"""Objects of other libraries as documents: of `datasets`, DuckDB, pandas, polars and pyarrow."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow
import pyarrow.dataset
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument

COLUMNS = {
    "text": ["time flies", "fruit flies like", "a b c"],
    "year": [1999, 2001, None],
    "tags": [["a"], ["b", "c"], []],
    "m": [{"x": 1}, {"x": 2}, {"x": None}],
}
TABLE = pyarrow.table(COLUMNS)


def data_set(**options: Any) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS, **options)


def frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


MADE = {
    "datasets": data_set,
    "datasets, from an index": lambda: data_set().select([2, 0, 1, 0]).select([1, 2, 0]),
    "datasets, in another format": lambda: data_set().with_format("numpy"),
    "datasets, streamed": lambda: data_set().to_iterable_dataset(num_shards=2),
    "pandas": frame,
    "polars": lambda: pytest.importorskip("polars").DataFrame(COLUMNS),
    "pyarrow data set": lambda: pyarrow.dataset.dataset(TABLE),
    "pyarrow scanner": lambda: pyarrow.dataset.dataset(TABLE).scanner(batch_size=1),
}


@pytest.mark.parametrize("verb", ["append", "load"])
@pytest.mark.parametrize("kind", MADE)
def test_rows_are_documents(kind: str, verb: str) -> None:
    expected = ngramdb.connect().create_corpus("c")
    expected.append(TABLE)
    made = ngramdb.connect().create_corpus("c")
    assert getattr(made, verb)(MADE[kind]()).documents == 3
    assert made.docs().to_dicts() == expected.docs().to_dicts()


def test_no_rows_are_no_documents() -> None:
    made = ngramdb.connect().create_corpus("c")
    assert made.append(data_set().select([])).documents == 0


def test_of_a_stream_whose_types_are_not_known_rows_are_taken() -> None:
    made = ngramdb.connect().create_corpus("c")
    rows = data_set().to_iterable_dataset().map(lambda row: {"text": row["text"].upper()})
    assert made.append(rows).documents == 3
    assert made.count("FLIES") == 2


@pytest.mark.parametrize("verb", ["append", "load"])
def test_several_data_sets_by_name_are_refused(verb: str) -> None:
    splits = pytest.importorskip("datasets").DatasetDict({"train": data_set()})
    made = ngramdb.connect().create_corpus("c")
    with pytest.raises(
        InvalidArgument,
        match="not DatasetDict; append its tables one by one" if verb == "append" else "not DatasetDict",
    ):
        getattr(made, verb)(splits)


def test_relations_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().sql(
        "SELECT 'time flies' AS text, 1999 AS year, DATE '2001-02-03' AS d, 1.5::DECIMAL(4, 2) AS p "
        "UNION ALL SELECT 'fruit', NULL, NULL, NULL"
    )
    made = ngramdb.connect().create_corpus("c")
    assert made.append(relation).documents == made.load(relation).documents == 2
    first = made.document(0)
    assert first.metadata["year"] == 1999
    assert str(first.metadata["d"]) == str(datetime.date(2001, 2, 3))
    assert decimal.Decimal(str(first.metadata["p"])) == decimal.Decimal("1.5")
    assert made.count("flies") == 2


def test_answers_are_tables_for_them() -> None:
    made = ngramdb.connect().create_corpus("c")
    made.append(TABLE)
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect().from_arrow(made.ngrams(1))
    assert max(row[-1] for row in relation.fetchall()) == 2
    assert pytest.importorskip("datasets").Dataset(pyarrow.table(made.ngrams(1))).num_rows == 7
