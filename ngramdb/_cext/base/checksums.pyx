# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""CRC-32 by blocks: made while a file is written, and verified, each block once, when a part of it is first needed.

The checksums are those of zlib and gzip, computed about ten times as fast as in those libraries if the processor
supports carry-less multiplication.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from cpython.ref cimport PyObject

cdef extern from "ngramdb/base/crc32.hpp" namespace "ngramdb" nogil:
    uint32_t crc32_of "ngramdb::crc32"(uint32_t, const uint8_t*, size_t)

cdef extern from *:
    """
    #include "ngramdb/base/bringing.hpp"
    #include "ngramdb/base/checksums.hpp"

    static inline void bring_missing(ngramdb::Checksums& sums, PyObject* source, uint64_t together, uint64_t around) {
      sums.set_bring([source](uint64_t start, uint64_t stop, uint64_t table_start, uint64_t table_stop, bool again) {
        ngramdb::bring_by(source, start, stop, table_start, table_stop, again);
      }, together, around);
    }
    """
    void bring_missing(Checksums&, PyObject*, uint64_t, uint64_t)


cdef class BlockSums:
    """The checksum of every `block_size` bytes of what is given piece by piece; the last block may be shorter."""

    cdef readonly uint64_t block_size
    cdef readonly uint64_t n_bytes
    cdef uint32_t current
    cdef vector[uint32_t] whole

    def __cinit__(self, uint64_t block_size):
        """Raise ValueError if the block size is 0."""
        if block_size == 0:
            raise ValueError("a block must have at least one byte")
        self.block_size = block_size
        self.n_bytes = 0
        self.current = 0

    def add(self, const uint8_t[::1] data not None):
        """Take the next bytes. Cost: about 0.1 ns per byte; other threads run meanwhile."""
        cdef size_t n = data.shape[0]
        cdef size_t start = 0
        cdef size_t length
        if n == 0:
            return
        with nogil:
            while start < n:
                length = min(n - start, self.block_size - self.n_bytes % self.block_size)
                self.current = crc32_of(self.current, &data[start], length)
                self.n_bytes += length
                start += length
                if self.n_bytes % self.block_size == 0:
                    self.whole.push_back(self.current)
                    self.current = 0

    def append(self, BlockSums other not None):
        """Take the whole blocks of another one as the next. Raises ValueError where either has begun a block."""
        if other.n_bytes == 0:
            return
        if other.block_size != self.block_size or (self.n_bytes | other.n_bytes) % self.block_size:
            raise ValueError(f"{other.n_bytes} bytes after {self.n_bytes} are not whole blocks of {self.block_size}")
        self.whole.insert(self.whole.end(), other.whole.begin(), other.whole.end())
        self.n_bytes += other.n_bytes

    def table(self):
        """The checksums of all blocks so far, little-endian, four bytes each."""
        cdef vector[uint32_t] every = self.whole
        if self.n_bytes % self.block_size:
            every.push_back(self.current)
        if every.empty():
            return b""
        return (<const char*>every.data())[:4 * every.size()]


cdef class FileChecksums:
    """The checksums of a file, and which of its blocks have been verified. Safe to share between threads.

    Parameters
    ----------
    buffer : the whole file, kept, not copied
    n_bytes : the number of its first bytes that are covered; the table of checksums, four bytes per block, follows them
    block_size : bytes of a block, a power of two
    name : the file, to be named in errors
    bring : called as `bring(start, stop, table_start, table_stop, again)` before bytes [start, stop) are verified for
        the first time by the checksums at [table_start, table_stop), if some of either may be missing in the buffer;
        `again` when they were there, and damaged. Its errors are raised by whatever needed the bytes. Any thread may
        call it
    together, around : with `bring`: the most bytes of an array that is brought as a whole, and the bytes that are
        brought for one place of a larger one

    Raises
    ------
    ValueError : the table does not fit into the file, or the block size is invalid
    """

    def __cinit__(self, const uint8_t[::1] buffer not None, uint64_t n_bytes, uint64_t block_size, str name="",
                  object bring=None, uint64_t together=0, uint64_t around=1):
        cdef uint32_t shift = 0
        cdef uint64_t n_blocks
        while shift < 31 and <uint64_t>1 << shift < block_size:
            shift += 1
        if <uint64_t>1 << shift != block_size:
            raise ValueError(f"the size of a block must be a power of two, not {block_size}")
        n_blocks = (n_bytes + block_size - 1) // block_size
        if n_bytes > <uint64_t>buffer.shape[0] or 4 * n_blocks > buffer.shape[0] - n_bytes:
            raise ValueError(f"{n_blocks} checksums do not fit after {n_bytes} bytes of {buffer.shape[0]}")
        self.buffer = buffer
        self.n_bytes = n_bytes
        cdef const uint8_t* first = &buffer[0] if buffer.shape[0] > 0 else NULL
        self.sums.reset(new Checksums(first, n_bytes, first + n_bytes, shift,
                                      name.encode("utf-8", "backslashreplace")))
        self.source = bring
        if bring is not None:
            bring_missing(self.sums.get()[0], <PyObject*>bring, together, max(around, 1))

    def verify(self, uint64_t start, uint64_t stop, bint again=False):
        """Check the blocks with the file's bytes [start, stop): those that have not been checked, or all of them.

        Raises
        ------
        CorruptionError : names the first bad block's byte offset, with the expected and the found checksum
        ValueError : the range is outside the file

        Cost: about 0.1 ns per byte; other threads run meanwhile.
        """
        if not start <= stop <= self.n_bytes:
            raise ValueError(f"bytes {start} to {stop} are outside the file's {self.n_bytes}")
        with nogil:
            if again:
                self.sums.get().verify_again(start, stop)
            else:
                self.sums.get().verify(start, stop)

    def verify_beforehand(self, uint64_t start, uint64_t stop):
        """Verify the blocks within the file's bytes [start, stop), all of which are present, ahead of time.

        Damaged blocks are skipped: `verify` and the reads that need them raise the error. ValueError: the range is
        outside the file. Cost: that of `verify`; other threads run meanwhile.
        """
        if not start <= stop <= self.n_bytes:
            raise ValueError(f"bytes {start} to {stop} are outside the file's {self.n_bytes}")
        with nogil:
            self.sums.get().verify_beforehand(start, stop)

    def verified(self, uint64_t start, uint64_t stop):
        """Return True if all blocks with the file's bytes [start, stop) have been verified."""
        if not start <= stop <= self.n_bytes:
            raise ValueError(f"bytes {start} to {stop} are outside the file's {self.n_bytes}")
        return self.sums.get().verified(start, stop)

    @property
    def n_verified(self):
        """The number of blocks verified so far."""
        return self.sums.get().n_verified()

    def read_along(self, bint wanted):
        """Set whether a file that searches have used about fifty times is read into memory as a whole, a piece with each
        further search. Off by default.
        """
        self.sums.get().set_reads_along(wanted)
