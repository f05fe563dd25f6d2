"""The pager: only what is longer than the screen goes into it."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from ngramdb.cli.shell import programs
from ngramdb.cli.shell.programs import More, Pages


def written(stream: io.StringIO, n_lines: int, words: list[str] | None, text: str) -> str:
    pages = Pages(stream, n_lines, words)
    for line in text.splitlines(keepends=True):
        pages.write(line)
    pages.close()
    return stream.getvalue()


def test_what_fits_the_screen_is_written_as_it_is() -> None:
    assert written(io.StringIO(), 3, ["false"], "a\nb\nc\n") == "a\nb\nc\n"


def test_what_is_longer_goes_to_the_command(tmp_path: Path) -> None:
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\ncat > '{tmp_path}/seen'\n")
    script.chmod(0o755)
    stream = io.StringIO()
    text = "".join(f"line {i}\n" for i in range(100))
    assert written(stream, 3, [str(script)], text) == ""
    assert (tmp_path / "seen").read_text() == text


def test_a_reader_who_leaves_ends_the_answer_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_is_the_terminal", lambda stream: True)
    monkeypatch.setattr(programs, "pager_command", lambda: ["true"])
    n_written = 0
    with programs.paged(io.StringIO()) as stream:
        for _ in range(1_000_000):
            stream.write("a line that is long enough to fill a pipe in the end\n")
            n_written += 1
    assert 0 < n_written < 1_000_000


def test_our_own_pager_waits_for_keys_and_q_ends_it() -> None:
    stream = io.StringIO()
    keys = iter([" ", "q"])
    more = More(stream, 2, lambda: next(keys))
    more.write("1\n2\n3\n4\n")
    with pytest.raises(BrokenPipeError):
        more.write("5\n")
    shown = stream.getvalue().replace(More.PROMPT, "").replace(" ", "").replace("\r", "")
    assert shown == "1\n2\n3\n4\n"
    assert stream.getvalue().count(More.PROMPT) == 2


def test_pager_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in ("less", "most") else None)
    monkeypatch.delenv("PAGER", raising=False)
    assert programs.pager_command() == ["less"]
    monkeypatch.setenv("PAGER", "most -w")
    assert programs.pager_command() == ["most", "-w"]
    for none in ("", "cat"):
        monkeypatch.setenv("PAGER", none)
        assert programs.pager_command() == []
    monkeypatch.setenv("PAGER", "missing")
    assert programs.pager_command() == ["less"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert programs.pager_command() is None
    monkeypatch.setenv("TERM", "dumb")
    assert programs.pager_command() == []


def test_nothing_is_paged_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with programs.paged(stream) as taken:
        assert taken is stream
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with programs.paged(sys.stdout) as taken:
        assert taken is sys.stdout
