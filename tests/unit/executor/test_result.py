"""Results stream, print themselves, and turn into other libraries' tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ngramdb.errors import ExecutionError
from ngramdb.executor.result import SHOWN_ROWS, Result, batched


def numbers(n, **options):
    made = []

    def rows():
        for i in range(n):
            made.append(i)
            yield (i, f"row {i}")

    return Result(("n", "name"), batched(rows(), 10), **options), made


def test_rows_are_made_as_they_are_read():
    result, made = numbers(100)
    assert made == []
    assert result.fetchone() == (0, "row 0") and len(made) == 10
    assert [row[0] for row in result.fetchmany(12)] == list(range(1, 13)) and len(made) == 20
    assert [row[0] for row in result] == list(range(13, 100))
    assert result.fetchone() is None and result.fetchmany(3) == [] and result.fetchall() == []
    assert result.n_rows == 100


def test_fetchmany_gives_fewer_at_the_end_and_none_for_zero():
    result, _ = numbers(3)
    assert result.fetchmany(0) == []
    assert len(result.fetchmany(10)) == 3


def test_batches_and_rows_may_be_mixed():
    result, _ = numbers(25)
    result.fetchone()
    assert [len(batch) for batch in result.batches()] == [9, 10, 5]


def test_breaking_out_of_an_iteration_loses_nothing():
    result, _ = numbers(25)
    for row in result:
        if row[0] == 3:
            break
    assert result.fetchone() == (4, "row 4")
    rows = iter(result)
    assert (next(rows)[0], result.fetchone()[0], next(rows)[0]) == (5, 6, 7)
    assert [row[0] for row in result.fetchall()] == list(range(8, 25)) and list(rows) == []


def test_batches_without_rows_are_passed_over():
    result = Result(("n",), iter([[], [(1,)], [], [(2,)], []]))
    assert list(result) == [(1,), (2,)]
    assert list(Result(("n",), iter([[]]))) == []


def test_a_closed_result_cannot_be_read():
    result, made = numbers(100)
    with result:
        result.fetchone()
    result.close()
    for read in (result.fetchone, result.fetchall, result.fetchmany):
        with pytest.raises(ExecutionError, match="result is closed"):
            read()
    assert len(made) == 10


def test_table_of_the_first_rows():
    result = Result.of_rows(
        ("token", "count", "prob"), [("the", 10, 0.5), (None, 7, None), ("a\nb", 1, 1e-9)]
    )
    assert repr(result).splitlines() == [
        "token  count   prob",
        "─────  ─────  ─────",
        "the       10    0.5",
        "NULL       7   NULL",
        "a⏎b        1  1e-09",
        "(3 rows)",
    ]


def test_printing_takes_no_rows_from_the_reader():
    result, made = numbers(100, n_rows=100)
    text = repr(result)
    assert text.endswith(f"(100 rows, {SHOWN_ROWS} shown)") and len(made) == SHOWN_ROWS
    assert len(result.fetchall()) == 100
    assert repr(result) == text


def test_printing_a_result_of_unknown_length_reads_no_further_than_needed():
    result, made = numbers(1000)
    assert repr(result).endswith(f"(more than {SHOWN_ROWS} rows, {SHOWN_ROWS} shown)")
    assert len(made) <= SHOWN_ROWS + 10
    assert repr(numbers(SHOWN_ROWS)[0]).endswith(f"({SHOWN_ROWS} rows)")
    assert repr(numbers(1)[0]).endswith("(1 row)")
    assert repr(numbers(0)[0]).splitlines() == ["n  name", "─  ────", "(0 rows)"]


def test_a_result_without_columns_prints_its_message():
    assert repr(Result(summary={"message": "corpus <x> created"})) == "corpus <x> created"
    assert (
        Result(summary={"message": "corpus <x> created"})._repr_html_() == "<p>corpus &lt;x&gt; created</p>"
    )


def test_html_is_escaped():
    text = Result.of_rows(("<b>",), [("<script>&",)])._repr_html_()
    assert "<th>&lt;b&gt;</th>" in text and ">&lt;script&gt;&amp;</td>" in text and "<script>" not in text


def test_long_values_are_cut_where_there_are_several_columns():
    row = repr(Result.of_rows(("a", "b"), [("x" * 500, 1)])).splitlines()[2]
    assert row.startswith("x" * 59 + "…  1")


def test_dicts_and_tables_of_other_libraries():
    rows = [(1, "a", 0.5, None), (2, None, 1.5, None)]
    columns = ("i", "s", "f", "nothing")
    assert Result.of_rows(columns, rows).to_dicts()[1] == {"i": 2, "s": None, "f": 1.5, "nothing": None}
    table = Result.of_rows(columns, rows).arrow()
    assert table.column_names == list(columns) and table.to_pylist()[0]["s"] == "a"
    assert str(table.schema.field("i").type) == "int64"
    assert Result.of_rows(columns, []).arrow().num_rows == 0


def test_arrow_makes_text_of_a_column_of_mixed_types():
    table = Result.of_rows(("property", "value"), [("a", 1), ("b", "x"), ("c", None)]).arrow()
    assert table["value"].to_pylist() == ["1", "x", None]


def test_pandas_table():
    pandas = pytest.importorskip("pandas")
    frame = Result.of_rows(("i", "s"), [(1, "a"), (2, "b")]).df()
    assert isinstance(frame, pandas.DataFrame) and frame["i"].tolist() == [1, 2]
    assert list(Result.of_rows(("i", "s"), []).df().columns) == ["i", "s"]


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ExecutionError, match=r"polars is not installed: pip install 'ngramdb\[df\]'"):
        Result.of_rows(("i",), [(1,)]).pl()


def test_elapsed_grows_with_the_rows_that_are_read():
    result, _ = numbers(1000, elapsed=1.0)
    before = result.elapsed
    result.fetchall()
    assert before == 1.0 < result.elapsed


def test_threads_that_share_a_result_get_each_row_once() -> None:
    is_making, may_go_on = threading.Event(), threading.Event()

    def batches() -> Iterator[list[tuple[int]]]:
        for i in range(40):
            is_making.set()
            may_go_on.wait(60)
            yield [(2 * i,), (2 * i + 1,)]

    result = Result(("a",), batches())
    ways = [
        lambda: list(result),
        lambda: [row for rows in iter(lambda: result.fetchmany(3), []) for row in rows],
        lambda: [row for rows in result.batches() for row in rows],
        lambda: result.fetchall(),
    ]
    with ThreadPoolExecutor(len(ways)) as pool:
        futures = [pool.submit(ways[0])]
        is_making.wait(60)
        futures += [pool.submit(way) for way in ways[1:]]
        time.sleep(0.05)  # they wait for the first
        may_go_on.set()
        found = [row for future in futures for row in future.result()]
    assert sorted(found) == [(i,) for i in range(80)]
