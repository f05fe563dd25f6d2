"""Corpora whose segments are held by the members of a crew.

A view is that of one machine, opened over the same files, except that the numbers of its index, and what
operators compute for each segment by itself, come from the crew. What is not worth a message (documents,
their texts and fields, names in a catalog) is read from the files, of which only those pages are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb.api.snapshot import Snapshot
from ngramdb.caching import cached_property
from ngramdb.cluster.crew import Crew, Job
from ngramdb.cluster.worker_state import ask_batch, ask_index, ask_segments, resolved, warm_segments
from ngramdb.engine.corpus.grouped import Answers, Asked, GroupedIndex, WarmedIndex, parts_of
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import CorpusEntry, Manifest
from ngramdb.engine.storage.store import Store


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
