# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Building a segment's arrays: the suffix array in document-end order, its rows' LCPs, and its directory.

Checked wrappers over the kernels of suffix_sort.hpp, row_lcps.hpp and key_tree.hpp. The GIL is released while they work.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr

from ngramdb._cext.base.interrupt cimport Interrupt, Poll, poll_of, translate_exception
from ngramdb._cext.segment.segment_arrays cimport LongKey, Rows, kMostLcpWidth, lcp_width_of, n_far_keys, symbol_t

cdef extern from "ngramdb/sort/construction.hpp" namespace "ngramdb" nogil:
    cdef cppclass CppCoreBudget "ngramdb::CoreBudget":
        CppCoreBudget(int)
        void join()
        void give(int)
    void sort_suffixes[Sym](const Sym*, uint32_t*, uint32_t, uint32_t, uint32_t, uint32_t, CppCoreBudget*, Poll*) except +translate_exception

cdef extern from "ngramdb/sort/construction.hpp" namespace "ngramdb" nogil:
    void c_mark_lcps "ngramdb::mark_lcps"[Sym](const Sym*, uint64_t, uint32_t*, uint64_t, uint32_t, CppCoreBudget*, Poll*) except +translate_exception

cdef extern from "ngramdb/sort/construction.hpp" namespace "ngramdb" nogil:
    void build_far_index[Sym](const Sym*, uint64_t, Rows, uint64_t, uint64_t, LongKey*, uint8_t*, CppCoreBudget*, Poll*) except +translate_exception

cdef extern from "ngramdb/sort/construction.hpp" namespace "ngramdb" nogil:
    CppCoreBudget& cores_of_machine "ngramdb::CoreBudget::of_machine"()
    uint64_t c_first_wrong_row "ngramdb::first_wrong_row"[Sym](const Sym*, uint64_t, Rows, uint64_t, CppCoreBudget*, Poll*) except +translate_exception

cdef extern from "ngramdb/segment/key_tree.hpp" namespace "ngramdb" nogil:
    uint64_t c_tree_words "ngramdb::tree_words"(uint64_t)
    uint64_t n_samples_of(uint64_t)

cdef extern from "ngramdb/sort/construction.hpp" namespace "ngramdb" nogil:
    cdef cppclass SymbolCounts:
        uint64_t n_separators
        uint32_t largest
    SymbolCounts count_symbols[Sym](const Sym*, uint64_t, Poll*) except +translate_exception
    void c_write_symbols "ngramdb::write_symbols"[Id, Sym](const Id*, const int64_t*, uint64_t, Sym*, Poll*) except +translate_exception
    cbool are_inside(const uint32_t*, uint64_t, uint64_t, uint32_t, uint64_t, Poll*) except +translate_exception
    void build_key_tree[Sym](const Sym*, uint64_t, Rows, uint64_t, uint64_t*, uint64_t*, Poll*) except +translate_exception

cdef extern from "ngramdb/base/memory.hpp" namespace "ngramdb" nogil:
    void release_pages(void*, size_t)

# A segment's positions are 32 bits wide, and the largest value marks an empty row while sorting.
MAX_SYMBOLS = 2**32 - 2


cdef class CoreBudget:
    """A number of cores that several builds share.

    Within `with cores:` the calling thread takes one of them. Kernels that are given the object work on as many
    more threads as cores are free when they begin.
    """

    cdef unique_ptr[CppCoreBudget] cores

    def __cinit__(self, int n):
        if n < 1:
            raise ValueError(f"there must be at least one core, got {n}")
        self.cores.reset(new CppCoreBudget(n))

    def __enter__(self):
        self.cores.get().join()
        return self

    def __exit__(self, *exception):
        self.cores.get().give(1)


def release(uint8_t[::1] array):
    """Give the memory of an array back to the system, in pages of 2 MiB, before the array goes; what is in it is lost.

    Parameters
    ----------
    array : writable bytes, of memory that the process has for itself
    """
    cdef size_t n = array.shape[0]
    if n > 0:
        with nogil:
            release_pages(&array[0], n)


cdef uint32_t checked_mask(uint64_t n_text, uint32_t width) except? 0:
    """The bits of a row that are its position."""
    if width > kMostLcpWidth or n_text > <uint64_t>1 << (32 - width):
        raise ValueError(f"positions of {n_text} symbols leave no {width} bits free")
    return <uint32_t>0xFFFFFFFF >> width


def suffix_array(const symbol_t[::1] text, uint32_t n_symbols, Interrupt stop=None, CoreBudget cores=None,
                 uint32_t lcp_width=0):
    """The suffix array of a text of documents, in document-end order, without the separators' own rows.

    Suffixes are compared up to their document's separator, a shorter one first, equal ones by position.

    Parameters
    ----------
    text : (n,) uint8, uint16 or uint32, contiguous; 0 is the separator; the last symbol is one
    n_symbols : all symbols are below it; bucket arrays take 8 bytes per symbol
    stop : checked every few milliseconds; None means the current work's (`ngramdb.interrupts`)
    cores : as many threads work as this budget has, which the caller has entered; None means the caller's
    lcp_width : how many of a row's upper bits hold its LCP (FORMAT.md, "Suffix array")

    Returns
    -------
    (n - number of separators,) uint32 : positions in the text, with LCPs

    Raises
    ------
    ValueError : the text is too long, does not end in a separator, or has a symbol out of range, or positions
        leave fewer bits free
    QueryCancelled : the work was stopped

    Cost
        O(n) time, 4 bytes per symbol for the result and at most about 3 more while working.
    """
    cdef uint64_t n = text.shape[0]
    cdef SymbolCounts counts
    cdef Poll poll = poll_of(stop)
    if n == 0:
        return np.empty(0, dtype=np.uint32)
    if n > <uint64_t>MAX_SYMBOLS:
        raise ValueError(f"a segment holds at most {MAX_SYMBOLS} symbols, got {n}")
    checked_mask(n, lcp_width)
    with nogil:
        counts = count_symbols(&text[0], n, &poll)
    if text[n - 1] != 0:
        raise ValueError("the text does not end in a separator")
    if counts.largest >= n_symbols:
        raise ValueError(f"symbol {counts.largest} is out of range: n_symbols is {n_symbols}")
    rows = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] rows_view = rows
    cdef CppCoreBudget* shared = cores.cores.get() if cores is not None else NULL
    with nogil:
        sort_suffixes(&text[0], &rows_view[0], <uint32_t>n, <uint32_t>counts.n_separators, n_symbols, lcp_width, shared,
                      &poll)
    return rows[counts.n_separators:]

def lcp_width_for(uint64_t n_text):
    """Return the number of a row's bits for its LCP with that many symbols in a segment: 5 to 7, or 0 without room."""
    return lcp_width_of(n_text)

cdef int check_inside(const uint32_t[::1] rows, uint64_t step, uint32_t mask, uint64_t n_text, Poll* poll) except -1:
    """Raise ValueError if the position of a row is outside the text; looks at every `step`-th row."""
    cdef uint64_t n_rows = rows.shape[0]
    cdef cbool inside = True
    if n_rows > 0:
        with nogil:
            inside = are_inside(&rows[0], n_rows, step, mask, n_text, poll)
    if not inside:
        raise ValueError("a row of the suffix array points outside of the text")
    return 0


def mark_lcps(const symbol_t[::1] text, uint32_t[::1] rows, uint32_t width, Interrupt stop=None, CoreBudget cores=None):
    """Write into the upper `width` bits of rows, which are positions so far, how many leading bits the keys of a row
    and of the one before it have in common: FORMAT.md, "Suffix array". `stop` and `cores` as for `suffix_array`.

    Raises ValueError when a row points outside of the text, or positions leave fewer bits free.

    Cost: a random read of the text a row.
    """
    cdef uint64_t n_text = text.shape[0]
    cdef uint64_t n_rows = rows.shape[0]
    cdef Poll poll = poll_of(stop)
    cdef CppCoreBudget* shared = cores.cores.get() if cores is not None else NULL
    checked_mask(n_text, width)
    check_inside(rows, 1, 0xFFFFFFFF, n_text, &poll)
    if n_rows > 0:
        with nogil:
            c_mark_lcps(&text[0], n_text, &rows[0], n_rows, width, shared, &poll)


def far_index(const symbol_t[::1] text, const uint32_t[::1] rows, uint64_t stride, uint32_t lcp_width=0, Interrupt stop=None,
              CoreBudget cores=None):
    """Return the far index of a suffix array whose rows have LCPs of this many bits, see FORMAT.md, "Far index".

    Parameters
    ----------
    stride : rows from one long key to the next, at least 1
    stop, cores : as for `suffix_array`

    Returns
    -------
    keys : (4 * ceil(n_rows / stride),) uint64
    lcps : (n_rows,) uint8

    Raises
    ------
    ValueError : a row points outside of the text, or the stride is 0

    Cost: a random read of the text a row, shared by the cores.
    """
    cdef uint64_t n_text = text.shape[0]
    cdef uint64_t n_rows = rows.shape[0]
    cdef Poll poll = poll_of(stop)
    cdef CppCoreBudget* shared = cores.cores.get() if cores is not None else NULL
    cdef uint32_t mask = checked_mask(n_text, lcp_width)
    if stride < 1:
        raise ValueError("there must be at least one row per long key")
    check_inside(rows, 1, mask, n_text, &poll)
    keys = np.empty(4 * n_far_keys(n_rows, stride), dtype=np.uint64)
    lcps = np.empty(n_rows, dtype=np.uint8)
    cdef uint64_t[::1] keys_view = keys
    cdef uint8_t[::1] lcps_view = lcps
    if n_rows > 0:
        with nogil:
            build_far_index(&text[0], n_text, Rows(&rows[0], lcp_width), n_rows, stride, <LongKey*>&keys_view[0],
                            &lcps_view[0], shared, &poll)
    return keys, lcps


def first_wrong_row(const symbol_t[::1] text, const uint32_t[::1] rows, uint32_t lcp_width=0,
                    const uint8_t[::1] lcps=None):
    """Return the first wrong row of a suffix array in document-end order, or None.

    Verifies that every row is a token's, that neighbours are in order, and that rows hold the right LCPs (in their upper
    `lcp_width` bits), or `lcps` are their far LCPs if these are beside them. So no token is in two rows; the caller has to
    check that there are as many rows as tokens. No comparison is long, even in repetitive texts.

    Cost: a random read of the text a row, shared by all free cores; 1 MB each.
    """
    cdef uint64_t n_text = text.shape[0]
    cdef uint64_t n_rows = rows.shape[0]
    cdef uint64_t wrong = 0
    cdef Poll poll = poll_of(None)
    if lcp_width > kMostLcpWidth:
        raise ValueError(f"LCPs take at most {kMostLcpWidth} bits, not {lcp_width}")
    if lcps is not None and <uint64_t>lcps.shape[0] != n_rows:
        raise ValueError(f"{lcps.shape[0]} far LCPs are not those of {n_rows} rows")
    if n_rows == 0:
        return None
    cdef const uint8_t* beside = &lcps[0] if lcps is not None else NULL
    if n_text > 0:
        with nogil:
            wrong = c_first_wrong_row(&text[0], n_text, Rows(&rows[0], lcp_width, beside), n_rows, &cores_of_machine(),
                                      &poll)
    return None if wrong == n_rows else wrong


ctypedef fused id_t:
    uint8_t
    uint16_t
    uint32_t


def write_symbols(const id_t[::1] ids, const int64_t[::1] offsets, symbol_t[::1] out):
    """Write documents as symbols: every id plus one, and a 0 after each document.

    Parameters
    ----------
    ids : (m,) uint8, uint16 or uint32; document k has ids[offsets[k]:offsets[k + 1]]
    offsets : (n + 1,) int64, ascending from 0 to m
    out : (m + n,) of a width that holds the largest id plus one; written

    Raises
    ------
    ValueError : sizes contradict each other
    """
    cdef int64_t n = offsets.shape[0] - 1
    cdef int64_t m = ids.shape[0]
    cdef int64_t k
    cdef Poll poll = poll_of(None)
    cdef cbool fits = n >= 0 and offsets[0] == 0 and offsets[n] == m and out.shape[0] == m + n
    for k in range(n):
        fits = fits and offsets[k] <= offsets[k + 1]
    if not fits:
        raise ValueError(f"offsets of {n} documents do not fit {m} ids and {out.shape[0]} symbols")
    if n > 0:
        with nogil:
            c_write_symbols(&ids[0] if m > 0 else NULL, &offsets[0], n, &out[0], &poll)


def tree_words(uint64_t n_rows):
    """Return the number of 64-bit words in the directory's tree over this many rows."""
    return c_tree_words(n_rows)


def key_directory(const symbol_t[::1] text, const uint32_t[::1] rows, Interrupt stop=None, uint32_t lcp_width=0):
    """Return the directory of a suffix array whose rows have LCPs of this many bits: (tree, rest), see FORMAT.md,
    "Directory".
    `stop` as for `suffix_array`.

    Returns
    -------
    tree : (tree_words(n_rows),) uint64
    rest : (ceil(n_rows / 64),) uint64

    Raises
    ------
    ValueError : a row points outside of the text
    """
    cdef uint64_t n_rows = rows.shape[0]
    cdef uint64_t n_text = text.shape[0]
    cdef Poll poll = poll_of(stop)
    check_inside(rows, 64, checked_mask(n_text, lcp_width), n_text, &poll)
    tree = np.empty(c_tree_words(n_rows), dtype=np.uint64)
    rest = np.empty(n_samples_of(n_rows), dtype=np.uint64)
    cdef uint64_t[::1] tree_view = tree
    cdef uint64_t[::1] rest_view = rest
    if n_rows > 0:
        with nogil:
            build_key_tree(&text[0], n_text, Rows(&rows[0], lcp_width), n_rows, &tree_view[0], &rest_view[0], &poll)
    return tree, rest
