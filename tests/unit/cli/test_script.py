"""Scripts: beginnings and ends of statements, and places in them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.main import main
from ngramdb.cli.shell.script import Script, lines_of, run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.errors import BindError, InvalidArgument, NgramdbError, PlanError


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


# ---- Errors that are detected before anything runs, on the command line, at the prompt and in Python.


DELETE = "DELETE DOCS WHERE id = ?"
NAMED = "DELETE DOCS WHERE id = :id"

# Arguments behind the database, standard input, the exit status, and what the message has.
NOTHING_RUNS = {
    "a later statement": (["-c", f'{DELETE.replace("?", "1")}; COUNT "a" FOO'], "", 1, "found FOO"),
    "a later -c": (["-c", "DROP CORPUS c", "-c", "COUT"], "", 1, "COUT"),
    "a later command": (["-c", "DROP CORPUS c;\n.foo"], "", 1, "unknown command .foo"),
    "a statement without -c": (["DROP CORPUS c; COUNT FOO"], "", 1, "found FOO"),
    "one value too many": ([DELETE, "--param", "1", "--param", "2"], "", 2, "2 --param values were given"),
    "a value for nothing": (["DROP CORPUS c", "--param", "1"], "", 2, "statements use 0"),
    "a name for nothing": ([NAMED, "--param", "id=1", "--param", "di=2"], "", 2, "no statement has :di"),
    "one value too few": (["-c", f"{DELETE}; {DELETE}", "--param", "1"], "", 1, "no value was given"),
    "no values": (["-c", f"DROP CORPUS c; {DELETE}"], "", 1, "no value was given"),
    "a name too few": (["-c", f"DROP CORPUS c; {NAMED}", "--param", "x=1"], "", 1, "for :id"),
    "standard input, too many": (["--param", "1", "--param", "2"], DELETE, 2, "statements use 1"),
    "standard input, too few": (["--param", "1"], f"{DELETE};\n{DELETE};", 1, "standard input, line 2"),
    "standard input, no statement": (["--param", "1"], f"{DELETE};\nCOUT;", 1, "standard input, line 2"),
    "a file, too many": (["-f", "s.ngql", "--param", "1", "--param", "2"], "", 2, "statements use 1"),
    "a file, too few": (["-f", "s.ngql", "-f", "s.ngql", "--param", "1"], "", 1, "s.ngql, line 1"),
    "a file and a statement": (["-f", "s.ngql", "-c", "COUT", "--param", "1"], "", 1, "COUT"),
}


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with ngramdb.connect("db") as connection:
        connection.create_corpus("c").append([{"text": "a", "id": 1}, {"text": "b", "id": 2}])
    Path("s.ngql").write_text(f"{DELETE};\n")
    return "db"


def version(database: str) -> int:
    with ngramdb.connect(database, read_only=True) as connection:
        return connection.version


@pytest.mark.parametrize("case", NOTHING_RUNS)
def test_nothing_runs(
    database: str, case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, given, status, message = NOTHING_RUNS[case]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    before = version(database)
    assert main([database, *arguments]) == status
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""
    assert version(database) == before


RUNS = {
    "a file is run while it is read": (["-f", "t.ngql"], "", 1, 1),
    "standard input is, too": ([], "DELETE DOCS WHERE id = 1;\nCOUT;", 1, 1),
    "text after .quit is ignored": (["-c", "DELETE DOCS WHERE id = 1;\n.quit\n.foo"], "", 0, 1),
    "values for a script that is read": (["-c", ".read s.ngql", "--param", "1"], "", 0, 1),
    "values in order, statements last": ([DELETE, "-f", "s.ngql", "--param", "1", "--param", "2"], "", 0, 2),
    "flags between database and statement": (["--param", "2", "--format", "json", DELETE], "", 0, 1),
    "several statements": (["DELETE DOCS WHERE id = 1", "DELETE DOCS WHERE id = 2"], "", 0, 2),
}


@pytest.mark.parametrize("case", RUNS)
def test_what_is_right_runs(database: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, given, status, n_commits = RUNS[case]
    Path("t.ngql").write_text("DELETE DOCS WHERE id = 1;\nCOUT;\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    before = version(database)
    assert main([database, *arguments]) == status
    assert version(database) == before + n_commits


@pytest.mark.parametrize("text", ["DROP CORPUS c; COUT", "DROP CORPUS c; COUNT ?", "DROP CORPUS c;\n.foo"])
def test_what_is_typed_at_a_prompt_runs_as_a_whole_or_not_at_all(database: str, text: str) -> None:
    before = version(database)
    shell = Shell(database)
    with pytest.raises(NgramdbError):
        run_text(shell, text)
    shell.close()
    assert version(database) == before


@pytest.mark.parametrize("sets", [[(1,), (2, 3)], [(1,), ()], [(1,), {"id": 2}], [(1,), None], [(1,), "2"]])
def test_executemany_looks_at_all_values_before_it_runs(database: str, sets: list[object]) -> None:
    with ngramdb.connect(database) as connection, connection.cursor() as cursor:
        before = connection.version
        with pytest.raises(PlanError, match="set 2 of 2: "):
            cursor.executemany(DELETE, iter(sets))
        assert connection.version == before
        cursor.executemany(DELETE, iter([(1,), [2]]))
        assert connection.version == before + 2


@pytest.mark.parametrize("values", [(1, 2), (), None, {"id": 1}])
def test_execute_looks_at_all_values_before_it_runs(database: str, values: object) -> None:
    with ngramdb.connect(database) as connection:
        before = connection.version
        with pytest.raises(PlanError):
            connection.execute(f"DROP CORPUS c; {DELETE}", values)
        assert connection.version == before
