"""What the engine asks of a place for files, and what it may believe after each call.

A directory holds files under names such as "NGRAMDB" or "segments/0af3.segment": at most one folder deep.
Files are written once, front to back, and never changed. Two facts about file systems shape this interface:
data is safe from a power failure only after the file was synced, and a name (new, moved or removed) only
after its folder was. So "visible" and "durable" are different promises, and each method states which one it
makes.

Methods raise OSError and its subclasses, as the system reports them; the store translates them for a
database. Only the lock raises LockedError itself, and a name that is no proper name raises InvalidArgument.
"""

from __future__ import annotations

import contextlib
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.segments.container import Ahead, Scratch, Source

# No leading dot (so neither "." nor ".."), no leading "/", one folder at most: a name cannot leave the
# database.
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}"
_NAME = re.compile(rf"(?:{_PART}/)?{_PART}")

# What is copied between two looks whether to stop.
_COPIED_BYTES = 1 << 26

_Self = TypeVar("_Self", bound="WriterLock")


@functools.lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, str]:
    """The folder ("" for the top) and the last part of a file's name.

    Raises InvalidArgument if it is no relative name of at most one folder: nothing may lead out of the
    database.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} cannot be a file's name in a database")
    folder, _, last = name.rpartition("/")
    return folder, last


class WritableFile(ABC):
    """A new file, filled front to back. Its name is visible at once; nothing is durable before `sync`."""

    @abstractmethod
    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        """Append all of `data`, perhaps to a buffer at first. After an OSError a part is written."""

    @abstractmethod
    def sync(self) -> None:
        """Make everything written so far durable, but not the file's name (`Directory.sync_folder`).

        After an OSError the file is lost: the system may have dropped the data and would call a second try a
        success.
        """

    @abstractmethod
    def close(self) -> None:
        """Frees the descriptor; a second call does nothing. Buffered data is written, not made durable."""

    def ahead(self, offset: int) -> Ahead | None:
        """Writes what begins at `offset`, behind what `write` has come to, in any thread; None: it cannot.

        It must have ended before `pass_over` and `sync`.
        """
        return None

    def pass_over(self, n_bytes: int) -> None:
        """Go on behind the next bytes, which have been written ahead."""
        raise NotImplementedError("a file that writes ahead passes over it")

    def scratch(self) -> Scratch:
        """A file without a name, gone when it is closed, for what is needed while this one is written.

        On the same disk where this one is on a local one.
        """
        import tempfile

        return tempfile.TemporaryFile()


class WriterLock(ABC):
    """The right to write, held until `release`. Ends with the process, however that ends.

    `was_ours`: the last writer was this process, so no other one can have left files behind since.
    """

    was_ours = False

    @abstractmethod
    def release(self) -> None:
        """Give the lock back; a second call does nothing."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Directory(ABC):
    """A place for the files of one database. Safe to share between threads.

    `is_remote` where each look at a file means waiting for a network; `has_locks` is False where writers and
    readers cannot be seen: nothing is removed there.
    """

    is_remote = False
    has_locks = True

    @property
    @abstractmethod
    def description(self) -> str:
        """What messages call the directory: its path, or "memory"."""

    def path_of(self, name: str) -> str:
        """What messages call a file."""
        return f"{self.description}/{name}"

    @abstractmethod
    def root_entries(self) -> list[str] | None:
        """Sorted names of all files and folders at the top, of any origin; None if there is no directory.

        Raises NotADirectoryError if a file stands in its place.
        """

    @abstractmethod
    def make_root(self) -> None:
        """Make the directory, durable on return. Raises FileNotFoundError if its parent is missing."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether a file of this name is visible."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The file's length in bytes. Raises FileNotFoundError."""

    @abstractmethod
    def identity(self, name: str) -> object | None:
        """A value that stays equal while the same file has this name; None if there is no such file."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]:
        """Sorted names of the files that begin with `prefix`; with a "/" in it, only that folder is read.

        Files whose names no database would give are left out. A missing folder has no files.
        """

    @abstractmethod
    def open_read(self, name: str) -> memoryview:
        """The whole file as read-only bytes; they live as long as the view or anything made from it.

        Raises FileNotFoundError. The file may be removed meanwhile without harm to the view.
        """

    def open_parts(self, name: str) -> tuple[memoryview, Source | None]:
        """As `open_read`, for readers that ask the source for what the view lacks; None: it lacks nothing."""
        return self.open_read(name), None

    def set_cache_limit(self, limit: Callable[[], int]) -> None:
        """What gives the bytes that may be kept on the local disk of files that lie elsewhere."""
        return None

    def look_again(self) -> None:
        """Where it is known for some time that a file is not there: look at once when that is asked next."""
        return None

    def evict(self) -> bool:
        """Remove some of what is kept of files that lie elsewhere, if that is too much; whether it was."""
        return False

    @abstractmethod
    def create(self, name: str) -> WritableFile:
        """A new, empty file, visible at once. A missing folder is made, and that folder is durable on return.

        Raises FileExistsError if the name is taken, by a symbolic link too: nothing is written through links.
        """

    def take_in(self, name: str, source: Directory, source_name: str) -> None:
        """A finished, synced file of another directory under a new name here, its data durable on return.

        The file itself where the system can give it a second name, else a copy; it stays in `source`. Raises
        FileNotFoundError, or FileExistsError if the name is taken.
        """
        with contextlib.closing(self.create(name)) as file:
            data = source.open_read(source_name)
            for start in range(0, len(data), _COPIED_BYTES):
                interrupts.check()
                file.write(data[start : start + _COPIED_BYTES])
            file.sync()

    @abstractmethod
    def publish(self, temp: str, final: str) -> None:
        """Give the file `temp` the name `final` in one step, whole or not at all, replacing nothing.

        Durable after `sync_folder`. On OSError `final` has not appeared. `temp` is usually gone afterwards,
        but a crash, or a failure to remove it, can leave it there as a second name of the same file. Both
        names are in one folder. Raises FileExistsError if `final` is taken.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a name, durable after `sync_folder`; who reads the file keeps it."""

    def hold(self, name: str) -> object | None:
        """Show every process that the file is in use, as long as the object that is returned lives.

        None where that cannot be shown. Writes nothing; raises FileNotFoundError.
        """
        return None

    def is_held(self, name: str) -> bool:
        """Whether somebody holds the file, as far as that can be seen. Raises FileNotFoundError."""
        return False

    @abstractmethod
    def sync_folder(self, folder: str = "") -> None:
        """Make all names given and removed in `folder` ("" = the top) so far durable."""

    def sync_file(self, name: str) -> None:
        """Make the data of a finished file durable, if it is not. Raises FileNotFoundError."""
        return None

    @property
    def boot(self) -> str:
        """An id of the machine's boot: until it changes, everything that was written is visible."""
        return ""

    @abstractmethod
    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        """Take the one lock for writers, waiting at most `timeout_s` seconds (None: without end).

        Call it where Ctrl-C is deferred until the caller can release the lock.
        It excludes other processes as well as other threads and other holders in this process. Raises
        LockedError with the holder's process id where that is known.
        """
