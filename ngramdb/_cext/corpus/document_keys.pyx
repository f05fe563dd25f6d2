# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Search in stored keys of documents. Checked wrapper over document_keys.hpp; the GIL is released."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from ngramdb._cext.base.checksums cimport Checksums, FileChecksums
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception

cdef extern from "ngramdb/corpus/document_keys.hpp" namespace "ngramdb" nogil:
    cdef cppclass KeyRecord:
        pass

    cdef cppclass KeyRecords:
        KeyRecords(const KeyRecord*, size_t, Checksums*)
        void find(
            const uint64_t*, size_t, const uint32_t*, size_t, uint32_t, vector[uint32_t]&, vector[uint32_t]&, Poll*
        ) except +translate_exception


def find_documents(
    const uint32_t[::1] records not None,
    const uint64_t[::1] wanted not None,
    const uint32_t[::1] ranks not None,
    uint32_t most,
    FileChecksums checksums=None,
):
    """Return the documents that have the wanted keys, the first `most` for each key.

    Parameters
    ----------
    records : (3 n,) : the lower and the upper half of a key and a document, in the order of keys and documents
    wanted : (k,) : ascending keys
    ranks : (n_documents,) : the number to return for each document; 2**32 - 1 for those that do not count
    checksums : of the file that holds the records, which are verified when they are read

    Returns
    -------
    which, found : (m,) uint32 : the number of a wanted key, and the rank of a document with it

    Raises
    ------
    ValueError
        the records have a document without a rank, or a part of a record
    CorruptionError
        a part of the file that was read is damaged

    Cost: 30 to 200 ns per wanted key, and a few per document that is found.
    """
    if records.shape[0] % 3 != 0:
        raise ValueError(f"{records.shape[0]} numbers are not records of 3")
    cdef size_t n = records.shape[0] // 3, n_wanted = wanted.shape[0], n_documents = ranks.shape[0]
    cdef Poll poll = current_poll()
    cdef Checksums* sums = NULL
    cdef vector[uint32_t] which, found
    if checksums is not None:
        sums = checksums.sums.get()
    if n > 0 and n_wanted > 0:
        with nogil:
            KeyRecords(<const KeyRecord*>&records[0], n, sums).find(
                &wanted[0], n_wanted, &ranks[0] if n_documents > 0 else NULL, n_documents, most, which, found, &poll
            )
    return _array(which), _array(found)


cdef _array(const vector[uint32_t]& values):
    found = np.empty(values.size(), dtype=np.uint32)
    cdef uint32_t[::1] view = found
    cdef size_t i
    for i in range(values.size()):
        view[i] = values[i]
    return found
