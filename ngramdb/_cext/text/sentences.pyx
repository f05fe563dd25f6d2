# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Boundaries of sentences in texts, by the rules of Unicode (sentences.hpp). The GIL is released."""

import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception


cdef extern from "ngramdb/text/sentences.hpp" namespace "ngramdb::words" nogil:
    cdef cppclass Span:
        const uint8_t* data
        size_t size

    cdef cppclass Scanner:
        Scanner() except +

cdef extern from "ngramdb/text/sentences.hpp" namespace "ngramdb::sentences" nogil:
    const char* kUnicodeVersion

    cdef cppclass SentenceFinder:
        size_t next(Span text, size_t start)

    const SentenceFinder& finder() except +
    size_t c_mark_words "ngramdb::sentences::mark_words"(const Scanner&, Span, uint8_t*, size_t)
    size_t c_mark_words_at "ngramdb::sentences::mark_words_at"(const Scanner&, Span, const int64_t*, size_t, uint8_t*, size_t)
    void c_mark_places "ngramdb::sentences::mark_places"(Span, const int64_t*, size_t, uint8_t*, Poll*) except +translate_exception

    cdef cppclass TokenSizes:
        const uint32_t* lengths
        const int32_t* leads
        size_t n

    cbool c_mark_spelled "ngramdb::sentences::mark_spelled"(Span, const uint32_t*, size_t, const TokenSizes&, uint8_t*, Poll*) except +translate_exception


# The Unicode version of the property Sentence_Break.
UNICODE_VERSION = kUnicodeVersion.decode("ascii")


cdef int spans_of(tuple texts, vector[Span]& spans) except -1:
    cdef Span span
    for text in texts:
        if not PyBytes_CheckExact(text):
            raise TypeError(f"a text must be bytes, not {type(text).__name__}")
        span.data = <const uint8_t*>PyBytes_AS_STRING(text)
        span.size = <size_t>PyBytes_GET_SIZE(text)
        spans.push_back(span)
    return 0


cdef int check_offsets(const int64_t[::1] offsets, size_t n_texts) except -1:
    cdef size_t k
    if <size_t>offsets.shape[0] != n_texts + 1 or offsets[0] != 0:
        raise ValueError(f"{offsets.shape[0]} offsets for {n_texts} texts")
    for k in range(n_texts):
        if offsets[k] > offsets[k + 1]:
            raise ValueError("offsets do not ascend")
    return 0


def boundaries(bytes text not None):
    """The bytes at which a sentence of the text begins, all but the first: (k,) int64. Cost: a pass over the text."""
    cdef vector[Span] spans
    cdef vector[int64_t] found
    spans_of((text,), spans)
    cdef size_t at = 0
    with nogil:
        while True:
            at = finder().next(spans[0], at)
            if at >= spans[0].size:
                break
            found.push_back(<int64_t>at)
    return np.array(found, dtype=np.int64)


def mark_words(texts, const int64_t[::1] offsets not None):
    """Which words of texts begin a sentence: (m,) bool; text k has the words offsets[k]:offsets[k + 1].

    Raises ValueError if a text has another number of words by the rule of the tokenizer `words`; TypeError if one is
    not bytes. Cost: about 5 ns per byte.
    """
    cdef tuple kept = tuple(texts)
    cdef vector[Span] spans
    cdef Scanner scanner
    spans_of(kept, spans)
    check_offsets(offsets, spans.size())
    flags = np.empty(offsets[offsets.shape[0] - 1] + 1, dtype=np.uint8)
    cdef uint8_t[::1] view = flags
    cdef size_t k, n
    cdef int64_t wrong = -1
    with nogil:
        for k in range(spans.size()):
            n = <size_t>(offsets[k + 1] - offsets[k])
            if c_mark_words(scanner, spans[k], &view[offsets[k]], n) != n:
                wrong = <int64_t>k
                break
    if wrong >= 0:
        raise ValueError(f"text {wrong} has another number of words than {offsets[wrong + 1] - offsets[wrong]}")
    return flags[:-1].view(np.bool_)


def mark_words_at(bytes text not None, const int64_t[::1] starts not None, int64_t n):
    """Which of the n words of a text begin a sentence, where sentences begin at the bytes `starts`, ascending: (n,) bool.

    Raises ValueError if the text has another number of words.
    """
    cdef vector[Span] spans
    cdef Scanner scanner
    spans_of((text,), spans)
    flags = np.zeros(max(n, 0) + 1, dtype=np.uint8)
    cdef uint8_t[::1] view = flags
    cdef const int64_t* first = &starts[0] if starts.shape[0] > 0 else NULL
    cdef size_t found
    with nogil:
        found = c_mark_words_at(scanner, spans[0], first, starts.shape[0], &view[0], <size_t>n if n > 0 else 0)
    if found != n:
        raise ValueError(f"the text has {found} words, not {n}")
    return flags[:-1].view(np.bool_)


def mark_places(texts, const int64_t[::1] offsets not None, const int64_t[::1] places not None):
    """Which tokens of texts begin a sentence: (m,) bool; text k has the tokens offsets[k]:offsets[k + 1].

    `places` (m,) gives for each token the byte of its first character that is not white space, -1 for a token
    without one: it belongs to the sentence before.
    """
    cdef tuple kept = tuple(texts)
    cdef vector[Span] spans
    spans_of(kept, spans)
    check_offsets(offsets, spans.size())
    if places.shape[0] != offsets[offsets.shape[0] - 1]:
        raise ValueError(f"{places.shape[0]} places for {offsets[offsets.shape[0] - 1]} tokens")
    flags = np.zeros(places.shape[0] + 1, dtype=np.uint8)
    cdef uint8_t[::1] view = flags
    cdef size_t k
    cdef Poll poll = current_poll()
    with nogil:
        for k in range(spans.size()):
            if offsets[k] < offsets[k + 1]:
                c_mark_places(spans[k], &places[offsets[k]], <size_t>(offsets[k + 1] - offsets[k]), &view[offsets[k]], &poll)
    return flags[:-1].view(np.bool_)


def mark_spelled(texts, const uint32_t[::1] ids not None, const int64_t[::1] offsets not None,
                 const uint32_t[::1] lengths not None, const int32_t[::1] leads not None):
    """Mark the tokens that begin a sentence, of texts that are their tokens' bytes: (m,) bool.

    Text k has the tokens ids[offsets[k]:offsets[k + 1]]. `lengths` and `leads`, both (v,), are the number of bytes of each
    token and how many of them, white space, it begins with; -1 if it has nothing else.

    Returns None if a text and its tokens differ in length, or a token is empty: it is another text. Cost: a pass
    over the texts; a byte per token.
    """
    cdef tuple kept = tuple(texts)
    cdef vector[Span] spans
    spans_of(kept, spans)
    check_offsets(offsets, spans.size())
    if ids.shape[0] != offsets[offsets.shape[0] - 1] or lengths.shape[0] != leads.shape[0]:
        raise ValueError(f"{ids.shape[0]} ids for {offsets[offsets.shape[0] - 1]} tokens")
    cdef TokenSizes sizes
    sizes.n = lengths.shape[0]
    if sizes.n > 0:
        sizes.lengths = &lengths[0]
        sizes.leads = &leads[0]
    flags = np.zeros(ids.shape[0] + 1, dtype=np.uint8)
    cdef uint8_t[::1] view = flags
    cdef size_t k, n
    cdef cbool is_text = True
    cdef Poll poll = current_poll()
    with nogil:
        for k in range(spans.size()):
            n = <size_t>(offsets[k + 1] - offsets[k])
            is_text = c_mark_spelled(spans[k], &ids[offsets[k]] if n > 0 else NULL, n, sizes, &view[offsets[k]], &poll)
            if not is_text:
                break
    return flags[:-1].view(np.bool_) if is_text else None
