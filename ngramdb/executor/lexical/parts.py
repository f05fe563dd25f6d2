"""A part of a corpus, all documents that meet a condition: how many tokens it has, and how often each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.token_counts import TokenCounts
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.planner.source import Corpus, IntArray
from ngramdb.types import Docs

Ids = NDArray[np.uint32]


@dataclass(frozen=True)
class Part:
    """Documents of a corpus, a set for each of its segments; removed ones are in none. None means all."""

    corpus: Corpus
    documents: Sequence[DocSet] | None

    @cached_property
    def n_tokens(self) -> int:
        """How many tokens these documents have."""
        if self.documents is None:
            return self.corpus.n_tokens
        return sum(map(self._length, range(len(self.documents)), map(DocSet.numbers, self.documents)))

    def _length(self, i: int, docs: Docs) -> int:
        starts, stops = self.corpus.segments[i].index.document_bounds(docs)
        return int((stops.astype(np.int64) - starts).sum())

    def counts_of(self, ids: Ids) -> IntArray:
        """How often tokens occur in these documents: (n,) int64.

        Cost: a search a token; of some documents besides some ns for each token of theirs, or of the others,
        whichever are fewer.
        """
        if self.documents is None:
            return self._counts_of_all(ids)
        reads_others = 2 * self.n_tokens > self.corpus.n_tokens
        counts = TokenCounts()
        for i, docs in enumerate(self.documents):
            interrupts.step(i, len(self.documents))
            chosen = ~docs & self._kept(i) if reads_others else docs
            counts.add_documents(self.corpus.segments[i].index, chosen.numbers())
        found = _looked_up(ids, *counts.found())
        return self._counts_of_all(ids) - found if reads_others else found

    def token_counts(self) -> tuple[Ids, IntArray]:
        """All tokens of these documents, ids ascending, and how often each occurs. Cost: some ns a token."""
        counts = TokenCounts()
        for i, docs in enumerate(self.documents or ()):
            interrupts.step(i, len(self.corpus.segments))
            counts.add_documents(self.corpus.segments[i].index, docs.numbers())
        return counts.found()

    def _kept(self, i: int) -> DocSet:
        return DocSet(self.corpus.removed(i), self.corpus.segments[i].n_documents, negated=True)

    def _counts_of_all(self, ids: Ids) -> IntArray:
        return self.corpus.index.count_many(ids.astype(np.int64), np.arange(len(ids) + 1))


def _looked_up(ids: Ids, known: Ids, counts: IntArray) -> IntArray:
    """The counts of ids, 0 for those that are not among the known ones (ascending)."""
    if not len(known):
        return np.zeros(len(ids), dtype=np.int64)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, counts[places], 0)
