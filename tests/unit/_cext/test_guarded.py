"""Crafted arrays that end where memory ends: no kernel reads or writes a byte beyond them.

A page that may not be touched follows each array and the zeros that a file has after each section;
a child process that touches it ends by a signal. tests/sanitizers sees more, and takes a compiler.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal

import numpy as np
import pytest
from support.indexes import arrays_of, packed, with_lcps

from ngramdb._cext.corpus import joins
from ngramdb._cext.corpus.index import Index
from ngramdb._cext.lm.models import LanguageIndex
from ngramdb._cext.segment.segment_index import SegmentIndex, SuffixIndex
from ngramdb._cext.sort import construction, row_merging
from ngramdb._cext.text import pieces, words
from ngramdb.errors import CorruptionError, NgramdbError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="takes fork and mprotect")

N_ROUNDS = 60
#: Zeros that follow a section in a file; kernels may read them.
TAIL = 64
PROT_NONE = 0


def guarded(array, tail=0):
    """A copy of an array with a forbidden page behind it, and behind `tail` zeros; it is never given back."""
    n_bytes = array.nbytes + tail
    room = -(-max(n_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert protect(address + room, mmap.PAGESIZE, PROT_NONE) == 0
    copy = np.frombuffer(memory, dtype=array.dtype, count=array.size, offset=room - n_bytes)
    copy[:] = array
    return copy


def survives(work):
    """Runs `work` in a child and fails unless it comes to its end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, f"signal {-code}" if code < 0 else "an exception, see above"


def attempt(function, *given):
    """Calls a kernel; what it refuses, it refuses by one of these."""
    try:
        return function(*given)
    except (NgramdbError, ValueError, OverflowError, IndexError, MemoryError):
        return None


def crafted(rng, dtype=np.uint32, largest=40, ascending=None):
    """An array of any length, in order or not, with a few entries that lead anywhere."""
    array = rng.integers(0, largest, int(rng.choice([0, 1, 2, 7, 64, 65]))).astype(dtype)
    if rng.random() < 0.6 if ascending is None else ascending:
        array = np.sort(array)
    info = np.iinfo(dtype)
    for _ in range(int(rng.integers(0, 3)) if array.size else 0):
        news = [0, int(info.max), int(info.max) // 2, min(array.size, int(info.max))]
        array[rng.integers(array.size)] = news[rng.integers(len(news))]
    return guarded(array)


def test_the_guard_guards():
    def reach_beyond():
        array = guarded(np.arange(5, dtype=np.uint32))
        ctypes.string_at(array.ctypes.data, array.nbytes + 1)

    with pytest.raises(AssertionError, match=f"signal {int(signal.SIGSEGV)}|signal {int(signal.SIGBUS)}"):
        survives(reach_beyond)


def test_sets_and_joins():
    def work():
        rng = np.random.default_rng(1)
        for _ in range(20 * N_ROUNDS):
            a, b, c, d = (crafted(rng) for _ in range(4))
            same = [guarded(np.resize(x, a.size).astype(np.uint32)) if x.size else a for x in (b, c, d)]
            for function in (joins.intersect, joins.subtract, joins.unite):
                attempt(function, a, b)
            attempt(joins.windows_with, b, a, same[0])
            attempt(joins.values_within, b, a, same[0])
            attempt(joins.least_ends, a, same[0], b, c)
            attempt(joins.least_ends, a, same[0], same[1], same[2])
            lists = guarded((same[0] % 4).astype(np.uint32))
            attempt(joins.documents_covered, a, lists, same[1], 4, int(rng.integers(0, 2**40)))
            attempt(joins.documents_covered, a, same[0], same[1], int(rng.integers(0, 50)), 3)
            joins.sort_positions(a)

    survives(work)


def test_building():
    def work():
        rng = np.random.default_rng(2)
        for k in range(5 * N_ROUNDS):
            dtype = (np.uint8, np.uint16, np.uint32)[k % 3]
            text, rows, starts = crafted(rng, dtype, 3), crafted(rng), crafted(rng)
            if k % 2 and text.size:
                text[-1] = 0
            attempt(construction.suffix_array, text, 4)
            for width in (0, 7):
                attempt(construction.mark_lcps, text, rows.copy(), width)
                attempt(construction.key_directory, text, rows, None, width)
                attempt(row_merging.filter_rows, rows, starts, crafted(rng, np.uint8, 2), width)
            attempt(construction.first_wrong_row, text, rows)
            fit(rng, rows, dtype)

    survives(work)


def fit(rng, rows, dtype):
    """Return arrays that fit a number of rows: document starts, offsets, room for output."""
    ends = np.sort(rng.choice(rows.size + 1, min(3, rows.size + 1), replace=False))
    offsets = np.concatenate([[0], ends[:-1], [rows.size]]).astype(np.int64)
    n = offsets.size - 1
    starts = guarded((offsets + np.arange(n + 1)).astype(np.uint32))
    kept = guarded(rng.integers(0, 2, n).astype(np.uint8))
    attempt(row_merging.filter_rows, rows, starts, kept, int(rng.choice([0, 7])))
    for room in (rows.size + n, rows.size + n - 1):
        out = guarded(np.zeros(room, dtype=np.uint32))
        attempt(construction.write_symbols, guarded(rows.astype(dtype)), guarded(offsets), out)


def test_vocabularies():
    def work():
        rng = np.random.default_rng(3)
        for _ in range(5 * N_ROUNDS):
            flat, ids = crafted(rng, np.uint8, 128), crafted(rng)
            offsets = crafted(rng, np.int64, flat.size + 1, True)
            if offsets.size and rng.random() < 0.8:
                offsets[0], offsets[-1] = 0, flat.size
            table = attempt(pieces.PieceTable, flat, offsets)
            if table is not None:
                attempt(table.decode, ids)
                attempt(table.reproduces, [b"ab", b""], ids, guarded(np.array([0, 1, ids.size])))
            entries = guarded(offsets.astype(np.uint64))
            attempt(construction_of_slots, flat, entries, rng)

    survives(work)


def construction_of_slots(flat, offsets, rng):
    """A vocabulary of crafted words, with the right table and with a damaged one."""
    slots = words.build_slots(flat, offsets)
    wrong = slots.copy()
    wrong[rng.integers(wrong.size)] = rng.integers(0, 2**63)
    for table in (None, slots, wrong, np.full_like(slots, 2**64 - 1)):
        vocabulary = words.Vocabulary()
        vocabulary.append(flat, offsets, None if table is None else guarded(table))
        vocabulary.first_wrong()
        attempt(vocabulary.encode, b"a b abc")
        attempt(vocabulary.encode_batch, [b"a b abc", b""])
        attempt(vocabulary.words, crafted(rng))
        attempt(vocabulary.export)


def damage(array, rng):
    for _ in range(int(rng.choice([0, 1, 3, array.size])) if array.size else 0):
        at = rng.integers(array.size)
        news = [0, 1, int(np.iinfo(array.dtype).max), int(array[at]) ^ 1, int(array[max(at - 1, 0)])]
        array[at] = news[rng.integers(len(news))]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_segments(dtype):
    def work():
        rng = np.random.default_rng(4)
        for k in range(N_ROUNDS):
            lengths = rng.choice([0, 1, 5, 40], size=int(rng.integers(1, 12)))
            documents = [rng.integers(0, 3, int(n)).tolist() for n in lengths]
            width = (0, 7)[k % 2]
            *arrays, gap = with_lcps(arrays_of(documents, dtype), width)
            for array in arrays:
                damage(array, rng)
            if rng.random() < 0.8:
                arrays[4][[0, -1]] = 0, arrays[0].size
            segment = attempt(SuffixIndex, *(guarded(a, TAIL) for a in arrays), gap, "damaged", width)
            if segment is not None:
                ask(segment, rng)

    survives(work)


def test_a_segment_of_no_kind_is_empty():
    def work():
        rng = np.random.default_rng(5)
        for _ in range(N_ROUNDS):
            ask(SegmentIndex(), rng)

    survives(work)


def ask(segment, rng):
    """Every question of a segment, and a language model over it."""
    index = Index([segment], [1])
    ngrams = [rng.integers(0, 4, int(rng.integers(0, 12))).tolist() for _ in range(12)]
    docs = guarded(np.arange(segment.n_documents, dtype=np.uint32))
    positions = crafted(rng)
    for ngram in ngrams:
        for question in (segment.find, segment.docs_containing, index.count, index.dist):
            attempt(question, ngram)
        attempt(segment.filter_docs, docs, ngram)
        attempt(segment.scan, crafted(rng), crafted(rng), ngram)
    flat, offsets = packed(ngrams)
    for batch in (index.count_many, index.score, index.dist_many):
        attempt(batch, flat, offsets)
    attempt(segment.positions, 0, segment.n_tokens)
    attempt(segment.count_by_document, 0, segment.n_tokens)
    attempt(segment.document_bounds, crafted(rng))
    attempt(segment.documents_at, positions)
    for ahead in (-1, 0, 2**40, -(2**40)):
        attempt(segment.tokens_at, positions, ahead)
    for i in range(segment.n_documents):
        attempt(segment.document, i)
        attempt(segment.document_tokens, i, 0, 2**31)
    language = attempt(LanguageIndex, [segment], [1], None)
    if language is not None:
        attempt(language.counts_of_counts, 5)


def test_what_is_refused_names_the_file():
    *arrays, gap = arrays_of([[0, 1, 2]], np.uint8)
    arrays[1][:] = 77
    segment = SuffixIndex(*(guarded(a, TAIL) for a in arrays), gap, "damaged.segment")
    with pytest.raises(CorruptionError, match=r"damaged\.segment"):
        segment.find([1])
