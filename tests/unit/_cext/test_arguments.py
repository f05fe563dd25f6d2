"""Arguments of kernels: ids of every integer type, wrong and hostile ones; lifetimes and leaks."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest
from support.indexes import arrays_of, index_of, packed, segment_of

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.lm.models import LanguageIndex, Model
from ngramdb._cext.segment.segment_index import SuffixIndex

DOCUMENTS = [[1, 2, 3, 1, 2], [0, 1], [2**32 - 2]]


class Number:
    """An integer of a foreign type."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Shortener:
    """Empties the list that contains it when it is read."""

    def __init__(self, victim):
        self.victim = victim

    def __index__(self):
        self.victim.clear()
        return 1


@pytest.fixture
def index():
    return index_of(DOCUMENTS)


@pytest.mark.parametrize(
    "as_given",
    [
        list,
        tuple,
        iter,
        lambda ids: (token for token in ids),
        lambda ids: [np.int64(token) for token in ids],
        lambda ids: [np.uint8(token) for token in ids],
        lambda ids: [Number(token) for token in ids],
        lambda ids: [ids[0], Number(ids[1])],
        lambda ids: np.array(ids, dtype=np.uint8),
        lambda ids: np.array(ids, dtype=np.int16),
        lambda ids: np.array(ids, dtype=np.uint64),
        lambda ids: np.array(ids, dtype=">i4"),
        lambda ids: np.repeat(np.array(ids, dtype=np.int64), 2)[::2],
        lambda ids: np.array(ids, dtype=np.int64).view(np.ndarray),
        lambda ids: dict.fromkeys(ids),
        bytes,
    ],
)
def test_ids_may_come_as_any_integers(index, as_given):
    assert index.count(as_given([1, 2])) == 2
    assert index.prob(as_given([1, 2]), 3) == (1, 2, 3, False)
    assert index.prob(as_given([1, 2]), np.uint8(3), True) == (1, 2, 3, False)
    assert index.dist(as_given([1, 2]))[2] == 1
    assert index.segments[0].find(as_given([1, 2])) == segment_of(DOCUMENTS).find([1, 2])
    assert index.segments[0].docs_containing(as_given([1, 2])).tolist() == [0]


def test_read_only_arrays_are_read(index):
    flat, offsets = packed([[1, 2], [1]])
    for array in (flat, offsets):
        array.flags.writeable = False
    assert index.count_many(flat, offsets).tolist() == [2, 3]
    assert index.count(flat[:2]) == 2


def test_empty_ngrams_of_every_kind_count_all_tokens(index):
    for empty in ([], (), "", b"", np.array([]), np.array([], dtype=np.uint8), iter([]), range(0)):
        assert index.count(empty) == 8


@pytest.mark.parametrize(
    "ids",
    [
        [1.0],
        ["1"],
        [None],
        [[1]],
        [1, 2.5],
        "ab",
        None,
        1,
        np.array([1.0]),
        np.array([True]),
        np.array([[1, 2]]),
        np.array(1),
        np.array(["a"]),
        [np.float32(1)],
    ],
)
def test_what_is_no_sequence_of_integers_is_refused(index, ids):
    for call in (
        lambda: index.count(ids),
        lambda: index.prob(ids, 1),
        lambda: index.dist(ids),
        lambda: index.segments[0].find(ids),
    ):
        with pytest.raises(TypeError):
            call()


REFUSED = "outside 0|too large|too big|below 2|expected a one-dimensional array of integers"
COUNTING = [
    lambda index, ids, token: index.count(ids),
    lambda index, ids, token: index.prob(ids, 1),
    lambda index, ids, token: index.prob([1], token),
    lambda index, ids, token: index.dist(ids),
    lambda index, ids, token: index.score(ids, [0, len(ids)]),
    lambda index, ids, token: index.count_many(ids, [0, len(ids)]),
    lambda index, ids, token: index.dist_many(ids, [0, len(ids)]),
    lambda index, ids, token: index.prob_many(ids, [0, len(ids)], [1]),
    lambda index, ids, token: index.prob_many([1], [0, 1], [token]),
    lambda index, ids, token: index.segments[0].find(ids),
    lambda index, ids, token: index.segments[0].docs_containing(ids),
    lambda index, ids, token: index.segments[0].filter_docs(np.arange(2, dtype=np.uint32), ids),
    lambda index, ids, token: index.segments[0].places(ids, [0, len(ids)]),
    lambda index, ids, token: index.segments[0].docs_where([0], [ids], (1.0, 1.0, 1.0, 8)),
]
# The borders of a sentence, -2 and -3, are ids to language models.
MODELLING = [
    lambda model, ids, token: model.score(ids, [0, len(ids)]),
    lambda model, ids, token: model.estimate(ids, [0, len(ids)], [1], [False]),
    lambda model, ids, token: model.estimate([1], [0, 1], [token], [False]),
    lambda model, ids, token: model.successors(ids),
]


@pytest.mark.parametrize(
    "token", [-2, -3, -(2**31), -(2**63), 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**200]
)
def test_what_does_not_fit_a_token_id_is_refused_by_every_kernel(index, token):
    forms = [[1, token], (token,), [Number(token)]]
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= token <= np.iinfo(dtype).max:
            forms.append(np.array([1, token], dtype=dtype))
            # In a long array, on either side of a border of what is checked together, and beside -1.
            forms += [np.full(9000, max(np.iinfo(dtype).min, -1), dtype=dtype) for _ in range(3)]
            for form, place in zip(forms[-3:], (4095, 4096, 8999), strict=True):
                form[place] = token
    model = Model(LanguageIndex(index.segments, index.signs), "infgram")
    calls = [*COUNTING, *([] if token in (-2, -3) else MODELLING)]
    for ids in forms:
        for call in calls:
            with pytest.raises((ValueError, OverflowError, TypeError), match=REFUSED):
                call(model if call in MODELLING else index, ids, token)


def test_an_absent_id_and_an_unknown_word_match_nothing(index):
    for token in (-1, 77, 2**32 - 1):
        assert index.count([token]) == index.count(np.array([token], dtype=np.int64)) == 0
        assert index.prob([1], token) == (0, 3, 2, False)
    assert index.count([2**32 - 2]) == 1
    for token in (1.0, 2.7, np.float64(2), "1", None):
        with pytest.raises(TypeError):
            index.prob([1], token)


def test_a_list_that_shrinks_while_it_is_read_is_no_danger(index):
    for n in (3, 300):
        ids = [1] * n
        ids[1] = Shortener(ids)
        assert index.count(ids) >= 0
        assert ids == []


@pytest.mark.parametrize(
    "offsets",
    [
        [],
        [-1, 2],
        [0, 5],
        [0, 2, 1],
        [3, 0],
        [0, 2**63 - 1, -5, 4],
        [0, 2**62, 4],
        [[0, 1]],
        [0.0, 1.0],
        None,
    ],
)
def test_offsets_that_lead_out_of_the_ids_are_refused(index, offsets):
    flat = np.array([1, 2, 3, 1], dtype=np.int64)
    for call in (
        lambda: index.count_many(flat, offsets),
        lambda: index.score(flat, offsets),
        lambda: index.prob_many(flat, offsets, np.zeros(max(0, len(offsets) - 1), dtype=np.int64)),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_batches_of_unequal_lengths_and_impossible_orders_are_refused(index):
    with pytest.raises(ValueError, match="tokens"):
        index.prob_many(np.array([1, 2]), [0, 1, 2], [1])
    for order in (-1, 2**32, "1", None):
        with pytest.raises((OverflowError, TypeError)):
            index.prob([1], 2, False, order)
    assert index.prob([1, 2], 3, False, 2**32 - 1) == (1, 2, 3, False)


def test_rows_and_documents_beyond_the_segment_are_refused():
    segment = segment_of(DOCUMENTS)
    for lo, hi in ((-1, 2), (0, 9), (5, 4), (9, 9), (2**40, 2**41)):
        for method in (segment.positions, segment.docs_of):
            with pytest.raises(IndexError):
                method(lo, hi)
    for i in (-1, 3, 2**33):
        for method in (segment.document, segment.document_length):
            with pytest.raises(IndexError):
                method(i)
    for docs in ([3], [0, 2**32 - 1], np.array([-1, 0]), np.array([-1], dtype=np.int32)):
        with pytest.raises((IndexError, OverflowError)):
            segment.filter_docs(docs, [1])
    assert segment.filter_docs([0, 1, 2], [1]).tolist() == [0, 1]
    assert segment.filter_docs([], [1]).tolist() == []


def test_an_index_is_made_of_segments_and_signs():
    segment = segment_of(DOCUMENTS)
    for segments, signs in (([segment], []), ([segment], [2]), ([segment], [0]), ([segment, segment], [1])):
        with pytest.raises(ValueError):
            Index(segments, signs)
    for segments in ([None], [object()], ["segment"]):
        with pytest.raises(TypeError):
            Index(segments, [1])
    index = Index([segment, segment], (1, -1))
    assert index.segments == (segment, segment) and index.signs == (1, -1) and index.n_tokens == 0


def test_initialising_an_index_again_changes_nothing():
    index = index_of(DOCUMENTS)
    index.__init__([], [])
    gc.collect()
    assert index.count([1]) == 3 and len(index.segments) == 1


def test_arrays_live_as_long_as_what_was_made_of_them():
    class Tracked(np.ndarray):
        """An array that can be weakly referenced."""

    *arrays, gap = arrays_of(DOCUMENTS)
    arrays = [array.view(Tracked) for array in arrays]
    alive = [weakref.ref(array) for array in arrays]
    index = Index([SuffixIndex(*arrays, gap)], [1])
    del arrays
    gc.collect()
    assert all(ref() is not None for ref in alive)
    assert index.count([1, 2]) == 2
    segment = index.segments[0]
    del index
    gc.collect()
    assert segment.find([1])[1] == segment_of(DOCUMENTS).find([1])[1]
    del segment
    gc.collect()
    assert all(ref() is None for ref in alive)


def test_no_call_leaks_memory_or_references(index):
    segment = index.segments[0]
    flat, offsets = packed([[1, 2], [3], []])
    token = 2**31
    ids = [1, token]

    def everything():
        index.count(ids)
        index.count([Number(1), 2])
        index.count(flat)
        index.count([1] * 300)
        index.count_many(flat, offsets)
        index.prob(ids, token)
        index.prob_many(flat, offsets, [1, 2, 3], True)
        index.score(flat, offsets, True)
        index.dist([1])
        segment.find(ids)
        segment.positions(0, 3)
        segment.docs_containing([1])
        segment.filter_docs([0, 1], [1])
        segment.document(0)
        for call in (lambda: index.count([None]), lambda: index.count([2**99]), lambda: segment.document(99)):
            with pytest.raises((TypeError, ValueError, IndexError)):
                call()

    everything()
    gc.collect()
    counts = sys.getrefcount(token), sys.getrefcount(ids), sys.getrefcount(flat), sys.getrefcount(segment)
    tracemalloc.start()
    for _ in range(20):
        everything()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        everything()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert (
        sys.getrefcount(token),
        sys.getrefcount(ids),
        sys.getrefcount(flat),
        sys.getrefcount(segment),
    ) == counts
    assert grown < 20_000


def test_errors_raised_by_the_kernels_leak_no_references():
    *arrays, gap = arrays_of([[0, 1, 2]] * 4, np.uint8)
    arrays[1][:] = 77
    segment = SuffixIndex(*arrays, gap, "damaged.segment")

    def fail():
        with pytest.raises(Exception, match="77"):
            segment.find([1])

    fail()
    gc.collect()
    before = sys.getrefcount(type(None)), len(gc.get_objects())
    for _ in range(200):
        fail()
    gc.collect()
    assert abs(len(gc.get_objects()) - before[1]) < 100
