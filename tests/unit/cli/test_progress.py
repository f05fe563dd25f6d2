"""The bar of a load: drawn for a person, absent for everybody else."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.polls import until

from ngramdb.api import LoadProgress
from ngramdb.cli.terminal import progress
from ngramdb.cli.terminal.progress import LoadWatch, MeasureWatch, Waiting, facts, running, share_done

REPORT = LoadProgress(documents=1200, tokens=3_400_000, text_bytes=20_000_000, segments=1, elapsed=2.0)


class Stream(io.StringIO):
    """Standard error with a given `isatty`."""

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


def test_facts_begin_with_what_is_done_and_left() -> None:
    assert facts(REPORT, 0.25) == "25 %, 6 s left, 1,200 documents, 3.4M tokens, 10 MB/s"
    assert facts(REPORT, 1.0).startswith("100 %, building the index, 1,200 documents")
    assert facts(replace(REPORT, elapsed=0.1), 0.25).startswith("25 %, 1,200 documents")
    assert facts(REPORT, 0.001).startswith("0 %, 1,200 documents")


def test_facts_that_find_no_room_are_left_out_the_last_first() -> None:
    assert facts(REPORT, 0.25, room=40) == "25 %, 6 s left, 1,200 documents"
    assert facts(REPORT, 0.25, room=3) == "25 %"


def test_the_share_is_that_of_the_bytes_or_of_the_limit_whatever_is_nearer_to_its_end() -> None:
    read = replace(REPORT, read_bytes=30, total_bytes=100)
    assert share_done(read) == 0.3
    assert share_done(read, n_documents=2400) == 0.5
    assert share_done(read, n_documents=1_000_000) == 0.3
    # a file that grew while it was read
    assert share_done(replace(read, read_bytes=101)) == 1.0


def test_there_is_no_share_where_no_size_is_known() -> None:
    assert share_done(REPORT) is None
    assert share_done(replace(REPORT, read_bytes=30)) is None
    assert share_done(replace(REPORT, read_bytes=0, total_bytes=0)) is None


def test_the_bar_shows_the_share_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "50 %" in drawn(monkeypatch, True)


def test_a_bar_is_drawn_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "loading wiki" in drawn(monkeypatch, True)


def test_nothing_is_drawn_without_a_terminal_or_when_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, False) == ""
    assert drawn(monkeypatch, True, wanted=False) == ""


def test_nothing_is_drawn_before_the_first_report(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, True, reports=0) == ""


# ---- measurements by documents ----------------------------------------------------------------------------


class Clock:
    """Seconds that pass on demand."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def measured(
    monkeypatch: pytest.MonkeyPatch, share: Callable[[int], float | None], seconds: float = 0.5
) -> list[str]:
    """Return the lines of a bar at reports of 100 to 400 documents, this many seconds apart."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Stream(True))
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    said: list[str] = []
    begun: list[int] = []
    monkeypatch.setattr(MeasureWatch, "room", 60)
    monkeypatch.setattr(MeasureWatch, "draw", lambda self, share, words: said.append(words))
    with MeasureWatch(share, lambda: begun.append(len(said))) as watch:
        for n in range(100, 500, 100):
            watch(n, 1000 * n)
            clock.now += seconds
    assert begun == [0, 1, 2, 3]
    return said


def test_a_measurement_tells_its_share_the_time_left_and_what_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert measured(monkeypatch, lambda n: n / 400) == [
        "25 %, 100 documents, 100k tokens",
        "50 %, 200 documents, 200k tokens",  # half a second is too short for an estimate
        "75 %, 1 s left, 300 documents, 300k tokens",
        "100 %, 400 documents, 400k tokens",
    ]
    # Since the first report: 10 % in two seconds, and 80 % are left.
    assert measured(monkeypatch, lambda n: n / 1000, 2.0)[1].startswith("20 %, 16 s left, 200 documents")


def test_a_measurement_of_unknown_size_tells_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(monkeypatch, lambda n: None)[-1] == "400 documents, 400k tokens"


def test_a_measurement_draws_a_bar_at_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal, wanted in ((True, True), (True, False), (False, True)):
        stream = Stream(is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        with MeasureWatch(lambda n: 0.5, lambda: None, wanted) as watch:
            watch(3, 20)
        drawn = stream.getvalue()
        assert ("measuring" in drawn and "50 %, 3 documents, 20 tokens" in drawn) == (is_terminal and wanted)
        assert drawn or not (is_terminal and wanted)


def test_a_load_that_is_read_says_how_much_is_merged() -> None:
    merging = replace(REPORT, read_bytes=100, total_bytes=100, merged=0.4)
    assert share_done(merging) == 0.4
    assert facts(merging, 0.4).startswith("merging segments, 40 %, 1,200 documents")


# ---- The line shown while a statement is running.


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
