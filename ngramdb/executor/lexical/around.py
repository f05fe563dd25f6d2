"""N-grams around the occurrences of a part that each of them has: faster than a pass if the part is rare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.top_ngrams import NgramScan
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.interruptible_sort import each_once, numbered_sequences
from ngramdb.interrupts import check
from ngramdb.source import IntArray

# N-grams that are read at most, and rows of a pass that take as long as one of them.
MOST_READ = 1 << 21
ROWS_PER_READ = 6

# A segment's index, the rows of a pass, their sign with a bitmap of documents, and nothing.
Source = tuple[Any, Any, tuple[int, NDArray[np.uint8] | None], None]


class Part(NamedTuple):
    """N-grams flat[offsets[i]:offsets[i + 1]]; each wanted n-gram has one after `before` of its tokens."""

    flat: IntArray
    offsets: IntArray
    before: range

    @classmethod
    def of_tokens(cls, tokens: IntArray, before: range) -> Part:
        """Return the part that is any one of some tokens."""
        return cls(tokens.astype(np.int64), np.arange(len(tokens) + 1, dtype=np.int64), before)

    def n_read(self, sources: Sequence[Source]) -> int:
        """Return an upper bound of the n-grams that are read."""
        ranges = (index.ranges(self.flat, self.offsets).astype(np.int64) for index, *_ in sources)
        return len(self.before) * sum(int((hi - lo).sum()) for lo, hi in ranges)


def is_faster(n_read: int, sources: Sequence[Source]) -> bool:
    """Return True if reading n-grams one by one takes less time than a pass over all rows."""
    n_rows = sum(index.n_tokens for index, *_ in sources)
    return n_read <= MOST_READ and ROWS_PER_READ * n_read < n_rows


def ngrams_around(part: Part, scan: NgramScan) -> tuple[IntArray, IntArray]:
    """Return places of n-grams that have a part, (m, 2) ascending by token ids, and their net counts."""
    places, signs = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for source, (index, _, (sign, documents), _) in enumerate(scan.sources):
        check()
        starts = _starts(index, part, scan.n, documents).astype(np.int64)
        places.append(np.stack([np.full_like(starts, source), starts], axis=1))
        signs.append(np.full(len(starts), sign, dtype=np.int64))
    every, weights = np.concatenate(places), np.concatenate(signs)
    lengths = np.full(len(every), scan.n)
    first, numbers = numbered_sequences(lengths, lambda some, depth: scan.column(every[some], depth))
    counts = np.bincount(numbers, weights=weights, minlength=len(first)).astype(np.int64)
    return every[first[counts != 0]], counts[counts != 0]


def _starts(
    index: SegmentIndex, part: Part, n: int, documents: NDArray[np.uint8] | None
) -> NDArray[np.unsignedinteger[Any]]:
    """Return where n-grams with the part begin, ascending, in documents of a bitmap or in all."""
    places = index.places(part.flat, part.offsets)
    docs = index.documents_at(places)
    if documents is not None:
        chosen = (documents[docs >> 3] >> (docs & 7).astype(np.uint8)) & 1 == 1
        places, docs = places[chosen], docs[chosen]
    lo, hi = index.document_bounds(docs)
    begun, left = (places - lo).astype(np.int64), (hi - places).astype(np.int64)
    fits = ((begun >= before) & (left >= n - before) for before in part.before)
    starts = [places[fit] - places.dtype.type(k) for fit, k in zip(fits, part.before, strict=True)]
    every = np.concatenate([places[:0], *starts])
    return each_once(every) if every.dtype == np.uint32 else np.unique(every)
