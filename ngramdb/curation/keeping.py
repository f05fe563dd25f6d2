"""Which of several copies is kept: the order of documents that KEEP defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.duplicate_windows import LEFT_OUT
from ngramdb.source import Corpus
from ngramdb.types import Docs

#: Documents, the best one first: each one's segment, and its number there.
DocumentOrder = tuple[NDArray[Any], NDArray[Any]]
Ranks = NDArray[np.uint32]


def counting(corpus: Corpus) -> list[Docs]:
    """Return the documents of each segment that have not been removed: (k,) uint32, ascending."""
    every = (np.arange(segment.n_documents, dtype=np.uint32) for segment in corpus.segments)
    return [np.delete(numbers, corpus.removed(i)) for i, numbers in enumerate(every)]


def ranks(corpus: Corpus, documents: Sequence[Docs], order: DocumentOrder | None = None) -> list[Ranks]:
    """Return the rank of each document of each segment, the best one first: (n_documents,) uint32.

    documents : the documents that count, per segment; others have the rank LEFT_OUT
    order : these documents in the order of KEEP BY; by default, the order is that of ids
    """
    found = [np.full(segment.n_documents, LEFT_OUT, dtype=np.uint32) for segment in corpus.segments]
    if order is None:
        before = 0
        for of_segment, numbers in zip(found, documents, strict=True):
            of_segment[numbers] = np.arange(before, before + len(numbers), dtype=np.uint32)
            before += len(numbers)
        return found
    owners, numbers = order
    places = np.arange(len(owners), dtype=np.uint32)
    for i, of_segment in enumerate(found):
        here = owners == i
        of_segment[numbers[here]] = places[here]
    return found
