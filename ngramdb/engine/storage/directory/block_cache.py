"""Parts of remote objects cached on the local disk: sparse files, each with a map of the parts present.

For an object in use, a file of its size is mapped, and its parts are fetched on demand: kernels
verify each block of a file on first use (`_cext.base.checksums`), and missing blocks are fetched
then. Fetched parts stay for later use, by all processes; a part is trusted only if its checksum
is right, else it is fetched again.

A file is removed as a whole or not at all: a process that has it open keeps its parts, and what it fetches
later goes into the removed file, which disappears with its last user.
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

#: Bytes that are present or missing together.
UNIT = 1 << 16
#: Units per request: at random places, for about the same time as one byte, and at most.
AROUND = 4
MOST = 128
#: Random requests to a file after which their size doubles.
RANDOM_REQUESTS = 64
#: The environment variable with the folder; by default `ngramdb` in the user's folder for caches.
VARIABLE = "NGRAMDB_CACHE"
_DATA, _MAP = ".data", ".map"


def default_folder() -> str:
    """Return the folder of the cache: NGRAMDB_CACHE, else `ngramdb` in XDG_CACHE_HOME or ~/.cache."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return os.path.abspath(chosen)
    home = os.environ.get("XDG_CACHE_HOME", "")
    caches = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "ngramdb")


class BlockCache:
    """The folder of the cache. Safe to share between threads, and the folder between processes.

    `limit` returns the bytes on disk that it may not exceed for long, 0 for no limit.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = default_folder() if folder is None else folder
        self.limit: Callable[[], int] = lambda: DEFAULT_CACHE_LIMIT
        self._open: WeakSet[CachedFile] = WeakSet()
        self._lock = fork_safety.lock()
        self._n_new = 0  # bytes written since the folder was last measured

    def open(self, store: ObjectStore, name: str, size: int, tag: str) -> CachedFile:
        """Open the parts of an object, of at least one byte. Raises OSError if the folder is not usable."""
        key = hashlib.sha256(f"{store.url}\n{name}\n{size}\n{tag}".encode()).hexdigest()[:32]
        with self.naming():
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            file = CachedFile(self, store, name, size, os.path.join(self.folder, key))
        with self._lock:
            self._open.add(file)
        return file

    @contextlib.contextmanager
    def naming(self) -> Iterator[None]:
        """Add the cache's name, and what to do, to errors of a full disk."""
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            message = f"{error.strerror} in the cache {self.folder}; SET cache_limit to less"
            raise OSError(error.errno, message) from error

    def grown(self, n_bytes: int) -> None:
        """Count the bytes that were written."""
        self._n_new += n_bytes

    @property
    def is_full(self) -> bool:
        """Return True if the files exceed the limit, to within a sixteenth: they are not always measured."""
        limit = self.limit()
        if not limit or self._n_new * 16 < limit:
            return False
        self._n_new = 0
        return sum(n_bytes for _, n_bytes, _ in self._files()) > limit

    def evict(self) -> None:
        """Remove the least recently opened files until a quarter of the limit is free.

        Those of this process are removed last; it must reopen them.
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
        """Return each file's path without its suffix, its bytes on disk, and when it was last opened."""
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
    """An object with some parts present. `view` covers all of it, with zeros for missing parts."""

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
        """Fetch these ranges of bytes; with `again` even if they are present.

        With `at_once`, adjacent parts are one request, however large; else requests have at most `MOST`.

        Raises OSError if the store does not return them, or the disk cannot store them.
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
        """Number of bytes that are present."""
        return min(self._present[:].count(b"\1") * UNIT, self.size)

    def forget(self) -> None:
        """Mark all parts as missing: the cached bytes are wrong."""
        self._present[:] = bytes(len(self._present))

    def _missing(self, first: int, last: int) -> Iterable[tuple[int, int]]:
        """Yield the runs of missing units."""
        while (start := self._present.find(b"\0", first, last)) >= 0:
            end = self._present.find(b"\1", start, last)
            first = last if end < 0 else end
            yield start, first

    def _around(self, first: int, last: int) -> tuple[int, int]:
        """Extend the range of units by those that will probably be needed."""
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
    """Open the map with one byte per unit: threads and processes set them without a lock."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        missing = n_units - os.fstat(fd).st_size
        if missing > 0:  # written, not left out: a mapped file on a full disk would end the process
            os.pwrite(fd, bytes(missing), n_units - missing)
        os.utime(fd)
        return mmap.mmap(fd, n_units)
    finally:
        os.close(fd)


def _pieces(first: int, last: int) -> list[tuple[int, int]]:
    return [(at, min(at + MOST, last)) for at in range(first, last, MOST)]


def _on_disk(status: os.stat_result) -> int:
    return getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
