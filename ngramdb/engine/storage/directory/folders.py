"""One folder of a database on disk, opened without following links; names in it are resolved from it.

So a symbolic link in place of a folder (to another database, perhaps) is an error for every operation, and
anything that is created, removed or renamed is in the database itself, even if the folder is replaced
by a link at that very moment. The database's own folder may be reached through links: its path is the user's.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from types import TracebackType

from ngramdb._cext.base.descriptors import Descriptor

_BY_DESCRIPTOR = os.open in os.supports_dir_fd  # on all systems but Windows, which is never written to


class Folder:
    """An open folder; use it in a `with` block.

    Functions of `os` accept `at(name)` and `fd` as path and `dir_fd`.
    """

    def __init__(self, root: str, name: str = "") -> None:
        """Open the folder `name` of the database in `root`, or `root` itself.

        Raises FileNotFoundError, NotADirectoryError, and OSError with ELOOP for a link.
        """
        self.path = f"{root}/{name}" if name else root
        self.fd: int | None = None
        self._file: Descriptor | None = None
        if not _BY_DESCRIPTOR:
            if name:
                _require_folder(os.lstat(self.path), self.path)
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if name else 0)
        try:
            self._file = Descriptor(os.open(self.path, flags))
            self.fd = self._file.fd
        except OSError as error:
            # Systems differ in what they report for a link.
            if name and error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                _require_folder(os.lstat(self.path), self.path)
            raise

    def at(self, name: str) -> str:
        """Return the path by which the system finds the file `name`, from `fd`."""
        return name if self.fd is not None else f"{self.path}/{name}"

    def entries(self) -> list[str]:
        """Return the names of everything in the folder."""
        return os.listdir(self.path if self.fd is None else self.fd)

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def make_folder(root: str, name: str) -> bool:
    """Make the folder `name` in `root` unless it exists; return True if it was made.

    Raises OSError if a link or another file has its name.
    """
    with Folder(root) as top:
        try:
            os.mkdir(top.at(name), dir_fd=top.fd)
        except FileExistsError:
            _require_folder(os.stat(top.at(name), dir_fd=top.fd, follow_symlinks=False), f"{root}/{name}")
            return False
    return True


def _require_folder(status: os.stat_result, path: str) -> None:
    name = os.path.basename(path)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, f"its folder {name} is a symbolic link, which is not followed", path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{name} is not a folder", path)


# ---- Read-only maps of files that hold no file descriptor.


# Smaller files are read in a few pieces, whatever the pieces are.
_FEWEST_BYTES = 1 << 20


def map_file(fd: int, n_bytes: int) -> memoryview:
    """Map the first `n_bytes` bytes of an open file; the descriptor may be closed at once.

    The view keeps the map alive and the map the file, even one that has been removed meanwhile.

    Parameters - n_bytes : at least 1, and at most the file's size
    Raises OSError: the system refuses, for example for lack of address space
    """
    if sys.platform == "win32":
        import mmap

        return memoryview(mmap.mmap(fd, n_bytes, access=mmap.ACCESS_READ))

    from ngramdb._cext.base import pages

    mapped = memoryview(pages.FileMap(fd, n_bytes))
    if n_bytes >= _FEWEST_BYTES:  # a hint: it does not matter if it is ignored
        pages.advise(mapped, "at random")
    return mapped


# ---- Asking the system to start writing a file to disk while more of it is produced.


# SYNC_FILE_RANGE_WRITE of sync_file_range(2): begin to write what is not being written yet.
_BEGIN_WRITING = 2


def begin_writing(fd: int, start: int, n_bytes: int) -> None:
    """Let the system write bytes start … start + n_bytes - 1 of a file from its page cache to disk."""
    call = _sync_file_range()
    if call is not None:
        call(fd, start, n_bytes, _BEGIN_WRITING)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    # Offsets are 64 bits wide there, and a long on 64-bit machines only.
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) < 8:
        return None
    try:
        call = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
