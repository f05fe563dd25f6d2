"""Kneser-Ney with the discounts of Shareghi et al."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb.errors import InvalidArgument


def test_reused_discounts_are_in_the_note_and_only_for_kneser_ney():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("few", tokenizer="chars")
        corpus.append(["the fox sees the crow", "the crow sees the fox", "the fox sings a song to the crow"])
        plain, reused = (corpus.language_model("kneser_ney", reuse_discounts=flag) for flag in (False, True))
        assert "0.5, 1 and 1.5 stand in" in plain.note
        assert "those of the last shorter length" in reused.note
        context = corpus.tokenizer.encode("the crow sees the")
        assert abs(plain.dist(context).probs - reused.dist(context).probs).max() > 1e-4
        assert reused.dist(context).probs.sum() == pytest.approx(1, abs=1e-9)
        with pytest.raises(InvalidArgument, match="only Kneser-Ney"):
            corpus.language_model("witten_bell", reuse_discounts=True)
