"""Where results go: standard output, a file, another program; and what happens at the first thing written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO, cast

from ngramdb.errors import ExecutionError, InvalidArgument


@contextmanager
def destination(name: str) -> Iterator[TextIO]:
    """The file of this name, its content replaced; or, after a `|`, the standard input of a command.

    Raises OSError for a file that cannot be written, ExecutionError for a command that failed.
    """
    import subprocess

    if not name.startswith("|"):
        with open(name, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    command = name[1:].strip()
    if not command:
        raise InvalidArgument("a command stands behind the |, as in .once | wc -l")
    sys.stdout.flush()
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdin is not None
        try:
            yield cast("TextIO", process.stdin)
        except BrokenPipeError:  # it has read enough
            pass
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()
    if process.returncode:
        raise ExecutionError(f"{command} ended with status {process.returncode}")


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
