"""The suffix array, against brute force and, if both have the same order, against pydivsufsort."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from support.indexes import WIDTHS, stream_of
from support.polls import NO_LIMIT, cpu_below, until
from support.reference import ReferenceSegment

from ngramdb._cext.sort.construction import first_wrong_row, mark_lcps, suffix_array
from ngramdb.errors import QueryCancelled
from ngramdb.interrupts import Interrupt

N_LARGE = 1_000_000


def rows_by_brute_force(documents):
    segment = ReferenceSegment(documents)
    return segment.positions(0, segment.n_tokens).tolist()


def random_documents(rng):
    alphabet = rng.choice([1, 2, 3, 7])
    lengths = rng.choice([(0, 1, 2), (0, 5, 30), (120,)])
    documents = [
        [rng.randrange(alphabet) for _ in range(rng.choice(lengths))] for _ in range(rng.randrange(9))
    ]
    if documents and rng.random() < 0.5:
        documents += [rng.choice(documents)] * rng.randrange(6)
    return documents


def running_text(n, alphabet, seed):
    """One document of n tokens distributed as words are, with passages that come again, and its separator."""
    rng = np.random.default_rng(seed)
    text = np.append(rng.zipf(1.3, size=n) % alphabet + 1, 0).astype(np.uint32)
    for _ in range(n // 5000):
        length = int(rng.integers(5, 2000))
        source, target = rng.integers(0, n - length, size=2)
        text[target : target + length] = text[source : source + length]
    return text


@pytest.mark.parametrize("dtype", WIDTHS)
def test_order_equals_a_brute_force_sort(dtype):
    rng = random.Random(1)
    for _ in range(120):
        documents = random_documents(rng)
        stream, _ = stream_of(documents, dtype)
        rows = suffix_array(stream, int(stream.max(initial=0)) + 1)
        assert rows.dtype == np.uint32
        assert rows.tolist() == rows_by_brute_force(documents), documents
        assert first_wrong_row(stream, rows) is None


def test_every_short_text_over_two_symbols_is_sorted_rightly():
    for n in range(13):
        for bits in range(2**n):
            document = [bits >> i & 1 for i in range(n)]
            stream, _ = stream_of([document], np.uint8)
            assert suffix_array(stream, 3).tolist() == rows_by_brute_force([document])


def test_every_short_text_of_several_documents_is_sorted_rightly():
    for code in range(3**8):
        stream = np.array([code // 3**i % 3 for i in range(8)] + [0], dtype=np.uint8)
        pieces = "".join(map(str, stream[:-1])).split("0")
        documents = [[int(symbol) - 1 for symbol in piece] for piece in pieces]
        assert suffix_array(stream, 3).tolist() == rows_by_brute_force(documents)


def test_deep_recursion_sorts_a_fibonacci_and_a_thue_morse_text():
    a, b = [0], [0, 1]
    while len(b) < 1500:
        a, b = b, b + a
    morse = [bin(i).count("1") & 1 for i in range(1024)]
    for document in (b, morse, morse + morse):
        stream, _ = stream_of([document, document], np.uint8)
        assert suffix_array(stream, 3).tolist() == rows_by_brute_force([document, document])


def test_no_documents_and_empty_documents_have_no_rows():
    for documents in ([], [[]], [[]] * 5):
        stream, _ = stream_of(documents, np.uint8)
        assert suffix_array(stream, 1).tolist() == []


@pytest.mark.parametrize(("dtype", "alphabet"), [(np.uint8, 90), (np.uint8, 3), (np.uint16, 20_000)])
def test_one_long_document_is_sorted_as_pydivsufsort_does(dtype, alphabet):
    pydivsufsort = pytest.importorskip("pydivsufsort")
    stream = running_text(N_LARGE, alphabet, seed=alphabet).astype(dtype)
    rows = suffix_array(stream, int(stream.max()) + 1)
    expected = pydivsufsort.divsufsort(stream)
    assert expected[0] == len(stream) - 1  # the terminator, smallest of all, is not a row of ours
    assert np.array_equal(rows, expected[1:])
    assert first_wrong_row(stream, rows) is None


def test_many_documents_are_sorted_as_pydivsufsort_sorts_ascending_separators():
    pydivsufsort = pytest.importorskip("pydivsufsort")
    stream = running_text(300_000, 500, seed=4)
    stream[np.random.default_rng(5).integers(0, len(stream), 2000)] = 0
    separators = np.flatnonzero(stream == 0)
    distinct = stream.astype(np.int64) + len(separators)
    distinct[separators] = np.arange(len(separators))
    expected = pydivsufsort.divsufsort(distinct)
    assert np.array_equal(suffix_array(stream, int(stream.max()) + 1), expected[len(separators) :])


@pytest.mark.parametrize("dtype", WIDTHS)
def test_a_document_repeated_a_thousand_times_keeps_its_copies_in_order(dtype):
    document = [int(token) for token in np.random.default_rng(2).integers(0, 4, 50)]
    stream, _ = stream_of([document] * 1000, dtype)
    inner = np.array(rows_by_brute_force([document]))
    copies = np.arange(1000) * (len(document) + 1)
    assert np.array_equal(suffix_array(stream, 5), (inner[:, None] + copies).reshape(-1))


def test_a_thousand_equal_documents_of_a_thousand_tokens_are_sorted_in_seconds():
    document = [int(token) for token in np.random.default_rng(3).integers(0, 250, 1000)]
    stream, _ = stream_of([document] * 1000, np.uint8)
    with cpu_below(60):  # a second; sorting by comparisons takes hours
        rows = suffix_array(stream, 252)
    assert first_wrong_row(stream, rows) is None


def test_one_long_run_of_one_token_is_sorted_in_linear_time():
    stream = np.append(np.ones(N_LARGE, dtype=np.uint8), 0).astype(np.uint8)
    rows = suffix_array(stream, 2)
    assert np.array_equal(rows, np.arange(N_LARGE)[::-1])


def test_the_result_does_not_depend_on_the_width_or_on_unused_symbols():
    stream = running_text(20_000, 200, seed=8)
    stream[::97] = 0
    expected = suffix_array(stream, int(stream.max()) + 1)
    assert np.array_equal(suffix_array(stream.astype(np.uint8), 256), expected)
    assert np.array_equal(suffix_array(stream.astype(np.uint16), 40_000), expected)
    assert np.array_equal(suffix_array(stream * 1000, 300_000), expected)


def test_any_two_rows_exchanged_are_found():
    stream, _ = stream_of([[0, 1, 0, 1], [], [1, 1], [0, 1, 0, 1], [1, 1]], np.uint8)
    rows = suffix_array(stream, 3)
    for i in range(len(rows)):
        for j in range(i):
            damaged = rows.copy()
            damaged[[i, j]] = damaged[[j, i]]
            assert first_wrong_row(stream, damaged) is not None


def test_rows_that_repeat_or_lead_astray_are_found():
    stream, _ = stream_of([[0, 1, 0, 1], [1]], np.uint8)
    rows = suffix_array(stream, 3)
    for i in range(len(rows)):
        for value in (rows[i - 1], len(stream), 2**32 - 1, 4, len(stream) - 1):
            damaged = rows.copy()
            damaged[i] = value
            assert first_wrong_row(stream, damaged) is not None
    assert first_wrong_row(stream, np.append(rows, rows[0])) == len(rows)
    assert first_wrong_row(stream[:0], rows) == 0 and first_wrong_row(stream[:0], rows[:0]) is None


def test_any_wrong_lcp_is_found_in_its_row():
    stream, _ = stream_of([[0, 1, 0, 1] * 40, [], [1, 1], [0, 1, 0, 1] * 40, [1, 1]], np.uint16)
    rows, width = suffix_array(stream, 3), 7
    mark_lcps(stream, rows, width)
    assert first_wrong_row(stream, rows, width) is None
    for i in range(len(rows)):
        for bit in range(32 - width, 32):
            damaged = rows.copy()
            damaged[i] ^= np.uint32(1 << bit)
            assert first_wrong_row(stream, damaged, width) == i


def test_a_stop_token_that_is_set_ends_the_sort():
    stop = Interrupt()
    stream = running_text(100_000, 50, seed=9)
    assert not stop.is_set and len(suffix_array(stream, 51, stop)) == 100_000
    stop.set()
    with pytest.raises(QueryCancelled):
        suffix_array(stream, 51, stop)
    assert stop.is_set


def test_a_stop_token_set_by_another_thread_ends_a_long_sort():
    stop = Interrupt(polls=NO_LIMIT)
    stream = np.append(np.random.default_rng(0).integers(1, 4, 12_000_000, dtype=np.uint8), np.uint8(0))

    def ask():
        until(lambda: stop.polls_left < NO_LIMIT)
        stop.set()

    thread = threading.Thread(target=ask)
    thread.start()
    with pytest.raises(QueryCancelled):
        suffix_array(stream, 4, stop)
    thread.join()


def test_texts_that_are_no_streams_are_refused():
    with pytest.raises(ValueError, match="separator"):
        suffix_array(np.array([1, 2], dtype=np.uint8), 3)
    with pytest.raises(ValueError, match="out of range"):
        suffix_array(np.array([1, 3, 0], dtype=np.uint16), 3)
    for array in (
        np.zeros((2, 2), dtype=np.uint8),
        np.zeros(3, dtype=np.float64),
        np.zeros(3, dtype=np.int64),
    ):
        with pytest.raises((TypeError, ValueError)):
            suffix_array(array, 1)
    with pytest.raises(ValueError):
        suffix_array(np.zeros(6, dtype=np.uint8)[::2], 1)


def test_read_only_texts_are_sorted_and_left_as_they_are():
    stream, _ = stream_of([[2, 1, 0]], np.uint16)
    before = stream.copy()
    stream.flags.writeable = False
    assert suffix_array(stream, 4).tolist() == [2, 1, 0]
    assert np.array_equal(stream, before)
