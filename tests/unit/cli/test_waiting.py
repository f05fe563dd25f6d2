"""The line that says that a statement is still running."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from ngramdb.cli.shell import progress_wait
from ngramdb.cli.shell.progress_wait import Waiting, running


class Terminal(io.StringIO):
    """Standard error, which says whether it is a terminal."""

    def __init__(self, is_terminal: bool = True) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


class Work:
    fraction = 0.5


def drawn(monkeypatch: pytest.MonkeyPatch, seconds: float, terminal: Terminal, wanted: bool = True) -> str:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_wait, "PATIENCE_S", 0.05)
    monkeypatch.setattr(progress_wait, "REDRAWN_S", 0.02)
    with Waiting(wanted) as line:
        line(Work())
        time.sleep(seconds)
    return terminal.getvalue()


def test_what_takes_long_is_said_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    written = drawn(monkeypatch, 0.3, Terminal())
    assert "running" in written and "50 %" in written
    assert re.fullmatch(r"\r +\r", written[written.rindex("(Ctrl-C stops it)") + len("(Ctrl-C stops it)") :])


def test_what_is_quick_is_not_talked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, 0.0, Terminal()) == ""


def test_nothing_is_drawn_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, 0.2, Terminal(is_terminal=False)) == ""
    assert drawn(monkeypatch, 0.2, Terminal(), wanted=False) == ""


def test_an_answer_ends_the_line_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_wait, "PATIENCE_S", 0.05)
    with Waiting() as line:
        line.stop()
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_the_line_says_what_is_known() -> None:
    assert running(1.2, None) == "running, 1 s (Ctrl-C stops it)"
    assert running(10.0, 0.25) == "running, 10 s, 25 %, 30 s left (Ctrl-C stops it)"
    assert running(10.0, 1.0) == "running, 10 s (Ctrl-C stops it)"
