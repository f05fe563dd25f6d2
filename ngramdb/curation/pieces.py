"""The pieces of broken documents: tokens that follow one another without a break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.curation.windows import Ranges, united
from ngramdb.segments.base import Segment
from ngramdb.segments.container.layout import piece_offsets
from ngramdb.types import Docs

Places = NDArray[np.int64]


class Pieces(NamedTuple):
    """The pieces of some documents of a segment; a document without breaks is one piece.

    offsets : (n + 1,) int64, piece k is the tokens offsets[k]:offsets[k + 1] of the concatenated documents
    firsts : (n,) int64, the position of its first token in the segment
    """

    offsets: Places
    firsts: Places


def pieces_of(segment: Segment, docs: Docs) -> Pieces:
    """Return the pieces of these documents (ascending)."""
    ends = np.concatenate([[0], np.cumsum(segment.lengths(docs))]).astype(np.int64)
    breaks = segment.breaks_of(docs).tokens
    offsets = piece_offsets(ends, breaks)
    n_breaks = np.bincount(np.searchsorted(ends, breaks, side="right") - 1, minlength=len(docs))
    owners = np.repeat(np.arange(len(docs)), n_breaks + 1)
    before = np.cumsum(n_breaks) - n_breaks
    # There is a separator at each break of the document before.
    n_separators = np.arange(len(owners)) - owners - before[owners]
    starts, _ = segment.index.document_bounds(docs)
    return Pieces(offsets, starts.astype(np.int64)[owners] + offsets[:-1] - ends[owners] + n_separators)


def with_context(segment: Segment, spans: Ranges, n: int) -> Ranges:
    """Return the union of spans with `n` tokens on either side of each, within its piece.

    spans : ascending by start; they may overlap
    """
    if not n or not len(spans.starts):
        return united(spans)
    docs = np.unique(segment.index.documents_at(spans.starts)).astype(np.uint32)
    pieces = pieces_of(segment, docs)
    starts, stops = spans.starts.astype(np.int64), spans.stops.astype(np.int64)
    owners = np.searchsorted(pieces.firsts, starts, side="right") - 1
    firsts = pieces.firsts[owners]
    lasts = firsts + np.diff(pieces.offsets)[owners]
    starts, stops = np.maximum(starts - n, firsts), np.minimum(stops + n, lasts)
    return united(Ranges(starts.astype(np.uint32), stops.astype(np.uint32)))
