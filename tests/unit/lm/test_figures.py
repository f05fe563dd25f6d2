"""The figure of agreement: its panels show the numbers, and omissions are reported."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.lm import InfGram, draw_agreement
from ngramdb.lm.evaluation import LAST_BAR, _binned


@pytest.fixture(scope="module")
def found():
    corpus = ngramdb.connect().create_corpus("w")
    corpus.append(["the cat sat on the mat", "the dog sat on the cat"])
    return corpus.agreement(["the cat sat on the cat"], InfGram())


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_panel_for_each_model_and_one_for_sparse_estimates(found, tmp_path, name):
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    draw_agreement({"2-gram": found, "∞-gram": found}, str(path), sparse="sparse ∞-gram")
    assert path.stat().st_size > 1000


def test_long_effective_n_share_the_last_bar():
    histogram = np.arange(LAST_BAR + 10)
    binned = _binned(histogram)
    assert len(binned) == LAST_BAR and binned.sum() == histogram.sum()
    assert _binned(histogram[:5]).tolist() == [0, 1, 2, 3, 4]


def test_what_cannot_be_drawn_is_said(found, tmp_path, monkeypatch):
    with pytest.raises(InvalidArgument, match="at least one model"):
        draw_agreement({}, str(tmp_path / "a.png"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidArgument, match="pip install matplotlib"):
        draw_agreement({"∞-gram": found}, str(tmp_path / "a.png"))
