"""Objects of other libraries as documents: of `datasets`, DuckDB, pandas, polars and pyarrow."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
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


# ---- what is seen is what is stored ---------------------------------------------------------------------


def upper(rows: Any) -> Any:
    return {"text": [text.upper() for text in rows["text"]], "n": [1] * len(rows["text"])}


def stored(corpus: ngramdb.Corpus) -> list[Any]:
    documents = [corpus.document(number) for number in range(corpus.n_documents)]
    return [(one.text, sorted(one.metadata)) for one in documents]


def test_rows_of_a_transform_are_those_that_it_gives() -> None:
    made, rows = ngramdb.connect().create_corpus("c"), data_set().with_transform(upper)
    made.append(rows)
    assert stored(made) == [(row["text"], ["n"]) for row in rows]
    assert made.perplexity(rows, "backoff").n_unknown == 0
    with pytest.raises(
        InvalidArgument, match=r"append takes documents.*item 1 of the Dataset is dict, not a path"
    ):
        made.load(rows)


@pytest.mark.parametrize("verb", ["append", "load"])
@pytest.mark.parametrize("kind", [None, "numpy", "arrow", "pandas"])
def test_columns_of_a_format_are_those_that_it_shows(verb: str, kind: str | None) -> None:
    made, rows = ngramdb.connect().create_corpus("c"), data_set()
    getattr(made, verb)(rows.with_format(kind, columns=["text", "year"]))
    assert {name for _, names in stored(made) for name in names} == {"year"}
    getattr(made, verb)(rows.with_format(kind, columns=["text"], output_all_columns=True))
    assert {name for _, names in stored(made) for name in names} == {"year", "tags", "m"}
    with pytest.raises(InvalidArgument, match="'text'"):
        getattr(made, verb)(rows.with_format(kind, columns=["year"]))


def test_rows_of_a_mapped_stream_are_refused_as_a_table() -> None:
    made = ngramdb.connect().create_corpus("c")
    rows = data_set().to_iterable_dataset().map(lambda row: row)
    with pytest.raises(InvalidArgument, match=r"append takes documents.*item 1 of the IterableDataset"):
        made.load(rows)


@pytest.mark.parametrize("verb", ["append", "load"])
def test_columns_whose_numbers_stand_for_something_else_are_refused(verb: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    periods = pandas.PeriodIndex(["2020-01"], freq="M")
    made, path = ngramdb.connect().create_corpus("c"), tmp_path / "p.parquet"
    for values in (periods, pandas.Categorical(periods)):
        with pytest.raises(
            InvalidArgument, match=r"column 'p' is pandas\.period, which metadata cannot hold"
        ):
            getattr(made, verb)(pandas.DataFrame({"text": ["a"], "p": values}))
    intervals = pandas.IntervalIndex.from_breaks([0, 1])
    with pytest.raises(InvalidArgument, match=r"column 'p' is pandas\.interval, which"):
        getattr(made, verb)(pandas.DataFrame({"text": ["a"], "p": intervals}))
    field = pyarrow.field("p", pyarrow.int64(), metadata={"ARROW:extension:name": "of.another"})
    unknown = pyarrow.schema([pyarrow.field("text", pyarrow.string()), field])
    pyarrow.parquet.write_table(pyarrow.table([["a"], [600]], schema=unknown), path)
    with pytest.raises(ngramdb.LoadError, match=r"column 'p' is of\.another, which"):
        made.load(path)
    assert made.load(path, metadata=[]).documents == 1


@pytest.mark.skipif(not hasattr(pyarrow, "json_"), reason="an older pyarrow")
def test_values_that_are_stored_as_they_are_may_have_an_extension_type() -> None:
    flags = pyarrow.array([1, None], pyarrow.int8())
    made = ngramdb.connect().create_corpus("c")
    table = {
        "text": ["a", "b"],
        "flag": pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), flags),
        "json": pyarrow.ExtensionArray.from_storage(pyarrow.json_(), pyarrow.array(["1", "{}"])),
    }
    made.append(pyarrow.table(table))
    assert made.docs().to_dicts()[0]["flag"] is True
    assert made.docs().to_dicts()[0]["json"] == "1"


@pytest.mark.parametrize("verb", ["append", "load"])
def test_enumerations_of_polars_are_strings(verb: str) -> None:
    polars = pytest.importorskip("polars")
    kind = polars.Enum(["a", "b"])
    columns = {
        "text": polars.Series(["a", "b"], dtype=kind),
        "one": polars.Series(["b", None], dtype=polars.Categorical),
        "many": polars.Series([["a", "b"], []], dtype=polars.List(kind)),
        "inner": polars.Series([{"x": "b"}, None], dtype=polars.Struct({"x": kind})),
    }
    made = ngramdb.connect().create_corpus("c")
    getattr(made, verb)(polars.DataFrame(columns))
    first = made.document(0)
    assert (first.text, first.metadata) == ("a", {"one": "b", "many": ["a", "b"], "inner": {"x": "b"}})


def test_numbers_that_rows_are_left_with_are_no_field(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    chosen, path = frame().loc[[2, 0, 1]][["text", "m"]], tmp_path / "chosen.parquet"
    chosen.to_parquet(path)
    made = ngramdb.connect().create_corpus("c")
    for verb, given in ((made.append, chosen), (made.load, chosen), (made.load, path)):
        verb(given)
        assert made.docs(descending=True, limit=1).to_dicts()[0].keys() == {"doc_id", "length", "text", "m.x"}
    made.load(path, metadata=["__index_level_0__"])
    assert made.document(9).metadata == {"__index_level_0__": 2}
    named = pandas.DataFrame({"text": ["a"]}, index=pandas.Index([7], name="key"))
    made.load(named)
    assert made.document(12).metadata == {"key": 7}


@pytest.mark.parametrize("verb", ["append", "load", "file"])
@pytest.mark.parametrize(
    ("index", "found"),
    [
        (["a-1", "a-2"], {"index": "a-2"}),
        ([0.5, 1.5], {"index": 1.5}),
        ([[1, 2], ["x", "y"]], {"level_1": "y"}),
        ([["v", "w"], ["x", "y"]], {"level_0": "w", "level_1": "y"}),
        ([17, 23], {}),
        (None, {}),
    ],
)
def test_labels_of_an_index_without_a_name_are_loaded(
    tmp_path: Path, verb: str, index: Any, found: dict[str, Any]
) -> None:
    pandas = pytest.importorskip("pandas")
    given: Any = pandas.DataFrame({"text": ["a", "b"]}, index=index)
    if verb == "file":
        given.to_parquet(tmp_path / "frame.parquet")
        given = tmp_path / "frame.parquet"
    made = ngramdb.connect().create_corpus("c")
    notes = getattr(made, "load" if verb == "file" else verb)(given).notes
    assert made.document(1).metadata == found
    has_numbers = index is not None and any(isinstance(label, int) for label in (index[0], *_levels(index)))
    assert any("index is unnamed" in note for note in notes) == has_numbers


def _levels(index: Any) -> list[Any]:
    return index[0] if isinstance(index[0], list) else []


def test_labels_do_not_replace_a_column() -> None:
    pandas = pytest.importorskip("pandas")
    made = ngramdb.connect().create_corpus("c")
    labels = ["a-1"]
    made.append(pandas.DataFrame({"text": ["a"], "index": [1]}, index=labels))
    made.append(pandas.DataFrame({"text": ["a"], "index": [1], "level_0": [2]}, index=labels))
    assert made.document(0).metadata == {"index": 1, "level_0": "a-1"}
    assert made.document(1).metadata == {"index": 1, "level_0": 2, "__index_level_0__": "a-1"}
    if hasattr(pandas.Series, "__arrow_c_stream__"):  # before pandas 3 a Series is an iterable of texts
        made.append(pandas.Series(["a text"], index=labels))
        assert (made.document(2).text, made.document(2).metadata) == ("a text", {"index": "a-1"})


def test_what_is_no_path_is_named() -> None:
    made = ngramdb.connect().create_corpus("c")
    for given, said in (([b"a"], "item 1 of the list is bytes, not a path"), (None, "not NoneType")):
        with pytest.raises(InvalidArgument, match=said):
            made.load(given)


def test_a_note_on_nan_is_only_where_one_is() -> None:
    made = ngramdb.connect().create_corpus("c")
    values = [np.int64(3), np.float32(0.5), np.True_, np.str_("q"), np.array([1, 2]), [np.int64(1)]]
    report = made.append([{"text": "a", "v": value} for value in values])
    assert report.notes == ()
    assert [made.document(i).metadata["v"] for i in range(6)] == [3, 0.5, True, "q", [1, 2], [1]]
    for value in (np.float64("nan"), [np.float32("nan")], np.array([1, np.nan]), np.datetime64("NaT")):
        (note,) = made.append([{"text": "a", "v": value}]).notes
        assert note.startswith("NaN in the field v was read as NULL")


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_times_of_numpy_are_refused_whatever_their_unit(unit: str) -> None:
    made = ngramdb.connect().create_corpus("c")
    time = np.datetime64("2020-01-01", unit)
    with pytest.raises(ngramdb.LoadError, match="field 'v' holds a datetime64"):
        made.append([{"text": "a", "v": time}])
    with pytest.raises(ngramdb.LoadError, match="holds an array of datetime64"):
        made.append([{"text": "a", "v": np.array([time])}])
