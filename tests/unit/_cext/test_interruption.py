"""Every kernel that may take long ends within a moment of a request, however it is made.

One index is a sham over arrays that the operating system makes of nothing but zero pages: it costs next to
no memory, and questions to it take seconds. The other is of random tokens, for searches that lead somewhere.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from functools import cache, partial

import numpy as np
import pytest
from support.polls import PATIENCE_S

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.joins import distinct, sort_positions, stable_order
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import first_wrong_row, key_directory, suffix_array, tree_words
from ngramdb._cext.text.words import Vocabulary
from ngramdb.errors import Interrupted, TimeoutExceeded
from ngramdb.interrupts import Interrupt

# Seconds after which a kernel is stopped.
ASKED_AFTER_S = 0.1


@pytest.fixture(scope="module")
def huge():
    """A segment of 2**30 tokens in one document: all rows lead to the same place."""
    _large_text()  # made here, not while a clock runs
    n = 2**30
    return SuffixIndex(
        np.zeros(n + 1, dtype=np.uint8),
        np.zeros(n, dtype=np.uint32),
        np.zeros(tree_words(n), dtype=np.uint64),
        np.zeros(-(-n // 64), dtype=np.uint64),
        np.array([0, n + 1], dtype=np.uint32),
        0,
        "sham",
    )


@pytest.fixture(scope="module")
def corpus():
    """A valid index of 2**18 random tokens for batches, and ids to query."""
    random = np.random.default_rng(5)
    text = random.integers(1, 200, 2**18).astype(np.uint8)
    text[1000::1000] = 0
    text[-1] = 0
    rows = suffix_array(text, 256)
    tree, rest = key_directory(text, rows)
    ends = np.flatnonzero(text == 0) + 1
    starts = np.concatenate(([0], ends)).astype(np.uint32)
    # Many segments make each question long, and so the gaps between two looks.
    segments = [SuffixIndex(text, rows, tree, rest, starts, 255, "sound") for _ in range(20)]
    return Index(segments, [1] * 20), random.integers(0, 199, 2**24)


def every_kernel(huge, corpus):
    """Return kernels by name, each with enough work for minutes."""
    index, ids = corpus
    n = huge.n_tokens
    pairs, long = np.arange(0, len(ids), 2), np.arange(0, len(ids), 64)
    whole = np.array([0, len(ids)])
    rows = np.arange(2**25, dtype=np.uint32)
    once = {
        "documents of rows": lambda: huge.docs_of(0, n),
        "positions of rows": lambda: huge.positions(0, n // 8),
        "reading documents": lambda: huge.filter_docs(np.zeros(1000, dtype=np.uint32), [77]),
        "next tokens": lambda: index.dist([]),
        "counts": lambda: index.count_many(ids, pairs),
        "probabilities": lambda: index.prob_many(ids, pairs, ids[: len(pairs) - 1]),
        "longest suffixes": lambda: index.prob_many(ids, long, ids[: len(long) - 1], True),
        "scores of documents": lambda: index.score(ids, pairs, True),
        "scores of one document": lambda: index.score(ids, whole, True),
        "scores with an order": lambda: index.score(ids, whole, False, 3),
        "suffix sorting": lambda: suffix_array(_large_text(), 256),
        "a directory": lambda: key_directory(
            np.ones(2**20, dtype=np.uint8), np.zeros(2**30, dtype=np.uint32)
        ),
        "words of a text": lambda: Vocabulary().encode_batch([b"to be or not to be " * 2_000_000]),
        "verifying": lambda: first_wrong_row(_large_text(), rows),
        "distinct values": lambda: distinct(ids * -7919),
        "an order of values": lambda: stable_order(ids * -7919),
        "positions in order": lambda: sort_positions(rows[::-1].copy()),
    }
    return {name: partial(_for_ever, kernel) for name, kernel in once.items()}


def _for_ever(kernel):
    """Run without checks of the token: the kernel itself must end. A wrong one runs for PATIENCE_S."""
    until = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < until:
        kernel()


@cache
def _large_text():
    text = np.random.default_rng(1).integers(1, 255, 2**25).astype(np.uint8)
    text[-1] = 0
    return text


KERNELS = list(every_kernel(type("Sham", (), {"n_tokens": 0}), (None, np.zeros(128, dtype=np.int64))))


@contextmanager
def asked(ask):
    """Call `ask` from another thread after a moment; the block must be left by then."""
    timer = threading.Timer(ASKED_AFTER_S, ask)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.parametrize("name", KERNELS)
def test_control_c_ends_every_kernel(name, huge, corpus):
    kernel = every_kernel(huge, corpus)[name]
    with (
        pytest.raises(KeyboardInterrupt),
        asked(lambda: os.kill(os.getpid(), signal.SIGINT)),
    ):
        kernel()


@pytest.mark.parametrize("name", KERNELS)
def test_a_request_of_another_thread_ends_every_kernel(name, huge, corpus):
    kernel = every_kernel(huge, corpus)[name]
    work = Interrupt(Interrupt())
    with asked(work.parent.set), pytest.raises(Interrupted), work:
        kernel()


@pytest.mark.parametrize("name", KERNELS)
def test_a_timeout_ends_every_kernel_also_in_other_threads(name, huge, corpus):
    kernel = every_kernel(huge, corpus)[name]
    raised = []

    def run():
        try:
            with Interrupt(timeout=ASKED_AFTER_S):
                kernel()
        except TimeoutExceeded as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (error,) = raised
    assert error.timeout == ASKED_AFTER_S and error.elapsed >= ASKED_AFTER_S
    assert "stopped by its timeout after" in str(error)


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_polls_as_it_goes(name, huge, corpus):
    """After every few megabytes of its work, however long the machine takes for them."""
    once = every_kernel(huge, corpus)[name].args[0]
    for n_polls in (0, 8) if name != "verifying" else (0,):  # it ends at the first row that is wrong
        with pytest.raises(Interrupted), Interrupt(polls=n_polls):
            once()


def test_a_kernel_tells_how_far_it_is(huge):
    told = []
    work = Interrupt(progress=lambda token: told.append(token.fraction))
    with work:
        for i in range(3):
            interrupts.step(i, 3)
            huge.docs_of(0, 2**27)
            huge.docs_of(0, 2**28)
    assert told == sorted(told) and all(0 <= fraction <= 1 for fraction in told)
    assert len(told) >= 3 and told[0] < 1 / 3 < told[-1]
    assert any(fraction * 3 % 1 > 0.01 for fraction in told)


def test_what_a_progress_callback_raises_ends_the_kernel(huge):
    def refuse(token):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"), Interrupt(progress=refuse):
        _for_ever(lambda: huge.docs_of(0, huge.n_tokens))


def test_a_handler_of_another_signal_runs_and_the_kernel_goes_on(huge):
    handled = []
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.append(True))
    try:
        with asked(lambda: os.kill(os.getpid(), signal.SIGUSR1)):
            while not handled:
                found = huge.docs_of(0, huge.n_tokens // 4)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found.tolist() == [0] and len(handled) == 1


def test_work_within_work_ends_by_the_nearer_deadline(huge):
    with pytest.raises(TimeoutExceeded), Interrupt(timeout=0.1), Interrupt(timeout=60):
        _for_ever(lambda: huge.docs_of(0, huge.n_tokens))
    with pytest.raises(TimeoutExceeded), Interrupt(timeout=0.1), Interrupt():
        while True:
            interrupts.check()
