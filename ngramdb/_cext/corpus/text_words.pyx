# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words of texts whose tokens are pieces of words (text_words.hpp). The GIL is released, and work can be stopped."""

import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.memory cimport unique_ptr

from cython.operator cimport dereference

from ngramdb._cext.base.interrupt cimport Poll, current_poll
from ngramdb._cext.segment.segment_index cimport SegmentIndex


cdef TokenPieces token_pieces(const uint8_t[::1] flat, const int64_t[::1] offsets) except *:
    """The bytes of tokens, used in place. Raises ValueError if the offsets do not ascend within the bytes."""
    cdef TokenPieces pieces
    cdef int64_t n = offsets.shape[0] - 1, i
    if n < 0 or offsets[0] < 0 or offsets[n] > flat.shape[0]:
        raise ValueError("the offsets of the tokens do not span their bytes")
    for i in range(n):
        if offsets[i] > offsets[i + 1]:
            raise ValueError(f"the bytes of token {i} end before they begin")
    pieces.flat = &flat[0] if flat.shape[0] > 0 else NULL
    pieces.offsets = &offsets[0]
    pieces.n = n
    return pieces


def word_forms(SegmentIndex index not None, flat, offsets, uint64_t most):
    """Return the words of a segment's texts, and the sequences of tokens in which they occur.

    Parameters: (flat, offsets): uint8 and int64, the bytes of all tokens; most: sequences, at most.
    Returns: entries, bounds: uint8 and (n + 1,) uint64, the words, each once; (m,) uint32 for each sequence 32-bit
    numbers: that of its word, followed by the token ids; (k + 1,) int64, the beginning of each sequence there.
    Raises OverflowError if there are more than `most` sequences.
    Cost: about 80 ns per token; memory for the words and sequences.
    """
    cdef const uint8_t[::1] piece_bytes = np.ascontiguousarray(flat, dtype=np.uint8)
    cdef const int64_t[::1] piece_bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    cdef TokenPieces pieces = token_pieces(piece_bytes, piece_bounds)
    cdef unique_ptr[CWordForms] forms
    cdef Poll poll = current_poll()
    forms.reset(new CWordForms(pieces, most))
    with nogil:
        dereference(forms).collect(index.segment[0], &poll)
    entries, bounds = _copied(dereference(forms).texts())
    ids, places = _copied(dereference(forms).sequences())
    return entries, bounds, ids.view(np.uint32), (places // 4).astype(np.int64)


cdef _copied(LayerView layer):
    entries = np.empty(layer.arena_size, dtype=np.uint8)
    offsets = np.empty(layer.n_words + 1, dtype=np.uint64)
    cdef uint8_t[::1] entry_view = entries
    cdef uint64_t[::1] offset_view = offsets
    if layer.arena_size > 0:
        memcpy(&entry_view[0], layer.arena, layer.arena_size)
    memcpy(&offset_view[0], layer.offsets, (layer.n_words + 1) * sizeof(uint64_t))
    return entries, offsets
