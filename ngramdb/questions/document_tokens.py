"""The tokens of documents, in the order of DOCS: the pieces of broken documents one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.overlap_field import token_chunks
from ngramdb.segments.base import Segment
from ngramdb.segments.container.layout import piece_offsets

# Documents that are read together, if they are neighbours in the order.
BATCH_DOCUMENTS = 1 << 14

Ids = NDArray[Any]
Lengths = NDArray[np.int64]


class Pieces(NamedTuple):
    """Consecutive documents, or pieces of them: their concatenated ids, and the length of each."""

    ids: Ids
    lengths: Lengths


def pieces_of(wanted: Iterable[tuple[Segment, int]]) -> Iterator[Pieces]:
    """Yield the tokens of documents in their order, without empty pieces.

    Cost: about 5 ns per token, and 1 µs per document in ascending order, 10 µs in another. Memory: that of
    BATCH_DOCUMENTS documents, or of about a million tokens.
    """
    for segment, numbers in _batches(wanted):
        if (np.diff(numbers.astype(np.int64)) > 0).all():
            for docs, lengths in token_chunks(segment, numbers):
                offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
                bounds = piece_offsets(offsets, segment.breaks_of(docs).tokens)
                yield _with_tokens(segment.token_ids(docs)[0], np.diff(bounds))
            continue
        for number in numbers.tolist():
            interrupts.check()
            parts = segment.pieces(number)
            yield _with_tokens(np.concatenate(parts), np.array([len(part) for part in parts], np.int64))


def _batches(wanted: Iterable[tuple[Segment, int]]) -> Iterator[tuple[Segment, NDArray[np.uint32]]]:
    """Yield neighbours of the same segment together."""
    numbers: list[int] = []
    segment: Segment | None = None
    for one, number in wanted:
        if segment is not None and (one is not segment or len(numbers) == BATCH_DOCUMENTS):
            yield segment, np.array(numbers, dtype=np.uint32)
            numbers = []
        segment = one
        numbers.append(number)
    if segment is not None:
        yield segment, np.array(numbers, dtype=np.uint32)


def _with_tokens(ids: Ids, lengths: Lengths) -> Pieces:
    return Pieces(ids, lengths[lengths > 0])
