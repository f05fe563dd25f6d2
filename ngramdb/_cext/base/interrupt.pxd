# cython: language_level=3
"""For other kernels: a Poll of the current work of the calling thread.

```
from ngramdb._cext.base.interrupt cimport Poll, current_poll

cdef Poll poll = current_poll()   # with the GIL
with nogil:
    some_kernel(…, &poll)         # its parameter is a StopFlag; check_stop(stop) every few milliseconds
    poll.check()                  # or poll.check(done, total), in loops written here
```
C++ functions that are given a StopFlag are declared `except +translate_exception` (errors.hpp).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool


cdef extern from "ngramdb/base/errors.hpp" namespace "ngramdb":
    void translate_exception()

cdef extern from "ngramdb/base/interrupt.hpp" namespace "ngramdb" nogil:
    cdef int64_t kNever
    cdef int64_t now_ns()

    cdef cppclass atomic_u32 "std::atomic<uint32_t>":
        uint32_t load()
        uint32_t fetch_add(uint32_t)

    cdef cppclass atomic_i64 "std::atomic<int64_t>":
        int64_t load()
        void store(int64_t)

    cdef cppclass atomic_double "std::atomic<double>":
        double load()
        void store(double)

    cdef cppclass StopState:
        atomic_u32 n_requests
        atomic_i64 deadline_ns
        atomic_i64 polls_left
        atomic_double fraction
        cbool count_poll()
        void begin_step(double, double)
        void set_within_step(double)

    ctypedef int (*Visit "ngramdb::Poll::Visit")() except -1

    cdef cppclass Poll:
        Poll()
        Poll(StopState*, StopState*, uint32_t, Visit)
        void check() except +translate_exception
        void check(uint64_t, uint64_t) except +translate_exception


cdef class Interrupt:
    cdef StopState state
    cdef readonly Interrupt parent
    cdef uint32_t parent_before
    cdef readonly object timeout
    cdef readonly object progress
    cdef readonly object committed
    cdef int64_t spent_ns      # while it was current, up to the last time that it was left
    cdef int64_t entered_ns
    cdef uint32_t n_entered
    cdef int64_t report_at_ns
    cdef double farthest       # reported share of the work
    cdef cbool has_parts       # and then less of it
    cdef object __weakref__

    cdef void see(self, double fraction) noexcept
    cdef cbool requested(self) noexcept
    cdef int64_t spent(self) noexcept
    cdef int report(self) except -1
    cdef int look(self) except -1


# The poll of this thread's current work; without any, one that only checks for signals.
cdef Poll current_poll() noexcept

# The poll of a token that was handed to this thread; None means the thread's current work.
cdef Poll poll_of(Interrupt token) noexcept
