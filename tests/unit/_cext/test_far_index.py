"""Searches with a far index find the same as those with the directory."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import far_index, key_directory, lcp_width_for, mark_lcps, suffix_array

# Searches with a far index before an index uses the directory.
FAR_SEARCHES = 64


def arrays(rng, dtype):
    """Documents of few different tokens, some of them twice, as arrays of a segment."""
    n_ids = int(rng.integers(1, 6))
    documents = [rng.integers(1, n_ids + 1, rng.integers(0, 60)) for _ in range(rng.integers(1, 8))]
    if rng.random() < 0.4:
        documents += [np.tile(document, 2) for document in documents]
    text = np.concatenate([np.append(document, 0) for document in documents]).astype(dtype)
    starts = np.concatenate([[0], np.cumsum([len(one) + 1 for one in documents])]).astype(np.uint32)
    rows, width = suffix_array(text, n_ids + 1), lcp_width_for(len(text))
    mark_lcps(text, rows, width)
    return text, rows, width, starts


def asked(rng, text):
    """An n-gram of the text, perhaps with another end, or any."""
    n = int(rng.integers(1, 45))
    if rng.random() < 0.3:
        return rng.integers(0, 6, n).tolist()
    start = int(rng.integers(0, len(text)))
    ids = [int(symbol) - 1 for symbol in text[start : start + n] if symbol]
    return [*ids, int(rng.integers(0, 6))] if rng.random() < 0.3 else ids


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("seed", range(25))
def test_the_far_index_leads_to_the_same_rows(dtype, seed):
    rng = np.random.default_rng([seed, np.dtype(dtype).itemsize])
    text, rows, width, starts = arrays(rng, dtype)
    tree, rest = key_directory(text, rows, None, width)
    stride = int(rng.integers(1, 30))
    far = (*far_index(text, rows, stride, width), stride)
    sections = (text, rows, tree, rest, starts, int(np.iinfo(dtype).max), "it", width, None, 0)
    near, remote = SuffixIndex(*sections), SuffixIndex(*sections, far)
    for _ in range(FAR_SEARCHES - 4):
        gram = asked(rng, text)
        if gram:
            (lo, hi), found = near.find(gram), remote.find(gram)
            assert found == (lo, hi) or (lo == hi and found[0] == found[1]), gram


def test_the_far_index_is_what_is_described():
    text = np.array([6, 8, 0, 6, 0], dtype=np.uint8)  # the example of FORMAT.md
    rows = np.array([3, 0, 1], dtype=np.uint32)
    keys, lcps = far_index(text, rows, 2)
    assert lcps.tolist() == [0, 12, 4]
    assert keys.tolist() == [6 << 56, 0, 0, 0, 8 << 56, 0, 0, 0]


def test_equal_suffixes_share_as_many_bits_as_there_is_room_for():
    text = np.array([*range(1, 40), 0] * 2, dtype=np.uint8)
    rows = suffix_array(text, 41)
    _, lcps = far_index(text, rows, 5)
    assert lcps[1::2].tolist() == [255] * 39


@pytest.mark.parametrize("stride", [0, 3])
def test_arrays_that_contradict_each_other_are_refused(stride):
    text, rows = np.array([6, 8, 0, 6, 0], dtype=np.uint8), np.array([3, 0, 1], dtype=np.uint32)
    tree, rest = key_directory(text, rows)
    keys, lcps = far_index(text, rows, 2)
    starts = np.array([0, 3, 5], dtype=np.uint32)
    with pytest.raises(ValueError, match="far index is not that of 3 rows"):
        SuffixIndex(text, rows, tree, rest, starts, 255, "it", 0, None, 0, (keys, lcps, stride))
    with pytest.raises(ValueError, match="outside of the text"):
        far_index(text, np.array([5], dtype=np.uint32), 2)
    with pytest.raises(ValueError, match="at least one row per long key"):
        far_index(text, rows, 0)
