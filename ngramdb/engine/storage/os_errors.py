"""Explanations of errors of the operating system, and what to do about them."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from ngramdb.errors import StorageError

_ADVICE = {
    errno.ENOSPC: "free some space on the device and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or use a file system that allows larger files",
    errno.EIO: "the device reports a fault: check the system log, and have a backup ready",
    errno.EROFS: "the file system is read-only: open the database with read_only=True",
    errno.EACCES: "get permission to access it, or open the database with read_only=True",
    errno.EPERM: "get permission to access it, or open the database with read_only=True",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "the whole system has too many files open: close some",
    errno.ENOMEM: "out of memory, or too many maps (vm.max_map_count): close some databases",
    errno.ENOENT: "it was removed: restore it from a backup",
    errno.ELOOP: "replace the link by the file or folder itself, or move the link away",
    errno.ENOTDIR: "a folder is expected here: move the other file away",
    errno.ENOLCK: "the file system does not support locks: keep the database on a local disk",
}


def storage_error(error: OSError, doing: str, path: str) -> StorageError:
    """Return the error: what could not be done (`doing` follows "cannot"), to what, why, and what to do."""
    reason = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0)
    return StorageError(f"{path}: cannot {doing}: {reason}" + (f"; {advice}" if advice else ""), path=path)


@contextlib.contextmanager
def storage_errors(doing: str, path: str) -> Iterator[None]:
    """Convert any OSError in the block to the StorageError that explains it."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing, path) from error
