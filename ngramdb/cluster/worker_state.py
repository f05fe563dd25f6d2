"""The state of a member of a crew: the database's folder, opened for reading, and queries on its segments.

Runs in processes of Ray; knows nothing of it. Messages are pickled: a function of a module of ours, and its
arguments, in which views are references to the version that they show (`SharedView`).
"""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.api.snapshot import Snapshot
from ngramdb.cluster.crew import ray
from ngramdb.engine.corpus import grouped
from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.engine.storage.directory import directory_at
from ngramdb.engine.storage.store import Store
from ngramdb.errors import ExecutionError
from ngramdb.interrupts import Interrupt

# Versions that are kept open: questions of a connection are all about one or two.
_KEPT_VERSIONS = 4
# Numbers of stopped work that are remembered: it may be stopped before it has begun.
_KEPT_NUMBERS = 1024

# The library whose message is being read: references to views are resolved there.
_CURRENT: ContextVar[Library] = ContextVar("library")


class Library:
    """A database for reading, at several versions. May be shared by threads."""

    def __init__(self, path: str) -> None:
        self._store = Store.open(directory_at(path), read_only=True, create=False)
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()
        self._lock = threading.Lock()
        self._running: dict[int, Interrupt] = {}
        self._stopped: OrderedDict[int, None] = OrderedDict()

    def ping(self) -> bytes:
        """Nothing: the folder was opened."""
        return b""

    def run(self, number: int, message: bytes) -> bytes:
        """Run a message's work; return the answer, or the error, pickled with a flag for errors."""
        work = Interrupt()
        with self._lock:
            if number in self._stopped:
                work.set()
            self._running[number] = work
        before = _CURRENT.set(self)
        try:
            with work:
                function, arguments = pickle.loads(message)
                answer = False, function(self, *arguments)
                return pickle.dumps(answer, protocol=5)
        except Exception as error:
            return pickle.dumps((True, error), protocol=5)
        finally:
            _CURRENT.reset(before)
            with self._lock:
                self._running.pop(number, None)

    def stop(self, number: int) -> None:
        """Stop the work of a number, now or when it begins."""
        with self._lock:
            self._stopped[number] = None
            if len(self._stopped) > _KEPT_NUMBERS:
                self._stopped.popitem(last=False)
            work = self._running.get(number)
        if work is not None:
            work.set()

    def view(self, version: int, name: str) -> CorpusView:
        """Return a corpus at a version that somebody else protects from removal."""
        with self._lock:
            snapshot = self._snapshots.get(version)
            if snapshot is None:
                self._store.refresh()
                newest = next(reversed(self._snapshots.values()), None)
                snapshot = Snapshot(self._store, self._store.version(version), newest)
                self._snapshots[version] = snapshot
                if len(self._snapshots) > _KEPT_VERSIONS:
                    self._snapshots.popitem(last=False)
            else:
                self._snapshots.move_to_end(version)
        return snapshot.view(name)


def resolved(version: int, name: str) -> CorpusView:
    """Return the view that a reference in a message identifies."""
    return _CURRENT.get().view(version, name)


def ask_index(
    _library: Library,
    view: CorpusView,
    numbers: Sequence[int],
    method: str | Callable[..., Any],
    arguments: tuple[Any, ...],
) -> list[tuple[int, Any]]:
    """Return the answers of some of the segments, those of each sign together, with the sign.

    numbers : places among the added segments and then the subtracted ones
    """
    return [
        (sign, method(index, *arguments) if callable(method) else getattr(index, method)(*arguments))
        for sign, index in ((sign, _index_of(view, sign, numbers)) for sign in (1, -1))
        if index is not None
    ]


def ask_segments(
    _library: Library,
    view: CorpusView,
    numbers: Sequence[int],
    answer: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> list[Any]:
    """Return the answers of some of the added segments, one by one."""
    return [answer(view, i, *arguments) for i in numbers]


def warm_segments(_library: Library, view: CorpusView, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Read some of the segments into memory; of each its bytes, and how many of them are there."""
    segments = [_segment_of(view, i) for i in numbers]
    grouped.warm(segments)
    return [(segment.size_bytes, segment.resident_bytes()) for segment in segments]


def ask_batch(
    _library: Library, view: CorpusView, answer: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """Return the answers of all segments to a part of a batch."""
    return answer(view, *arguments)


def _segment_of(view: CorpusView, number: int) -> Segment:
    """Return a segment by its place among the added and then the subtracted ones."""
    n_added = len(view.entry.added)
    return view.segments[number] if number < n_added else view.subtracted[number - n_added]


def _index_of(view: CorpusView, sign: int, numbers: Sequence[int]) -> Index | None:
    """Return an index over the segments of a sign, cached in the view; None if there are none."""
    n_added = len(view.entry.added)
    chosen = tuple(i for i in numbers if (i < n_added) == (sign > 0))
    if not chosen:
        return None
    indexes: dict[tuple[int, ...], Index] = view.__dict__.setdefault("_indexes_of_groups", {})
    found = indexes.get(chosen)
    if found is None:
        segments = [_segment_of(view, i) for i in chosen]
        grouped.prepare(segments, "auto")
        found = indexes.setdefault(chosen, Index([one.index for one in segments], [1] * len(segments)))
    return found


# ---- Tasks of Ray: their results as they come, whatever is lost meanwhile.


# Number of retries of a task whose process or machine was lost.
RETRIES = 5
# Interval between checks whether results are still wanted, in seconds.
PATIENCE_S = 0.1


def results(references: Sequence[Any], retries: int, advice: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of each task and its result, as tasks finish.

    A task returns `answer_of` its work. On any error, or an interrupt, running tasks are cancelled.

    Raises
    ------
    ExecutionError
        A task was lost more than `retries` times; `advice` is the remedy.
    """
    places = {reference: i for i, reference in enumerate(references)}
    waiting = list(references)
    try:
        while waiting:
            ready, waiting = ray.wait(waiting, timeout=PATIENCE_S)
            interrupts.check()
            for reference in ready:
                yield places[reference], _result(reference, retries, advice)
    except BaseException:
        for reference in waiting:
            ray.cancel(reference, force=True)
        raise


def answer_of(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return a task's result: that of the work, or the error that a retry would not avoid."""
    try:
        return work(*arguments, **named)
    except Exception as error:
        return error


def _result(reference: Any, retries: int, advice: str) -> Any:
    try:
        result = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise ExecutionError(
            f"a task was lost more than {retries:,} times: {error}; nothing was committed. {advice}"
        ) from error
    if isinstance(result, BaseException):
        raise result
    return result
