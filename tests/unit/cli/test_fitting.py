"""The columns of a table that does not fit: the match, the text, no columns of NULLs."""

from __future__ import annotations

import io

import pytest

from ngramdb.api import Result
from ngramdb.cli.terminal.modes import render
from ngramdb.cli.terminal.screen import Screen
from ngramdb.cli.terminal.table import Column, fit, overhead

CONCORDANCE = ("doc_id", "position", "left", "match", "right")
LINES = [
    (2580, 126, "a link that has often been seen between ", "climate change", " and storms of all sizes"),
    (12, 4031, "short ", "climate change", " here"),
]


def drawn(columns: tuple[str, ...], rows: list[tuple[object, ...]], width: int) -> list[str]:
    stream = io.StringIO()
    render(Result.of_rows(columns, rows), Screen(stream, True, width, False, True), "table")
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return lines


@pytest.mark.parametrize("width", [120, 100, 80, 70, 60, 50, 44])
def test_a_concordance_keeps_its_match_whole(width: int) -> None:
    lines = drawn(CONCORDANCE, LINES, width)
    assert sum("│ climate change │" in line for line in lines) == 2
    left, right = lines[3].split("climate change")
    assert ("…" in left) == ("│ a link that" not in left)
    assert ("…" in right) == ("of all sizes" not in right)
    assert abs(len(left.split("│")[-2]) - len(right.split("│")[1])) <= 20 or "…" not in left + right


def test_position_goes_before_the_contexts_are_too_short() -> None:
    assert "position" in drawn(CONCORDANCE, LINES, 100)[1]
    narrow = drawn(CONCORDANCE, LINES, 80)
    assert "position" not in narrow[1] and "doc_id" in narrow[1]
    assert narrow[-1] == "2 rows, 5 columns (4 shown)"


def test_a_match_longer_than_the_screen_is_cut_at_its_end_only() -> None:
    lines = drawn(CONCORDANCE, [(1, 2, "left ", "word " * 30, " right")], 60)
    assert "│ word word" in lines[3] and "…word" not in lines[3]


FIELDS = ("doc_id", "source", "title", "year", "section", "length", "text")
DOCUMENTS = [(i, "web", f"title {i}", None, None, 300, "the text of it " * 20) for i in range(3)]


def test_fields_that_no_document_has_make_room_for_the_text() -> None:
    lines = drawn(FIELDS, DOCUMENTS, 80)
    assert "NULL" not in "".join(lines[:-1])
    assert len(lines[3].split("│")[-2]) >= 80 // 3
    assert lines[-1] == "3 rows, 7 columns (5 shown, 2 with NULL only)"


def test_they_are_shown_where_there_is_room_and_in_answers_that_are_no_documents() -> None:
    short = [(*row[:-1], "short") for row in DOCUMENTS]
    assert "NULL" in drawn(FIELDS, short, 80)[3]
    assert "NULL" in drawn(("prob", "note"), [(None, "wide " * 30)], 60)[3]


def test_formats_for_programs_keep_every_column() -> None:
    for mode in ("csv", "tsv", "jsonl", "markdown", "html", "line"):
        stream = io.StringIO()
        render(Result.of_rows(FIELDS, DOCUMENTS), Screen(stream, True, 80, False, True), mode)
        assert "section" in stream.getvalue()


def test_a_table_of_versions_keeps_times_and_actions_whole() -> None:
    columns = ("version", "created", "by", "action", "documents", "tokens", "current")
    rows = [(1, "2026-11-22 18:09:31 UTC", "somebody@somewhere", "create corpus words", 0, 0, True)]
    for width, left_out in ((120, set()), (104, {"current"}), (80, {"current", "by"})):
        lines = drawn(columns, rows, width)
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
