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
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ngramdb import interrupts
from ngramdb.errors import ExecutionError, NotSupportedError
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
