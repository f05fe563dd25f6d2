"""Cells of tables at a terminal: what stands out, how numbers read, and how texts are cut."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from ngramdb.api import Result
from ngramdb.cli.shell.statement_text import Marks
from ngramdb.cli.terminal.cells import Cell, cut, make_cell
from ngramdb.cli.terminal.screen import Screen, render
from ngramdb.cli.terminal.table import Column, fit, overhead


class Rows:
    def __init__(self, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]], **summary: Any) -> None:
        self.columns = columns
        self.rows = rows
        self.summary = summary
        self.n_rows: int | None = None
        self.exact = True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)


def screen(width: int = 80, colour: bool = False, unicode: bool = True, marks: Any = None) -> Screen:
    return Screen(io.StringIO(), True, width, colour, unicode, marks)


def drawn(result: Rows, on: Screen) -> list[str]:
    render(result, on, "table")
    assert isinstance(on.stream, io.StringIO)
    return on.stream.getvalue().splitlines()


def test_a_big_number_alone_has_its_scale_beside_it() -> None:
    assert "│ 1,234,567,890 (1.23 B) │" in drawn(Rows(("count",), [(1_234_567_890,)]), screen())
    assert "│ 1,234,567,890 │" in drawn(Rows(("count",), [(1_234_567_890,), (1,)]), screen())
    assert "│ 999,999 │" in drawn(Rows(("count",), [(999_999,)]), screen())


def test_ids_and_years_are_no_quantities() -> None:
    (line,) = drawn(Rows(("doc_id", "year", "count"), [(12345, 2020, 12345)]), screen())[3:4]
    assert line == "│  12345 │ 2020 │ 12,345 │"


def test_points_stand_below_each_other() -> None:
    lines = drawn(Rows(("prob",), [(0.179921,), (0.0959318,), (None,), (0.5,)]), screen())
    assert lines[3:7] == ["│ 0.179921 │", "│ 0.095932 │", "│     NULL │", "│ 0.500000 │"]
    assert drawn(Rows(("prob",), [(0.5,), (0.25,)]), screen())[3:5] == ["│ 0.50 │", "│ 0.25 │"]
    assert drawn(Rows(("prob",), [(0.5,), (1e-9,)]), screen())[3:5] == ["│   0.5 │", "│ 1e-09 │"]


def test_scores_of_tokens_are_short() -> None:
    lines = drawn(
        Rows(("token", "prob", "logprob"), [(" a", 0.000012345, -11.302), ("b", 1.0, 0.0)]), screen()
    )
    assert lines[3:5] == ["│ ␣a    │ 1.2e-05 │ -11.3020 │", "│ b     │  1.0000 │   0.0000 │"]


def test_a_concordance_is_cut_to_its_middle() -> None:
    result = Rows(
        ("doc_id", "left", "match", "right"), [(0, "x " * 60 + "on ", "the mat", " and " + "y " * 60)]
    )
    line = drawn(result, screen(60))[3]
    assert " on │ the mat │ and y" in line and line.count("…") == 2
    assert cell_len(line) == 60
    coloured = drawn(Rows(("left", "match", "right"), [("a ", "b", " c")]), screen(colour=True))
    assert "\x1b[1;31mb\x1b[0m" in coloured[3]


def test_a_text_is_cut_around_what_was_searched_for() -> None:
    text = "word " * 500 + "the needle\nhere " + "word " * 500
    on = screen(60, marks=Marks(["needle"]).find, colour=True)
    line = drawn(Rows(("doc_id", "text"), [(1, text)]), on)[3]
    assert "the \x1b[1;31mneedle\x1b[0m⏎here word" in line
    plain = drawn(Rows(("doc_id", "text"), [(1, text)]), screen(60, marks=Marks(["needle"]).find))[3]
    assert "the needle⏎here" in plain and cell_len(plain) == 60
    elsewhere = drawn(Rows(("text",), [("no match " * 50,)]), screen(40, marks=Marks(["needle"]).find))[3]
    assert elsewhere.startswith("│ no match no")


@pytest.mark.parametrize("width", range(1, 30))
@pytest.mark.parametrize(
    "text", ["plain text that is long enough", "日本語のとても長いテキストです", "a日b本c語d" * 5]
)
def test_a_cut_cell_fits_its_width(text: str, width: int) -> None:
    for cell in (Cell(text), Cell(text, ((8, 10),)), Cell(text, ((0, 3), (12, 14)))):
        for from_left in (False, True):
            shown = cut(cell, width, screen(), from_left)
            assert cell_len(shown.text) <= width
            assert all(0 <= start <= stop <= len(shown.text) for start, stop in shown.marks)


def test_a_poor_encoding_gets_signs_that_it_has() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    poor = replace(screen(unicode=False), stream=stream)
    assert make_cell(" a\n", "token", poor, alone=False).text == "_a\\n"
    assert make_cell("é", "text", poor, alone=False).text == "\\xe9"


def test_sentences_take_as_many_lines_as_they_need() -> None:
    description = "the meaning of a setting, in so many words that they do not fit on one line"
    lines = drawn(Rows(("name", "description"), [("x", description)]), screen(50))
    words = " ".join(
        line.split("│")[2].strip() for line in lines if line.startswith("│") and "name" not in line
    )
    assert words == description
    narrow = drawn(Rows(("name", "description"), [("x", description)]), screen(25))
    assert len(narrow) == 6


def test_an_answer_of_nothing_but_a_message_is_that_message() -> None:
    result = Rows(("corpus", "problem"), [], problems=0, message="no problems found")
    assert drawn(result, screen()) == ["no problems found"]
    result = Rows(("corpus", "problem"), [("a", "b")], message="1 problem found")
    assert drawn(result, screen())[-1] == "1 row, 1 problem found"


def test_an_answer_from_a_sample_says_so() -> None:
    result = Rows(("count",), [(5,)])
    result.exact = False
    assert drawn(result, screen())[-1] == "1 row, an estimate from a sample"


def test_html_escapes_and_tells_null() -> None:
    stream = io.StringIO()
    render(Rows(("a<b", "n"), [("<x>&", 1), (None, 2)]), Screen(stream, False, None, False, True), "html")
    assert stream.getvalue().splitlines() == [
        "<table>",
        "<thead><tr><th>a&lt;b</th><th>n</th></tr></thead>",
        "<tbody>",
        '<tr><td>&lt;x&gt;&amp;</td><td class="number">1</td></tr>',
        '<tr><td class="null"></td><td class="number">2</td></tr>',
        "</tbody>",
        "</table>",
    ]


@pytest.mark.parametrize("from_left", [False, True])
def test_a_cut_is_between_letters(from_left: bool) -> None:
    letters = ["e\u0301", "n\u0303\u0323", "👍🏽", "a", "日", "👩\u200d🚀"]
    text = "".join(letters)
    pieces = {"".join(letters[i:]) if from_left else "".join(letters[:i]) for i in range(len(letters) + 1)}
    for width in range(1, 14):
        shown = cut(Cell(text), width, screen(), from_left).text
        assert shown.strip("…").rstrip(" ") in pieces, (width, shown)


# ---- The columns of a table that does not fit: the match, the text, no columns of NULLs.


CONCORDANCE = ("doc_id", "position", "left", "match", "right")
LINES = [
    (2580, 126, "a link that has often been seen between ", "climate change", " and storms of all sizes"),
    (12, 4031, "short ", "climate change", " here"),
]


def shown(columns: tuple[str, ...], rows: list[tuple[object, ...]], width: int) -> list[str]:
    stream = io.StringIO()
    render(Result.of_rows(columns, rows), Screen(stream, True, width, False, True), "table")
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


@pytest.mark.parametrize("width", [120, 100, 80, 70, 60, 50, 44])
def test_a_concordance_keeps_its_match_whole(width: int) -> None:
    lines = shown(CONCORDANCE, LINES, width)
    assert sum("│ climate change │" in line for line in lines) == 2
    left, right = lines[3].split("climate change")
    assert ("…" in left) == ("│ a link that" not in left)
    assert ("…" in right) == ("of all sizes" not in right)
    assert abs(len(left.split("│")[-2]) - len(right.split("│")[1])) <= 20 or "…" not in left + right


def test_position_goes_before_the_contexts_are_too_short() -> None:
    assert "position" in shown(CONCORDANCE, LINES, 100)[1]
    narrow = shown(CONCORDANCE, LINES, 80)
    assert "position" not in narrow[1] and "doc_id" in narrow[1]
    assert narrow[-1] == "2 rows, 5 columns (4 shown)"


def test_a_match_longer_than_the_screen_is_cut_at_its_end_only() -> None:
    lines = shown(CONCORDANCE, [(1, 2, "left ", "word " * 30, " right")], 60)
    assert "│ word word" in lines[3] and "…word" not in lines[3]


FIELDS = ("doc_id", "source", "title", "year", "section", "length", "text")
DOCUMENTS = [(i, "web", f"title {i}", None, None, 300, "the text of it " * 20) for i in range(3)]


def test_fields_that_no_document_has_make_room_for_the_text() -> None:
    lines = shown(FIELDS, DOCUMENTS, 80)
    assert "NULL" not in "".join(lines[:-1])
    assert len(lines[3].split("│")[-2]) >= 80 // 3
    assert lines[-1] == "3 rows, 7 columns (5 shown, 2 with NULL only)"


def test_they_are_shown_where_there_is_room_and_in_answers_that_are_no_documents() -> None:
    short = [(*row[:-1], "short") for row in DOCUMENTS]
    assert "NULL" in shown(FIELDS, short, 80)[3]
    assert "NULL" in shown(("prob", "note"), [(None, "wide " * 30)], 60)[3]


def test_formats_for_programs_keep_every_column() -> None:
    for mode in ("csv", "tsv", "jsonl", "markdown", "html", "line"):
        stream = io.StringIO()
        render(Result.of_rows(FIELDS, DOCUMENTS), Screen(stream, True, 80, False, True), mode)
        assert "section" in stream.getvalue()


def test_a_table_of_versions_keeps_times_and_actions_whole() -> None:
    columns = ("version", "created", "by", "action", "documents", "tokens", "current")
    rows = [(1, "2026-11-22 18:09:31 UTC", "somebody@somewhere", "create corpus words", 0, 0, True)]
    for width, left_out in ((120, set()), (104, {"current"}), (80, {"current", "by"})):
        lines = shown(columns, rows, width)
        assert "2026-11-22 18:09:31 UTC" in lines[3] and "create corpus words" in lines[3]
        assert {name for name in columns if f" {name} " not in lines[1]} == left_out


@pytest.mark.parametrize("width", range(60, 200, 7))
def test_fields_beside_a_match_are_readable_and_contexts_keep_their_room(width: int) -> None:
    names = ("doc_id", "position", "left", "match", "right", "author", "title", "year")
    naturals = (6, 8, 60, 5, 60, 15, 40, 4)
    numbers = {"doc_id", "position", "year"}
    columns = [Column(name, [], name in numbers, n) for name, n in zip(names, naturals, strict=True)]
    shown, widths = fit(columns, width)
    by_name = {column.name: n for column, n in zip(shown, widths, strict=True) if column is not None}
    assert overhead(len(shown)) + sum(widths) <= width
    fields = {name: by_name[name] for name in ("author", "title") if name in by_name}
    assert all(n >= min(12, naturals[names.index(name)]) for name, n in fields.items())
    if len(fields) == 2 and by_name["left"] >= 30:
        assert by_name["author"] == 15 and by_name["title"] >= 16
    if width > 180:
        assert by_name["title"] >= 20 and by_name["left"] >= 30
    if fields:
        assert by_name["left"] >= 20 and by_name["right"] >= 20
