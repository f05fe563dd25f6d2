"""The token stream: narrowest width, the gap that makes room for every id, ranks of sparse ids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.indexes import packed

from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import first_wrong_row, key_directory, suffix_array, write_symbols
from ngramdb.segments.container.layout import SymbolBuilder, dense_ranks


def built(*chunks):
    """Return the result of the builder for the chunks, each a list of documents."""
    builder = SymbolBuilder()
    for documents in chunks:
        flat, offsets = packed(documents)
        builder.add(flat.astype(np.uint32), offsets)
    return builder.finish()[:3]


def decoded(stream, starts, gap):
    """The documents that a stream spells, by the definition of the gap."""
    ids = [int(symbol) - (symbol <= gap) for symbol in stream]
    return [ids[start : stop - 1] for start, stop in pairwise(starts.tolist())]


@pytest.mark.parametrize(
    ("ids", "dtype", "gap"),
    [
        ([], np.uint8, 255),
        ([0], np.uint8, 255),
        ([254], np.uint8, 255),
        ([255], np.uint8, 0),
        ([0, 1, 3, 255], np.uint8, 2),
        ([*range(255)], np.uint8, 255),
        ([*range(1, 256)], np.uint8, 0),
        ([*range(100), *range(101, 256)], np.uint8, 100),
        ([*range(254), 255], np.uint8, 254),
        ([*range(256)], np.uint16, 65535),
        ([256], np.uint16, 65535),
        ([65534], np.uint16, 65535),
        ([0, 65535], np.uint16, 1),
        ([*range(65536)], np.uint32, 2**32 - 1),
        ([*range(70), *range(71, 65536)], np.uint16, 70),
        ([65536], np.uint32, 2**32 - 1),
        ([2**32 - 2], np.uint32, 2**32 - 1),
        ([2**32 - 1], np.uint32, 0),
        ([0, 1, 2**32 - 1], np.uint32, 2),
        ([0, 2**31, 2**32 - 2, 2**32 - 1], np.uint32, 1),
    ],
)
@pytest.mark.parametrize("n_chunks", [1, 2])
def test_the_narrowest_width_is_used_and_every_id_fits(ids, dtype, gap, n_chunks):
    documents = [ids, [], ids[::-1], ids[:1], ids[-1:], []]
    chunks = [documents] if n_chunks == 1 else [documents[:2], documents[2:]]
    stream, starts, found = built(*chunks)
    assert (stream.dtype, found) == (dtype, gap)
    assert (gap not in ids) and np.count_nonzero(stream == 0) == len(documents)
    assert decoded(stream, starts, found) == documents
    rows = suffix_array(*dense_ranks(stream))
    assert first_wrong_row(stream, rows) is None
    segment = SuffixIndex(stream, rows, *key_directory(stream, rows), starts, found)
    assert [segment.document(i).tolist() for i in range(len(documents))] == documents
    for token in {*ids[:50], *ids[-50:]}:
        lo, hi = segment.find([token])
        assert hi - lo == sum(document.count(token) for document in documents)
    for absent in {0, 1, gap, 255, 256, 65535, 65536, 2**32 - 2, 2**32 - 1} - set(ids):
        assert segment.find([absent]) == (0, 0)


def test_chunks_of_different_widths_make_one_stream():
    chunks = [[[1, 2]], [[300], []], [[70_000, 5]], [], [[2**32 - 1, 0]], [[7]]]
    stream, starts, gap = built(*chunks)
    assert stream.dtype == np.uint32 and gap == 3
    assert decoded(stream, starts, gap) == [document for chunk in chunks for document in chunk]


@pytest.mark.parametrize("largest", [254, 255, 65534, 65535, 2**32 - 1])
def test_ids_of_any_width_make_the_same_stream(largest):
    documents = [[0, 7], [], [largest, 3, largest]]
    flat, offsets = packed(documents)
    streams = []
    for width in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(width).max:
            builder = SymbolBuilder()
            builder.add(np.array([5], dtype=np.uint8), np.array([0, 1]))
            builder.add(flat.astype(width), offsets)
            streams.append(builder.finish()[:3])
    for stream, starts, gap in streams:
        assert decoded(stream, starts, gap) == [[5], *documents]
    assert len({(stream.dtype, gap) for stream, _, gap in streams}) == 1


def test_no_documents_and_empty_ones_make_a_stream_of_separators():
    stream, starts, _ = built()
    assert stream.tolist() == [] and starts.tolist() == [0] and starts.dtype == np.uint32
    stream, starts, _ = built([[], []], [[]])
    assert stream.tolist() == [0, 0, 0] and starts.tolist() == [0, 1, 2, 3]


def test_the_builder_counts_what_it_was_given():
    builder = SymbolBuilder()
    for documents in ([[1, 2], []], [[3]]):
        flat, offsets = packed(documents)
        builder.add(flat.astype(np.uint32), offsets)
    assert (builder.n_tokens, builder.n_documents) == (3, 3)


def test_few_but_large_ids_are_sorted_by_their_ranks():
    ids = [2**32 - 2, 5, 2**31, 5, 10**9, 2**32 - 2]
    stream, _, _ = built([ids, ids[2:]])
    ranks, n_symbols = dense_ranks(stream)
    assert n_symbols == 5 and ranks.dtype == np.uint32
    assert np.array_equal(np.argsort(ranks, kind="stable"), np.argsort(stream, kind="stable"))
    rows = suffix_array(ranks, n_symbols)
    assert first_wrong_row(stream, rows) is None


def test_dense_ids_are_sorted_as_they_are():
    stream, _, _ = built([[*range(1000)]])
    ranks, n_symbols = dense_ranks(stream)
    assert ranks is stream and n_symbols == 1001
    empty, n_symbols = dense_ranks(stream[:0])
    assert empty.size == 0 and n_symbols == 1


def test_sizes_that_contradict_each_other_are_refused():
    ids = np.array([1, 2, 3], dtype=np.uint32)
    for offsets, n in (([0, 2], 5), ([0, 3], 5), ([1, 3], 4), ([0, 2, 1, 3], 6), ([], 3), ([0, 4, 3], 5)):
        with pytest.raises(ValueError, match="do not fit"):
            write_symbols(ids, np.array(offsets, dtype=np.int64), np.empty(n, dtype=np.uint8))
