"""Output modes: what exactly each writes, for values that are awkward in it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from ngramdb.cli.terminal.screen import MODES, Screen, default_mode, render
from ngramdb.cli.terminal.table import Column, fit


class Rows:
    """A result as the renderers see it."""

    def __init__(self, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]], **summary: Any) -> None:
        self.columns = columns
        self.rows = rows
        self.summary = summary
        self.n_rows: int | None = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)


def written(result: Rows, mode: str | None, width: int | None = None, colour: bool = False) -> str:
    stream = io.StringIO()
    render(result, Screen(stream, width is not None, width, colour, True), mode)
    return stream.getvalue()


AWKWARD = Rows(
    ("id", "name", "value"),
    [
        (1, "plain", 0.1),
        (2, 'tab\tfeed\nquote"comma,back\\slash', None),
        (3, "", True),
        (4, None, [1, 2]),
        (5, "日本", {"a": {"b": None}}),
    ],
)


@pytest.mark.parametrize(("mode", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_delimited_values_are_read_back_by_the_csv_module(mode: str, delimiter: str) -> None:
    rows = list(csv.reader(io.StringIO(written(AWKWARD, mode)), delimiter=delimiter))
    assert rows[0] == ["id", "name", "value"]
    assert rows[2] == ["2", 'tab\tfeed\nquote"comma,back\\slash', ""]
    assert rows[5] == ["5", "日本", '{"a": {"b": null}}']


def test_delimited_values_distinguish_null_from_the_empty_string() -> None:
    assert written(Rows(("a", "b"), [("", None)]), "csv") == 'a,b\n"",\n'
    assert written(Rows(("a", "b"), [("", None)]), "tsv") == 'a\tb\n""\t\n'


def test_json_is_one_array_of_objects() -> None:
    objects = json.loads(written(AWKWARD, "json"))
    assert [o["id"] for o in objects] == [1, 2, 3, 4, 5]
    assert objects[1]["name"] == 'tab\tfeed\nquote"comma,back\\slash'
    assert objects[4]["value"] == {"a": {"b": None}}


def test_json_of_no_rows_is_an_empty_array() -> None:
    assert json.loads(written(Rows(("a",), []), "json")) == []


def test_jsonl_is_an_object_a_line() -> None:
    lines = written(AWKWARD, "jsonl").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("at_terminal", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "latin-1", "cp1252", "cp932", "utf-16-le"])
@pytest.mark.parametrize("mode", ["json", "jsonl"])
def test_json_is_json_in_every_encoding(mode: str, encoding: str, at_terminal: bool) -> None:
    r"""As a stream gets it that writes \xNN, which JSON does not have, for what its encoding lacks."""
    row = {"é": "é ÿ \x9b \u2028 日本 \U0001f600 \ud800 \\"}
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding, errors="backslashreplace")
    render(Rows(tuple(row), [tuple(row.values())]), Screen(stream, at_terminal, 80, False, True), mode)
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert json.loads(text) == ([row] if mode == "json" else row)
    assert ("日本" in text) == (encoding in ("utf-8", "UTF8"))


def test_jsonl_writes_a_row_before_it_asks_for_the_next() -> None:
    stream = io.StringIO()
    seen: list[str] = []

    def rows() -> Iterator[tuple[int]]:
        for i in range(3):
            seen.append(stream.getvalue())
            yield (i,)

    render(Rows(("i",), rows()), Screen(stream, False, None, False, True), "jsonl")
    assert seen == ["", '{"i": 0}\n', '{"i": 0}\n{"i": 1}\n']


def test_numpy_values_and_unbounded_floats_become_json() -> None:
    result = Rows(("a", "b", "c"), [(np.int64(3), np.array([1, 2], dtype=np.uint32), math.nan)])
    assert json.loads(written(result, "jsonl")) == {"a": 3, "b": [1, 2], "c": None}
    assert written(result, "tsv").splitlines()[1] == "3\t[1, 2]\tnan"
    assert written(Rows(("x",), [(-math.inf,)]), "tsv").splitlines()[1] == "-inf"


def test_floats_are_exact_for_programs_and_short_for_people() -> None:
    result = Rows(("prob",), [(1 / 3,)])
    assert written(result, "tsv").splitlines()[1] == repr(1 / 3)
    assert "0.333333 " in written(result, "table", width=80)


def test_markdown_aligns_numbers_and_escapes_bars() -> None:
    result = Rows(("n", "text"), [(None, "a|b\nc"), (2, "<b>")])
    assert written(result, "markdown").splitlines() == [
        "| n | text |",
        "| ---: | --- |",
        "|  | a\\|b<br>c |",
        "| 2 | &lt;b> |",
    ]


def test_line_mode_writes_a_value_a_line() -> None:
    result = Rows(("id", "text"), [(1, "a\nb"), (2, None)])
    assert written(result, "line") == "  id = 1\ntext = a\\nb\n\n  id = 2\ntext = NULL\n"


def test_plot_mode_draws_a_bar_for_each_row() -> None:
    result = Rows(
        ("least", "most", "texts", "count", "waste"), [(2, 3, 8, 40, 1), (4, 7, 0, 0, 0), (8, 15, 1, 2, 3)]
    )
    assert written(result, "plot", 28) == (
        "least–most  texts\n       2–3      8  █████████\n       4–7      0\n      8–15      1  █▏\n"
    )
    by_two = Rows(("year", "kind", "count"), [(1990, "a", 1), (None, "日本", 1000)])
    assert written(by_two, "plot", 40) == (
        "year kind  count\n   1990 a      1  ▏\nNULL 日本  1,000  ██████████████████████\n"
    )
    # Without numbers behind the first column it is a table.
    assert written(Rows(("name", "kind"), [("a", "b")]), "plot") == written(
        Rows(("name", "kind"), [("a", "b")]), "table"
    )
    many = written(Rows(("n", "count"), [(i, i) for i in range(1001)]), "plot")
    assert many.endswith("\n1 more row\n") and len(many.splitlines()) == 1002


@pytest.mark.parametrize("mode", MODES)
def test_a_result_without_columns_writes_nothing(mode: str) -> None:
    assert written(Rows((), []), mode) == ""


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_writes_no_colour_into_a_pipe(mode: str) -> None:
    assert "\x1b" not in written(AWKWARD, mode)


def test_default_mode_is_table_for_people_and_tsv_for_programs() -> None:
    assert default_mode(Screen(io.StringIO(), True, 80, True, True)) == "table"
    assert default_mode(Screen(io.StringIO(), False, None, False, True)) == "tsv"


# ---- the table --------------------------------------------------------------------------------------------


def test_table_shows_forty_rows_at_a_terminal_and_says_how_many_there_are() -> None:
    text = written(Rows(("i",), [(i,) for i in range(100_000)]), "table", width=80)
    assert text.splitlines()[-1] == "100,000 rows (40 shown)"
    assert "│ 39 │" in text and "│ 40 │" not in text


def test_table_in_a_pipe_has_every_row_in_full_and_no_footer() -> None:
    long_text = "word " * 100
    text = written(Rows(("i", "text"), [(i, long_text) for i in range(50)]), "table")
    assert text.count(long_text) == 50
    assert "rows" not in text


def test_table_aligns_numbers_to_the_right_and_texts_to_the_left() -> None:
    text = written(Rows(("count", "token"), [(5, "a"), (12345, "b")]), "table", width=80)
    assert "│      5 │ a     │" in text
    assert "│ 12,345 │ b     │" in text


@pytest.mark.parametrize("width", [20, 30, 60, 61, 80, 200])
def test_table_never_is_wider_than_the_terminal(width: int) -> None:
    result = Rows(
        ("doc_id", "source", "title", "year", "length", "text"),
        [(i, "wiki", "日本語 title " * 5, None, i * 100, "some text " * 500) for i in range(3)],
    )
    drawn = [line for line in written(result, "table", width=width).splitlines() if "rows" not in line]
    from rich.cells import cell_len

    assert max(map(cell_len, drawn)) <= width
    assert "doc_id" in drawn[1]


def test_table_cuts_a_text_to_one_line() -> None:
    text = written(Rows(("text",), [("first line\nsecond line " * 50,)]), "table", width=40)
    assert len(text.splitlines()) == 6  # frame, header, rule, one row, frame, footer
    assert "…" in text and "⏎" in text


def test_table_lets_no_control_character_of_a_document_through() -> None:
    text = written(Rows(("text",), [("\x1b[2Jboom\x9b31m\u2028",)]), "table", width=80)
    assert "\x1b" not in text and "\x9b" not in text and "\u2028" not in text
    assert "\\x1b[2Jboom\\x9b31m\\u2028" in text


def test_table_dims_null_only_where_colours_are_shown() -> None:
    result = Rows(("x",), [(None,)])
    assert "\x1b[2mNULL" in written(result, "table", width=80, colour=True)
    assert "│ NULL │" in written(result, "table", width=80)


def test_table_falls_back_to_ascii_where_the_encoding_is_poor() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    render(Rows(("text",), [("wörld " * 40,)]), Screen(stream, True, 40, False, False), "table")
    stream.flush()
    lines = stream.buffer.getvalue().decode("ascii").splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("+--") and all(len(line) <= 40 for line in lines)
    assert "w\\xf6rld" in lines[3] and "..." in lines[3]


def test_a_plan_is_written_as_it_is_drawn() -> None:
    assert written(Rows(("plan",), [("Count",), ("  Find x",)]), "table", width=20) == "Count\n  Find x\n"


def test_footer_counts_one_row_as_a_row() -> None:
    assert written(Rows(("x",), [(1,)]), "table", width=80).splitlines()[-1] == "1 row"


def test_footer_says_how_many_columns_were_left_out() -> None:
    result = Rows(tuple(f"c{i:02d}" for i in range(12)), [("some text",) * 12])
    assert written(result, "table", width=60).splitlines()[-1] == "1 row, 12 columns (4 shown)"


def test_footer_shows_the_totals_of_the_summary_once() -> None:
    rows = [(i,) for i in range(3)]
    assert written(Rows(("x",), rows, total=3), "table", width=80).splitlines()[-1] == "3 rows"
    text = written(Rows(("x",), rows, total=12345, log10_prob=-1.25, unknown=0, notes=[1]), "table", width=80)
    assert text.splitlines()[-1] == "3 rows, 12,345 in all, log10 prob -1.25"
    narrow = written(Rows(("x",), rows, total=12345, log10_prob=-1.25), "table", width=25)
    assert narrow.splitlines()[-2:] == ["3 rows, 12,345 in all,", "log10 prob -1.25"]


def test_table_takes_the_number_of_rows_from_the_result_where_it_is_known() -> None:
    result = Rows(("x",), ((i,) for i in range(60)))
    result.n_rows = 60
    assert written(result, "table", width=80).splitlines()[-1] == "60 rows (40 shown)"
    assert next(iter(result.rows)) == (40,)


def _column(name: str, natural: int, numeric: bool = False) -> Column:
    return Column(name, [], numeric, natural)


def test_fit_gives_what_short_texts_do_not_need_to_long_ones() -> None:
    shown, widths = fit([_column("n", 6, True), _column("short", 5), _column("long", 500)], 60)
    assert None not in shown
    assert widths == [6, 5, 60 - 10 - 11]


def test_fit_leaves_out_the_middle_and_keeps_the_ends() -> None:
    columns = [_column(str(i), 10) for i in range(12)]
    shown, _ = fit(columns, 60)
    names = [None if column is None else column.name for column in shown]
    assert names[0] == "0" and names[-1] == "11" and names.count(None) == 1
