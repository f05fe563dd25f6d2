"""LCPs in the rows of a suffix array: against keys made of Python's integers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.indexes import WIDTHS, arrays_of, stream_of

from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import CoreBudget, key_directory, lcp_width_for, mark_lcps, suffix_array
from ngramdb._cext.sort.row_merging import filter_rows


def key_of(stream, position):
    """The first 16 bytes of symbols as one number, zeros from the separator on."""
    symbols = stream[position : position + 16 // stream.itemsize].tolist()
    if 0 in symbols:
        symbols = symbols[: symbols.index(0)]
    bits = 8 * stream.itemsize
    symbols += [0] * (128 // bits - len(symbols))
    return sum(symbol << (128 - bits * (i + 1)) for i, symbol in enumerate(symbols))


def lcps_by_brute_force(stream, rows, width):
    keys = [key_of(stream, position) for position in rows.tolist()]
    most = (1 << width) - 1
    return [0] + [min(128 - (a ^ b).bit_length(), most) for a, b in pairwise(keys)]


def split(rows, width):
    """Positions and LCPs."""
    mask = (1 << (32 - width)) - 1
    return (rows & np.uint32(mask)).tolist(), (rows.astype(np.uint64) >> (32 - width)).tolist()


def documents_of(rng, alphabet):
    documents = [
        rng.integers(0, alphabet, int(n)).tolist() for n in rng.integers(0, 40, int(rng.integers(1, 20)))
    ]
    return documents + documents[:3]


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("width", [1, 5, 6, 7])
def test_lcps_are_the_bits_that_neighbours_share(dtype, width):
    rng = np.random.default_rng(width)
    for alphabet in (1, 2, 3, 200):
        arrays = arrays_of(documents_of(rng, alphabet), dtype)
        stream, rows = arrays[0], arrays[1].copy()
        expected = lcps_by_brute_force(stream, rows, width)[: len(rows)]
        mark_lcps(stream, rows, width)
        assert split(rows, width) == (arrays[1].tolist(), expected)
        n_symbols = int(stream.max()) + 1
        assert suffix_array(stream, n_symbols, lcp_width=width).tolist() == rows.tolist()


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("repeats", [0, 30])
def test_sorting_large_texts_tells_the_lcps_that_a_pass_over_the_text_tells(dtype, repeats):
    rng = np.random.default_rng(repeats)
    stream = (rng.zipf(1.3, 150_000) % 240 + 1).astype(dtype)
    for at in rng.integers(0, 140_000, repeats):
        stream[at : at + 2_000] = stream[:2_000]
    stream[::977] = 0
    stream[-1] = 0
    cores = CoreBudget(2)
    for width in (5, 7):
        with cores:
            rows = suffix_array(stream, 241, None, cores, width)
            expected = suffix_array(stream, 241)
            mark_lcps(stream, expected, width, None, cores)
        assert np.array_equal(rows, expected)
        alone = suffix_array(stream, 241)
        mark_lcps(stream, alone, width)
        assert np.array_equal(rows, alone)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("width", [5, 7])
def test_rows_that_become_neighbours_share_the_least_of_those_between(dtype, width):
    rng = np.random.default_rng(width)
    for _ in range(20):
        documents = documents_of(rng, int(rng.choice([2, 3, 100])))
        stream, rows, *_ = arrays_of(documents, dtype)
        starts = stream_of(documents, dtype)[1]
        kept = rng.integers(0, 2, len(documents)).astype(np.uint8)
        mark_lcps(stream, rows, width)
        left = [document for document, stays in zip(documents, kept, strict=True) if stays]
        expected = arrays_of(left, dtype)
        mark_lcps(expected[0], expected[1], width)
        assert filter_rows(rows, starts, kept, width).tolist() == expected[1].tolist()


def test_the_width_is_what_positions_leave_free():
    assert [lcp_width_for(n) for n in (0, 1, 2**25, 2**25 + 1, 2**26, 2**27, 2**27 + 1, 2**32 - 2)] == [
        *(7, 7, 7),
        *(6, 6, 5),
        *(0, 0),
    ]


def test_wrong_widths_and_rows_are_refused():
    stream, rows, tree, rest, starts, gap = arrays_of([[0, 1, 2]], np.uint8)
    for width in (8, 31, 32, 40):
        for call in (
            lambda width=width: mark_lcps(stream, rows, width),
            lambda width=width: suffix_array(stream, 4, lcp_width=width),
            lambda width=width: key_directory(stream, rows, lcp_width=width),
            lambda width=width: filter_rows(rows, starts, np.ones(1, dtype=np.uint8), width),
            lambda width=width: SuffixIndex(stream, rows, tree, rest, starts, gap, "a", width),
        ):
            with pytest.raises(ValueError, match="bits"):
                call()
    with pytest.raises(ValueError, match="outside of the text"):
        mark_lcps(stream, np.array([0, 4, 1], dtype=np.uint32), 7)
