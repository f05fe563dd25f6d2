"""Descriptions of models."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    Backoff,
    InfGram,
    Katz,
    KneserNey,
    ModelSpec,
    NGram,
    PitmanYor,
    SkipKneserNey,
    WittenBell,
)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (NGram(), "NGRAM"),
        (NGram(order=3), "NGRAM ORDER 3"),
        (InfGram(min_count=2), "INFGRAM MIN COUNT 2"),
        (Backoff(), "BACKOFF(0.4)"),
        (Backoff(0.25, 5), "BACKOFF(0.25) ORDER 5"),
        (KneserNey(order=5, min_count=3), "KNESER_NEY ORDER 5 MIN COUNT 3"),
        (WittenBell(order=3), "WITTEN_BELL ORDER 3"),
        (PitmanYor(), "PITMAN_YOR"),
        (Katz(3), "KATZ ORDER 3"),
        (SkipKneserNey(), "SKIP_KNESER_NEY ORDER 5"),
        (KneserNey(order=np.int64(5), min_count=np.uint8(3)), "KNESER_NEY ORDER 5 MIN COUNT 3"),
    ],
)
def test_a_model_reads_as_it_is_written_in_the_language(spec, text):
    assert str(spec) == text
    assert {type(spec.order), type(spec.min_count)} <= {int, type(None)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "absolute"},
        {"kind": "ngram", "order": 0},
        {"kind": "ngram", "order": True},
        {"kind": "ngram", "order": np.bool_(True)},
        {"kind": "ngram", "order": np.float64(2)},
        {"kind": "ngram", "order": 2**31},
        {"kind": "backoff", "weight": 0.0},
        {"kind": "backoff", "weight": 1.5},
        {"kind": "infgram", "min_count": 0},
    ],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        ModelSpec(**wrong)


def test_models_are_compared_by_what_they_are():
    assert KneserNey(order=3) == KneserNey(order=3) != KneserNey(order=4)
    assert len({NGram(), NGram(), NGram(order=2)}) == 2
