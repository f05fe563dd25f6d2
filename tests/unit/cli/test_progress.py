"""The bar of a load: drawn for a person, absent for everybody else."""

from __future__ import annotations

import io
import sys

import pytest

from ngramdb.api import LoadProgress
from ngramdb.cli.progress import LoadWatch, facts

REPORT = LoadProgress(documents=1200, tokens=3_400_000, text_bytes=20_000_000, segments=1, elapsed=2.0)


class Stream(io.StringIO):
    """Standard error that says whether it is a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


def drawn(monkeypatch: pytest.MonkeyPatch, is_terminal: bool, wanted: bool = True, reports: int = 2) -> str:
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with LoadWatch("loading wiki", n_documents=2400, wanted=wanted) as watch:
        for _ in range(reports):
            watch(REPORT)
    return stream.getvalue()


def test_facts_are_documents_tokens_and_speed() -> None:
    assert facts(REPORT) == "1,200 documents, 3.4M tokens, 10 MB/s"


def test_a_bar_is_drawn_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "loading wiki" in drawn(monkeypatch, True)


def test_nothing_is_drawn_without_a_terminal_or_when_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, False) == ""
    assert drawn(monkeypatch, True, wanted=False) == ""


def test_nothing_is_drawn_before_the_first_report(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, True, reports=0) == ""
