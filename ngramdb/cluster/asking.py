"""A connection whose questions are answered by actors of Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.api.snapshot import Snapshot
from ngramdb.cluster import crew as starting
from ngramdb.cluster.crew import (
    AWAY_S,
    Crew,
    Job,
    Library,
    MemberLost,
    ask_batch,
    ask_index,
    ask_segments,
    ray,
    resolved,
    warm_segments,
)
from ngramdb.engine.corpus.grouped import Answers, Asked, GroupedIndex, WarmedIndex, parts_of
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory import directory_at
from ngramdb.engine.storage.manifest import CorpusEntry, Manifest
from ngramdb.engine.storage.store import Store
from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.types import checked_flags

# Number of calls that an actor runs concurrently: queries of several threads, and interrupts.
_CONCURRENT = 8
# Arguments up to 100 KiB travel with a call to an actor; a larger one takes two milliseconds more, by way of
# Ray's store. So messages are cut, up to the size from which the store is faster.
PIECE_BYTES = 95_000
LARGE_BYTES = 4_000_000


@checked_flags
def connect(
    path: str | os.PathLike[str],
    *,
    address: str | None = None,
    actors: int | None = None,
    replicas: int = 2,
    read_only: bool = False,
) -> ClusterConnection:
    """Open a database whose questions are answered by actors of Ray, each from a share of the segments.

    ```
    db = ngramdb.cluster.connect("/shared/corpora.ngdb", address="auto")
    db.corpus("pile").prob_many(pairs)
    ```

    Statements, verbs and batches are those of `ngramdb.connect`, and so are their answers. What is written is
    written by the caller's process.

    Parameters
    ----------
    path : the database's folder, which all machines see under this name
    address : that of a Ray cluster ("auto", "ray://…"); None for the one that is connected to, else for one
        of this machine's cores, which ends with the connection
    actors : how many; as many as the cluster has cores when not given. Each takes one core
    replicas : how many actors hold each segment. They share its questions, and when one is lost the others
        answer them
    read_only : as for `ngramdb.connect`

    Raises
    ------
    NotSupportedError
        Ray is not installed.
    InvalidArgument
        `actors` or `replicas` is not a number of at least 1.
    StorageError
        The folder is not a database, was written by a newer version, or is damaged.
    ExecutionError
        No Ray cluster is running at the address.

    Notes
    -----
    Cost: some seconds for the actors' start, whatever the size. A question then takes about a millisecond
    more than on one machine.
    """
    starting.require_ray()
    for name, value in (("actors", 1 if actors is None else actors), ("replicas", replicas)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgument(f"{name} must be a number of at least 1, not {value!r}")
    place = os.fspath(path)
    directory = directory_at(place if "://" in place else os.path.abspath(os.path.expanduser(place)))
    store = Store.open(directory, read_only=read_only, create=False)
    is_own = False
    try:
        is_own = starting.begin(address)
        transport = _Actors(directory.description, starting.n_cores() if actors is None else actors)
    except BaseException:
        store.close()
        if is_own:
            ray.shutdown()
        raise
    crew = Crew(transport, replicas)
    return ClusterConnection(Database(store, snapshots=partial(SharedSnapshot, crew)), crew, is_own)


class ClusterConnection(Connection):
    """An open database that is queried through actors; made by `ngramdb.cluster.connect`."""

    def __init__(self, database: Database, crew: Crew, ends_ray: bool = False) -> None:
        super().__init__(database)
        self._crew = crew
        self._ends_ray = ends_ray

    def close(self) -> None:
        """Close the connection and its actors. The rest of a result stays readable if it needs no actor."""
        super().close()
        if not self._crew.is_closed:
            self._crew.close()
            if self._ends_ray:
                ray.shutdown()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the path of the database: unpickling opens it without actors."""
        return Connection, super().__reduce__()[1]


class _OneCore(Library):
    """The state of an actor. Its kernels use the one core that it has reserved."""

    def __init__(self, path: str) -> None:
        os.environ["NGRAMDB_CORES"] = "1"
        super().__init__(path)

    def run_pieces(self, number: int, *pieces: bytes) -> bytes:
        """As `run`, of a message in pieces."""
        return self.run(number, pieces[0] if len(pieces) == 1 else b"".join(pieces))


class _Actors:
    """Members as actors of Ray (`crew.Transport`)."""

    def __init__(self, path: str, n: int) -> None:
        self.n_members = n
        self._path = path
        self._actors = [self._start() for _ in range(n)]
        references = [actor.ping.remote() for actor in self._actors]
        ready, late = ray.wait(references, num_returns=n, timeout=AWAY_S)
        try:
            for reference in ready:
                self.answer(reference)
        except MemberLost as error:
            self.close()
            raise ExecutionError(
                f"an actor cannot open {path}; do all machines see this folder? {error}"
            ) from error
        if late:
            self.close()
            raise ExecutionError(
                f"{len(late)} of {n} actors did not start within {AWAY_S:.0f} s; each takes one core of the "
                "cluster (ray status), and `actors` sets their number"
            )

    def _start(self) -> Any:
        actor = ray.remote(num_cpus=1, max_concurrency=_CONCURRENT, scheduling_strategy="SPREAD")(_OneCore)
        return actor.remote(self._path)

    def send(self, member: int, number: int, message: bytes) -> Any:
        pieces = [message]
        if PIECE_BYTES < len(message) < LARGE_BYTES:
            pieces = [message[i : i + PIECE_BYTES] for i in range(0, len(message), PIECE_BYTES)]
        return self._actors[member].run_pieces.remote(number, *pieces)

    def ready(self, references: Sequence[Any], timeout_s: float) -> list[Any]:
        found, _ = ray.wait(list(references), num_returns=1, timeout=timeout_s)
        return list(found)

    def answer(self, reference: Any) -> bytes:
        try:
            made: bytes = ray.get(reference)
        except (ray.exceptions.RayTaskError, ray.exceptions.TaskCancelledError):
            raise
        except ray.exceptions.RayError as error:  # its process ended, or its answer was lost with its machine
            raise MemberLost(str(error)) from error
        return made

    def stop(self, member: int, number: int) -> None:
        self._actors[member].stop.remote(number)

    def replace(self, member: int) -> Any:
        ray.kill(self._actors[member])
        self._actors[member] = self._start()
        return self._actors[member].ping.remote()

    def close(self) -> None:
        for actor in self._actors:
            ray.kill(actor)


# ---- Corpora whose segments are held by the members of a crew.


class SharedView(CorpusView):
    """A corpus at one version, asked over a crew. Pickled for a member, it is that member's own view."""

    def __init__(
        self, store: Store, entry: CorpusEntry, hold: object | None, version: int, crew: Crew
    ) -> None:
        super().__init__(store, entry, hold)
        #: A version that has this corpus as it is, and is kept as long as the view.
        self.version = version
        self._crew = crew

    def __reduce__(self) -> tuple[Any, ...]:
        return resolved, (self.version, self.entry.name)

    def keep(self, version: int, hold: object | None) -> None:
        super().keep(version, hold)
        self.version = version

    @cached_property
    def index(self) -> Index:
        segments = [*self.segments, *self.subtracted]
        signs = [1] * len(self.segments) + [-1] * len(self.subtracted)
        if not self.segments:
            return Index([], [])
        index = GroupedIndex([segment.index for segment in segments], signs)
        index.n_parts = self._crew.n_parts(self._named)
        index.ask = self._ask
        return index

    def ask_segments(self, answer: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Any]:
        """`answer(view, i, *arguments)` of each segment i, in order."""
        shares = self._crew.balanced(self._named[: len(self.entry.added)])
        jobs = [
            Job(member, ask_segments, (self, numbers, answer, arguments))
            for member, numbers in shares.items()
        ]
        found: dict[int, Any] = {}
        for numbers, answers in zip(shares.values(), self._crew.ask(jobs), strict=True):
            found.update(zip(numbers, answers, strict=True))
        return (found[i] for i in range(len(self.entry.added)))

    def ask_batch(
        self,
        answer: Callable[..., Any],
        flat: NDArray[np.int64],
        offsets: NDArray[np.int64],
        columns: Sequence[NDArray[Any]],
        arguments: tuple[Any, ...],
    ) -> list[Any] | None:
        """`answer(view, flat, offsets, columns, *arguments)` of the parts of a batch, each by another member.

        columns : arrays of one value per question. None if the batch is too small to be divided.
        """
        members = self._crew.living()
        parts = parts_of(flat, offsets, len(members))
        if parts is None or len(parts) < 2:
            return None
        jobs = []
        for member, (ids, bounds, first, last) in zip(members, parts, strict=False):
            some = tuple(column[first:last] for column in columns)
            jobs.append(Job(member, ask_batch, (self, answer, (ids, bounds, some, *arguments))))
        return self._crew.ask(jobs)

    def warm(self) -> WarmedIndex:
        """Have every member read the segments that it holds into its machine's memory."""
        held = self._crew.held(self._named)
        jobs = [Job(member, warm_segments, (self, numbers)) for member, numbers in held.items()]
        found: dict[int, tuple[int, int]] = {}
        for numbers, sizes in zip(held.values(), self._crew.ask(jobs), strict=True):
            for i, size in zip(numbers, sizes, strict=True):
                found[i] = max(found.get(i, size), size)
        return WarmedIndex(sum(n for n, _ in found.values()), sum(n for _, n in found.values()))

    def _ask(self, questions: Sequence[Asked]) -> list[Answers]:
        """Return the answers of all groups to each question; members take turns with questions of a batch."""
        jobs, turns = [], []
        for turn, (method, arguments) in enumerate(questions):
            if len(questions) == 1:
                shares = self._crew.balanced(self._named)
            else:
                shares = self._crew.shares(self._named, turn)
            for member, numbers in shares.items():
                jobs.append(Job(member, ask_index, (self, numbers, method, arguments)))
                turns.append(turn)
        answers: list[Answers] = [[] for _ in questions]
        for turn, found in zip(turns, self._crew.ask(jobs), strict=True):
            answers[turn] += found
        return answers

    @cached_property
    def _named(self) -> list[tuple[str, int]]:
        """The segments' names and tokens: the added ones, and then the subtracted ones."""
        return [(one.file.name, one.n_tokens) for one in (*self.entry.added, *self.entry.subtracted)]


class SharedSnapshot(Snapshot):
    """A version whose corpora are queried through a crew."""

    def __init__(self, crew: Crew, store: Store, manifest: Manifest, *rest: Any, **named: Any) -> None:
        super().__init__(store, manifest, *rest, **named)
        self._crew = crew

    def opened(self, store: Store, entry: CorpusEntry, version: int, hold: object | None) -> CorpusView:
        return SharedView(store, entry, hold, version, self._crew)
