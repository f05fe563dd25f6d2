"""Destinations of results: standard output, a file, another program, opened at the first output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.formats import database_around
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = lazy_module("subprocess")


class LateFile:
    """A file whose content is replaced, or a command behind a `|` that is started, when something is written.

    Without output, as after a failed statement, nothing is overwritten.
    """

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        self.name = name
        self._command = name[1:].strip() if name.startswith("|") else None
        if self._command == "":
            raise InvalidArgument("the command after | is missing; write for example .once | wc -l")
        if self._command is None:
            _check_can_be_written(name)
        self._process: subprocess.Popen[str] | None = None
        self._stream: TextIO | None = None
        #: True once it was opened, or could not be.
        self.has_begun = False

    def begin(self) -> TextIO:
        """Open it, also for an answer of no characters. Raises OSError for a file that cannot be written."""
        if self._stream is None:
            self.has_begun = True
            if self._command is None:
                self._stream = open(self.name, "w", encoding=self.encoding, newline="\n")  # noqa: SIM115
            else:
                sys.stdout.flush()
                pipe = subprocess.PIPE
                self._process = subprocess.Popen(
                    self._command, shell=True, stdin=pipe, encoding=self.encoding
                )
                self._stream = cast("TextIO", self._process.stdin)
        return self._stream

    def write(self, text: str) -> int:
        return self.begin().write(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Close the file, or wait for the command. Raises ExecutionError for one that failed."""
        if self._stream is not None:
            with suppress(BrokenPipeError):
                self._stream.close()
        if self._process is not None and self._process.wait():
            raise ExecutionError(f"{self._command} ended with status {self._process.returncode}")


def _check_can_be_written(name: str) -> None:
    """Check the destination before a statement runs whose answer matters. Changes nothing."""
    path = os.path.abspath(name)
    folder = os.path.dirname(path)
    if (database := database_around(path)) is not None:
        raise InvalidArgument(f"{name}: this is within the database {database}; name a place outside")
    if not os.path.isdir(folder):
        raise InvalidArgument(f"{name}: folder {folder} does not exist")
    if os.path.isdir(name):
        raise InvalidArgument(f"{name}: this is a folder")
    if not os.access(name if os.path.exists(name) else folder, os.W_OK):
        raise InvalidArgument(f"{name}: this may not be written")


@contextmanager
def destination(file: LateFile) -> Iterator[TextIO]:
    """Open the file or command for one answer; closed afterwards, even if a command stops reading early."""
    try:
        with suppress(BrokenPipeError):
            yield cast("TextIO", file)
    finally:
        file.close()


class Announced:
    """A text stream that does something before the first characters are written to it."""

    def __init__(self, stream: TextIO, announce: Callable[[], None]) -> None:
        self._stream = stream
        self._announce: Callable[[], None] | None = announce
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        announce, self._announce = self._announce, None
        if announce is not None:
            announce()
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()
