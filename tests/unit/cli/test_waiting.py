"""The line shown while a statement is running."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest
from support.polls import until

from ngramdb.cli.terminal import progress
from ngramdb.cli.terminal.progress import Waiting, running


class Terminal(io.StringIO):
    """Standard error with a given `isatty`."""

    def __init__(self, is_terminal: bool = True) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


class Work:
    fraction = 0.5


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is drawn at once, and again and again."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    monkeypatch.setattr(progress, "REDRAWN_S", 0.001)


def test_what_takes_long_is_said_and_taken_back(monkeypatch: pytest.MonkeyPatch, hurried: None) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Waiting() as line:
        line(Work())
        until(lambda: "50 %" in terminal.getvalue())
    written = terminal.getvalue()
    assert "running" in written
    assert re.fullmatch(r"\r +\r", written[written.rindex("(Ctrl-C stops it)") + len("(Ctrl-C stops it)") :])


def test_what_is_quick_is_not_talked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(progress, "PATIENCE_S", 3600.0)
    with Waiting() as line:
        line(Work())
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("is_terminal", "wanted"), [(False, True), (True, False)])
def test_nothing_is_drawn_for_nobody(
    monkeypatch: pytest.MonkeyPatch, hurried: None, is_terminal: bool, wanted: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal(is_terminal))
    with Waiting(wanted) as line:
        line(Work())
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_an_answer_ends_the_line_for_good(monkeypatch: pytest.MonkeyPatch, hurried: None) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with Waiting() as line:
        line.stop()
        ended = terminal.getvalue()
        time.sleep(0.05)
    assert terminal.getvalue() == ended


def test_the_line_says_what_is_known() -> None:
    assert running(1.2, None) == "running, 1 s (Ctrl-C stops it)"
    assert running(10.0, 0.25) == "running, 10 s, 25 %, 30 s left (Ctrl-C stops it)"
    assert running(10.0, 1.0) == "running, 10 s (Ctrl-C stops it)"
