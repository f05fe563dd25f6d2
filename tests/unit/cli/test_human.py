"""Numbers as people read them."""

from __future__ import annotations

import pytest

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.human import error_lines, plan_lines, two_columns


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000123, "12 µs"),
        (0.001234, "1.23 ms"),
        (0.25, "250 ms"),
        (1.5, "1.5 s"),
        (59.94, "59.9 s"),
        (61, "1 min 01 s"),
    ],
)
def test_durations_choose_their_unit(seconds: float, text: str) -> None:
    assert human.duration(seconds) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_234_567, "1.23 MB"),
        (999_600_000, "1 GB"),
        (2.5e15, "2,500 TB"),
    ],
)
def test_sizes_choose_their_unit(n_bytes: float, text: str) -> None:
    assert human.size(n_bytes) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (1_234_567, "1.23M"), (999_999, "1M"), (5 * 10**12, "5T")],
)
def test_short_counts_have_three_digits(n: int, text: str) -> None:
    assert human.short(n) == text


def test_counts_group_their_digits_and_their_nouns_agree() -> None:
    assert human.count(1234567) == "1,234,567"
    assert human.count(1, "document") == "1 document"
    assert human.count(0, "document") == "0 documents"
    assert human.count(2, "corpus") == "2 corpora"


# ---- Long lines in narrow terminals.


ROWS = [(".help [COMMAND]", "this list, or one command"), (".quit", "leave; so does Ctrl-D")]


def test_a_list_has_two_columns_where_there_is_room() -> None:
    assert list(two_columns(ROWS, 80)) == [
        ".help [COMMAND]  this list, or one command",
        ".quit            leave; so does Ctrl-D",
    ]
    assert list(two_columns(ROWS, None)) == list(two_columns(ROWS, 1000))


@pytest.mark.parametrize("width", [26, 30, 41, 50])
def test_a_list_never_is_wider_than_the_terminal(width: int) -> None:
    lines = list(two_columns(ROWS, width))
    assert max(map(len, lines)) <= max(width, 28)
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(f"{a} {b}" for a, b in ROWS).split())


def test_the_words_of_an_error_stay_whole_and_its_caret_in_place() -> None:
    source = "  COUNT DOCS WHERE " + " AND ".join(f'"word {i}"' for i in range(8)) + " ADN x"
    place = source.index("ADN")
    message = f"expected AND, OR or the end of the statement, found ADN\n{source}\n{' ' * place}^^^"
    for width in (20, 40, 60):
        *words, shown, caret = error_lines(message, width).split("\n")
        assert max(map(len, (*words, shown, caret))) <= width
        assert shown[caret.index("^") : caret.index("^") + 3] == "ADN"
        assert " ".join(" ".join(words).split()) == message.split("\n")[0]


def test_an_error_that_fits_is_left_alone() -> None:
    message = "no corpus 'x'\n  USE x\n      ^"
    assert error_lines(message, 80) == error_lines(message, None) == message


def test_the_facts_of_a_plan_stand_below_what_they_are_about() -> None:
    line = '│  ├─ contains "import socket"      count 90, ~88 docs; actual 85 docs, 0.027 ms, 1 probe'
    assert list(plan_lines(line, 200)) == list(plan_lines(line, None)) == [line]
    lines = list(plan_lines(line, 40))
    assert lines[0] == '│  ├─ contains "import socket"'
    assert all(len(part) <= 40 and part.startswith("│  │    ") for part in lines[1:])
    assert " ".join(part.removeprefix("│  │").strip() for part in lines[1:]) == line[35:].strip()
