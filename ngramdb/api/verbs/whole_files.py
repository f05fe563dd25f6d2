"""Writing files in one step: a file appears under its name when it is complete, never through a link."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable
from typing import Any

from ngramdb.engine.storage.directory.local_files import hold_file, remove_unless_held
from ngramdb.errors import ExecutionError
from ngramdb.formats import database_around
from ngramdb.ingest.sources import STDIN

_STANDARD_OUTPUT = "to write to standard output, use ngramdb DB -c '…' --format jsonl"


def replacing(name: str, write: Callable[[Any], int]) -> int:
    """Write a file beside its place, then rename it. Raises ExecutionError; then no file remains."""
    target = os.path.abspath(name)
    if name == STDIN:
        raise ExecutionError(f"'-' is not a file: {_STANDARD_OUTPUT}; a file of this name is written as ./-")
    before = _replaced(name, target)
    if (database := database_around(target)) is not None:
        raise ExecutionError(f"{name}: this is within the database {database}; name a place outside")
    try:
        _remove_leftovers(target)
        fd, temporary, hold = _held_file(target)
        try:
            with os.fdopen(fd, "wb", buffering=1 << 20) as file:
                if before is not None:
                    os.chmod(file.fileno(), stat.S_IMODE(before.st_mode))
                n = write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            del hold
    except OSError as error:
        raise ExecutionError(f"{name}: cannot write the file: {os.strerror(error.errno or 0)}") from error
    return n


def _replaced(name: str, target: str) -> os.stat_result | None:
    """Return the status of the existing file at the target, None without one.

    Only files, and links to files, are replaced: if a link leads to an open file of a process, as /dev/stdout
    does, or to a pipe or device, the link itself would be lost for everybody.
    """
    try:
        found = os.stat(target)
        itself = os.lstat(target)
    except ValueError as error:  # a lone surrogate, or a zero byte
        raise ExecutionError(f"{name!r} is not a valid file name") from error
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise ExecutionError(f"{name}: this is a folder; name a file in it")
    is_link = stat.S_ISLNK(itself.st_mode)
    if not stat.S_ISREG(found.st_mode) or (is_link and os.readlink(target).startswith("/proc/")):
        raise ExecutionError(f"{name}: this is a device, a pipe or a socket, not a file; {_STANDARD_OUTPUT}")
    return None if is_link else found


def _held_file(target: str) -> tuple[int, str, object | None]:
    """Open a new file beside a target for writing; return it, its path, and the mark that it is in use."""
    while True:
        temporary = f"{target}.{os.urandom(4).hex()}.tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            hold = hold_file(temporary)
            if os.path.samestat(os.fstat(fd), os.lstat(temporary)):
                return fd, temporary, hold
        except FileNotFoundError:  # another export has removed it as a leftover before it was held
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _remove_leftovers(target: str) -> None:
    """Remove leftovers of killed exports to the same target; running exports hold theirs."""
    folder, name = os.path.split(target)
    leftover = re.compile(re.escape(name) + r"\.[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if leftover.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    remove_unless_held(entry.path)
