"""Objects below one URL, through fsspec: requests are retried and can be interrupted by Ctrl-C.

Transient failures (500, 503, a reset connection, a truncated body) are retried after increasing
pauses; permanent ones raise OSError. The libraries' own retries are turned off if
possible: with nested retries, it would take minutes to give up on an unreachable store.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ngramdb import interrupts
from ngramdb.errors import QueryCancelled, StorageError
from ngramdb.interrupts import PATIENCE_S, result_of
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
