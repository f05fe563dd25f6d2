"""Results as the tables of other libraries: every column has a type, whatever its values are."""

from __future__ import annotations

import pyarrow
import pytest

from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.executor.result import Result, batched

COLUMNS = {
    "ints": ([1, None, 2**62], "int64"),
    "floats": ([0.5, None, 2.0], "double"),
    "numbers": ([1, 0.5, None], "double"),
    "bools": ([True, None, False], "bool"),
    "texts": (["a", None, ""], "string"),
    "nothing": ([None, None, None], "string"),
    "lists": ([[1, 2], None, []], "list<item: int64>"),
    "texts in lists": ([["a"], [], None], "list<item: string>"),
    "mixed lists": ([[1, "a", None], None, [True]], "list<item: string>"),
    "lists in lists": ([[["x"], [2, 0]], None, [[2**64], [{"a": 1}]]], "list<item: list<item: string>>"),
    "numbers in lists": ([[[1], [2.5]], None, [[]]], "list<item: list<item: double>>"),
    "mixed": ([1, "a", True], "string"),
    "true and one": ([True, 1, None], "string"),
    "objects": ([{"a": [1]}, None, {"b": "é"}], "string"),
    "too large": ([2**63, 1, None], "string"),
}
AS_TEXT = {
    "mixed lists": [["1", "a", None], None, ["true"]],
    "lists in lists": [[["x"], ["2", "0"]], None, [["18446744073709551616"], ['{"a": 1}']]],
    "mixed": ["1", "a", "true"],
    "true and one": ["true", "1", None],
    "objects": ['{"a": [1]}', None, '{"b": "é"}'],
    "too large": ["9223372036854775808", "1", None],
}


def every_column(**options):
    rows = list(zip(*(values for values, _ in COLUMNS.values()), strict=True))
    return Result(tuple(COLUMNS), [rows[:1], rows[1:]], **options)


@pytest.mark.parametrize("name", COLUMNS)
def test_arrow_columns_have_the_type_of_their_values(name):
    table = every_column().arrow()
    values, kind = COLUMNS[name]
    assert str(table.schema.field(name).type) == kind
    assert table[name].to_pylist() == AS_TEXT.get(name, values)


def test_a_stream_of_record_batches_is_the_same_table():
    with every_column().arrow_batches(2) as reader:
        batches = list(reader)
    assert [batch.num_rows for batch in batches] == [2, 1]
    pyarrow = pytest.importorskip("pyarrow")
    streamed, whole = pyarrow.Table.from_batches(batches), every_column().arrow()
    for name in set(COLUMNS) - {"mixed", "true and one"}:  # their first rows are not mixed
        assert streamed[name].to_pylist() == whole[name].to_pylist()


def test_a_stream_that_is_asked_for_its_schema_alone_takes_no_rows():
    made = Result(["a"], iter([[(1,), (2,)], [(3,)]]))
    assert pyarrow.schema(made.arrow_batches(1).schema).names == ["a"]
    pyarrow.RecordBatchReader.from_stream(made)
    assert pyarrow.table(made)["a"].to_pylist() == [1, 2, 3]


def test_record_batches_are_made_while_they_are_read():
    made = []

    def rows():
        for i in range(100):
            made.append(i)
            yield (i,)

    reader = Result(("i",), batched(rows(), 10), types=(int,)).arrow_batches(10)
    reader.read_next_batch()
    assert len(made) <= 20
    assert sum(batch.num_rows for batch in reader) == 90


def test_types_that_are_known_hold_for_columns_of_nulls_and_without_rows():
    rows = [(None, None, None, None)] * 3
    for result in (
        Result(("i", "f", "s", "b"), [rows], types=(int, float, str, bool)),
        Result(("i", "f", "s", "b"), [], types=(int, float, str, bool)),
    ):
        kinds = ["int64", "double", "string", "bool"]
        assert [str(kind) for kind in result.arrow().schema.types] == kinds
    stream = Result(("i",), [[(None,)], [(7,)]], types=(int,)).arrow_batches(1)
    assert [batch.to_pydict() for batch in stream] == [{"i": [None]}, {"i": [7]}]


def test_a_stream_refuses_what_its_columns_cannot_hold():
    reader = Result(("x",), [[(1,)], [("a",)]]).arrow_batches(1)
    reader.read_next_batch()
    with pytest.raises(Exception, match=r"column x is int64 in the first rows and string in later ones"):
        reader.read_next_batch()
    wider = Result(("x",), [[(0.5,)], [(1,)]]).arrow_batches(1)
    assert [batch.to_pydict()["x"] for batch in wider] == [[0.5], [1.0]]


def test_no_rows_make_an_empty_table_with_the_columns():
    assert Result(("a", "b")).arrow().column_names == ["a", "b"]
    assert [batch.num_rows for batch in Result(("a",)).arrow_batches()] == [0]


def test_pandas_columns_keep_whole_numbers_whole():
    pandas = pytest.importorskip("pandas")
    frame = every_column().df()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == list(COLUMNS)
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds["ints"] == "Int64" and kinds["floats"] == kinds["numbers"] == "float64"
    assert kinds["bools"] == "boolean" and kinds["mixed"] == kinds["lists"] == kinds["too large"] == "object"
    assert frame["ints"].tolist()[2] == 2**62 and frame["lists"][0] == [1, 2]
    assert str(Result(("i",), [[(1,), (2,)]]).df()["i"].dtype) == "int64"
    assert str(Result(("i",), [], types=(int,)).df()["i"].dtype) == "int64"
    assert Result(("a", "a"), [[(1, 2)]]).df().values.tolist() == [[1, 2]]


def test_polars_columns_are_those_of_arrow():
    polars = pytest.importorskip("polars")
    frame = every_column().pl()
    assert isinstance(frame, polars.DataFrame)
    assert frame["ints"].to_list() == [1, None, 2**62] and frame["ints"].dtype == polars.Int64
    assert frame["lists"].to_list() == [[1, 2], None, []] and frame["nothing"].dtype == polars.String


def test_batches_of_a_size_of_choice():
    rows = [(i,) for i in range(25)]
    sizes = [len(batch) for batch in Result(("i",), batched(rows, 10)).batches(7)]
    assert sizes == [7, 7, 7, 4]
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(InvalidArgument, match="n_rows must be"):
            Result(("i",), []).batches(wrong)


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ExecutionError, match=r"pandas is not installed: pip install 'ngramdb\[df\]'"):
        Result.of_rows(("i",), [(1,)]).df()


@pytest.mark.parametrize("form", ["df", "pl", "arrow", "arrow_batches"])
@pytest.mark.parametrize("read", ["df", "pl", "arrow", "fetchall", "to_dicts"])
@pytest.mark.parametrize(
    "made", [lambda rows: Result(("i", "t"), [rows]), lambda rows: Result.of_rows(("i", "t"), rows)]
)
def test_a_table_of_rows_that_have_been_read_is_an_error_and_not_empty(made, read, form):
    for library in ("pandas", "polars"):
        pytest.importorskip(library)
    result = made([(1, "a"), (2, "b")])
    getattr(result, read)()
    with pytest.raises(ExecutionError, match="all 2 rows of the result have been read"):
        getattr(result, form)()
    rest = made([(1, "a"), (2, "b")])
    rest.fetchone()
    assert len(rest.arrow()) == 1
    empty = made([])
    getattr(empty, read)()
    assert len(getattr(empty, form)().read_all() if form == "arrow_batches" else getattr(empty, form)()) == 0


def test_texts_are_of_the_type_that_pandas_has_for_them():
    pandas = pytest.importorskip("pandas")
    plain = pandas.DataFrame({"t": ["a", None]})
    frame = Result(("t", "none"), [[("a", None), (None, None)]], types=(str, str)).df()
    assert frame["t"].dtype == frame["none"].dtype == plain["t"].dtype
    assert frame["t"].isna().tolist() == [False, True]
    assert Result(("t",), [], types=(str,)).df()["t"].dtype == plain["t"].dtype
