"""Dot commands, on a shell over a database in memory."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

import ngramdb
from ngramdb.cli.shell import dot
from ngramdb.cli.shell.examples import heads
from ngramdb.cli.shell.script import DEEPEST_READ, run_text
from ngramdb.cli.shell.session import FEWEST_ROWS, Shell
from ngramdb.cli.terminal.screen import MODES
from ngramdb.errors import ExecutionError, InvalidArgument, NgramdbError, StorageError
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
    with pytest.raises(ngramdb.NgramdbError, match=f"more than {DEEPEST_READ} nested scripts"):
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
            "unknown mode 'xml'; there are table, json, jsonl, csv, tsv, markdown, html, line, plot and auto",
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


# ---- Dot commands for the output of one answer, for repetition, and for features of the prompt.


class Prompt:
    """A recorder with the methods of a shell at a prompt."""

    keys = "emacs"
    pager = True

    def __init__(self) -> None:
        self.edited: list[str | None] = []
        self.pagers: list[bool] = []

    def paged(self, stream: TextIO) -> AbstractContextManager[TextIO]:
        self.pagers.append(self.pager)
        return nullcontext(stream)

    def edit(self, path: str | None) -> None:
        self.edited.append(path)


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def test_once_sends_only_the_next_answer_to_a_file(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "a b.tsv"
    run_text(shell, f'.once \'{path}\'\nCOUNT "the";\nCOUNT "cat";')
    assert path.read_text() == "count\n2\n"
    assert capsys.readouterr().out == "count\n1\n"


def test_once_sends_an_answer_into_a_command(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "sorted"
    run_text(shell, f".once | sort -r > '{path}'\nDIST GIVEN \"the\";")
    assert path.read_text().startswith("token\t")
    run_text(shell, '.once | head -n 1 > /dev/null\nDIST GIVEN "the";')
    with pytest.raises(ExecutionError, match="ended with status 3"):
        run_text(shell, '.once | cat > /dev/null; exit 3\nCOUNT "the";')


def test_once_needs_a_command_behind_its_bar(shell: Shell) -> None:
    with pytest.raises(InvalidArgument, match=r"after \| is missing"):
        run_text(shell, '.once |\nCOUNT "the";')
    with pytest.raises(InvalidArgument, match=r"use \.once"):
        run_text(shell, ".output '|sort'")


@pytest.mark.parametrize("command", ["once", "output"])
@pytest.mark.parametrize("wrong", ['COUNT "cat" FROM nix;', 'COUT "cat";'])
def test_a_file_stays_as_it_is_until_there_is_a_result(
    shell: Shell, tmp_path: Path, command: str, wrong: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("precious")
    with pytest.raises(NgramdbError):
        run_text(shell, f".{command} {path}\n{wrong}")
    run_text(shell, f".{command} {path}")
    with pytest.raises(NgramdbError):
        run_text(shell, wrong)
    assert path.read_text() == "precious"
    run_text(shell, 'COUNT "the";')
    shell.send_to(None)
    assert path.read_text() == '{"count": 2}\n'


@pytest.mark.parametrize("command", ["once", "output"])
def test_a_statement_can_read_the_file_that_its_result_replaces(
    shell: Shell, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "precious"}\n')
    run_text(shell, f".{command} {path}\nCOPY wiki FROM '{path}';")
    shell.send_to(None)
    assert '"documents": 1' in path.read_text()


def test_statements_without_a_result_do_not_use_up_once(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_text(shell, f".once {tmp_path}/x.csv\nUSE wiki;\nSET threads = 1;\nCREATE CORPUS other;")
    assert not (tmp_path / "x.csv").exists()
    run_text(shell, 'COUNT "the" FROM wiki;')
    assert (tmp_path / "x.csv").read_text() == "count\n2\n"
    assert "count" not in capsys.readouterr().out


def test_a_result_without_rows_empties_the_file(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("before")
    run_text(shell, f'.once {path}\nDOCS WHERE "nowhere";')
    assert path.read_text() == ""


def test_an_answer_that_fails_uses_up_once(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    run_text(shell, f".once {tmp_path}/folder/x")
    (tmp_path / "folder").rmdir()
    with pytest.raises(OSError, match="No such file"):
        run_text(shell, 'COUNT "the";')
    assert shell.once is None


def test_watch_asks_as_often_as_it_is_told(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    run_text(shell, '.watch 0.01 3 COUNT "the";')
    assert capsys.readouterr().out == "count\n2\n" * 3


def test_watch_ends_with_an_interrupt_quietly_at_a_prompt_only(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shell, "statement", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_text(shell, '.watch COUNT "the"')
    shell.prompt = Prompt()
    run_text(shell, '.watch 1 COUNT "the"')


def test_watch_does_without_the_pager(shell: Shell) -> None:
    shell.prompt = prompt = Prompt()
    run_text(shell, '.watch 0.01 2 COUNT "the"\nCOUNT "cat";')
    assert prompt.pagers == [False, False, True] and prompt.pager


def test_rows_limits_tables(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    run_text(shell, '.rows 1\n.rows\nDIST GIVEN "the";')
    assert "tables show at most 1 rows" in terminal.getvalue()
    assert "2 rows (1 shown)" in terminal.getvalue()
    run_text(shell, ".rows auto")
    assert shell.n_rows is None and shell.shown_rows() == 40


def test_a_prompt_shows_no_more_rows_than_its_screen_has(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.prompt = Prompt()
    for n_lines, n_rows in ((100, 40), (30, 22), (5, FEWEST_ROWS)):
        monkeypatch.setenv("LINES", str(n_lines))
        assert shell.shown_rows() == n_rows


def test_it_is_said_once_how_to_see_all_rows(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    monkeypatch.setattr(sys, "stdout", Terminal())
    shell.note = noted.append
    shell.prompt = Prompt()
    run_text(shell, '.rows 1\nDIST GIVEN "the";\nDIST GIVEN "the";')
    assert noted == ["(.rows 2 shows them all, in a pager)"]


def test_keys_pager_and_edit_are_the_prompts(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (".keys vi", ".pager off", ".edit"):
        with pytest.raises(InvalidArgument, match="works at a prompt only"):
            dot.run(shell, line)
    shell.prompt = prompt = Prompt()
    run_text(shell, ".keys vi\n.keys\n.pager off\n.pager\n.edit\n.edit f.ngql")
    assert (prompt.keys, prompt.pager, prompt.edited) == ("vi", False, [None, "f.ngql"])
    assert capsys.readouterr().out == "keys are those of vi\npager is off\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".rows 0", "usage: .rows N|auto; '0' is not a whole number of at least 1"),
        (".watch", "usage: .watch [SECONDS [TIMES]] STATEMENT"),
        (".watch 3", "usage: .watch [SECONDS [TIMES]] STATEMENT"),
        ('.watch 1 0 COUNT "the"', "TIMES must be at least 1: the number of runs of .watch"),
        (".once", "usage: .once FILE or |CMD"),
        (".keys nano", "usage: .keys vi|emacs"),
        (".pager maybe", "usage: .pager on|off"),
    ],
)
def test_wrong_arguments_say_what_would_be_right(shell: Shell, line: str, message: str) -> None:
    shell.prompt = Prompt()
    with pytest.raises(InvalidArgument) as caught:
        dot.run(shell, line)
    assert str(caught.value) == message


def test_reasons_of_what_a_load_skipped_are_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "d.jsonl").write_text('{"text": "fine"}\n{"text": 3}\n')
    noted: list[str] = []
    monkeypatch.setattr(sys, "stdout", Terminal())
    shell.note = noted.append
    run_text(shell, f"COPY wiki FROM '{tmp_path}/d.jsonl' ON ERROR SKIP;")
    assert len(noted) == 1 and noted[0].startswith("  skipped: ") and "line 2" in noted[0]


def test_show_corpora_says_which_one_is_asked(shell: Shell) -> None:
    def current() -> list[str]:
        rows = shell.connection.execute("SHOW CORPORA").to_dicts()
        return [row["corpus"] for row in rows if row["current"]]

    assert current() == ["wiki"]
    shell.connection.create_corpus("news")
    assert current() == []
    run_text(shell, "USE news;")
    assert current() == ["news"]
