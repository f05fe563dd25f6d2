"""Says what an error of the operating system means for a database, and what to do about it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from ngramdb.errors import StorageError

_ADVICE = {
    errno.ENOSPC: "free some space on the device and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or use a file system that takes larger files",
    errno.EIO: "the device reports a fault: look at the system log, and have a backup at hand",
    errno.EROFS: "the file system is read-only: open the database with read_only=True",
    errno.EACCES: "ask for the right to use it, or open the database with read_only=True",
    errno.EPERM: "ask for the right to use it, or open the database with read_only=True",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "the whole system has too many files open: close some",
    errno.ENOMEM: "there is no memory, or no room for more maps (vm.max_map_count): close some databases",
    errno.ENOENT: "somebody removed it: restore it from a backup",
    errno.ELOOP: "put the file or folder itself in the place of the link, or move the link away",
    errno.ENOTDIR: "a folder belongs there: move away what is in its place",
    errno.ENOLCK: "the file system has no locks: keep the database on a local disk",
}


def storage_error(error: OSError, doing: str, path: str) -> StorageError:
    """What could not be done (`doing` follows "cannot"), to what, why, and what to do about it."""
    reason = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0)
    return StorageError(f"{path}: cannot {doing}: {reason}" + (f"; {advice}" if advice else ""), path=path)


@contextlib.contextmanager
def storage_errors(doing: str, path: str) -> Iterator[None]:
    """Raise any OSError of the block as the StorageError that explains it."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing, path) from error
