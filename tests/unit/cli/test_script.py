"""Scripts: beginnings and ends of statements, and places in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ngramdb.cli.shell.script import Script, lines_of
from ngramdb.errors import BindError, InvalidArgument


def units(text: str) -> list[tuple[str, bool]]:
    return [(unit.text, unit.is_command) for unit in Script(lines_of(text))]


def test_statements_end_at_semicolons_outside_of_literals() -> None:
    assert units('COUNT "a;b"; COUNT\n"c" -- ;\n;\nCOUNT "d"') == [
        ('COUNT "a;b";', False),
        ('COUNT\n"c" -- ;\n;', False),
        ('COUNT "d"', False),
    ]


def test_a_line_that_begins_with_a_dot_is_a_command_only_between_statements() -> None:
    assert units('.mode csv\nCOUNT\n.5;\n-- a comment\n  .tables\nCOUNT "x";\n') == [
        (".mode csv", True),
        ("COUNT\n.5;", False),
        (".tables", True),
        ('COUNT "x";', False),
    ]


def test_a_dot_inside_a_comment_is_no_command() -> None:
    assert units('/* begin\n.quit\n*/ COUNT "x";') == [('COUNT "x";', False)]


def test_comments_and_empty_statements_are_nothing() -> None:
    assert units("-- only a comment\n;;\n/* another */ ;\n\n") == []


def test_a_statement_is_handed_out_before_the_next_line_is_asked_for() -> None:
    asked: list[str] = []

    def lines() -> Iterator[str]:
        for line in ('COUNT "a";\n', 'COUNT "b";\n'):
            asked.append(line)
            yield line

    script = iter(Script(lines()))
    assert next(script).text == 'COUNT "a";'
    assert len(asked) == 1


def test_a_byte_order_mark_is_skipped() -> None:
    assert units("\ufeff.mode csv\n") == [(".mode csv", True)]


def test_line_of_a_statement_counts_from_one() -> None:
    script = Script(lines_of('-- first\nCOUNT "a"; COUNT "b";\n\n\n  COUNT\n"c";\n.tables\n'), "x")
    assert [script.line_of(unit) for unit in script] == [2, 2, 5, 7]


def test_an_error_speaks_of_the_script_after_relocation() -> None:
    script = Script(lines_of('COUNT "a";\n  USE wiki;\n'))
    _, unit = script
    error = BindError("no corpus wiki", text=unit.text, start=4, stop=8)
    script.relocate(error, unit)
    assert (error.line, error.column) == (2, 7)
    assert str(error) == "no corpus wiki (line 2, column 7)\n    USE wiki;\n        ^^^^"


def test_an_error_about_another_text_is_left_alone() -> None:
    script = Script(lines_of("\nUSE wiki;"))
    (unit,) = script
    error = BindError("no", text="something else", start=0, stop=4)
    script.relocate(error, unit)
    assert error.line == 1 and error.text == "something else"


def test_text_that_is_not_utf8_is_an_error_that_names_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "latin.ngql"
    path.write_bytes(b'COUNT "caf\xe9";\n')
    with (
        open(path, encoding="utf-8") as lines,
        pytest.raises(InvalidArgument, match=r"latin\.ngql is not UTF-8"),
    ):
        list(Script(lines, str(path)))


def test_lines_of_keeps_every_character() -> None:
    for text in ("", "a", "a\n", "\n\na\r\nb", "a\u2028b\x0bc\n"):
        assert "".join(lines_of(text)) == text
