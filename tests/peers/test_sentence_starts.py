"""Models of sentences and patterns count the same sentence starts in `small.jsonl`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from support.peer_data import data_file

import ngramdb

# Sentences, and those that begin with "He", of its 5,832 documents under the tokenizer `words`.
N_SENTENCES, N_HE = 298_856, 5_120


@pytest.fixture(scope="module")
def corpus() -> Iterator[Any]:
    path = data_file("small.jsonl.gz")
    with ngramdb.connect() as db:
        made = db.create_corpus("small")
        made.load(str(path))
        yield made


@pytest.mark.parametrize(
    "model",
    ["ngram", "infgram", "backoff", "kneser_ney", "witten_bell", "pitman_yor", "katz", "skip_kneser_ney"],
)
def test_a_sentence_begins_where_patterns_find_one(corpus: Any, model: str) -> None:
    counted = corpus.count(ngramdb.pattern('<s> "He"')), corpus.count(ngramdb.pattern("<s> *"))
    scores = corpus.score("He", model, sentence=True)
    assert (scores.count[0], scores.context_count[0]) == counted == (N_HE, N_SENTENCES)
    if model != "witten_bell":  # which leaves much to other words after so many different ones
        assert -math.log2(scores.prob[0]) == pytest.approx(5.867, abs=1e-3)
