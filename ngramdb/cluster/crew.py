"""Assignment of segments to members, and work for several members at a time.

Every member of a crew can open every segment, since they lie in a folder that all see; which ones it is
asked about decides what it has in memory. Segments are spread by rendezvous hashing: each has an order of all
members of its own, and is held by the first `replicas` of those that live. So one that is lost leaves its
segments to many others, and the other segments stay with their holders.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.corpus import grouped
from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.engine.storage.directory import directory_at
from ngramdb.engine.storage.store import Store
from ngramdb.errors import ExecutionError, NotSupportedError
from ngramdb.interrupts import Interrupt
from ngramdb.lazy import lazy_module

# Interval between checks whether awaited answers are still wanted, in seconds.
PATIENCE_S = 0.02
# Time until a query fails if all members are lost, in seconds; others are started meanwhile.
AWAY_S = 60.0
# The largest share of the work, relative to the mean, that counts as even.
EVEN = 1.15
# Number of members that may be lost during one query: a query that kills every member must not run forever.
MOST_LOST = 4


class MemberLost(Exception):
    """A member ended before it answered."""


class Transport(Protocol):
    """The connection to members. References stand for answers that may not have arrived yet."""

    n_members: int

    def send(self, member: int, number: int, message: bytes) -> Any: ...
    def ready(self, references: Sequence[Any], timeout_s: float) -> list[Any]: ...
    def answer(self, reference: Any) -> bytes: ...  # raises MemberLost
    def stop(self, member: int, number: int) -> None: ...
    def replace(self, member: int) -> Any: ...  # a reference, ready when the new one is
    def close(self) -> None: ...


class Job(NamedTuple):
    """A member and its work: `function(library, *arguments)`."""

    member: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Crew:
    """The members of a connection. May be shared by threads.

    Parameters
    ----------
    transport : how they are reached
    replicas : how many members hold a segment
    """

    def __init__(self, transport: Transport, replicas: int) -> None:
        self.transport = transport
        self.replicas = min(replicas, transport.n_members)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        # Members that were lost, with the reference that is ready when they are replaced.
        self._away: dict[int, Any] = {}
        self._ranked: dict[str, list[int]] = {}
        self.is_closed = False
        self._n_replaced = [0] * transport.n_members

    def close(self) -> None:
        """Stop the members; later queries are refused."""
        self.is_closed = True
        self.transport.close()

    def living(self) -> list[int]:
        """Return the available members, ascending."""
        with self._lock:
            for member, reference in list(self._away.items()):
                if self.transport.ready([reference], 0):
                    del self._away[member]
                    try:
                        self.transport.answer(reference)
                    except MemberLost:
                        self._replace(member)
            return [i for i in range(self.transport.n_members) if i not in self._away]

    def holders(self, segment: str, living: Sequence[int]) -> list[int]:
        """Return the living members that hold a segment, by its name, in order of preference."""
        ranked = self._ranked.get(segment)
        if ranked is None:
            keys = [
                hashlib.blake2b(f"{i}:{segment}".encode(), digest_size=8).digest()
                for i in range(self.transport.n_members)
            ]
            ranked = self._ranked[segment] = sorted(range(len(keys)), key=keys.__getitem__)
        return [member for member in ranked if member in living][: self.replicas]

    def n_parts(self, segments: Sequence[tuple[str, int]]) -> int:
        """Into how many parts a batch is divided: one where segments alone give everybody as much to do.

        Half the questions take more than half the time, as neighbours in a sorted batch share their searches.
        """
        shares = self.balanced(segments)
        tokens = [sum(segments[i][1] for i in shares.get(member, ())) for member in self.living()]
        return 1 if max(tokens, default=0) * len(tokens) <= EVEN * sum(tokens) else self.replicas

    def shares(self, segments: Sequence[tuple[str, int]], turn: int) -> dict[int, list[int]]:
        """Assign segments to members: each goes to the holder whose turn it is.

        Over all turns, holders of the same segments get the same share.
        """
        living = self._some_living()
        shares: dict[int, list[int]] = {}
        for i, (name, _) in enumerate(segments):
            holders = self.holders(name, living)
            shares.setdefault(holders[turn % len(holders)], []).append(i)
        return shares

    def balanced(self, segments: Sequence[tuple[str, int]]) -> dict[int, list[int]]:
        """Return the same for undivided work: for each segment the holder with the fewest tokens so far."""
        living = self._some_living()
        tokens = dict.fromkeys(living, 0)
        shares: dict[int, list[int]] = {}
        for i in sorted(range(len(segments)), key=lambda i: -segments[i][1]):
            name, n_tokens = segments[i]
            member = min(self.holders(name, living), key=tokens.__getitem__)
            tokens[member] += n_tokens + 1
            shares.setdefault(member, []).append(i)
        return {member: sorted(numbers) for member, numbers in shares.items()}

    def held(self, segments: Sequence[tuple[str, int]]) -> dict[int, list[int]]:
        """Which member holds which segments: each has several holders."""
        living = self._some_living()
        held: dict[int, list[int]] = {}
        for i, (name, _) in enumerate(segments):
            for member in self.holders(name, living):
                held.setdefault(member, []).append(i)
        return held

    def _some_living(self) -> list[int]:
        if self.is_closed:
            raise ExecutionError("the connection is closed, and its actors with it")
        began = time.monotonic()
        while not (living := self.living()):
            if time.monotonic() - began > AWAY_S:
                raise ExecutionError(
                    f"all {self.transport.n_members} actors were lost, and no other could be started in "
                    f"{AWAY_S:.0f} s; check the cluster (ray status), and run the query again"
                )
            interrupts.check()
            time.sleep(PATIENCE_S)
        return living

    def ask(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the members' answers in the order of the jobs; members work at the same time.

        The job of a lost member goes to another. An error of one of them, or an interrupt, stops all.
        """
        number = next(self._numbers)
        answers: list[Any] = [None] * len(jobs)
        n_lost = [0] * len(jobs)
        # The job, the member, and which of those in its place it was.
        pending: dict[Any, tuple[int, int, int]] = {}

        def send(k: int, member: int) -> None:
            message = pickle.dumps((jobs[k].function, jobs[k].arguments), protocol=5)
            with self._lock:
                pending[self.transport.send(member, number, message)] = k, member, self._n_replaced[member]

        try:
            for k, job in enumerate(jobs):
                send(k, job.member)
            while pending:
                for reference in self.transport.ready(list(pending), PATIENCE_S):
                    k, member, n_replaced = pending.pop(reference)
                    try:
                        is_error, value = pickle.loads(self.transport.answer(reference))
                    except MemberLost as error:
                        self._lose(member, n_replaced)
                        n_lost[k] += 1
                        if n_lost[k] > MOST_LOST:
                            raise ExecutionError(
                                f"{n_lost[k]} actors were lost over the same question, one after the other; "
                                f"it is not asked again: {error}"
                            ) from error
                        living = self._some_living()
                        send(k, living[k % len(living)])
                        continue
                    if is_error:
                        raise value
                    answers[k] = value
                if pending:
                    interrupts.check()
        except BaseException:
            for _, member, _ in pending.values():
                self.transport.stop(member, number)
            raise
        return answers

    def _lose(self, member: int, n_replaced: int) -> None:
        """Have a member replaced: once, however many answers of it are missed."""
        with self._lock:
            if self._n_replaced[member] == n_replaced and not self.is_closed:
                self._replace(member)

    def _replace(self, member: int) -> None:
        self._n_replaced[member] += 1
        self._away[member] = self.transport.replace(member)

    @property
    def n_lost(self) -> int:
        """Number of members lost so far."""
        return sum(self._n_replaced)


# ---- Ray itself: whether it is there, and a connection to it.


ray = lazy_module("ray")


def require_ray() -> None:
    """Raise NotSupportedError if Ray is not installed."""
    try:
        ray.__version__  # noqa: B018 - imports it
    except ModuleNotFoundError as error:
        raise NotSupportedError(
            "a cluster takes a library that is not installed: pip install 'ngramdb[ray]'"
        ) from error


def begin(address: str | None) -> bool:
    """Connect to Ray, unless there is a connection; whether this one is ours to end.

    address : that of a Ray cluster; None starts one on this machine

    Raises ExecutionError if there is none.
    """
    if ray.is_initialized():
        return False
    own = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
    try:
        ray.init(address=address, **(own if address is None else {}))
    except Exception as error:  # each kind of address has errors of its own
        raise ExecutionError(f"cannot connect to Ray at {address or 'this machine'}: {error}") from error
    return True


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Open a connection to Ray, unless there is one; it ends with the block."""
    is_own = begin(address)
    try:
        yield
    finally:
        if is_own:
            ray.shutdown()


def n_cores() -> int:
    """Return the number of cores of the cluster."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


# ---- A member's state: the database's folder, opened for reading, and queries on its segments.


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
OPENING_PATIENCE_S = 0.1


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
            ready, waiting = ray.wait(waiting, timeout=OPENING_PATIENCE_S)
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
