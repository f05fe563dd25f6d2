"""Segments and indexes made straight from lists of token ids: what tests of the kernels start from.

The stream is built here independently of the package's builder, so that any width and gap is possible.
"""

from __future__ import annotations

import numpy as np

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import far_index, key_directory, mark_lcps, suffix_array
from support.reference import ReferenceIndex

WIDTHS = (np.uint8, np.uint16, np.uint32)


def stream_of(documents, dtype=np.uint32, gap=None):
    """Return documents as symbols, ids below the gap plus one, with a 0 after each; and their starts."""
    gap = np.iinfo(dtype).max if gap is None else gap
    symbols, starts = [], [0]
    for document in documents:
        symbols += [token + 1 if token < gap else token for token in document]
        symbols.append(0)
        starts.append(len(symbols))
    return np.array(symbols, dtype=dtype), np.array(starts, dtype=np.uint32)


def arrays_of(documents, dtype=np.uint32, gap=None):
    """A segment's arrays, in the order in which SuffixIndex takes them, and its gap."""
    stream, starts = stream_of(documents, dtype, gap)
    distinct, ranks = np.unique(stream, return_inverse=True)
    rows = suffix_array(ranks.reshape(-1).astype(np.uint32), max(1, len(distinct)))
    tree, rest = key_directory(stream, rows)
    return [stream, rows, tree, rest, starts, int(np.iinfo(dtype).max if gap is None else gap)]


def with_lcps(arrays, width):
    """Return the arrays with LCPs of this many bits in their rows."""
    rows = arrays[1].copy()
    mark_lcps(arrays[0], rows, width)
    return [arrays[0], rows, *arrays[2:]]


#: In place of a width: LCPs beside the rows.
FAR = "far"


def segment_of(documents, dtype=np.uint32, gap=None, lcp_width=7):
    """A SuffixIndex of the documents."""
    arrays = arrays_of(documents, dtype, gap)
    if lcp_width == FAR:
        return SuffixIndex(*arrays, "segment", far=(None, far_lcps_of(arrays), 1))
    return SuffixIndex(*with_lcps(arrays, lcp_width), "segment", lcp_width)


def far_lcps_of(arrays):
    """Return the LCPs of rows without bits for them."""
    return far_index(arrays[0], arrays[1], 1)[1]


def index_of(*segments, signs=None, dtype=np.uint32):
    """An Index over segments, each a list of documents."""
    return Index([segment_of(documents, dtype) for documents in segments], signs or [1] * len(segments))


def oracle_of(*segments, signs=None):
    """Brute force over the same segments."""
    signs = signs or [1] * len(segments)
    added = [d for documents, sign in zip(segments, signs, strict=True) if sign > 0 for d in documents]
    removed = [d for documents, sign in zip(segments, signs, strict=True) if sign < 0 for d in documents]
    return ReferenceIndex(added, removed)


def packed(ngrams):
    """Return n-grams in the form of the kernel's batches: all ids in a row, and the start of each n-gram."""
    offsets = np.cumsum([0, *map(len, ngrams)], dtype=np.int64)
    return np.array([token for ngram in ngrams for token in ngram], dtype=np.int64), offsets


def rows_of(columns):
    """Return the four arrays of an estimate as a list of tuples, one per question."""
    return list(zip(*(column.tolist() for column in columns), strict=True))


def plain(distribution):
    """A distribution without arrays, to be compared."""
    ids, counts, *numbers = distribution
    return [ids.tolist(), counts.tolist(), *map(int, numbers)]
