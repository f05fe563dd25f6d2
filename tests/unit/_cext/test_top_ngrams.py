"""N-grams by frequency: segments of any width merge, counts are net, damage and interruption end well."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.indexes import WIDTHS, arrays_of, segment_of

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.top_ngrams import NegativeCount, NgramBlocks, count_documents, frequent
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb.errors import CorruptionError, Interrupted, TimeoutExceeded
from ngramdb.interrupts import Interrupt


def counted(added, n, removed=()):
    counts = Counter()
    for sign, documents in ((1, added), (-1, removed)):
        for document in documents:
            for i in range(len(document) - n + 1):
                counts[tuple(document[i : i + n])] += sign
    return sorted(((k, c) for k, c in counts.items() if c), key=lambda item: (-item[1], item[0]))


def pairs(found):
    ids, counts = found[0], found[1]
    assert ids.dtype == np.uint32 and counts.dtype == np.int64 and len(ids) == len(counts)
    return list(zip(map(tuple, ids.tolist()), counts.tolist(), strict=True))


def all_blocks(blocks, k):
    found = []
    while part := pairs(blocks.next(k)):
        assert len(part) <= k
        found += part
    return found


def random_documents(rng, n_documents=12):
    return [rng.choice([0, 1, 3, 5], int(rng.integers(0, 30))).tolist() for _ in range(n_documents)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9, 20])
@pytest.mark.parametrize("k", [1, 5, 10_000])
def test_segments_of_all_widths_and_gaps_make_one_list(n, k):
    rng = np.random.default_rng(n)
    parts = [random_documents(rng) for _ in range(4)]
    removed = [*parts[0][:3], *parts[2][5:7]]
    segments = [
        segment_of(documents, width, gap)
        for documents, width, gap in zip(parts, (*WIDTHS, np.uint8), (None, 2, 4, 9), strict=True)
    ]
    every = [document for documents in parts for document in documents]
    assert all_blocks(NgramBlocks(segments, [1] * 4, n), k) == counted(every, n)
    segments.append(segment_of(removed, np.uint16))
    blocks = NgramBlocks(segments, [1, 1, 1, 1, -1], n)
    expected = counted(every, n, removed)
    assert all_blocks(blocks, k) == expected
    assert (blocks.distinct, blocks.occurrences) == (len(expected), sum(count for _, count in expected))


def test_ngrams_that_end_the_text_and_empty_segments_are_taken_in():
    for documents in ([], [[]], [[1]], [[], [1, 2], []], [[7] * 30]):
        for n in (1, 2, 3, 30, 31):
            for width in WIDTHS:
                blocks = NgramBlocks([segment_of(documents, width)], [1], n)
                assert all_blocks(blocks, 2) == counted(documents, n)


def test_only_documents_with_their_bit_set_count():
    rng = np.random.default_rng(3)
    documents = random_documents(rng, 20)
    chosen = rng.random(20) < 0.5
    halves = documents[:9], documents[9:]
    bitmaps = [np.packbits(chosen[:9], bitorder="little"), np.packbits(chosen[9:], bitorder="little")]
    expected = counted([document for document, kept in zip(documents, chosen, strict=True) if kept], 2)
    blocks = NgramBlocks([segment_of(half) for half in halves], [1, 1], 2, bitmaps)
    assert all_blocks(blocks, 3) == expected
    kept = [document for document, kept in zip(documents, chosen, strict=True) if kept]
    flat = np.array([token for document in kept for token in document], dtype=np.uint32)
    offsets = np.cumsum([0, *map(len, kept)])
    for k in (0, 1, 3, 10_000):
        *found, distinct = count_documents(flat, offsets, 2, k)
        assert pairs(found) == expected[:k] and distinct == len(expected)


def test_a_sample_of_rows_finds_the_most_frequent():
    rng = np.random.default_rng(4)
    parts = [[(rng.zipf(1.5, 3000) % 300).tolist() for _ in range(4)] for _ in range(3)]
    removed = parts[1][:2]
    segments = [segment_of(part, np.uint16) for part in [*parts, removed]]
    index = Index(segments, [1, 1, 1, -1])
    every = [document for part in parts for document in part]
    for n, k in ((1, 1), (1, 5), (2, 1), (2, 2)):
        found = frequent(index, n, k)
        assert found is not None and pairs(found) == counted(every, n, removed)[:k]
    assert frequent(index, 2, 10_000) is None and frequent(index, 1, 0) is None
    assert frequent(Index([], []), 1, 5) is None


def test_counts_below_zero_name_the_ngram():
    added, subtracted = segment_of([[1, 2, 3]]), segment_of([[1, 2], [8, 9]])
    with pytest.raises(NegativeCount) as caught:
        NgramBlocks([added, subtracted], [1, -1], 2).next(10)
    assert caught.value.ids == (8, 9)
    with pytest.raises(NegativeCount):
        frequent(Index([segment_of([[1, 2] * 500]), segment_of([[1, 2] * 600])], [1, -1]), 1, 1)


def test_arguments_that_make_no_sense_are_refused():
    segment = segment_of([[1, 2]])
    for n in (0, -1, 2**32):
        with pytest.raises(ValueError, match="an n-gram must have at least 1 token"):
            NgramBlocks([segment], [1], n)
        with pytest.raises(ValueError, match="an n-gram must have at least 1 token"):
            frequent(Index([segment], [1]), n, 1)
    with pytest.raises(ValueError, match="1 segments, 2 signs"):
        NgramBlocks([segment], [1, 1], 1)
    with pytest.raises(ValueError, match="a bitmap of 0 bytes for 1 documents"):
        NgramBlocks([segment], [1], 1, [np.empty(0, dtype=np.uint8)])
    with pytest.raises(TypeError):
        NgramBlocks([None], [1], 1)
    for offsets in ([], [0, 3], [-1, 1], [0, 2, 1]):
        with pytest.raises(ValueError, match="offsets"):
            count_documents(np.zeros(2, dtype=np.uint32), np.array(offsets, dtype=np.int64), 1, 1)


def test_damaged_rows_are_refused_or_counted():
    rng = np.random.default_rng(6)
    n_refused = 0
    for width in WIDTHS:
        for _ in range(40):
            arrays = arrays_of(random_documents(rng), width)
            rows = arrays[1] = arrays[1].copy()
            if not len(rows):
                continue
            rows[rng.integers(len(rows))] = rng.choice([len(arrays[0]) - 1, len(arrays[0]), 2**32 - 1, 0])
            segment = SuffixIndex(*arrays, "damaged")
            try:
                all_blocks(NgramBlocks([segment, segment], [1, 1], int(rng.integers(1, 12))), 7)
            except CorruptionError as error:
                assert "damaged" in str(error)
                n_refused += 1
    assert n_refused


def test_long_work_ends_when_its_time_is_over_and_at_any_poll():
    n = 2**26
    # All rows lead to the same place, and make one run.
    segment = SuffixIndex(
        np.zeros(n + 1, dtype=np.uint8) + np.uint8(1) * (np.arange(n + 1) < n).astype(np.uint8),
        np.zeros(n, dtype=np.uint32),
        np.zeros(arrays_like(n)[0], dtype=np.uint64),
        np.zeros(arrays_like(n)[1], dtype=np.uint64),
        np.array([0, n + 1], dtype=np.uint32),
        255,
        "sham",
    )
    tokens = np.arange(2**24, dtype=np.uint32)
    offsets = np.array([0, len(tokens)])
    for work in (
        lambda: NgramBlocks([segment], [1], 3).next(5),
        lambda: NgramBlocks([segment], [1], 20).next(5),
        lambda: count_documents(tokens, offsets, 5, 10),
    ):
        with pytest.raises(TimeoutExceeded), Interrupt(timeout=0.0):
            work()
        for n_polls in (1, 10):
            with pytest.raises(Interrupted), Interrupt(polls=n_polls):
                work()


def arrays_like(n):
    """Sizes of the directory of n rows."""
    from ngramdb._cext.sort.construction import tree_words

    return tree_words(n), -(-n // 64)
