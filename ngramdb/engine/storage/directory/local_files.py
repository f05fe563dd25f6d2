"""Files on disk: folders, memory maps, and the lock of writers.

A folder is opened without following links, and names in it are resolved from it. So a symbolic link in place
of a folder (to another database, perhaps) is an error for every operation, and anything that is created,
removed or renamed is in the database itself, even if the folder is replaced by a link at that very moment.
The database's own folder may be reached through links: its path is the user's.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from functools import cache
from types import TracebackType

from ngramdb import interrupts
from ngramdb._cext.base.files import Descriptor
from ngramdb.engine.storage.directory.base import WriterLock
from ngramdb.errors import LockedError, StorageError
from ngramdb.strict_reading import NO_FOLLOW, open_regular

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

    from ngramdb._cext.base import files

    mapped = memoryview(files.FileMap(fd, n_bytes))
    if n_bytes >= _FEWEST_BYTES:  # a hint: it does not matter if it is ignored
        files.advise(mapped, "at random")
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


# ---- The lock that admits one writer at a time to a database on disk.
#
# The operating system's lock (flock) on the file LOCK decides; it ends with its process, even a killed one.
# The content of the file only names the holder for error messages, so stale content is harmless. The file
# must never be removed: two writers could then each lock a file of that name. (`acquire` detects a removal
# before its own turn.)


if sys.platform != "win32":
    import fcntl

#: Seconds between two attempts to lock: short at first, since most writers are quick; then longer to spare
#: the machine.
_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05
#: Bytes of LOCK that are read for the holder's name.
_NOTE_LENGTH = 400


class FileLock(WriterLock):
    """An exclusive flock on an open descriptor. Use `FileLock.acquire`."""

    def __init__(self, file: Descriptor, was_ours: bool) -> None:
        self._file = file
        self._pid = os.getpid()
        self.was_ours = was_ours

    @classmethod
    def acquire(cls, path: str, timeout_s: float | None = 0.0) -> FileLock:
        """Take the lock on the file `path`, created if missing; poll for at most `timeout_s` seconds.

        Call it where Ctrl-C is deferred, or the lock may be lost on its way to the caller.
        Raises LockedError if it is still held (perhaps by this process) then; OSError if the file
        cannot be opened or the file system does not support locks.
        """
        if sys.platform == "win32":
            raise StorageError("writing needs flock, which this operating system lacks", path=path)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        wait_s = _FIRST_WAIT_S
        while True:
            file = _try_lock(path)
            if file is not None:
                return cls(file, _leave_note(file.fd))
            left_s = wait_s if deadline is None else deadline - time.monotonic()
            if left_s <= 0:
                raise _locked(path, timeout_s)
            interrupts.check()
            time.sleep(min(wait_s, left_s))
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def release(self) -> None:
        if self._file.fd < 0:
            return
        try:
            # A forked child shares the lock: it may close its copy of the descriptor, but not unlock its
            # parent's.
            if sys.platform != "win32" and os.getpid() == self._pid:
                fcntl.flock(self._file.fd, fcntl.LOCK_UN)
        finally:
            self._file.close()


def _try_lock(path: str) -> Descriptor | None:
    """Return a file that holds the lock, or None while it is held elsewhere."""
    file = Descriptor(open_regular(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW))
    try:
        if sys.platform != "win32":
            fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The file may have been removed between opening and locking it; then this lock excludes
        # nobody.
        if os.path.samestat(os.fstat(file.fd), os.lstat(path)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _leave_note(fd: int) -> bool:
    """Write the holder of the lock into the file. Returns True if this process was the last holder, too."""
    # A full disk must not keep out a writer who might come to free space.
    import socket

    note = f"{os.getpid()} {socket.gethostname()}\n".encode()
    with contextlib.suppress(OSError):
        if os.fstat(fd).st_nlink > 1:  # perhaps another program's file: it is locked, but not written
            return False
        if os.pread(fd, _NOTE_LENGTH, 0) == note:
            return True
        os.ftruncate(fd, 0)
        os.pwrite(fd, note, 0)
    return False


def _locked(path: str, timeout_s: float | None) -> LockedError:
    import socket

    holder, host = _read_note(path)
    who = "another writer" if holder is None else f"process {holder} on {host}"
    if holder == os.getpid() and host == socket.gethostname():
        who = f"this process ({holder})"
    waited = f" after waiting {timeout_s:g} s" if timeout_s else ""
    return LockedError(
        f"{os.path.dirname(path)}: the database is being written by {who}{waited}; "
        "wait until it is done, or let this one wait (SET lock_timeout = seconds)",
        path=path,
        holder=holder,
    )


def _read_note(path: str) -> tuple[int | None, str]:
    """Return the process id and host in the file, or (None, "") if it has none."""
    try:
        with open(open_regular(path, NO_FOLLOW), "rb") as file:
            pid, _, host = file.read(_NOTE_LENGTH).decode("utf-8", "replace").strip().partition(" ")
        return int(pid), host
    except (OSError, ValueError):
        return None, ""


def hold_file(path: str, dir_fd: int | None = None) -> object | None:
    """Mark the file as in use, by a shared flock that ends with the object or with its process.

    None if the file system does not support locks, and for a symbolic link. Raises FileNotFoundError, and
    OSError for anything but a regular file.
    """
    if sys.platform == "win32":
        return None
    with interrupts.Deferred():
        fd = _open_to_lock(path, os.O_RDONLY, dir_fd)
        if fd is None:
            return None
        file = Descriptor(fd)
        try:
            # `is_held` takes the lock for some microseconds.
            fcntl.flock(fd, fcntl.LOCK_SH)
        except OSError:
            return None
        return file


def is_held(path: str, dir_fd: int | None = None) -> bool:
    """Return True if any process, including this one, holds the file. Raises as `hold_file`."""
    if sys.platform == "win32":
        return False
    with interrupts.Deferred():
        return _is_held(path, dir_fd)


def _is_held(path: str, dir_fd: int | None) -> bool:
    try:
        # Over NFS an exclusive lock requires a file that is open for writing; nothing is written.
        fd = _open_to_lock(path, os.O_RDWR, dir_fd)
    except PermissionError:
        fd = _open_to_lock(path, os.O_RDONLY, dir_fd)
    if fd is None:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks: nothing could have held it
        return False
    finally:
        os.close(fd)
    return False


def remove_unless_held(path: str) -> bool:
    """Remove a file that nobody holds; a process that waits in `hold_file` then holds a file without a name.

    Does nothing and returns False for a held file, without support for locks, and for a symbolic link.
    Raises as `hold_file`.
    """
    if sys.platform == "win32":
        return False
    with interrupts.Deferred():
        return _remove_unless_held(path)


def _remove_unless_held(path: str) -> bool:
    fd = _open_to_lock(path, os.O_RDWR, None)
    if fd is None:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _open_to_lock(path: str, flags: int, dir_fd: int | None) -> int | None:
    """Open the file; None for a symbolic link: its target is not ours to lock."""
    try:
        return open_regular(path, flags | NO_FOLLOW, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise
