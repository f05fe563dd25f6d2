"""Counts of counts as they are kept, and the discounts that follow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.language_corpora import DOCUMENTS, View

from ngramdb.errors import InvalidArgument
from ngramdb.lm import KneserNey, Statistics, analyze, fingerprint, make
from ngramdb.lm.statistics import FALLBACK, _listed, discounts_of


def test_statistics_come_back_from_json(view):
    statistics = analyze(view)
    again = Statistics.from_dict(json.loads(json.dumps(statistics.as_dict())))
    assert again == statistics
    text = [0, 1, 2, 3]
    assert (
        make(KneserNey(), view, again).score(text).prob.tolist()
        == make(KneserNey(), view).score(text).prob.tolist()
    )


@pytest.mark.parametrize("change", [{"format": 2}, {"raw": None}])
def test_something_else_is_no_statistics(change):
    stored = analyze(View(DOCUMENTS)).as_dict() | change
    if change == {"raw": None}:
        del stored["raw"]
    with pytest.raises(InvalidArgument, match="run ANALYZE again"):
        Statistics.from_dict(stored)


def test_statistics_of_another_version_are_refused(documents):
    before, after = View(documents), View(documents, [[1, 2]])
    statistics = analyze(before)
    assert statistics.describes(before)
    assert not statistics.describes(after)
    with pytest.raises(InvalidArgument, match="not those of this version"):
        make(KneserNey(), after, statistics)


def test_fingerprints_tell_added_from_subtracted():
    assert fingerprint(View([[1]], [[1]])) != fingerprint(View([[1]], [[1]], signs=[1, -1]))


def test_discounts_follow_from_counts_of_counts():
    # KenLM's own numbers for the unigrams of a small corpus: 37, 10, 5, 2.
    found, estimated = discounts_of((37, 10, 5, 2))
    assert estimated
    np.testing.assert_allclose(found, (0.649123, 1.02632, 1.9614), rtol=1e-5)


@pytest.mark.parametrize("counts", [(0, 3, 2, 1), (5, 0, 2, 1), (5, 3, 0, 1), (3, 1, 3, 1), (100, 50, 1, 40)])
def test_discounts_that_cannot_be_had_fall_back(counts):
    assert discounts_of(counts) == (FALLBACK, False)


def test_lengths_without_discounts_are_named(documents):
    statistics = analyze(View(documents))
    lengths = statistics.fallbacks()
    assert lengths and all(statistics.discount(n) == FALLBACK for n in lengths)
    assert f"of length {_listed(lengths)};" in statistics.note()
    assert max(statistics.fallbacks(2), default=0) <= 2


@pytest.mark.parametrize(
    "numbers, text",
    [([2], "2"), ([1, 2], "1, 2"), (range(1, 11), "1 to 10"), ([1, 3, 4, 5, 7, 8], "1, 3 to 5, 7, 8")],
)
def test_lengths_in_a_row_are_listed_as_a_range(numbers, text):
    assert _listed(numbers) == text


def test_characters_have_discounts_for_greater_lengths():
    assert analyze(View([[1, 2, 3]], kind="chars")).max_length == 50
    assert analyze(View([[1, 2, 3]], kind="bytes")).max_length == 50
    assert analyze(View([[1, 2, 3]], kind="words")).max_length == 10


def test_lengths_out_of_range_are_refused():
    with pytest.raises(ValueError, match="2 … 1000"):
        analyze(View([[1]]), 1)


def test_discounts_that_cannot_be_estimated_are_kenlms_or_those_of_shorter_ngrams():
    random = np.random.default_rng(3)
    view = View([(random.zipf(1.5, 20) % 400).tolist() for _ in range(60)])
    kenlms = analyze(view, 8)
    reusing = kenlms.reusing()
    lacking = kenlms.fallbacks()
    assert lacking and 1 not in lacking
    for length in range(1, 9):
        shorter = next(n for n in range(length, 0, -1) if n not in lacking)
        assert reusing.discount(length) == kenlms.discount(shorter)
        assert kenlms.discount(length) == (FALLBACK if length in lacking else reusing.discount(length))
    assert reusing.discount(20) == kenlms.discount(20)
    assert "0.5, 1 and 1.5 stand in" in kenlms.note()
    assert "cannot be estimated: they are those of the last shorter length" in reusing.note()
    assert "stand in" not in reusing.note()
    models = [make(KneserNey(), view, statistics) for statistics in (kenlms, reusing)]
    assert models[1].note == reusing.note()
    assert abs(models[1].dist([0, 1, 2]).probs.sum() - 1) < 1e-9
