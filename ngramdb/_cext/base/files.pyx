# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Open files: descriptors that are closed with their owners, and mapped files and their pages in memory."""

import os

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.exc cimport PyErr_SetFromErrno
from libc.stddef cimport size_t
from libc.stdint cimport uint64_t, uint8_t
from libcpp cimport bool as cbool

cdef extern from "ngramdb/base/pages.hpp" namespace "ngramdb" nogil:
    cdef enum class Reading:
        kUsual
        kAtRandom
        kLargePages
        kSoon
        kNow
        kDone

    void* map_file(int, size_t)
    void unmap(void*, size_t)
    cbool advise_pages "ngramdb::advise"(const void*, size_t, Reading)
    uint64_t resident_of "ngramdb::resident"(const void*, size_t)

cdef dict READINGS = {
    "usual": <int>Reading.kUsual,
    "at random": <int>Reading.kAtRandom,
    "large pages": <int>Reading.kLargePages,
    "soon": <int>Reading.kSoon,
    "now": <int>Reading.kNow,
    "done": <int>Reading.kDone,
}


cdef class FileMap:
    """The first `n_bytes` bytes of an open file as a buffer that is only read; the descriptor may be closed.

    They are there as long as anything refers to this: also while garbage is collected, and what is part of it reads
    once more. Raises OSError if the system fails or the file is shorter (always on Windows), ValueError for 0 bytes.
    """

    cdef void* mapped
    cdef Py_ssize_t n_bytes

    def __cinit__(self, int fd, Py_ssize_t n_bytes):
        if n_bytes < 1:
            raise ValueError(f"{n_bytes} bytes cannot be mapped")
        with nogil:
            self.mapped = map_file(fd, n_bytes)
        if self.mapped == NULL:
            PyErr_SetFromErrno(OSError)
        self.n_bytes = n_bytes

    def __dealloc__(self):
        if self.mapped != NULL:
            with nogil:
                unmap(self.mapped, self.n_bytes)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.mapped, self.n_bytes, True, flags)


def advise(const uint8_t[::1] buffer not None, str how, Py_ssize_t start=0, Py_ssize_t stop=-1):
    """Says how bytes [start, stop) of a mapped file, all without a stop, will be read; whether the system took it.

    Parameters
        how : "usual" (some pages around the one that is needed), "at random" (that page alone), "large pages" (as usual,
            by large pages if available), "soon" (these bytes, next), "now" (the same, returning when
            they are there), "done" (not again; the buffer must be a file's, which is not changed)

    Raises
        ValueError : another word, or bytes that the buffer has not

    Other threads run meanwhile.
    """
    cdef Py_ssize_t n = buffer.shape[0]
    cdef cbool taken
    if how not in READINGS:
        raise ValueError(f"how must be one of {', '.join(READINGS)}, not {how!r}")
    cdef Reading reading = <Reading><int>READINGS[how]
    if stop < 0:
        stop = n
    if not 0 <= start <= stop <= n:
        raise ValueError(f"bytes {start} to {stop} are outside the buffer's {n}")
    if start == stop:
        return True
    with nogil:
        taken = advise_pages(&buffer[start], stop - start, reading)
    return taken


def resident(const uint8_t[::1] buffer not None):
    """Return the number of bytes of a mapped file in memory, counting other processes' reads. Cost: about 10 ns per page."""
    cdef uint64_t found = 0
    if buffer.shape[0] > 0:
        with nogil:
            found = resident_of(&buffer[0], buffer.shape[0])
    return found


cdef object close = os.close


cdef class Descriptor:
    """Closes the descriptor when nothing refers to it any more.

    A `__del__` written in Python would swallow the KeyboardInterrupt of a signal that arrives while it runs.
    """

    cdef readonly int fd

    def __cinit__(self, int fd):
        self.fd = fd

    def close(self):
        """Close it now; a second call does nothing. Raises OSError."""
        cdef int fd = self.fd
        self.fd = -1
        if fd >= 0:
            close(fd)

    def __dealloc__(self):
        if self.fd >= 0:
            try:
                close(self.fd)
            except OSError:
                pass
