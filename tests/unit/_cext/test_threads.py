"""One index asked by many threads at once: the same answers, and other threads run meanwhile."""

from __future__ import annotations

import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.indexes import packed, plain, rows_of, segment_of
from support.polls import NO_LIMIT, until

from ngramdb._cext.corpus.index import Index
from ngramdb.errors import Interrupted
from ngramdb.interrupts import Interrupt

N_THREADS = 6


def make_index(seed=0):
    rng = np.random.default_rng(seed)
    segments = [[rng.integers(0, 20, 200).tolist() for _ in range(20)] for _ in range(3)]
    return Index([segment_of(documents) for documents in segments], [1, 1, 1]), segments


def everything(index, document):
    """An answer of every kind, without arrays."""
    ngrams = [document[i : i + 1 + i % 5] for i in range(0, 60, 3)]
    segment = index.segments[1]
    return (
        [index.count(ngram) for ngram in ngrams],
        index.count_many(*packed(ngrams * 60)).tolist(),
        rows_of(index.prob_many(*packed(ngrams), [1] * len(ngrams), True)),
        rows_of(index.score(*packed([document]), True)),
        plain(index.dist(document[:1])),
        [segment.docs_containing(ngram).tolist() for ngram in ngrams],
        [index.prob(ngram, 3, True) for ngram in ngrams],
    )


def test_threads_that_share_an_index_get_the_same_answers():
    index, segments = make_index()
    documents = [documents[i] for documents in segments for i in range(4)]
    fresh, _ = make_index()  # its maps of documents are made by whichever thread comes first
    expected = [everything(index, document) for document in documents]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(N_THREADS) as pool:
            for _ in range(3):
                assert list(pool.map(lambda document: everything(fresh, document), documents)) == expected
    finally:
        sys.setswitchinterval(interval)


def test_many_threads_make_the_map_of_documents_once():
    for _ in range(20):
        segment = segment_of([[1, 2, 3]] * 500)
        start = threading.Barrier(N_THREADS)

        def ask(segment=segment, start=start):
            start.wait()
            return segment.docs_of(0, segment.n_tokens).tolist()

        with ThreadPoolExecutor(N_THREADS) as pool:
            answers = [pool.submit(ask) for _ in range(N_THREADS)]
        assert all(answer.result() == list(range(500)) for answer in answers)


def test_a_batch_lets_other_threads_run():
    index, _ = make_index()
    flat, offsets = packed([[1, 2]] * 1_000)
    flat, offsets = np.tile(flat, 1500), np.arange(1_500_001, dtype=np.int64) * 2

    def is_stopped_by_another_thread():
        token, done = Interrupt(polls=NO_LIMIT), threading.Event()

        def ask():
            until(lambda: token.polls_left < NO_LIMIT or done.is_set())
            token.set()

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            with token:
                index.count_many(flat, offsets)
        except Interrupted:
            return True
        finally:
            done.set()
            thread.join()
        return False

    # A thread that finds no core in time does not stop the batch.
    until(is_stopped_by_another_thread)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interval timers are not available")
def test_a_signal_ends_a_long_batch():
    index, _ = make_index()
    n = 16_000_000
    flat, offsets = np.ones(n, dtype=np.int64), np.arange(n + 1, dtype=np.int64)

    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            index.prob_many(flat, offsets, flat, True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert index.count([1]) == index.count_many(np.array([1]), [0, 1])[0]
