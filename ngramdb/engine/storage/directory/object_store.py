"""Objects below one URL, through fsspec: requests are retried and can be interrupted by Ctrl-C.

Transient failures (500, 503, a reset connection, a truncated body) are retried after increasing
pauses; permanent ones raise OSError. The libraries' own retries are turned off if
possible: with nested retries, it would take minutes to give up on an unreachable store.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from ngramdb import fork_safety, interrupts
from ngramdb._cext.base.files import Descriptor
from ngramdb.engine.storage.directory.local_files import map_file
from ngramdb.engine.storage.files import DEFAULT_CACHE_LIMIT
from ngramdb.errors import QueryCancelled, StorageError
from ngramdb.interrupts import PATIENCE_S, Deferred, holding, result_of
from ngramdb.lazy import lazy_module

core = lazy_module("fsspec.core")
futures = lazy_module("concurrent.futures")

#: Attempts per request, and seconds between the first two; then twice as many each time.
TRIES = 6
PAUSE_S = 0.1
#: Concurrent requests: enough to use a fast network with requests of a few megabytes.
REQUESTS = 8
# Seconds without an answer after which a request has failed.
_CONNECT_S, _READ_S = 10, 20
# Errors for which a retry does not help.
_FOR_GOOD = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotImplementedError,
    ImportError,
    StorageError,
)
_FOR_GOOD_NAMES = {"NoCredentialsError", "ParamValidationError", "PartialCredentialsError", "ProfileNotFound"}
#: Protocols whose "put if absent" is known to work; without it two writers could overwrite each other.
WRITABLE = {"s3", "s3a", "memory"}

T = TypeVar("T")


class Stored(NamedTuple):
    """The store's metadata of an object: its size in bytes, and a tag that changes with its content."""

    size: int
    tag: str


class ObjectStore:
    """The objects whose names begin with a URL and a slash. Safe to share between threads.

    Raises StorageError if no library opens such URLs.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.protocol = self.url.partition("://")[0].lower()
        try:
            self._system, self._root = core.url_to_fs(self.url, **_options(self.protocol))
        except (ImportError, ValueError) as error:
            extra = "s3" if self.protocol in ("s3", "s3a") else "remote"
            raise StorageError(
                f"{self.url}: cannot be opened: {_said(error)}; pip install 'ngramdb[{extra}]' installs the "
                "libraries for such URLs",
                path=self.url,
            ) from error
        except OSError as error:  # from protocols that connect at once
            raise StorageError(f"{self.url}: cannot be opened: {_said(error)}", path=self.url) from error
        if hasattr(self._system, "retries"):  # of s3fs
            self._system.retries = 1
        self._pool: Any = None
        self._pid = 0

    def stored(self) -> dict[str, Stored]:
        """Return all objects, by their names below the URL. One request per thousand."""

        def found() -> dict[str, Stored]:
            self._system.invalidate_cache()
            objects = self._system.find(self._root, detail=True)
            skipped = len(self._root.rstrip("/")) + 1
            return {path[skipped:]: _stored(info) for path, info in objects.items()}

        return self.done([found])[0]

    def look(self, name: str) -> Stored | None:
        """Return the store's metadata of an object; None if it does not exist."""

        def found() -> Stored | None:
            self._system.invalidate_cache()
            try:
                return _stored(self._system.info(self._path(name)))
            except FileNotFoundError:
                return None

        return self.done([found])[0]

    def exists(self, name: str) -> bool:
        """Return True if an object of at least one byte exists. One request, unlike `look` in some stores."""

        def found() -> bool:
            try:
                return bool(self._system.cat_file(self._path(name), start=0, end=1))
            except FileNotFoundError:
                return False

        return self.done([found])[0]

    def read(self, name: str, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) of an object. Does not retry, so call it within `done`."""
        data: bytes = self._system.cat_file(self._path(name), start=start, end=stop)
        if len(data) != stop - start:
            raise OSError(f"received {len(data)} bytes instead of {stop - start}")
        return data

    def write(self, name: str, local: str) -> None:
        """Upload a local file as an object."""
        self.done([lambda: self._system.put_file(local, self._path(name))])

    def write_new(self, name: str, data: bytes) -> None:
        """Create an object with this data unless it exists: then FileExistsError, even in a race.

        If the answer was lost, the content of the existing object shows who created it.
        """
        try:
            self.done([lambda: self._system.pipe_file(self._path(name), data, mode="create")])
        except FileExistsError:
            found = self.look(name)
            if found is None or found.size != len(data):
                raise
            if self.done([lambda: self.read(name, 0, len(data))])[0] != data:
                raise

    def remove(self, name: str) -> None:
        """Remove an object. Raises FileNotFoundError if the store reports that."""
        self.done([lambda: self._system.rm_file(self._path(name))])

    def done(self, requests: Sequence[Callable[[], T]]) -> list[T]:
        """Return the answers of requests that run at the same time, each attempted up to `TRIES` times.

        Raises the OSError of the first permanent failure, or if the current work is interrupted.
        """
        if self._pid != os.getpid():  # the threads of the parent do not exist in a forked child
            self._pid = os.getpid()
            self._pool = futures.ThreadPoolExecutor(REQUESTS, thread_name_prefix="ngramdb-store")
        answers: dict[int, T] = {}
        left = list(range(len(requests)))
        for attempt in range(TRIES):
            if attempt:
                _pause(PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.75, 1.25))
            pending = [(i, self._pool.submit(requests[i])) for i in left]
            left, last = [], None
            try:
                for i, future in pending:
                    try:
                        answers[i] = result_of(future)
                    except Exception as error:
                        if _is_for_good(error):
                            raise
                        left.append(i)
                        last = error
            finally:
                for _, future in pending:
                    future.cancel()
            if last is None:
                return [answers[i] for i in range(len(requests))]
        # Without a number: the system's texts for its own numbers are about disks.
        raise OSError(f"{_said(last)} (tried {TRIES} times); check the connection, then try again") from last

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


def _options(protocol: str) -> dict[str, Any]:
    if protocol in ("s3", "s3a"):
        trials = {"total_max_attempts": 1}
        config = {"retries": trials, "connect_timeout": _CONNECT_S, "read_timeout": _READ_S}
        # A separate instance: others of this process keep their retries.
        return {"config_kwargs": config, "use_listings_cache": False, "skip_instance_cache": True}
    return {"auto_mkdir": True} if protocol in ("file", "local") else {}


def _stored(info: dict[str, Any]) -> Stored:
    tags = (info.get(name) for name in ("ETag", "etag", "md5Hash", "mtime", "created", "LastModified"))
    size = info.get("size")
    if size is None:
        raise OSError("the store does not report the sizes of its objects")
    return Stored(int(size), str(next((tag for tag in tags if tag), "")))


def _is_for_good(error: Exception) -> bool:
    return isinstance(error, (*_FOR_GOOD, QueryCancelled)) or type(error).__name__ in _FOR_GOOD_NAMES


def _said(error: BaseException | None) -> str:
    """Return the message of an error of any library, in one line."""
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text or type(error).__name__


def _pause(seconds: float) -> None:
    """Sleep, unless the current work is interrupted."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        interrupts.check()
        time.sleep(min(left, PATIENCE_S))


# ---- Parts of remote objects cached on the local disk: sparse files, each with a map of the parts present.
#
# For an object in use, a file of its size is mapped, and its parts are fetched on demand: kernels verify each
# block of a file on first use (`_cext.base.checksums`), and missing blocks are fetched then. Fetched parts
# stay for later use, by all processes; a part is trusted only if its checksum is right, else it is fetched
# again.
#
# A file is removed as a whole or not at all: a process that has it open keeps its parts, and what it fetches
# later goes into the removed file, which disappears with its last user.


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
