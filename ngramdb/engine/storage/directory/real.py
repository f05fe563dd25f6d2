"""A directory on disk: memory-mapped reading, durable writing.

Files and folders are created with the user's own rights (umask). Every operation rejects a folder that is a
symbolic link, except those that only read a file's status (`folders`). A file that is a link is read, because
caches and version control for large files lay databases out that way; it is never written or locked, and
removing it removes the link. Only regular files are opened (`opening`).
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import os
import stat
import sys
from abc import ABC, abstractmethod
from functools import cache

from ngramdb._cext.base.files import Descriptor
from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock, split_name
from ngramdb.engine.storage.directory.local_files import (
    FileLock,
    Folder,
    begin_writing,
    hold_file,
    is_held,
    make_folder,
    map_file,
)
from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import Deferred
from ngramdb.segments.container import Ahead, Scratch
from ngramdb.strict_reading import NO_FOLLOW, open_regular

if sys.platform != "win32":
    import fcntl

#: Bytes. Writes are buffered up to the next multiple of this offset: a write that covers a whole huge
#: page lets Linux keep it as one, and lookups at random places in the map are then 10 to 40 % faster.
_HUGE_PAGE = 2**21
#: Bytes, whole huge pages. Linux writes at most 2 GiB - 4 KiB per call, and smaller pieces allow Ctrl-C.
_LARGEST_WRITE = 2**26
_LOCK_NAME = "LOCK"
# Errors of link(2) if the file system lacks hard links (FAT, some network and FUSE file systems).
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES}
# Errors of fsync(2) for a folder if the file system cannot sync one: nothing more can be done then.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class _Buffered(ABC):
    """Buffered bytes for a file from an offset on: written in pieces that end at huge pages."""

    def __init__(self, offset: int) -> None:
        self._buffer = bytearray()
        self._n_written = offset  # bytes before the next one that is passed to the system

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        self.descriptor()
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

    def _flush(self) -> None:
        # The buffer is dropped first: after an error the file is lost, and nothing must be written again.
        data, self._buffer = self._buffer, bytearray()
        self._write_all(memoryview(data))

    def _write_all(self, data: memoryview) -> None:
        fd = self.descriptor()
        while len(data):
            n = self._write_some(fd, data[:_LARGEST_WRITE])
            if n >= _HUGE_PAGE:
                begin_writing(fd, self._n_written, n)
            self._n_written += n
            data = data[n:]

    @abstractmethod
    def _write_some(self, fd: int, data: memoryview) -> int:
        """Write as many of the bytes as the system accepts at the next place; return their number."""

    @abstractmethod
    def descriptor(self) -> int:
        """Return the file's descriptor. Raises ValueError if it is closed."""


class RealFile(_Buffered, WritableFile):
    """A file on disk with its own small buffer: the standard one retries failed writes when closed."""

    def __init__(self, fd: int, folder: str) -> None:
        super().__init__(0)
        self._fd: int | None = fd
        self._folder = folder

    def sync(self) -> None:
        self._flush()
        _sync(self.descriptor())

    def close(self) -> None:
        if self._fd is None:
            return
        with Deferred():
            try:
                self._flush()
            finally:
                fd, self._fd = self._fd, None
                os.close(fd)

    def ahead(self, offset: int) -> Ahead | None:
        return _AheadFile(self, offset) if hasattr(os, "pwrite") else None

    def pass_over(self, n_bytes: int) -> None:
        self._flush()
        self._n_written = os.lseek(self.descriptor(), n_bytes, os.SEEK_CUR)

    def scratch(self) -> Scratch:
        import tempfile

        return tempfile.TemporaryFile(dir=self._folder)

    def _write_some(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data)

    def descriptor(self) -> int:
        if self._fd is None:
            raise ValueError("the file is closed")
        return self._fd


class _AheadFile(_Buffered):
    """Bytes of a file beyond its current end; the file must stay open."""

    def __init__(self, file: RealFile, offset: int) -> None:
        super().__init__(offset)
        self._file = file

    def end(self) -> None:
        self._flush()

    def _write_some(self, fd: int, data: memoryview) -> int:
        return os.pwrite(fd, data, self._n_written)

    def descriptor(self) -> int:
        return self._file.descriptor()


class RealDirectory(Directory):
    """The folder `path`. Nothing is accessed before the first call that needs it."""

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
            _sync_folder(Folder(os.path.dirname(self._root)))

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
            names = self._names_in(prefix.partition("/")[0])
        else:
            names = []
            for entry in self.root_entries() or []:
                if entry.startswith(prefix):
                    names += self._names_in(entry) if self._is_folder(entry) else [entry]
        return sorted(name for name in names if name.startswith(prefix) and _is_name(name))

    def open_read(self, name: str) -> memoryview:
        folder, last = split_name(name)
        with Deferred():
            with Folder(self._root, folder) as place:
                file = Descriptor(open_regular(place.at(last), dir_fd=place.fd))
            n_bytes = os.fstat(file.fd).st_size
            return map_file(file.fd, n_bytes) if n_bytes else memoryview(b"")

    def create(self, name: str) -> WritableFile:
        folder, last = split_name(name)
        if folder and make_folder(self._root, folder):
            self.sync_folder()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | os.O_CLOEXEC
        with Deferred(), Folder(self._root, folder) as place:
            fd = os.open(place.at(last), flags, 0o666, dir_fd=place.fd)
            return RealFile(fd, os.path.join(self._root, folder))

    def take_in(self, name: str, source: Directory, source_name: str) -> None:
        if not (isinstance(source, RealDirectory) and self._has_linked(name, source, source_name)):
            super().take_in(name, source, source_name)

    def _has_linked(self, name: str, source: RealDirectory, source_name: str) -> bool:
        """Give the file a second name here; return False if only a copy is possible."""
        folder, last = split_name(name)
        if folder and make_folder(self._root, folder):
            self.sync_folder()
        source_folder, source_last = split_name(source_name)
        with Folder(source._root, source_folder) as there, Folder(self._root, folder) as here:
            old, new = there.at(source_last), here.at(last)
            if not stat.S_ISREG(_lstat(old, there.fd).st_mode):
                return False  # a link, perhaps to a file that may change
            try:
                os.link(old, new, src_dir_fd=there.fd, dst_dir_fd=here.fd, follow_symlinks=False)
            except OSError as error:
                if error.errno in _NO_HARD_LINKS or error.errno in (errno.EXDEV, errno.EMLINK):
                    return False
                raise
        return True

    def publish(self, temp: str, final: str) -> None:
        folder, source = split_name(temp)
        target = split_name(final)[1]
        with Folder(self._root, folder) as place:
            _publish(place, place.at(source), place.at(target))

    def remove(self, name: str) -> None:
        folder, last = split_name(name)
        with Folder(self._root, folder) as place:
            os.unlink(place.at(last), dir_fd=place.fd)

    def hold(self, name: str) -> object | None:
        folder, last = split_name(name)
        with Folder(self._root, folder) as place:
            return hold_file(place.at(last), place.fd)

    def is_held(self, name: str) -> bool:
        folder, last = split_name(name)
        with Folder(self._root, folder) as place:
            return is_held(place.at(last), place.fd)

    def sync_folder(self, folder: str = "") -> None:
        if folder:
            split_name(folder)
        _sync_folder(Folder(self._root, folder))

    def sync_file(self, name: str) -> None:
        folder, last = split_name(name)
        with Deferred(), Folder(self._root, folder) as place:
            file = Descriptor(open_regular(place.at(last), dir_fd=place.fd))
        _sync(file.fd)

    @property
    def boot(self) -> str:
        return _boot()

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        return FileLock.acquire(self._path(_LOCK_NAME), timeout_s)

    def _path(self, name: str) -> str:
        split_name(name)
        return f"{self._root}/{name}"

    def _is_folder(self, entry: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(f"{self._root}/{entry}").st_mode)
        except FileNotFoundError:
            return False

    def _names_in(self, folder: str) -> builtins.list[str]:
        try:
            with Folder(self._root, folder) as place:
                return [f"{folder}/{last}" for last in place.entries()]
        except FileNotFoundError:
            return []


def _publish(place: Folder, source: str, target: str) -> None:
    fd = place.fd
    try:
        os.link(source, target, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError:
        # A network file system may report this if its first, unanswered request did succeed.
        if not os.path.samestat(_lstat(source, fd), _lstat(target, fd)):
            raise
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _rename_without_replacing(source, target, fd)
    with contextlib.suppress(OSError):
        os.unlink(source, dir_fd=fd)


def _lstat(path: str, dir_fd: int | None) -> os.stat_result:
    return os.stat(path, dir_fd=dir_fd, follow_symlinks=False)


def _rename_without_replacing(source: str, target: str, dir_fd: int | None) -> None:
    """Rename on file systems without hard links.

    Only the writer's lock makes the check and the rename one step.
    """
    with contextlib.suppress(FileNotFoundError):
        _lstat(target, dir_fd)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


@cache
def _boot() -> str:
    """Return the system's id of its current boot; without one, each process counts as a boot."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return os.urandom(16).hex()


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


def _sync_folder(folder: Folder) -> None:
    with folder:
        if folder.fd is None:
            return
        try:
            _sync(folder.fd)
        except OSError as error:
            if error.errno not in _CANNOT_SYNC:
                raise
