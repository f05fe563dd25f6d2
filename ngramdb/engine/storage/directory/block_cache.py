"""Parts of objects kept on the local disk: sparse files, each with a map of what of it is there.

Of an object that is used, a file of its size is mapped, and its parts are fetched as they are needed: kernels
verify each block of a file when they first use it (`_cext.base.checksums`), and what is missing is brought
then. What has been fetched stays for the next time, for all processes; that a part is there is believed only
as far as its checksum is right, else it is fetched again.

A file is removed as a whole or not at all: who has it open keeps what was there, and what it fetches later
goes into the removed file, which ends with its last user.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from weakref import WeakSet

from ngramdb import fork_safety
from ngramdb._cext.base.descriptors import Descriptor
from ngramdb.engine.storage.directory.folders import map_file
from ngramdb.engine.storage.directory.object_store import REQUESTS, ObjectStore
from ngramdb.engine.storage.layout import DEFAULT_CACHE_LIMIT
from ngramdb.interrupts import Deferred, holding

#: Bytes that are there or not.
UNIT = 1 << 16
#: Units of one request: at a random place, which takes about as long as one byte of it, and at most.
AROUND = 4
MOST = 128
#: Random requests to a file after which they get twice as large.
RANDOM_REQUESTS = 64
#: The folder: this variable's, or `ngramdb` in the user's folder for caches.
VARIABLE = "NGRAMDB_CACHE"
_DATA, _MAP = ".data", ".map"


def default_folder() -> str:
    """The folder of the cache: NGRAMDB_CACHE, else `ngramdb` in XDG_CACHE_HOME or ~/.cache."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    home = os.environ.get("XDG_CACHE_HOME", "")
    caches = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "ngramdb")


class BlockCache:
    """The folder of the cache. Safe to share between threads, and the folder between processes.

    `limit` gives the bytes on disk that it shall not exceed for long, 0 for no limit.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = default_folder() if folder is None else folder
        self.limit: Callable[[], int] = lambda: DEFAULT_CACHE_LIMIT
        self._open: WeakSet[CachedFile] = WeakSet()
        self._lock = fork_safety.lock()
        self._n_new = 0  # bytes since the folder was last measured

    def open(self, store: ObjectStore, name: str, size: int, tag: str) -> CachedFile:
        """The parts of an object, of at least one byte. Raises OSError when the folder cannot be used."""
        key = hashlib.sha256(f"{store.url}\n{name}\n{size}\n{tag}".encode()).hexdigest()[:32]
        with self.naming():
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            file = CachedFile(self, store, name, size, os.path.join(self.folder, key))
        with self._lock:
            self._open.add(file)
        return file

    @contextlib.contextmanager
    def naming(self) -> Iterator[None]:
        """Errors of a disk that is full name the cache, and what to do."""
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            message = f"{error.strerror} in the cache {self.folder}; SET cache_limit to less"
            raise OSError(error.errno, message) from error

    def grown(self, n_bytes: int) -> None:
        """Note what was written."""
        self._n_new += n_bytes

    @property
    def is_full(self) -> bool:
        """Whether the files have outgrown the limit, to a sixteenth of it: they are not always measured."""
        limit = self.limit()
        if not limit or self._n_new * 16 < limit:
            return False
        self._n_new = 0
        return sum(n_bytes for _, n_bytes, _ in self._files()) > limit

    def evict(self) -> None:
        """Remove the files that were opened longest ago, until a quarter of the limit is free.

        Those of this process go last; it must open them anew.
        """
        with self._lock:
            ours = {file.path for file in self._open}
        files = sorted(self._files(), key=lambda file: (file[0] in ours, file[2]))
        used = sum(n_bytes for _, n_bytes, _ in files)
        for path, n_bytes, _ in files:
            if used <= self.limit() * 3 // 4:
                return
            for suffix in (_MAP, _DATA):
                with contextlib.suppress(OSError):
                    os.unlink(path + suffix)
            used -= n_bytes

    def _files(self) -> list[tuple[str, int, float]]:
        """Each file's path without its ending, its bytes on disk, and when it was last opened."""
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                path, ending = os.path.splitext(entry.path)
                if ending == _DATA:
                    with contextlib.suppress(OSError):
                        status = os.stat(path + _DATA)
                        found.append((path, _on_disk(status), os.stat(path + _MAP).st_mtime))
        return found


class CachedFile:
    """An object of which parts are here. `view` is all of it, zeros where a part is missing."""

    def __init__(self, cache: BlockCache, store: ObjectStore, name: str, size: int, path: str) -> None:
        self.path = path
        self.size = size
        self._cache = cache
        self._store = store
        self._name = name
        self._lock = fork_safety.lock()
        n_units = -(-size // UNIT)
        with Deferred():
            self._file = Descriptor(os.open(path + _DATA, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.ftruncate(self._file.fd, size)
        self.view = map_file(self._file.fd, size)
        self._present = _open_map(path + _MAP, n_units)
        self._follows = -1  # the unit after those that were fetched last
        self._in_a_row = 0
        self._n_random = 0

    def need(self, *ranges: tuple[int, int], again: bool = False, at_once: bool = False) -> None:
        """Have these ranges of bytes here on return; `again` whether or not they are.

        What lies together is one request, however large, with `at_once`; else requests of at most `MOST`.

        Raises OSError when the store does not give them, or the disk does not take them.
        """
        units = [(start // UNIT, -(-stop // UNIT)) for start, stop in ranges if start < stop]
        if not again and all(self._present.find(b"\0", first, last) < 0 for first, last in units):
            return
        with holding(self._lock):
            if again:
                for first, last in units:
                    self._present[first:last] = bytes(last - first)
            runs = [run for first, last in units for run in self._missing(first, last)]
            wanted = [self._around(first, last) for first, last in runs]
            pieces = sorted({piece for one in wanted for piece in ([one] if at_once else _pieces(*one))})
            for i in range(0, len(pieces), REQUESTS):
                self._fetch(pieces[i : i + REQUESTS])

    @property
    def n_present(self) -> int:
        """How many bytes are here."""
        return min(self._present[:].count(b"\1") * UNIT, self.size)

    def forget(self) -> None:
        """Have nothing here: what is kept cannot be right."""
        self._present[:] = bytes(len(self._present))

    def _missing(self, first: int, last: int) -> Iterable[tuple[int, int]]:
        """The runs of units that are not here."""
        while (start := self._present.find(b"\0", first, last)) >= 0:
            end = self._present.find(b"\1", start, last)
            first = last if end < 0 else end
            yield start, first

    def _around(self, first: int, last: int) -> tuple[int, int]:
        """More units than those, where it is likely that they will be needed."""
        if first == self._follows:
            self._in_a_row += 1
            last = max(last, first + min(AROUND << self._in_a_row, MOST))
        elif last - first < AROUND:
            self._in_a_row = 0
            self._n_random += 1
            size = min(AROUND << self._n_random // RANDOM_REQUESTS, MOST)
            first, last = first // size * size, -(-last // size) * size
        last = min(last, len(self._present))
        while self._present[first]:
            first += 1
        while self._present[last - 1]:
            last -= 1
        self._follows = last
        return first, last

    def _fetch(self, pieces: list[tuple[int, int]]) -> None:
        with self._cache.naming():
            self._store.done([self._fetching(first, last) for first, last in pieces])

    def _fetching(self, first: int, last: int) -> Callable[[], None]:
        def fetch() -> None:
            start, stop = first * UNIT, min(last * UNIT, self.size)
            data = memoryview(self._store.read(self._name, start, stop))
            while data:
                n = os.pwrite(self._file.fd, data, start)
                start, data = start + n, data[n:]
            self._present[first:last] = b"\1" * (last - first)
            self._cache.grown(stop - first * UNIT)

        return fetch


def _open_map(path: str, n_units: int) -> mmap.mmap:
    """One byte for each unit: threads and processes set them without a lock."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        missing = n_units - os.fstat(fd).st_size
        if missing > 0:  # written, not left out: a map of a full disk would end the process
            os.pwrite(fd, bytes(missing), n_units - missing)
        os.utime(fd)
        return mmap.mmap(fd, n_units)
    finally:
        os.close(fd)


def _pieces(first: int, last: int) -> list[tuple[int, int]]:
    return [(at, min(at + MOST, last)) for at in range(first, last, MOST)]


def _on_disk(status: os.stat_result) -> int:
    return getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
