"""PERPLEXITY against KenLM's perplexities of WikiText-2, NOVELTY against infini-gram's longest matches."""

from __future__ import annotations

import gzip
import math
from typing import Any

import pytest
from support.kenlm_data import wikitext_answers, wikitext_sentences
from support.peer_data import data_file

import ngramdb

# KenLM's perplexities of the test text, by order, as `test_kenlm.py` has them; None for no limit.
OF_TEST = {2: 399.66, 3: 379.25, 5: 375.05, 10: 374.87, None: 374.87}


@pytest.fixture(scope="module")
def wikitext() -> ngramdb.Connection:
    """Corpora of sentences as ids, since words are split at blanks."""
    numbers: dict[str, int] = {}

    def ids(sentences: list[list[str]]) -> list[list[int]]:
        return [[numbers.setdefault(word, len(numbers)) for word in sentence] for sentence in sentences]

    db = ngramdb.connect()
    train = ids(wikitext_sentences())
    with gzip.open(data_file("wt2.test.txt.gz"), "rt", encoding="utf-8") as file:
        test = ids([line.split() for line in file if line.strip()])
    chosen = ids([sentence.split() for sentence in wikitext_answers()["sentences"]])
    for name, documents in (("train", train), ("test", test), ("chosen", chosen)):
        corpus = db.create_corpus(name, tokenizer="tokens")
        corpus.append(documents)
    return db


def test_one_statement_has_kenlms_perplexities_by_order(wikitext: ngramdb.Connection) -> None:
    found = wikitext.execute("PERPLEXITY OF test USING KNESER_NEY ORDERS 2, 3, 5, 10, INF FROM train")
    by_order = {row[1]: row[found.columns.index("perplexity")] for row in found}
    assert by_order == {order: pytest.approx(value, abs=0.005) for order, value in OF_TEST.items()}


def test_documents_have_the_perplexity_of_kenlms_probabilities(wikitext: ngramdb.Connection) -> None:
    answers = wikitext_answers()["log10"]
    found = wikitext.execute("PERPLEXITY OF chosen USING KNESER_NEY ORDERS 3, 5 BY DOCUMENTS FROM train")
    at = found.columns.index("perplexity")
    rows = found.fetchall()
    assert len(rows) == 2 * len(answers["3"])
    for row in rows:
        scores = answers[str(row[1])][row[2]]
        assert math.log10(row[at]) == pytest.approx(-sum(scores) / len(scores), abs=1e-5)


def test_novel_ngrams_are_those_without_a_match(connection: Any, peer: dict[str, Any]) -> None:
    for entry in peer["creativity"]:
        lengths = [stop - start for start, stop in enumerate(entry["rs"])]
        rows = connection.execute("NOVELTY OF ? NGRAMS 1..12 FROM small", [entry["tokens"]])
        for n, total, novel, *_ in rows:
            starts = range(len(lengths) - n + 1)
            assert (total, novel) == (len(starts), sum(lengths[i] < n for i in starts))
