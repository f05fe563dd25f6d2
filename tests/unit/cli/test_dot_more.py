"""Dot commands for the output of one answer, for repetition, and for features of the prompt."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TextIO

import pytest

from ngramdb.cli.shell import dot
from ngramdb.cli.shell.script import run_text
from ngramdb.cli.shell.session import FEWEST_ROWS, Shell
from ngramdb.errors import ExecutionError, InvalidArgument, NgramdbError


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


@pytest.fixture
def shell() -> Iterator[Shell]:
    shell = Shell(None)
    shell.connection.create_corpus("wiki").append(["the cat sat", "the dog"])
    yield shell
    shell.close()


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
    with pytest.raises(InvalidArgument, match=r"write \.once"):
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
