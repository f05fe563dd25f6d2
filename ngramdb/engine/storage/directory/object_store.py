"""Objects under one URL, by way of fsspec: requests that are tried again, and that Ctrl-C can end.

What fails for a moment (500, 503, a connection that is reset, a body that is cut short) is tried again, each
time after a longer pause; what fails for good is an OSError. The libraries' own trials are turned off where
that is known to work: trials within trials would make a store that is gone a matter of minutes.
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

#: How often a request is made before it has failed, and seconds between the first two; then twice as many.
TRIES = 6
PAUSE_S = 0.1
#: Requests at a time: enough to use a fast network with requests of some megabytes.
REQUESTS = 8
# Seconds without an answer, after which a request has failed.
_CONNECT_S, _READ_S = 10, 20
# Asking again does not help.
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
    """What a store says of an object: its size in bytes, and what changes with its content."""

    size: int
    tag: str


class ObjectStore:
    """The objects whose names begin with a URL and a slash. Safe to share between threads.

    Raises StorageError when no library opens such URLs.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.protocol = self.url.partition("://")[0].lower()
        try:
            self._system, self._root = core.url_to_fs(self.url, **_options(self.protocol))
        except (ImportError, ValueError) as error:
            extra = "s3" if self.protocol in ("s3", "s3a") else "remote"
            raise StorageError(
                f"{self.url}: cannot be opened: {_said(error)}; pip install 'ngramdb[{extra}]' installs what "
                "such URLs need",
                path=self.url,
            ) from error
        except OSError as error:  # of protocols that connect at once
            raise StorageError(f"{self.url}: cannot be opened: {_said(error)}", path=self.url) from error
        if hasattr(self._system, "retries"):  # of s3fs
            self._system.retries = 1
        self._pool: Any = None
        self._pid = 0

    def stored(self) -> dict[str, Stored]:
        """All objects, by their names below the URL. One request for each thousand."""

        def found() -> dict[str, Stored]:
            self._system.invalidate_cache()
            objects = self._system.find(self._root, detail=True)
            skipped = len(self._root.rstrip("/")) + 1
            return {path[skipped:]: _stored(info) for path, info in objects.items()}

        return self.done([found])[0]

    def look(self, name: str) -> Stored | None:
        """What the store says of an object; None where there is none."""

        def found() -> Stored | None:
            self._system.invalidate_cache()
            try:
                return _stored(self._system.info(self._path(name)))
            except FileNotFoundError:
                return None

        return self.done([found])[0]

    def exists(self, name: str) -> bool:
        """Whether there is such an object, of one byte at least. One request, which `look` is not for all."""

        def found() -> bool:
            try:
                return bool(self._system.cat_file(self._path(name), start=0, end=1))
            except FileNotFoundError:
                return False

        return self.done([found])[0]

    def read(self, name: str, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of an object; asks once, so it belongs into `done`."""
        data: bytes = self._system.cat_file(self._path(name), start=start, end=stop)
        if len(data) != stop - start:
            raise OSError(f"{len(data)} bytes came, where {stop - start} were asked for")
        return data

    def write(self, name: str, local: str) -> None:
        """Make the content of a local file an object."""
        self.done([lambda: self._system.put_file(local, self._path(name))])

    def write_new(self, name: str, data: bytes) -> None:
        """Make an object of the data, unless there is one: FileExistsError, also in a race.

        Where an answer was lost, the object that is there tells whose it is.
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
        """Remove an object. Raises FileNotFoundError, as far as the store says so."""
        self.done([lambda: self._system.rm_file(self._path(name))])

    def done(self, requests: Sequence[Callable[[], T]]) -> list[T]:
        """The answers of requests that are made at the same time, each of them up to `TRIES` times.

        Raises the OSError of the first that fails for good, or when the current work shall stop.
        """
        if self._pid != os.getpid():  # a forked child has none of its parent's threads
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
        # Without a number: what the system says of its own numbers is about disks.
        raise OSError(f"{_said(last)} (tried {TRIES} times); is the store there? Then try again") from last

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"


def _options(protocol: str) -> dict[str, Any]:
    if protocol in ("s3", "s3a"):
        trials = {"total_max_attempts": 1}
        config = {"retries": trials, "connect_timeout": _CONNECT_S, "read_timeout": _READ_S}
        # An instance of our own: others of this process keep their trials.
        return {"config_kwargs": config, "use_listings_cache": False, "skip_instance_cache": True}
    return {"auto_mkdir": True} if protocol in ("file", "local") else {}


def _stored(info: dict[str, Any]) -> Stored:
    tags = (info.get(name) for name in ("ETag", "etag", "md5Hash", "mtime", "created", "LastModified"))
    size = info.get("size")
    if size is None:
        raise OSError("the store does not say how large its objects are")
    return Stored(int(size), str(next((tag for tag in tags if tag), "")))


def _is_for_good(error: Exception) -> bool:
    return isinstance(error, (*_FOR_GOOD, QueryCancelled)) or type(error).__name__ in _FOR_GOOD_NAMES


def _said(error: BaseException | None) -> str:
    """What an error of any library says, in one line."""
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text or type(error).__name__


def _pause(seconds: float) -> None:
    """Wait, as long as the current work may go on."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        interrupts.check()
        time.sleep(min(left, PATIENCE_S))
