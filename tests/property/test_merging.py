"""Merged suffix arrays are, bit for bit, those that sorting the whole text makes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb._cext.sort.construction import far_index, key_directory, lcp_width_for, suffix_array
from ngramdb._cext.sort.row_merging import MergeSource, RowMerge
from ngramdb.errors import CorruptionError, QueryCancelled
from ngramdb.interrupts import Interrupt

EXAMPLES = settings(max_examples=150, deadline=None, derandomize=True)
WIDTHS = (np.uint8, np.uint16, np.uint32)


def text_of(documents, dtype):
    """Return documents of symbols, each with a separator, and their starts."""
    lengths = [len(document) + 1 for document in documents]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    text = np.zeros(int(starts[-1]), dtype=dtype)
    for document, start in zip(documents, starts.tolist(), strict=False):
        text[start : start + len(document)] = document
    return text, starts


def rows_of(text, lcp_width):
    distinct, ranks = np.unique(text, return_inverse=True)
    if text.itemsize < 4:
        return suffix_array(text, int(text.max(initial=0)) + 1, lcp_width=lcp_width)
    rows = suffix_array(ranks.astype(np.uint32), len(distinct) + 1)
    return rows if lcp_width == 0 else suffix_array(text, int(text.max(initial=0)) + 1, lcp_width=lcp_width)


FAR = "far"  # in place of a width: LCPs beside the rows


def source(documents, kept=None, dtype=np.uint16, lcp_width=7):
    text, starts = text_of(documents, dtype)
    marks = None if kept is None else np.array(kept, dtype=np.uint8)
    width = 0 if lcp_width == FAR else lcp_width
    rows = rows_of(text, width)
    lcps = far_index(text, rows, 1)[1] if lcp_width == FAR else None
    return MergeSource(text, rows, width, starts, marks, lcps=lcps)


def merged(sources, chunk_rows=1 << 20, threads=1, order=None, lcp_width=None):
    """Rows, far LCPs if rows have no bits for LCPs, tree, rest, and the merge itself.

    Chunks are made in this order of their numbers modulo.
    """
    merge = RowMerge(sources, lcp_width)
    n = merge.plan(chunk_rows)
    for chunk in range(n):
        merge.count(chunk)
    merge.begin()
    numbers = sorted(range(n), key=order) if order else range(n)
    with ThreadPoolExecutor(threads) as pool:
        made = dict(zip(numbers, pool.map(merge.merge, numbers), strict=True))
    for chunk in range(n):
        merge.join(chunk, *made[chunk])
    rows, lcps = zip(*(made[chunk] for chunk in range(n)), strict=True)
    beside = [] if lcps[0] is None else [np.concatenate(lcps)]
    return (np.concatenate(rows), *beside, *merge.finish(), merge)


def sorted_anew(documents, dtype, lcp_width=None):
    text, _ = text_of(documents, dtype)
    width = lcp_width_for(len(text)) if lcp_width is None else lcp_width
    rows = rows_of(text, width)
    beside = [far_index(text, rows, 1)[1]] if width == 0 else []
    return rows, *beside, *key_directory(text, rows, lcp_width=width)


@st.composite
def corpora(draw):
    """Segments of documents, many of them repeated, of few symbols or many; and which documents stay."""
    n_symbols = draw(st.sampled_from([1, 2, 3, 250]))
    symbol = st.integers(1, n_symbols)
    short = st.lists(symbol, max_size=draw(st.sampled_from([1, 4, 30])))
    periodic = st.builds(
        lambda unit, n: unit * n, st.lists(symbol, min_size=1, max_size=3), st.integers(1, 40)
    )
    pool = draw(st.lists(st.one_of(short, periodic), min_size=1, max_size=8))
    document = st.one_of(st.sampled_from(pool), short)
    n_segments = draw(st.sampled_from([1, 2, 3, 5, 17, 64]))
    segments = [draw(st.lists(document, max_size=5)) for _ in range(n_segments)]
    kept = [
        draw(st.none() | st.lists(st.booleans(), min_size=len(one), max_size=len(one))) for one in segments
    ]
    return segments, kept


@EXAMPLES
@given(
    corpora(),
    st.sampled_from(WIDTHS),
    st.lists(st.sampled_from([0, 5, 6, 7, FAR]), min_size=64, max_size=64),
    st.sampled_from([None, 0]),
    st.sampled_from([1, 2, 7, 100, 1 << 20]),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_merging_gives_what_sorting_anew_gives(corpus, dtype, widths, made, chunk_rows, threads, rng):
    segments, kept = corpus
    sources = [
        source(documents, marks, dtype, width)
        for documents, marks, width in zip(segments, kept, widths, strict=False)
    ]
    left = [
        document
        for documents, marks in zip(segments, kept, strict=True)
        for i, document in enumerate(documents)
        if marks is None or marks[i]
    ]
    *found, _ = merged(sources, chunk_rows, threads, lambda _: rng.random(), made)
    for array, expected in zip(found, sorted_anew(left, dtype, made), strict=True):
        assert array.dtype == expected.dtype
        assert array.tobytes() == expected.tobytes()


# Matches beyond SuffixMatches::kDirect (512) and kCell (4096) of suffix_matches.hpp, at several shifts.
def long_documents(rng):
    passage = rng.integers(1, 60_000, 30_000).astype(np.uint16).tolist()
    changed = list(passage)
    changed[15_000] = 60_001
    return {
        "copies": [passage, passage, passage],
        "copies with an edit": [passage, changed, changed[2:] + passage[:9000]],
        "within one document": [passage + passage[7:] + passage[:20_000]],
        "runs": [[5] * 20_000, [5] * 20_001, [5] * 9000 + [6] + [5] * 9000],
        "periods": [[5, 6, 7] * 7000, [6, 7, 5] * 7000, [5, 6, 7, 5] * 5000],
        "ends of others": [passage, passage[100:], passage[:-1], passage[20_000:]],
    }


@pytest.mark.parametrize("kind", long_documents(np.random.default_rng(0)))
@pytest.mark.parametrize("n_segments", [1, 2, 3])
def test_long_matches_are_sorted_right_and_compared_once(kind, n_segments):
    documents = long_documents(np.random.default_rng(0))[kind]
    other = long_documents(np.random.default_rng(1))["copies"][:1]
    segments = [[*other, *documents], documents[::-1], documents][:n_segments]
    whole = [document for one in segments for document in one]
    for chunk_rows in (1 << 20, 20_000):
        *found, merge = merged([source(one) for one in segments], chunk_rows, threads=2)
        for array, expected in zip(found, sorted_anew(whole, np.uint16), strict=True):
            assert array.tobytes() == expected.tobytes()
        # Each row may compare 512 directly, a few times; what is beyond is compared once a chunk and
        # diagonal. Comparing it again for each row would take ten thousand symbols per row.
        n_rows = sum(len(one) for one in whole)
        assert merge.n_compared < n_rows * 2000


def test_a_document_that_is_there_twice_costs_little():
    rng = np.random.default_rng(2)
    segments = [[rng.integers(1, 60_000, 1000).tolist() for _ in range(200)] for _ in range(2)]
    passage = rng.integers(1, 60_000, 100_000).tolist()
    *_, without = merged([source(one) for one in segments])
    *_, twice = merged([source([*one, passage]) for one in segments])
    # One of 512 symbols for each row of the copies, and the copies themselves once.
    assert twice.n_compared - without.n_compared < 2 * len(passage) * 520
    assert twice.n_compared > len(passage)


def test_a_merge_stops_when_asked_to():
    stop = Interrupt()
    stop.set()
    merge = RowMerge([source([[1, 2, 3]]), source([[2, 3]])])
    with pytest.raises(QueryCancelled):
        merge.plan(1, stop)
    n = merge.plan(100)
    for chunk in range(n):
        merge.count(chunk)
    merge.begin()
    with pytest.raises(QueryCancelled):
        merge.merge(0, stop)
    assert len(merge.merge(0)[0]) == 5


def test_sources_that_contradict_themselves_are_refused():
    text, starts = text_of([[1, 2], [3]], np.uint16)
    rows = rows_of(text, 7)
    with pytest.raises(ValueError, match="do not fit 5 symbols and 2 rows"):
        MergeSource(text, rows[1:], 7, starts)
    with pytest.raises(ValueError, match="do not fit"):
        MergeSource(text, rows, 7, starts, np.ones(1, dtype=np.uint8))
    with pytest.raises(ValueError, match="do not fit 5 symbols"):
        MergeSource(text, rows, 7, starts[[0, 2, 1]])
    with pytest.raises(ValueError, match="does not end in a separator"):
        MergeSource(text + np.uint16(1), rows, 7, starts)
    with pytest.raises(ValueError, match="LCPs have at most 7 bits, not 9"):
        MergeSource(text, rows, 9, starts)
    with pytest.raises(ValueError, match=r"must have the same width, not \[1, 2\]"):
        RowMerge([source([[1]], dtype=np.uint8), source([[1]])])


def test_rows_that_lead_out_of_the_text_are_damage():
    text, starts = text_of([[1, 2], [3]], np.uint16)
    rows = rows_of(text, 0)
    rows[1] = 5
    merge = RowMerge([MergeSource(text, rows, 0, starts, path="a.segment"), source([[4]])])
    merge.plan(100)
    merge.count(0)
    merge.begin()
    with pytest.raises(CorruptionError, match=r"a\.segment is damaged"):
        merge.merge(0)


@EXAMPLES
@given(st.data())
def test_damaged_rows_give_an_error_or_other_rows_and_end(data):
    documents = [[1, 2, 1, 2], [2, 2], [1, 2, 1, 2]]
    text, starts = text_of(documents, np.uint16)
    rows = np.array(data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=10, max_size=10)), dtype=np.uint32)
    positions = st.lists(st.integers(0, len(text) - 1), min_size=10, max_size=10)
    if data.draw(st.booleans()):
        rows = rows & np.uint32(0xFE000000) | np.array(data.draw(positions), dtype=np.uint32)
    kept = data.draw(st.sampled_from([None, [1, 0, 1]]))
    marks = None if kept is None else np.array(kept, dtype=np.uint8)
    sources = [MergeSource(text, rows, 7, starts, marks), source(documents)]
    try:
        found, *_ = merged(sources, data.draw(st.sampled_from([2, 100])))
    except (CorruptionError, ValueError):
        return
    assert len(found) == sum(one.n_rows for one in sources)
