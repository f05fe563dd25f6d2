"""Measures of association as association-measures 0.3.2 (Evert, Heinrich, Opolka) computes them."""

from __future__ import annotations

import numpy as np
import pytest
from support import reference_measures

from ngramdb.executor.measures import ASSOCIATION, KEYNESS, Table
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES

# f, f1, f2, N
SIGNATURES = (
    (3, 18, 3, 30),
    (1, 400, 25, 100_000),
    (19_597, 1_079_348, 41_963, 21_219_725),
    (58_878, 1_079_348, 1_308_892, 21_219_725),
    (7, 50, 900, 1_000),
)
EXPECTED = {
    "z": (
        0.8944271909999159,
        2.8460498941515415,
        377.97515094909585,
        -29.838917000315924,
        -5.664705542999467,
    ),
    "t": (0.6928203230275509, 0.9, 124.74196679737925, -31.729944200907045, -14.362649974350633),
    "ll": (3.284774884299922, 2.8401346382274184, 61387.0155338787, -1035.9531087907453, -178.4313055253544),
    "dice": (
        *(0.2857142857142857, 0.004705882352941176, 0.03495372826985555),
        *(0.04930660235152246, 0.014736842105263158),
    ),
    "logratio": (
        *(2.241757746203379, 3.928459588466849, 4.031188172246873),
        *(-0.18620204014456995, -2.662101989536215),
    ),
}
# That library uses the decadic logarithm.
MUTUAL_INFORMATION = (
    0.22184874961635634,
    1.0,
    0.9629013237803182,
    -0.053372503886334875,
    -0.8081144737610868,
)


def scores(measure: str) -> list[float]:
    return [
        float(ASSOCIATION[measure](Table.of(np.array([f]), f1, np.array([f2]), n))[0])
        for f, f1, f2, n in SIGNATURES
    ]


@pytest.mark.parametrize("measure", EXPECTED)
def test_a_measure_is_that_of_the_library(measure: str) -> None:
    assert scores(measure) == pytest.approx(EXPECTED[measure], rel=1e-9)


def test_mutual_information_is_that_of_the_library_in_bits() -> None:
    assert scores("mi") == pytest.approx([value / np.log10(2) for value in MUTUAL_INFORMATION], rel=1e-9)


def test_a_token_that_is_all_there_is_has_no_keyness() -> None:
    table = Table.of(np.array([3]), 3, np.array([8]), 8)
    assert [float(KEYNESS[name](table)[0]) for name in ("ll", "chi2")] == [0, 0]


def test_keyness_by_likelihood_has_the_two_terms_of_the_counts() -> None:
    """Rayson & Garside 2000; by hand for 30 of 1,000 tokens and 10 of 1,000: E is 20 on both sides."""
    table = Table.of(np.array([30, 10]), 1_000, np.array([40, 40]), 2_000)
    expected = 2 * (30 * np.log(1.5) + 10 * np.log(0.5))
    assert KEYNESS["ll"](table) == pytest.approx([expected, -expected])


def test_every_measure_has_a_formula_and_a_reference() -> None:
    assert set(ASSOCIATION) == set(ASSOCIATION_MEASURES) == set(reference_measures.ASSOCIATION)
    assert {*KEYNESS, "simple"} == set(KEYNESS_MEASURES) == set(reference_measures.KEYNESS)
