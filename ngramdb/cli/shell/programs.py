"""Long answers, a screen at a time: the program that $PAGER names, less, more, or a prompt of our own.

An answer that fits the screen is written as it is. Only when it turns out to be longer does the pager begin,
so that an answer of a million rows is seen from the start while the rest of it is still being made.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO, cast

from prompt_toolkit.input import create_input
from prompt_toolkit.keys import Keys

from ngramdb.errors import ExecutionError, InvalidArgument

# Default options of less: colours, no wrapped lines, leave the text on the screen at the end.
LESS = "RSX"
# Lines that stay free on the screen: for the prompt that comes next.
LINES_LEFT_FREE = 1


def pager_command() -> list[str] | None:
    """Return the pager's command: $PAGER, else less or more; `[]` for none, None for the built-in one."""
    wanted = os.environ.get("PAGER")
    if wanted is not None:
        words = shlex.split(wanted)
        if not words or words == ["cat"] or os.environ.get("TERM") == "dumb":
            return []
        if shutil.which(words[0]):
            return words
    if os.environ.get("TERM") == "dumb":
        return []
    for name in ("less", "more"):
        if shutil.which(name):
            return [name]
    return None


class Pages:
    """A text stream that keeps what is written until it is more than a screen, and then pages it."""

    def __init__(self, stream: TextIO, n_lines: int, words: list[str] | None) -> None:
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self._stream = stream
        self._n_lines = n_lines
        self._words = words
        self._kept: list[str] = []
        self._n_kept = 0
        self._process: subprocess.Popen[str] | None = None
        self._more: More | None = None

    def write(self, text: str) -> int:
        """Raise BrokenPipeError once the reader has seen enough."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(text)
        elif self._more is not None:
            self._more.write(text)
        else:
            self._kept.append(text)
            self._n_kept += text.count("\n")
            if self._n_kept > self._n_lines:
                self._begin()
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True

    def _begin(self) -> None:
        if self._words is None:
            self._more = More(self._stream, self._n_lines)
        else:
            self._stream.flush()
            environment = {"LESS": LESS, **os.environ}
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, encoding=self.encoding, errors="replace", env=environment
            )
        kept, self._kept = "".join(self._kept), []
        self.write(kept)

    def close(self) -> None:
        """Write the buffered text, or wait until the pager exits."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            while True:
                try:  # the pager handles Ctrl-C while it has the screen
                    self._process.wait()
                    return
                except KeyboardInterrupt:
                    continue
        self._stream.write("".join(self._kept))
        self._stream.flush()


class More:
    """Our own pager: after each screenful it waits for a key; q, Escape and Ctrl-C end it."""

    PROMPT = "-- more (any key, q to stop) --"

    def __init__(self, stream: TextIO, n_lines: int, read_key: Callable[[], str] | None = None) -> None:
        self._stream = stream
        self._n_lines = n_lines
        self._n_written = 0
        self._read_key = read_key or key

    def write(self, text: str) -> None:
        """Write line by line. Raises BrokenPipeError when the reader has seen enough."""
        for line in text.splitlines(keepends=True):
            if self._n_written >= self._n_lines:
                self._ask()
            self._stream.write(line)
            self._n_written += line.endswith("\n")

    def _ask(self) -> None:
        self._stream.write(self.PROMPT)
        self._stream.flush()
        pressed = self._read_key()
        self._stream.write("\r" + " " * len(self.PROMPT) + "\r")
        if pressed in ("q", "Q", Keys.Escape, Keys.ControlC, Keys.ControlD):
            raise BrokenPipeError
        self._n_written = 0


def key() -> str:
    """Read the next key at the terminal."""
    terminal = create_input(sys.stdin)
    with terminal.raw_mode():
        while True:
            select.select([terminal.fileno()], [], [])
            pressed = terminal.read_keys() or terminal.flush_keys()
            if pressed:
                return str(pressed[0].key)


def _is_the_terminal(stream: TextIO) -> bool:
    """Return True if the stream and standard input are a real terminal, whose keys a pager can read."""
    try:
        return os.isatty(stream.fileno()) and os.isatty(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def paged(stream: TextIO, wanted: bool = True) -> Iterator[TextIO]:
    """Open a stream for one answer, paged if `stream` is a terminal and a pager is `wanted`.

    A reader who leaves before the end ends the block quietly.
    """
    words = pager_command() if wanted and _is_the_terminal(stream) else []
    if words == []:
        yield stream
        return
    pages = Pages(stream, shutil.get_terminal_size().lines - LINES_LEFT_FREE, words)
    try:
        with suppress(BrokenPipeError):
            yield cast("TextIO", pages)
    finally:
        pages.close()


# ---- A text in the user's editor: $VISUAL, $EDITOR, or one that is there.


USUAL_EDITORS = ("editor", "nano", "vi")


def editor_command() -> list[str]:
    """Return the editor's command. Raises InvalidArgument if there is none."""
    for name in ("VISUAL", "EDITOR"):
        words = shlex.split(os.environ.get(name, ""))
        if words:
            return words
    for name in USUAL_EDITORS:
        if shutil.which(name):
            return [name]
    raise InvalidArgument("no editor found: set EDITOR to the command of your editor")


def edited(text: str) -> str:
    """Edit the text and return the result. Raises ExecutionError if the editor fails."""
    with tempfile.TemporaryDirectory(prefix="ngramdb-") as folder:
        path = Path(folder) / "statement.ngql"
        path.write_text(text, encoding="utf-8")
        run_editor(path)
        return path.read_text(encoding="utf-8")


def run_editor(path: Path) -> None:
    """Open the editor on a file and wait for its end."""
    words = editor_command()
    try:
        status = subprocess.call([*words, str(path)])
    except OSError as error:
        raise ExecutionError(f"{words[0]}: {error.strerror}; EDITOR names the editor") from error
    if status:
        raise ExecutionError(f"{words[0]} ended with status {status}; its text is discarded")
