"""The prompt, driven through prompt_toolkit's pipe input: keys in, what the session does with them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from ngramdb.cli.shell.editing import is_finished
from ngramdb.cli.shell.prompt import QuietHistory, Repl, history_path, holdings, prompt_text
from ngramdb.cli.shell.script import run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal.screen import detect

ENTER = "\r"
UP = "\x1b[A"
CTRL_C = "\x03"
CTRL_D = "\x04"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell on a database in memory with a corpus `wiki`; history goes to the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    shell = Shell(None)
    shell.connection.create_corpus("wiki").append(["the cat sat", "the dog"])
    yield shell
    shell.close()


def session(shell: Shell, keys: str, after_interrupt: str = "") -> None:
    """Run a session that is typed in advance, except for input after an interrupt was shown."""
    with create_pipe_input() as terminal:
        terminal.send_text(keys)
        repl = Repl(shell, input=terminal, output=DummyOutput())
        show = repl._show

        def shown(text: str) -> None:
            show(text)
            if text.startswith("interrupted"):
                terminal.send_text(after_interrupt)

        repl._show = shown  # type: ignore[method-assign]
        assert repl.run() == 0


def test_a_banner_names_version_and_database(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, CTRL_D)
    banner = capsys.readouterr().out.splitlines()
    assert len(banner) == 3 and banner[0].startswith("ngramdb ") and "in memory" in banner[0]
    assert banner[1] == "1 corpus: wiki, 2 documents, 5 tokens"


def test_a_banner_is_wrapped_between_words(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ngramdb.cli.shell.prompt.detect", lambda stream: replace(detect(stream), width=30))
    session(shell, CTRL_D)
    banner = capsys.readouterr().out.splitlines()
    assert len(banner) > 3 and max(map(len, banner)) <= 30
    hint = "Statements end with ; (Tab completes, .help for examples, Ctrl-D to leave)"
    assert " ".join(banner).endswith(hint)


def test_a_banner_takes_no_statement(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.connection.create_corpus("news")
    monkeypatch.setattr(shell.connection, "execute", None)
    assert holdings(shell.connection) == "2 corpora: news, wiki"
    assert prompt_text(shell) == "ngramdb> "


def test_a_statement_is_answered(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, 'COUNT "the";' + ENTER + CTRL_D)
    assert capsys.readouterr().out.endswith("count\n2\n")


def test_enter_goes_to_the_next_line_until_the_semicolon(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    session(shell, "COUNT" + ENTER + '"the' + ENTER + 'dog"' + ENTER + ";" + ENTER + CTRL_D)
    assert capsys.readouterr().out.endswith("count\n1\n")


def test_ctrl_c_drops_the_line(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, "nonsense" + CTRL_C + 'COUNT "cat";' + ENTER + CTRL_D)
    written = capsys.readouterr().out
    assert "error" not in written and written.endswith("count\n1\n")


@pytest.mark.parametrize("word", [".quit", "quit", "exit;", ".q", ".exit"])
def test_words_that_leave(shell: Shell, word: str) -> None:
    session(shell, word + ENTER)  # without an end of input: only the word can end the session
    assert shell.finished


def test_an_error_keeps_the_session(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, "USE nothing;" + ENTER + ".nothing" + ENTER + 'COUNT "cat";' + ENTER + CTRL_D)
    written = capsys.readouterr().out
    assert "error: no corpus 'nothing'" in written and "^^^^^^^" in written
    assert "error: unknown command .nothing" in written
    assert written.endswith("count\n1\n")


def test_an_interrupt_whose_exception_is_lost_still_stops_the_statement(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cleanup:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)  # Python would report that it ignores this, and continue

    shell.connection.corpus("wiki").append(["one of many"] * 200)
    execute = shell.connection.execute

    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = execute(*arguments, **options)
        if arguments[0].startswith("DOCS"):
            Cleanup()
        return result

    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    monkeypatch.setattr(shell.connection, "execute", interrupted)
    before = signal.getsignal(signal.SIGINT)
    session(shell, 'DOCS WHERE "many";' + ENTER, 'COUNT "dog";' + ENTER + CTRL_D)
    written = capsys.readouterr().out
    assert "interrupted" in written and written.count("one of many") < 200
    assert written.endswith("count\n1\n")
    assert signal.getsignal(signal.SIGINT) is before and not said


def test_an_interrupted_statement_keeps_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = shell.statement

    def interrupted_once(text: str) -> None:
        monkeypatch.setattr(shell, "statement", answer)
        raise KeyboardInterrupt

    monkeypatch.setattr(shell, "statement", interrupted_once)
    # Text that was pasted after the statement, without brackets, is dropped with it.
    session(shell, 'COUNT "the";' + ENTER + "DROP CORPUS wiki;" + ENTER, 'COUNT "cat";' + ENTER + CTRL_D)
    assert capsys.readouterr().out.endswith("interrupted\ncount\n1\n")


def test_a_bug_is_told_as_such_and_keeps_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(shell, "statement", broken)
    session(shell, 'COUNT "the";' + ENTER + CTRL_D)
    written = capsys.readouterr().out
    assert "internal error: ZeroDivisionError: division by zero" in written
    assert "Traceback" not in written


def test_times_go_where_the_answers_go(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, ".timer on" + ENTER + 'COUNT "the";' + ENTER + CTRL_D)
    written = capsys.readouterr()
    assert "\ntime: " in written.out and written.err == ""


def test_a_statement_comes_back_with_the_arrow_key_in_the_next_session(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    session(shell, 'COUNT "the";' + ENTER + CTRL_D)
    assert 'COUNT "the";' in history_path().read_text()
    session(shell, UP + ENTER + CTRL_D)
    assert capsys.readouterr().out.count("count\n2\n") == 2


def test_the_prompt_names_the_corpus_that_is_asked(shell: Shell) -> None:
    assert prompt_text(shell) == "wiki> "
    shell.connection.create_corpus("news")
    assert prompt_text(shell) == "ngramdb> "
    run_text(shell, "USE news;")
    assert prompt_text(shell) == "news> "


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", True),
        ("  \n", True),
        (".mode", True),
        ("help", True),
        ("COUNT", False),
        ('COUNT "a"', False),
        ('COUNT "a;', False),
        ('COUNT "a";', True),
        ('COUNT "a"; -- done', True),
        ('COUNT "a"; COUNT', False),
        ("/* open", False),
        ("helper", False),
    ],
)
def test_enter_hands_over_what_is_finished(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


# ---- history ----------------------------------------------------------------------------------------------


def test_history_is_private_and_survives(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ngramdb" / "history"
    QuietHistory(path).store_string("COUNT\n'x';")
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(QuietHistory(path).load_history_strings()) == ["COUNT\n'x';"]


def test_history_that_cannot_be_kept_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    history = QuietHistory(tmp_path / "state" / "ngramdb" / "history")
    history.store_string("COUNT 'x';")
    assert list(history.load_history_strings()) == []


def test_history_goes_home_without_a_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert history_path() == tmp_path / ".local" / "state" / "ngramdb" / "history"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    assert history_path() == tmp_path / "s" / "ngramdb" / "history"


# ---- what comes before the first key, and what an editor gives back ----------------------------------------


def configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "ngramdb").mkdir(parents=True)
    (tmp_path / "config" / "ngramdb" / "config.ngql").write_text(text)


def test_the_configuration_file_is_run_first(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(monkeypatch, tmp_path, '-- mine\n.mode jsonl\n.keys vi\nCOUNT "the";\n')
    session(shell, CTRL_D)
    assert capsys.readouterr().out.endswith('{"count": 2}\n')
    assert shell.prompt is not None and shell.prompt.keys == "vi"


def test_a_configuration_file_can_be_left_out(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(monkeypatch, tmp_path, ".mode jsonl\n")
    with create_pipe_input() as terminal:
        terminal.send_text(CTRL_D)
        Repl(shell, configured=False, input=terminal, output=DummyOutput()).run()
    assert shell.mode is None


def test_an_error_in_the_configuration_file_keeps_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(monkeypatch, tmp_path, ".timer on\n.moed csv\n")
    session(shell, 'COUNT "cat";' + ENTER + CTRL_D)
    written = capsys.readouterr().out
    assert "config.ngql, line 2: unknown command .moed; did you mean .mode?" in written
    assert shell.timer and "count\n1\n" in written


def test_configuration_goes_home_without_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ngramdb.cli.shell.prompt import config_path

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert config_path() == tmp_path / ".config" / "ngramdb" / "config.ngql"


def test_what_an_editor_makes_of_the_last_statement_is_typed_next(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/cat/dog/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    session(shell, 'COUNT "cat";' + ENTER + ".edit" + ENTER + ENTER + CTRL_D)
    assert capsys.readouterr().out.count("count\n1\n") == 2
    assert 'COUNT "dog";' in history_path().read_text()


def test_an_editor_that_fails_is_said(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    for command, message in (("false", "ended with status 1"), ("/nowhere/ed", "No such file")):
        monkeypatch.setenv("EDITOR", command)
        session(shell, ".edit" + ENTER + CTRL_D)
        assert message in capsys.readouterr().out


def test_an_empty_line_ends_a_statement_without_its_semicolon(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    session(shell, 'COUNT "the"' + ENTER + ENTER + CTRL_D)
    assert capsys.readouterr().out.endswith("count\n2\n")


@pytest.mark.parametrize(
    ("text", "finished"),
    [('COUNT "a"\n', True), ('COUNT "a"\n  ', True), ('COUNT "a\n', False), ("/* a\n\n", False)],
)
def test_an_empty_line_ends_no_open_literal(text: str, finished: bool) -> None:
    assert is_finished(text) is finished


def test_a_statement_stopped_by_its_timeout_keeps_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ngramdb.errors import TimeoutExceeded

    def late(text: str) -> None:
        raise TimeoutExceeded(elapsed=2.0, fraction=0.25)

    monkeypatch.setattr(shell, "statement", late)
    session(shell, 'COUNT "the";' + ENTER + CTRL_D)
    assert "stopped by its timeout after 2 s, 25% done" in capsys.readouterr().out


@pytest.mark.parametrize(
    "sequence",
    [
        *("\x1b[31m", "\x1b[0m", "\x1b[0;1;31m", "\x1b[<35;1m", "\x1b[<0;1;1M", "\x1b[M!!!", "\x1b[?25l"),
        *("\x1b]0;title\x07", "\x1b[12;4R", f"\x1b[{'9' * 30};1R", "\x1b[1;2;3;4~"),
    ],
)
def test_an_escape_sequence_in_pasted_text_does_not_end_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], sequence: str
) -> None:
    asked = [f'COUNT {sequence}"dog";', ".mode jsonl", 'COUNT "the";']
    session(shell, 'COUNT "cat";' + ENTER + "".join(line + ENTER for line in asked) + CTRL_D)
    assert '{"count": 2}\n' in capsys.readouterr().out


def test_the_colours_of_pasted_text_are_dropped(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session(shell, ".mode jsonl" + ENTER + 'COUNT \x1b[31m"dog"\x1b[0m;' + ENTER + CTRL_D)
    assert capsys.readouterr().out.endswith('{"count": 1}\n')


def test_a_key_that_fails_does_not_end_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show = Repl._show_error

    def shown(self: Repl, error: Exception) -> None:
        show(self, error)
        self._session.app.input.send_text('COUNT "the";' + ENTER + CTRL_D)  # type: ignore[attr-defined]

    def failing(text: str) -> bool:
        if "cat" in text:
            raise ValueError("broken")
        return is_finished(text)

    monkeypatch.setattr(Repl, "_show_error", shown)
    monkeypatch.setattr("ngramdb.cli.shell.editing.is_finished", failing)
    session(shell, ".mode jsonl" + ENTER + 'COUNT "cat";' + ENTER)
    written = capsys.readouterr().out
    assert "internal error: ValueError: broken" in written and written.endswith('{"count": 2}\n')


def test_a_terminal_that_always_fails_ends_the_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any, **options: Any) -> str:
        raise OSError("no terminal")

    monkeypatch.setattr("prompt_toolkit.PromptSession.prompt", failing)
    with pytest.raises(OSError, match="no terminal"):
        session(shell, "")
