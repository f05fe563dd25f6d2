"""A subcorpus: the documents that meet a condition, and how often tokens occur in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.token_counts import TokenCounts
from ngramdb.caching import cached_property
from ngramdb.conditions.docset import DocSet
from ngramdb.executor.per_segment import each_segment
from ngramdb.interruptible_sort import numbered
from ngramdb.source import Corpus, IntArray

Ids = NDArray[np.uint32]


@dataclass(frozen=True)
class Subcorpus:
    """Documents of a corpus: a set per segment without removed documents, or None for all documents."""

    corpus: Corpus
    documents: Sequence[DocSet] | None

    @cached_property
    def n_tokens(self) -> int:
        """The number of tokens in these documents."""
        if self.documents is None:
            return self.corpus.n_tokens
        return sum(each_segment(self.corpus, length_in, self.documents))

    def counts_of(self, ids: Ids) -> IntArray:
        """Return how often tokens occur in these documents: (n,) int64.

        Cost: a search per token; for some of the documents also a few ns for each token in them, or in the
        others, whichever are fewer.
        """
        if self.documents is None:
            return self._counts_of_all(ids)
        reads_others = 2 * self.n_tokens > self.corpus.n_tokens
        found = _looked_up(ids, *self._token_counts(reads_others))
        return self._counts_of_all(ids) - found if reads_others else found

    def token_counts(self) -> tuple[Ids, IntArray]:
        """Return all tokens of these documents, ids ascending, and their counts. Cost: a few ns per token."""
        return self._token_counts(False)

    def _token_counts(self, of_others: bool) -> tuple[Ids, IntArray]:
        """Return the same for these documents, or for all others."""
        found = list(each_segment(self.corpus, token_counts_in, self.documents or (), of_others))
        ids = np.concatenate([np.empty(0, dtype=np.uint32), *(ids for ids, _ in found)])
        counts = np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in found)])
        first, places = numbered(ids)
        sums = np.zeros(len(first), dtype=np.int64)
        np.add.at(sums, places, counts)
        return ids[first], sums

    def _counts_of_all(self, ids: Ids) -> IntArray:
        return self.corpus.index.count_many(ids.astype(np.int64), np.arange(len(ids) + 1))


def length_in(corpus: Corpus, i: int, documents: Sequence[DocSet]) -> int:
    """Return the number of tokens in the documents in segment i."""
    starts, stops = corpus.segments[i].index.document_bounds(documents[i].numbers())
    return int((stops.astype(np.int64) - starts).sum())


def token_counts_in(
    corpus: Corpus, i: int, documents: Sequence[DocSet], of_others: bool
) -> tuple[Ids, IntArray]:
    """Return the tokens of the documents in segment i, or of its other documents, and their counts."""
    docs = documents[i]
    if of_others:
        docs = ~docs & DocSet(corpus.removed(i), corpus.segments[i].n_documents, negated=True)
    counts = TokenCounts()
    counts.add_documents(corpus.segments[i].index, docs.numbers())
    return counts.found()


def _looked_up(ids: Ids, known: Ids, counts: IntArray) -> IntArray:
    """Return the counts of ids; 0 for ids that are not among the known ones, which are ascending."""
    if not len(known):
        return np.zeros(len(ids), dtype=np.int64)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, counts[places], 0)
