# cython: language_level=3
"""The token by which running work is stopped, timed and watched, and which of them is current in a thread.

Python modules use it by way of `ngramdb.interrupts`; kernels by way of interrupt.pxd and interrupt.hpp.
"""

import _thread
import os
import signal
import sys
import threading

from ngramdb.errors import Interrupted, TimeoutExceeded

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t
from libcpp cimport bool as cbool

cdef extern from *:
    """
    #include <vector>

    // Tokens that this thread has entered, the innermost last; whoever entered one keeps it alive.
    static thread_local std::vector<PyObject*> entered_tokens;

    static inline PyObject* innermost_token() {
      return entered_tokens.empty() ? nullptr : entered_tokens.back();
    }
    static inline void push_token(PyObject* token) { entered_tokens.push_back(token); }
    static inline void pop_token() {
      if (!entered_tokens.empty()) entered_tokens.pop_back();
    }
    """
    PyObject* innermost_token() nogil
    void push_token(PyObject*)
    void pop_token()

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() nogil

# Progress callbacks are called at most so often.
cdef int64_t REPORT_INTERVAL_NS = 100_000_000

# A decrease of the share by at most this much is not a step back.
cdef double ROUNDING = 1e-6

# The thread that Python's signal handlers run in.
cdef unsigned long main_thread


def _find_main_thread():
    global main_thread
    main_thread = threading.main_thread().ident


_find_main_thread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_find_main_thread)


# The handler of SIGINT that is set aside while `Deferred` or `Guarded` defers the signal; None otherwise.
cdef object deferred_handler = None
cdef cbool is_pending = False


def _note(number, frame):
    """The handler of SIGINT while it is deferred."""
    global is_pending
    is_pending = True


cdef cbool defer() except *:
    """Defer Ctrl-C. Return False if it cannot raise in this thread, or is already deferred."""
    global deferred_handler
    if PyThread_get_thread_ident() != main_thread or deferred_handler is not None:
        return False
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        return False
    try:
        signal.signal(signal.SIGINT, _note)  # may raise the interrupt of a signal that has just arrived
    except ValueError:  # the main thread of another interpreter
        return False
    deferred_handler = handler
    return True


cdef cbool admit() except *:
    """Defer Ctrl-C no longer. True if there was one: it is raised by the next look for signals."""
    global deferred_handler, is_pending
    handler, deferred_handler = deferred_handler, None
    if signal.getsignal(signal.SIGINT) is _note:
        signal.signal(signal.SIGINT, handler)
    was_pending, is_pending = is_pending, False
    if was_pending:
        _thread.interrupt_main(signal.SIGINT)
    return was_pending


cdef int deliver() except -1:
    """Raise a deferred Ctrl-C: the work can be stopped here."""
    global is_pending
    if is_pending and PyThread_get_thread_ident() == main_thread:
        is_pending = False
        deferred_handler(signal.SIGINT, sys._getframe())
    return 0


cdef class Deferred:
    """A block that Ctrl-C does not break: it is raised at the next poll in the block, or at its end.

    For short blocks. Other signals, and threads besides the main one, are not affected. May be nested.
    """

    cdef cbool defers

    def __enter__(self):
        self.defers = defer()
        return self

    def __exit__(self, kind, error, trace):
        if self.defers and admit():
            PyErr_CheckSignals()


cdef class Guarded:
    """A context manager that Ctrl-C breaks neither while it is entered nor while it is left, only in between.

    As in `Deferred`, polls within them do raise it. No bytecode runs between the manager and the block, so what
    the manager has acquired is always released.
    """

    cdef object manager

    def __cinit__(self, manager):
        self.manager = manager

    def __enter__(self):
        cdef cbool defers = defer()
        try:
            return self.manager.__enter__()
        finally:
            if defers:
                admit()

    def __exit__(self, kind, error, trace):
        cdef cbool defers
        late = None
        try:
            defers = defer()
        except BaseException as interrupt:
            late = interrupt
            kind, error, trace = type(late), late, late.__traceback__
            defers = defer()
        try:
            is_suppressed = self.manager.__exit__(kind, error, trace)
        finally:
            if defers and admit():
                PyErr_CheckSignals()
        if late is not None:
            raise late
        return is_suppressed


cdef class Interrupt:
    """A piece of work that can be stopped: by `set`, from any thread, or by its timeout.

    ```
    with token:              # current in this thread: kernels and `check` obey it
        index.count_many(…)
    ```
    May be entered in several threads, and again and again; the timeout counts the time inside only.

    Parameters
    ----------
    parent : setting it later stops this token too; earlier requests do not count
    timeout : seconds of work, None for no limit
    progress : called with the token occasionally, at most ten times per second
    polls : number of looks after which the work stops, None for no limit; for tests

    Attributes
    ----------
    committed : the version of the database that was committed last within the work, None if none was
    """

    def __cinit__(self, Interrupt parent=None, timeout=None, progress=None, polls=None):
        self.parent = parent
        self.parent_before = 0 if parent is None else parent.state.n_requests.load()
        self.timeout = None if timeout is None else float(timeout)
        self.progress = progress
        self.report_at_ns = now_ns() + REPORT_INTERVAL_NS
        if polls is not None:
            self.state.polls_left.store(polls)

    def set(self):
        """Ask the work to stop, wherever it runs."""
        self.state.n_requests.fetch_add(1)

    def note_commit(self, version):
        """A version of the database was committed: what stops the work from now on leaves it."""
        self.committed = version
        if self.parent is not None and self.parent.n_entered > 0:
            self.parent.note_commit(version)

    @property
    def polls_left(self):
        """Looks until the work stops: negative once it has been stopped so."""
        return self.state.polls_left.load()

    @property
    def is_set(self):
        """Return True if the work was requested to stop."""
        return self.requested()

    @property
    def is_late(self):
        """True if the time limit is exceeded."""
        return self.timeout is not None and self.spent() >= <int64_t>(self.timeout * 1e9)

    @property
    def fraction(self):
        """The share of the work that is done, from 0 to 1, or None if it is unknown.

        Work that starts again at 0 has several parts of unknown length.
        """
        cdef double fraction = min(self.state.fraction.load(), 1.0)
        self.see(fraction)
        return None if fraction < 0 or self.has_parts else fraction

    @property
    def elapsed(self):
        """Seconds of work so far."""
        return self.spent() * 1e-9

    def __enter__(self):
        cdef PyObject* outer = innermost_token()
        cdef int64_t deadline_ns = kNever
        if self.n_entered == 0:
            self.entered_ns = now_ns()
            if self.timeout is not None:
                deadline_ns = self.entered_ns + <int64_t>(self.timeout * 1e9) - self.spent_ns
            if outer != NULL:  # work within work: the nearer deadline ends both
                deadline_ns = min(deadline_ns, (<Interrupt>outer).state.deadline_ns.load())
            self.state.deadline_ns.store(deadline_ns)
        self.n_entered += 1
        push_token(<PyObject*>self)
        return self

    def __exit__(self, kind, error, trace):
        pop_token()
        self.n_entered -= 1
        if self.n_entered == 0:
            self.spent_ns += now_ns() - self.entered_ns
        if kind is not None and issubclass(kind, KeyboardInterrupt) and not hasattr(error, "fraction"):
            # Other errors that stop the work describe themselves.
            error.fraction, error.elapsed, error.committed = self.fraction, self.elapsed, self.committed

    cdef void see(self, double fraction) noexcept:
        if 0 <= fraction < self.farthest - ROUNDING:
            self.has_parts = True
        self.farthest = max(self.farthest, fraction)

    cdef cbool requested(self) noexcept:
        return self.state.n_requests.load() != 0 or (
            self.parent is not None and self.parent.state.n_requests.load() != self.parent_before
        )

    cdef int64_t spent(self) noexcept:
        return self.spent_ns + (now_ns() - self.entered_ns if self.n_entered else 0)

    cdef int report(self) except -1:
        """Call the progress callback when that is due."""
        cdef int64_t now
        if self.progress is not None:
            now = now_ns()
            if now >= self.report_at_ns:
                self.report_at_ns = now + REPORT_INTERVAL_NS
                self.progress(self)
        return 0

    cdef int look(self) except -1:
        if self.requested() or self.state.count_poll() or (self.parent is not None and self.parent.state.count_poll()):
            raise_stopped(False)
        cdef int64_t deadline_ns = self.state.deadline_ns.load()
        if deadline_ns != kNever and now_ns() >= deadline_ns:
            raise_stopped(True)
        return self.report()


cdef int visit() except -1 with gil:
    """Let Python run: signal handlers and the progress callback."""
    cdef PyObject* token = innermost_token()
    if PyThread_get_thread_ident() == main_thread:
        PyErr_CheckSignals()
        deliver()
    if token != NULL:
        (<Interrupt>token).report()
    return 0


cdef Poll new_poll(Interrupt token, cbool visits) noexcept:
    cdef StopState* own = NULL
    cdef StopState* parent = NULL
    cdef uint32_t before = 0
    cdef Visit visit_python = NULL
    if token is not None:
        own = &token.state
        before = token.parent_before
        if token.parent is not None:
            parent = &token.parent.state
    if visits:
        visit_python = visit
    return Poll(own, parent, before, visit_python)


cdef Poll current_poll() noexcept:
    cdef PyObject* found = innermost_token()
    cdef cbool visits = PyThread_get_thread_ident() == main_thread
    if found == NULL:
        return new_poll(None, visits)
    return new_poll(<Interrupt>found, visits or (<Interrupt>found).progress is not None)


cdef Poll poll_of(Interrupt token) noexcept:
    if token is None:
        return current_poll()
    # Signals matter to the main thread, whoever the token is from.
    return new_poll(token, PyThread_get_thread_ident() == main_thread)


def current():
    """The token that this thread works under, or None."""
    cdef PyObject* token = innermost_token()
    return None if token == NULL else <Interrupt>token


def check():
    """Raise Interrupted or TimeoutExceeded if the work of this thread must stop. Cost: about 30 ns."""
    cdef PyObject* token = innermost_token()
    deliver()
    if token != NULL:
        (<Interrupt>token).look()


def step(done, total):
    """Report that step `done` of `total` begins (or `done` of `total` pieces of work are finished), and check.

    Kernels that are called within the step refine its reported progress.
    """
    cdef PyObject* token = innermost_token()
    cdef double n
    deliver()
    if token != NULL:
        n = total
        if n > 0:
            (<Interrupt>token).see((<Interrupt>token).state.fraction.load())
            (<Interrupt>token).see(done / n)
            (<Interrupt>token).state.begin_step(done / n, 1 / n if done < total else 0)
        (<Interrupt>token).look()


def raise_stopped(late):
    """Raise the error of work that ends early, with its progress. Called by kernels, too."""
    token = current()
    fraction = None if token is None else token.fraction
    elapsed = None if token is None else token.elapsed
    committed = None if token is None else token.committed
    if late and token is not None:
        raise TimeoutExceeded(elapsed=elapsed, fraction=fraction, timeout=token.timeout, committed=committed)
    raise Interrupted(elapsed=elapsed, fraction=fraction, committed=committed)
