"""Samples: uniform, repeatable, and the error of what is estimated from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ngramdb
from ngramdb.executor.sampling import Drawing, estimated_total, ranks, smallest
from ngramdb.planner.plan import Sampling


def test_the_smallest_numbers_are_chosen_and_of_equal_ones_the_first():
    values = np.array([5, 1, 5, 0, 1, 5], dtype=np.uint64)
    assert smallest(values, 0).tolist() == []
    assert smallest(values, 2).tolist() == [1, 3]
    assert smallest(values, 4).tolist() == [0, 1, 3, 4]
    assert smallest(values, 9).tolist() == [0, 1, 2, 3, 4, 5]


def test_drawing_from_parts_is_drawing_from_all():
    sampling = Sampling(10, 3)
    ids = np.arange(100)
    values = ranks(sampling, "", ids)
    together = smallest(values, 10).tolist()
    drawing = Drawing(sampling)
    for number, start in enumerate(range(0, 100, 7)):
        drawing.add(number, values[start : start + 7])
    apart = [7 * number + i for number in range(15) for i in drawing.drawn(number).tolist()]
    assert apart == together


def test_every_document_is_drawn_equally_often():
    times = np.zeros(20, dtype=np.int64)
    for seed in range(2000):
        times[smallest(ranks(Sampling(5, seed), "", np.arange(20)), 5)] += 1
    # Each has 500 draws on average, with a standard deviation below 20.
    assert abs(times - 500).max() < 90 and times.sum() == 10_000


def test_seeds_and_corpora_make_different_samples():
    ids = np.arange(1000)
    samples = {
        tuple(smallest(ranks(Sampling(20, seed), name, ids), 20))
        for seed in (0, 1, 2**63)
        for name in ("", "b")
    }
    assert len(samples) == 6


def test_estimates_and_their_errors_follow_the_formula():
    assert estimated_total(np.array([1, 2, 3, 4]), 4) == (10.0, 0.0)
    total, error = estimated_total(np.array([0, 2]), 10)
    assert total == 10.0 and error == pytest.approx(10 * math.sqrt((1 - 0.2) * 2.0 / 2))
    assert math.isnan(estimated_total(np.array([3]), 10).standard_error)
    assert estimated_total(np.array([]), 0) == (0.0, 0.0)


def test_estimated_totals_are_right_on_average_and_their_errors_cover_the_truth():
    rng = np.random.default_rng(5)
    population = rng.poisson(3, 400)
    errors = []
    for seed in range(300):
        chosen = smallest(ranks(Sampling(50, seed), "", np.arange(400)), 50)
        total, error = estimated_total(population[chosen], 400)
        errors.append((total - population.sum()) / error)
    assert abs(np.mean(errors)) < 0.2
    assert 0.9 < np.mean(np.abs(errors) < 1.96) < 0.99


def test_a_drawn_seed_is_told_and_repeats_the_sample():
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append([f"word {i}" for i in range(50)])
        first = c.kwic("word", sample=5)
        again = c.kwic("word", sample=5, seed=first.summary["seed"])
        assert first.summary == again.summary == {"total": 50, "sampled": 5, "seed": first.summary["seed"]}
        assert first.fetchall() == again.fetchall()
        assert len(c.kwic("word", sample=50).fetchall()) == 50
