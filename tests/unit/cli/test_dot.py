"""Dot commands, on a shell over a database in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.shell import dot
from ngramdb.cli.shell.examples import heads
from ngramdb.cli.shell.script import DEEPEST_READ, run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal.modes import MODES
from ngramdb.errors import InvalidArgument, StorageError
from ngramdb.language import syntax


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell(None)
    shell.connection.create_corpus("wiki").append(["the cat sat", "the dog"])
    yield shell
    shell.close()


def test_help_lists_every_command(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, ".help")
    written = capsys.readouterr().out
    assert all(f".{name} " in written for name in dot.COMMANDS)


def test_every_statement_that_help_shows_is_in_the_language(shell: Shell) -> None:
    from ngramdb.language.parser import parse

    assert len(dot.examples()) > 8
    for text, _ in dot.examples():
        assert parse(text)


def test_every_statement_of_the_language_has_its_syntax() -> None:
    first = set(syntax.acceptable(syntax.after("script", ())))
    assert {*heads(), "SEMICOLON", syntax.END} == first


def test_help_fits_a_small_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    wide = replace(shell.screen(), width=80)
    monkeypatch.setattr(shell, "screen", lambda: wide)
    monkeypatch.setattr(shell, "write", shown.append)
    run_text(shell, ".help")
    lines = "".join(shown).splitlines()
    assert len(lines) <= 23 and max(map(len, lines)) <= 80


def test_help_of_one_command(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, ".help .mode")
    assert capsys.readouterr().out.startswith(".mode [MODE]\n")


def test_help_of_a_statement_shows_examples_of_it(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, ".help dist")
    assert capsys.readouterr().out.startswith("DIST [GIVEN] ngram [USING model] [WHERE condition] [TOP k]")
    run_text(shell, ".help kwic")
    written = capsys.readouterr().out
    assert (
        written.startswith("KWIC condition [WHERE condition] [WINDOW n | SENTENCE]")
        and 'KWIC "machine' in written
    )
    run_text(shell, ".help collocates")
    assert "[WINDOW … WITHIN SENTENCE | SENTENCE]" in capsys.readouterr().out
    run_text(shell, ".help nucleus")
    assert capsys.readouterr().out.startswith("GENERATE [GIVEN] ")
    run_text(shell, ".help condition")
    assert "tested IS [NOT] NULL" in capsys.readouterr().out
    run_text(shell, ".help statements")
    assert len(capsys.readouterr().out.splitlines()) == len(dot.examples())
    with pytest.raises(InvalidArgument, match="no help on nonsense"):
        run_text(shell, ".help nonsense")


@pytest.mark.parametrize("mode", MODES)
def test_mode_changes_how_results_look(shell: Shell, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    run_text(shell, f'.mode {mode}\nCOUNT "the";')
    written = capsys.readouterr().out
    assert "2" in written
    run_text(shell, ".mode")
    assert f"{mode} (current)" in capsys.readouterr().out


def test_mode_auto_goes_back_to_the_default(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, '.mode json\n.mode auto\nCOUNT "the";')
    assert capsys.readouterr().out == "count\n2\n"


def test_timer_notes_the_time_of_each_statement(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, '.timer on\nCOUNT "the";\n.timer off\nCOUNT "the";\n.timer')
    captured = capsys.readouterr()
    assert captured.err.count("time: ") == 1
    assert captured.out == "count\n2\ncount\n2\ntimer is off\n"


def test_tables_lists_the_corpora(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, ".tables")
    assert capsys.readouterr().out.splitlines()[1].startswith("wiki\t")


def test_output_goes_to_a_file_and_back(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "with blank.tsv"
    run_text(shell, f'.output \'{path}\'\nCOUNT "the";\n.output stdout\nCOUNT "cat";')
    assert path.read_text() == "count\n2\n"
    assert capsys.readouterr().out == "count\n1\n"


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("a.csv", "corpus,"), ("a.jsonl", '{"corpus": "wiki", '), ("a.txt", "corpus\t"), ("a", "corpus\t")],
)
@pytest.mark.parametrize("command", ["output", "once"])
def test_a_file_has_the_form_that_its_name_ends_in(
    shell: Shell, tmp_path: Path, command: str, name: str, beginning: str
) -> None:
    asked = "SHOW CORPORA;"
    run_text(shell, f".mode csv\n.once {tmp_path / 'mode.jsonl'}\n{asked}\n.mode auto")
    assert (tmp_path / "mode.jsonl").read_text().startswith("corpus,")  # a mode that was chosen
    run_text(shell, f".{command} {tmp_path / name}\n{asked}")
    shell.send_to(None)
    assert (tmp_path / name).read_text().startswith(beginning)


@pytest.mark.parametrize("command", ["output", "once"])
def test_output_that_cannot_be_opened_leaves_things_as_they_are(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    """Before the statement whose answer would be lost; it may contain a report of removals."""
    with ngramdb.connect(tmp_path / "z.ngdb"):
        marker = (tmp_path / "z.ngdb" / "NGRAMDB").read_bytes()
    for name, why in (
        ("missing/out.tsv", "folder .* does not exist"),
        (".", "this is a folder"),
        ("z.ngdb/NGRAMDB", "within the database"),
        ("z.ngdb/segments/x", "within the database"),
    ):
        with pytest.raises(InvalidArgument, match=why):
            run_text(shell, f".{command} {tmp_path}/{name}")
    assert (tmp_path / "z.ngdb" / "NGRAMDB").read_bytes() == marker
    run_text(shell, 'COUNT "cat";')
    assert capsys.readouterr().out == "count\n1\n"


def test_read_runs_a_file(shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "s.ngql").write_text('.mode jsonl\nCOUNT "the";\n-- end\n')
    run_text(shell, f".read {tmp_path}/s.ngql")
    assert capsys.readouterr().out == '{"count": 2}\n'


def test_a_script_that_reads_itself_is_an_error(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "loop.ngql"
    path.write_text(f".read {path}\n")
    with pytest.raises(ngramdb.NgramdbError, match=f"more than {DEEPEST_READ} scripts within scripts"):
        run_text(shell, f".read {path}")


def test_open_goes_on_with_another_database(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with ngramdb.connect(tmp_path / "other.ngdb") as other:
        other.create_corpus("news").append(["a b"])
    run_text(shell, f'.open {tmp_path}/other.ngdb\nCOUNT "a";')
    assert capsys.readouterr().out == "count\n1\n"
    assert shell.path == f"{tmp_path}/other.ngdb"
    run_text(shell, ".open")
    assert shell.connection.corpora() == []


def test_open_of_something_else_keeps_the_database(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(StorageError):
        run_text(shell, f".open {tmp_path}/file")
    assert shell.connection.corpora() == ["wiki"]


def test_quit_ends_the_script(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, 'COUNT "the";\n.quit\nCOUNT "cat";')
    assert shell.finished and capsys.readouterr().out == "count\n2\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".tabels", "unknown command .tabels; did you mean .tables?"),
        (".o x", "unknown command .o; did you mean .output or .once or .open?"),
        (".xyzzy", "unknown command .xyzzy; .help lists them all"),
        (".", "unknown command .; .help lists them all"),
        (
            ".mode xml",
            "unknown mode 'xml'; there are table, json, jsonl, csv, tsv, markdown, html, line and auto",
        ),
        (
            ".help nonsense",
            "no help on nonsense; .help lists commands, .help statements all statements",
        ),
        (
            ".help coun",
            "no help on coun; did you mean .help count? .help lists commands, .help statements all "
            "statements",
        ),
        (".mode a b", "usage: .mode [MODE]"),
        (".timer maybe", "usage: .timer on|off"),
        (".read", "usage: .read FILE"),
        (".read 'open quote", ".read: no closing quotation"),
    ],
)
def test_wrong_commands_say_what_would_be_right(shell: Shell, line: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        dot.run(shell, line)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("line", "name"), [("h", "help"), ("op", "open"), ("ou", "output"), ("QUIT", "quit")]
)
def test_a_unique_beginning_is_enough(line: str, name: str) -> None:
    assert dot.find(line).name == name


def test_messages_of_statements_are_shown_at_a_terminal_only(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_text(shell, "USE wiki;")
    assert capsys.readouterr() == ("", "")
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    run_text(shell, "USE wiki;")
    assert capsys.readouterr().err == "using corpus wiki\n"
