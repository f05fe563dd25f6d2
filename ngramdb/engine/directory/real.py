"""A directory on disk: memory-mapped reading, careful writing.

Files and folders are made with the user's own rights (umask). Reading follows symbolic links, writing never
does.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import os
import stat
import sys

from ngramdb.engine.directory.base import Directory, WritableFile, WriterLock, split_name
from ngramdb.engine.directory.mapping import map_file
from ngramdb.engine.directory.writeback import begin_writing
from ngramdb.engine.lock import FileLock, hold_file, is_held
from ngramdb.errors import InvalidArgument

if sys.platform != "win32":
    import fcntl

#: Bytes. What is written is gathered up to the next multiple of this offset: a write that covers a whole huge
#: page lets Linux keep it as one, and look-ups at random places in the map are then 10 to 40 % faster.
_HUGE_PAGE = 2**21
#: Bytes, whole huge pages. Linux writes at most 2 GiB - 4 KiB in a call, and a smaller piece lets Ctrl-C in.
_LARGEST_WRITE = 2**26
_LOCK_NAME = "LOCK"
# What link(2) reports where the file system has no hard links (FAT, some network and FUSE file systems).
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES}
# What fsync(2) reports for a folder where the file system cannot sync one: there is nothing more to be done.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class RealFile(WritableFile):
    """A file on disk behind a small buffer of our own (the standard one retries failed writes when
    closed).
    """

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._buffer = bytearray()
        self._n_written = 0  # bytes that the system has

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        self._descriptor()
        view = memoryview(data)
        room = _HUGE_PAGE - (self._n_written + len(self._buffer)) % _HUGE_PAGE
        if len(view) < room:
            self._buffer += view
            return
        if self._buffer:
            self._buffer += view[:room]
            self._flush()
            view = view[room:]
        tail = (self._n_written + len(view)) % _HUGE_PAGE
        self._write_all(view[: len(view) - tail])
        self._buffer += view[len(view) - tail :]

    def sync(self) -> None:
        self._flush()
        _sync(self._descriptor())

    def close(self) -> None:
        if self._fd is None:
            return
        try:
            self._flush()
        finally:
            fd, self._fd = self._fd, None
            os.close(fd)

    def _flush(self) -> None:
        # The buffer is given up first: after an error the file is lost, and nothing must be written again.
        data, self._buffer = self._buffer, bytearray()
        self._write_all(memoryview(data))

    def _write_all(self, data: memoryview) -> None:
        fd = self._descriptor()
        while len(data):
            n = os.write(fd, data[:_LARGEST_WRITE])
            if n >= _HUGE_PAGE:
                begin_writing(fd, self._n_written, n)
            self._n_written += n
            data = data[n:]

    def _descriptor(self) -> int:
        if self._fd is None:
            raise ValueError("the file is closed")
        return self._fd


class RealDirectory(Directory):
    """The folder `path`. Nothing is touched before the first call that needs it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        try:
            fit = bool(text) and b"\0" not in os.fsencode(text)
        except ValueError:  # a lone surrogate
            fit = False
        if not fit:
            raise InvalidArgument(f"{text!r} cannot be the path of a database")
        self._root = os.path.abspath(text)

    @property
    def description(self) -> str:
        return self._root

    def root_entries(self) -> builtins.list[str] | None:
        try:
            return sorted(os.listdir(self._root))
        except FileNotFoundError:
            return None

    def make_root(self) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._root)
            _sync_folder(os.path.dirname(self._root))

    def exists(self, name: str) -> bool:
        return self.identity(name) is not None

    def size(self, name: str) -> int:
        return os.stat(self._path(name)).st_size

    def identity(self, name: str) -> object | None:
        try:
            status = os.stat(self._path(name))
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def list(self, prefix: str = "") -> builtins.list[str]:
        if "/" in prefix:
            folder = prefix.partition("/")[0]
            names = [f"{folder}/{last}" for last in self._files_in(folder)]
        else:
            names = self._files_in("")
            for entry in self.root_entries() or []:
                if entry.startswith(prefix) and os.path.isdir(os.path.join(self._root, entry)):
                    names += [f"{entry}/{last}" for last in self._files_in(entry)]
        return sorted(name for name in names if name.startswith(prefix) and _is_name(name))

    def open_read(self, name: str) -> memoryview:
        fd = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        try:
            n_bytes = os.fstat(fd).st_size
            return map_file(fd, n_bytes) if n_bytes else memoryview(b"")
        finally:
            os.close(fd)

    def create(self, name: str) -> WritableFile:
        folder, _ = split_name(name)
        if folder:
            self._make_folder(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return RealFile(os.open(self._path(name), flags, 0o666))

    def publish(self, temp: str, final: str) -> None:
        source, target = self._path(temp), self._path(final)
        try:
            os.link(source, target)
        except FileExistsError:
            # A network file system may report this when its first, unanswered request did succeed.
            if not os.path.samestat(os.lstat(source), os.lstat(target)):
                raise
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            return _rename_without_replacing(source, target)
        with contextlib.suppress(OSError):
            os.unlink(source)

    def remove(self, name: str) -> None:
        os.unlink(self._path(name))

    def hold(self, name: str) -> object | None:
        return hold_file(self._path(name))

    def is_held(self, name: str) -> bool:
        return is_held(self._path(name))

    def sync_folder(self, folder: str = "") -> None:
        _sync_folder(self._path(folder) if folder else self._root)

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        return FileLock.acquire(self._path(_LOCK_NAME), timeout_s)

    def _path(self, name: str) -> str:
        split_name(name)
        return f"{self._root}/{name}"

    def _files_in(self, folder: str) -> builtins.list[str]:
        try:
            with os.scandir(self._path(folder) if folder else self._root) as entries:
                return [entry.name for entry in entries if entry.is_file()]
        except FileNotFoundError:
            return []

    def _make_folder(self, folder: str) -> None:
        path = self._path(folder)
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            os.mkdir(path)
            self.sync_folder()
            return
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, "a link, which is not followed for writing", path)
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", path)


def _rename_without_replacing(source: str, target: str) -> None:
    """Renames where hard links do not exist. Only the writer's lock makes the check and the rename one
    step.
    """
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _is_name(name: str) -> bool:
    try:
        split_name(name)
    except InvalidArgument:
        return False
    return True


def _sync(fd: int) -> None:
    if sys.platform == "darwin":
        # There, fsync leaves the data in the drive's own cache.
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(fd)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(fd)
