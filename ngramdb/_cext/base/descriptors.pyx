# cython: language_level=3
"""Descriptors of open files that are closed with the object that owns them."""

import os

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
