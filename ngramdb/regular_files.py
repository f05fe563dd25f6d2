"""Opening regular files, and nothing else, without waiting.

Opening a named pipe (FIFO) blocks until its other end is opened, a device may do anything, and
a socket cannot be opened at all. If a file of ours, or one that a user names, is something else, the
error names its type. Descriptors that the caller has already opened are not affected: `/dev/fd/63`, as a
shell calls the pipe of `<(command)`, is read like standard input.
"""

from __future__ import annotations

import errno
import os
import stat

from ngramdb.lazy import lazy_pattern

_KINDS = (
    (stat.S_ISFIFO, errno.EINVAL, "it is a named pipe (FIFO), not a regular file"),
    (stat.S_ISSOCK, errno.EINVAL, "it is a socket, not a regular file"),
    (stat.S_ISCHR, errno.EINVAL, "it is a device, not a regular file"),
    (stat.S_ISBLK, errno.EINVAL, "it is a device, not a regular file"),
    (stat.S_ISDIR, errno.EISDIR, "it is a folder, not a regular file"),
    (stat.S_ISLNK, errno.ELOOP, "it is a symbolic link, which is not followed here"),
)
# Absent on Windows, which has neither FIFOs nor devices among files.
_QUIETLY = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_INHERITED = lazy_pattern(r"/dev/(?:fd/|(?=stdin))(?P<fd>[0-9]{1,6}|stdin)|/proc/self/fd/(?P<own>[0-9]{1,6})")


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = 0o666, dir_fd: int | None = None) -> int:
    """Open a regular file and return its descriptor.

    Parameters
    ----------
    flags : as for `os.open`; with `NO_FOLLOW` a symbolic link is an error, else it is followed; with
        `os.O_CREAT` the file may be missing.
    Raises OSError: the system's error, or the type of the file if it is not regular.
    """
    # Checked before it is opened: opening a device can have effects of its own (a tape is rewound).
    try:
        status = os.stat(path, dir_fd=dir_fd, follow_symlinks=not flags & NO_FOLLOW)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    else:
        require_regular(status, path)
    fd = os.open(path, flags | _QUIETLY, mode, dir_fd=dir_fd)
    try:
        require_regular(os.fstat(fd), path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def require_regular(status: os.stat_result, path: str) -> None:
    """Raise OSError with the type of the file unless it is a regular one."""
    if stat.S_ISREG(status.st_mode):
        return
    for is_kind, number, what in _KINDS:
        if is_kind(status.st_mode):
            raise OSError(number, what, path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def inherited_descriptor(path: str) -> int | None:
    """Return the descriptor of this process that a path refers to, such as 63 for `/dev/fd/63`; else None."""
    found = _INHERITED.fullmatch(path)
    if found is None:
        return None
    number = found["fd"] or found["own"]
    return 0 if number == "stdin" else int(number)


def open_named(path: str) -> int:
    """Open a file that a user has named for reading: a regular one, or one that is already open.

    Returns a descriptor. Raises OSError like `open_regular`.
    """
    inherited = inherited_descriptor(path)
    return open_regular(path) if inherited is None else os.dup(inherited)
