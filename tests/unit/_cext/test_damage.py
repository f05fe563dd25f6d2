"""Damaged arrays: every question is answered, or CorruptionError or ValueError is raised, no more.

Reads outside the arrays cannot be seen from here; tests/sanitizers does the same under sanitizers.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.indexes import FAR, WIDTHS, arrays_of, far_lcps_of, packed, with_lcps

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import first_wrong_row
from ngramdb.errors import CorruptionError

NAMES = ("tokens", "suffix_array", "tree", "rest", "doc_starts")
N_ROUNDS = 25


def some_documents(rng):
    lengths = rng.choice([0, 1, 5, 40, 200], size=int(rng.integers(1, 30)))
    return [rng.integers(0, 3, int(n)).tolist() for n in lengths]


def damage(array, rng):
    """Overwrites some entries: anything, neighbours, the ends of the range, or one flipped bit."""
    if array.size == 0:
        return
    for _ in range(int(rng.choice([1, 3, array.size]))):
        at = int(rng.integers(array.size))
        top = int(np.iinfo(array.dtype).max)
        flipped = int(array[at]) ^ 1 << int(rng.integers(8 * array.itemsize))
        anything = int(rng.integers(2**63)) * 2 + 1
        array[at] = (0, top, array.size, flipped, anything)[int(rng.integers(5))] & top


def answers(segments, rng):
    """Asks everything once; returns how many questions were answered and how many refused."""
    index = Index(segments, [1] * len(segments))
    ngrams = [rng.integers(0, 4, int(rng.integers(0, 30))).tolist() for _ in range(40)]
    calls = [lambda n=n: index.count(n) for n in ngrams]
    calls += [lambda n=n, i=i: index.prob(n, 1, i) for n in ngrams[:12] for i in (False, True)]
    calls += [lambda n=n, i=i: index.dist(n, i) for n in ngrams[:12] for i in (False, True)]
    calls += [lambda: index.count_many(*packed(ngrams * 30)), lambda: index.dist([])]
    calls += [lambda i=i, o=o: index.score(*packed(ngrams), i, o) for i in (False, True) for o in (0, 3)]
    calls += [lambda i=i: index.prob_many(*packed(ngrams), [1] * 40, i) for i in (False, True)]
    for segment in segments:
        n_rows, n_documents = segment.n_tokens, segment.n_documents
        calls += [lambda s=segment, n=n: s.docs_containing(n) for n in ngrams]
        calls += [lambda s=segment, n=n: s.filter_docs(np.arange(s.n_documents), n) for n in ngrams[:8]]
        calls += [lambda s=segment, n=n_rows: s.positions(0, n), lambda s=segment, n=n_rows: s.docs_of(0, n)]
        calls += [lambda s=segment, i=i: s.document(i) for i in range(n_documents)]
        calls += [lambda s=segment, i=i: s.document_length(i) for i in range(n_documents)]
    n_answered = n_refused = 0
    for call in calls:
        try:
            call()
            n_answered += 1
        except CorruptionError as error:
            assert error.path == "damaged.segment" and "damaged.segment" in str(error)
            n_refused += 1
    return n_answered, n_refused


def with_lcps_as(lcp_width, documents, dtype):
    """Return a segment's arrays, its gap, and other arguments of SuffixIndex, with LCPs in or beside rows."""
    arrays = arrays_of(documents, dtype)
    if lcp_width == FAR:
        return arrays, {"far": (None, far_lcps_of(arrays), 1)}
    return with_lcps(arrays, lcp_width), {"lcp_width": lcp_width}


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("part", range(5), ids=NAMES)
def test_damage_to_one_array_is_survived(dtype, part):
    rng = np.random.default_rng(part)
    n_answered = n_refused = 0
    for number in range(N_ROUNDS):
        arrays, more = with_lcps_as((0, 5, 7, FAR)[number % 4], some_documents(rng), dtype)
        damage(arrays[part], rng)
        try:
            segment = SuffixIndex(*arrays, "damaged.segment", **more)
        except ValueError:
            continue
        first_wrong_row(arrays[0], arrays[1])
        answered, refused = answers([segment], rng)
        n_answered, n_refused = n_answered + answered, n_refused + refused
    assert n_answered > 0
    if part in (1, 4):  # positions and starts are pointers: they are checked before they are followed
        assert n_refused > 0


def test_damage_to_all_arrays_of_several_segments_is_survived():
    rng = np.random.default_rng(9)
    for dtype in WIDTHS:
        for _ in range(N_ROUNDS):
            segments = []
            for lcp_width in (7, 0, 6, FAR):
                arrays, more = with_lcps_as(lcp_width, some_documents(rng), dtype)
                ends = arrays[4][[0, -1]].copy()
                for array in arrays[:5]:
                    damage(array, rng)
                if lcp_width == FAR:
                    damage(more["far"][1], rng)
                arrays[4][[0, -1]] = ends
                segments.append(SuffixIndex(*arrays, "damaged.segment", **more))
            answers(segments, rng)


def test_all_zeros_and_all_ones_are_survived():
    rng = np.random.default_rng(10)
    for part in range(4):
        for value in (0, -1):
            *arrays, gap = arrays_of([*some_documents(rng), [0, 1, 2] * 100], np.uint16)
            arrays[part][:] = np.array(value).astype(arrays[part].dtype)
            answers([SuffixIndex(*arrays, gap, "damaged.segment")], rng)


def test_a_row_that_leads_out_of_the_text_is_named():
    *arrays, gap = arrays_of([[0, 1, 2]], np.uint8)
    arrays[1][:] = 77
    segment = SuffixIndex(*arrays, gap, "damaged.segment")
    with pytest.raises(CorruptionError, match="77") as caught:
        segment.find([1])
    assert caught.value.found == 77 and "4" in caught.value.expected
    with pytest.raises(CorruptionError):
        segment.positions(0, 3)
    with pytest.raises(CorruptionError):
        segment.docs_of(0, 3)


def test_the_map_of_documents_can_be_asked_for_again_after_it_failed():
    *arrays, gap = arrays_of([[0, 1]] * 50, np.uint8)
    segment = SuffixIndex(*arrays, gap, "damaged.segment")
    end = arrays[4][-1]
    arrays[4][-1] = end - 1
    for _ in range(3):
        with pytest.raises(CorruptionError):
            segment.docs_of(0, 100)
    arrays[4][-1] = end
    assert segment.docs_of(0, 100).tolist() == list(range(50))


def test_arrays_of_sizes_that_contradict_each_other_are_refused():
    *arrays, gap = arrays_of([[0, 1, 2], [1]] * 50, np.uint8)
    assert SuffixIndex(*arrays, gap).n_documents == 100
    for part in range(5):
        for change in (lambda a: a[:-1], lambda a: np.append(a, a[-1:]), lambda a: a[:0]):
            wrong = list(arrays)
            wrong[part] = change(wrong[part])
            with pytest.raises(ValueError):
                SuffixIndex(*wrong, gap)


def test_arrays_of_other_kinds_are_refused():
    *arrays, gap = arrays_of([[0, 1, 2], [1]], np.uint8)
    for part in range(5):
        for change in (
            lambda a: a.astype(np.int64),
            lambda a: a.astype(np.float32),
            lambda a: np.stack([a, a]),
        ):
            wrong = list(arrays)
            wrong[part] = change(wrong[part])
            with pytest.raises((TypeError, ValueError)):
                SuffixIndex(*wrong, gap)
    for impossible in (256, 2**32, 2**63):
        with pytest.raises(ValueError, match="gap"):
            SuffixIndex(*arrays, impossible)
    with pytest.raises(ValueError):
        SuffixIndex(np.repeat(arrays[0], 2)[::2], *arrays[1:], gap)


def test_a_file_name_that_is_no_utf8_can_be_named():
    *arrays, gap = arrays_of([[0, 1, 2]], np.uint8)
    arrays[1][:] = 77
    segment = SuffixIndex(*arrays, gap, "caf\udce9.segment")
    with pytest.raises(CorruptionError, match=r"caf.*\.segment"):
        segment.find([1])
