# cython: language_level=3
"""The checksums of a file, as other kernels take them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string

from ngramdb._cext.base.interrupt cimport translate_exception


cdef extern from "ngramdb/base/checksums.hpp" namespace "ngramdb" nogil:
    cdef cppclass Checksums:
        Checksums(const uint8_t*, uint64_t, const uint8_t*, uint32_t, string) except +translate_exception
        bint verified(uint64_t, uint64_t)
        uint64_t n_verified()
        void set_reads_along(bint)
        void verify(uint64_t, uint64_t) except +translate_exception
        void verify_again(uint64_t, uint64_t) except +translate_exception
        void verify_beforehand(uint64_t, uint64_t)


cdef class FileChecksums:
    cdef unique_ptr[Checksums] sums
    cdef const uint8_t[::1] buffer
    cdef object source
    cdef readonly uint64_t n_bytes
