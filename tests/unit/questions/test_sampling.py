"""Samples: uniform, repeatable, and the error of what is estimated from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ngramdb
from ngramdb.questions.sampling import Drawing, Sampling, estimated_total, most_without, ranks, smallest


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
    # Equal counts carry no information on how much documents differ.
    assert math.isnan(estimated_total(np.zeros(100), 1000).standard_error)
    assert math.isnan(estimated_total(np.ones(2), 3).standard_error)


def test_intervals_hold_as_often_as_the_page_on_the_language_says():
    # Counts as words have them: none in most documents, many in a few long ones.
    random = np.random.default_rng(5)
    n_population, n_sampled = 6000, 300
    lengths = random.lognormal(6, 1.2, n_population)
    counts = random.poisson(random.gamma(0.1, 10, n_population) * lengths / lengths.mean())
    for values, least, most in ((counts, 0.77, 0.93), (random.poisson(20, n_population), 0.93, 0.97)):
        held = 0
        for _ in range(1000):
            sample = random.choice(values, n_sampled, replace=False)
            total, error = estimated_total(sample, n_population)
            held += abs(total - values.sum()) <= 1.96 * error
        assert least <= held / 1000 <= most


def test_the_bound_for_what_a_sample_lacks_holds_as_often_as_it_says():
    n_population, n_sampled = 400, 40
    most = most_without(n_sampled, n_population)
    assert 24 <= most <= 30  # 3/40 of them by the rule of three
    random = np.random.default_rng(3)
    missed = sum(
        not (random.choice(n_population, n_sampled, replace=False) <= most).any() for _ in range(2000)
    )
    assert missed / 2000 <= 0.05
    assert most_without(3, 4) == 1 and most_without(1, 10) == 9


def test_an_estimate_without_a_hit_claims_no_certainty():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("many", tokenizer="words")
        corpus.append([f"text {i}" for i in range(1000)])
        result = db.execute('COUNT "7" SAMPLE 60 SEED 1')
        assert result.fetchall() == [(0,)] and not result.exact
        assert math.isnan(result.summary["standard_error"])
        bound = "at most 48 of all 1,000 have, with 95% confidence"
        estimate, note = result.notes
        assert estimate == "an estimate from a sample of 60 of 1,000 documents, seed 1"
        assert bound in note and bound in str(result)
        assert "standard error" not in str(result) + result._repr_html_()
        # All are drawn: then it is certain.
        result = db.execute('COUNT "7" SAMPLE 1000 SEED 1')
        assert result.exact and result.summary["standard_error"] == 0.0


def test_every_sample_and_every_drawn_text_has_its_seed_in_summary_notes_and_print(tmp_path):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("many", tokenizer="words")
        corpus.append([f"a text of {i % 9}" for i in range(100)])
        for statement in (
            'COUNT "text" SAMPLE 7',
            'COUNT "3" WHERE "text" SAMPLE 7',
            "DOCS SAMPLE 7",
            'DOCS WHERE "3" ORDER BY length SAMPLE 7 LIMIT 2',
            'KWIC "text" SAMPLE 7',
            f"COPY (DOCS SAMPLE 7) TO '{tmp_path / 'out.jsonl'}'",
            f"COPY (DOCS SAMPLE 7) TO '{tmp_path / 'out.parquet'}'",
            'GENERATE GIVEN "a" TOKENS 3 METHOD SAMPLE',
        ):
            for seed in ("", " SEED 0", " SEED 123456789"):
                place = statement.index(" SAMPLE") + len(" SAMPLE" + " 7" * ("SAMPLE 7" in statement))
                result = db.execute(statement[:place] + seed + statement[place:])
                drawn = result.summary["seed"]
                assert not seed or f" SEED {drawn}" == seed
                assert f"seed {drawn}" in result.notes[0]
                assert f"seed {drawn}" in str(result) and f"seed {drawn}" in result._repr_html_()
        result = corpus.sample(5, '"3"', seed=4)
        assert result.summary == {"total": 11, "sampled": 5, "seed": 4}
        assert result.notes == ("a sample of 5 of 11, seed 4",)


def test_count_draws_from_the_documents_that_where_selects():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("many", tokenizer="words")
        corpus.append(["rare thing"] * 10 + ["frequent"] * 10_000)
        for statement in ('COUNT "thing" WHERE "rare" SAMPLE 5', 'COUNT "thing" AND "rare" SAMPLE 5'):
            result = db.execute(statement)
            assert result.fetchall() == [(10,)]
            assert (result.summary["sampled_documents"], result.summary["documents"]) == (5, 10)


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
