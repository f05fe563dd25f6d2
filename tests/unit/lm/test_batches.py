"""Documents scored together, by several threads if there are many: each as if it were scored alone."""

from __future__ import annotations

import numpy as np
import pytest
from support.indexes import packed
from support.language_corpora import View

from ngramdb.errors import CorruptionError, QueryCancelled
from ngramdb.interrupts import Interrupt
from ngramdb.lm import Backoff, InfGram, KneserNey, NGram, analyze, make


@pytest.fixture(scope="module")
def view():
    rng = np.random.default_rng(1)
    documents = [(rng.zipf(1.4, int(n)) % 300).tolist() for n in rng.integers(0, 200, 400)]
    return View(documents[:200], documents[200:])


@pytest.fixture(scope="module")
def texts():
    """More tokens than one thread scores: short documents, empty ones, and two of several thousand tokens."""
    rng = np.random.default_rng(2)
    lengths = [*rng.integers(0, 60, 400).tolist(), 0, 0, 5_000, 3_000, 0]
    return [(rng.zipf(1.4, n) % 310).tolist() for n in lengths]


SPECS = [KneserNey(), KneserNey(order=3), KneserNey(min_count=2), InfGram(), NGram(order=2), Backoff()]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_document_among_many_has_the_scores_that_it_has_alone(view, texts, spec, whole):
    statistics = analyze(view)
    together = make(spec, view, statistics).score_many(*packed(texts), document=whole)
    model = make(spec, view, statistics)
    alone = [model.score(text, document=whole) for text in texts]
    for name in ("prob", "count", "context_count", "effective_n", "sparse"):
        expected = np.concatenate([getattr(scores, name) for scores in alone])
        np.testing.assert_array_equal(getattr(together, name), expected)


def test_scoring_by_several_threads_ends_when_asked(view, texts):
    flat, offsets = packed(texts * 40)
    model = make(KneserNey(), view, analyze(view))
    stop = Interrupt()
    stop.set()
    with pytest.raises(QueryCancelled), stop:
        model.score_many(flat, offsets)
    with pytest.raises(QueryCancelled), Interrupt(timeout=0.0):
        model.score_many(flat, offsets)
    with pytest.raises(QueryCancelled), Interrupt(polls=1):
        model.score_many(flat, offsets)


def test_damage_met_by_any_thread_is_reported(texts):
    rng = np.random.default_rng(3)
    view = View([(rng.zipf(1.4, 100) % 300).tolist() for _ in range(100)])
    [segment] = view.index.segments
    model = make(KneserNey(), view, analyze(view))
    segment.arrays[1][:] |= np.uint32((1 << 25) - 1)
    with pytest.raises(CorruptionError, match="segment"):
        model.score_many(*packed(texts))
