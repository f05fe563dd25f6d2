"""KenLM's numbers: two toy corpora with every entry of its models, and a text of 213,886 tokens.

Word ids are assigned by first appearance here; a document is a sentence. KenLM computes in 32-bit floats,
hence the tolerance of 1e-5 in log10.
"""

from __future__ import annotations

import gzip
import io
import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.indexes import index_of
from support.kenlm_data import TOLERANCE, TOYS, toy, wikitext_answers, wikitext_sentences
from support.peer_data import data_file

from ngramdb.lm import BEGIN, END, UNKNOWN, Backoff, KneserNey, analyze, make, perplexity, write_arpa
from ngramdb.lm.evaluation import are_known

SPECIAL = {"<s>": BEGIN, "</s>": END, "<unk>": UNKNOWN}


# The id of the token between sentences, among those of the words.
SEPARATOR = 40


class Text:
    """Sentences, their words' ids, and the corpus in one segment or in several, with some taken away
    again. per_document : sentences in a document, separated by a token when they are more than one.
    """

    def __init__(self, sentences: list[list[str]], *, split: bool, per_document: int = 1) -> None:
        self.ids: dict[str, int] = {}
        documents = [[self._id(word) for word in sentence] for sentence in sentences]
        self.separator = None if per_document == 1 else SEPARATOR
        if per_document > 1:
            documents = [
                [token for sentence in documents[i : i + per_document] for token in (*sentence, SEPARATOR)][
                    :-1
                ]
                for i in range(0, len(documents), per_document)
            ]
        n = len(documents)
        if split:
            again = documents[: n // 8]
            parts = [documents[: n // 3], [*documents[n // 3 :], *again], again]
            self.index = index_of(*parts, signs=[1, 1, -1], dtype=np.uint16)
        else:
            self.index = index_of(documents, dtype=np.uint16)
        self.tokenizer = SimpleNamespace(kind="words")

    def _id(self, word: str) -> int:
        n = len(self.ids)
        return self.ids.setdefault(word, n + (n >= SEPARATOR))

    def encode(self, text: str) -> list[int]:
        return [SPECIAL.get(word, self.ids.get(word, UNKNOWN)) for word in text.split()]


@cache
def toy_text(name: str, split: bool, per_document: int = 1) -> Text:
    sentences = [sentence.split() for sentence in toy(name)["corpus"]]
    return Text(sentences, split=split, per_document=per_document)


@cache
def wikitext(split: bool, per_document: int = 1) -> Text:
    return Text(wikitext_sentences(), split=split, per_document=per_document)


@cache
def wikitext_test() -> list[list[int]]:
    with gzip.open(data_file("wt2.test.txt.gz"), "rt", encoding="utf-8") as file:
        return [wikitext(False).encode(line) for line in file if line.strip()]


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("name", TOYS)
def test_toy_sentences_score_as_in_kenlm(name: str, order: int, split: bool) -> None:
    text = toy_text(name, split)
    model = make(KneserNey(order=order), text, analyze(text))
    for query in toy(name)["models"][str(order)]["queries"]:
        ids = text.encode(query["text"])
        scores = model.score(ids, document=True)
        log10, lengths, is_unknown = zip(*query["tokens"], strict=True)
        known = are_known(np.array([*ids, END]), model.index.types()[0], None)
        assert (~known).tolist() == list(is_unknown)
        assert scores.logprob / math.log(10) == pytest.approx(log10, abs=TOLERANCE)
        assert scores.effective_n.tolist() == list(lengths)


@pytest.mark.parametrize("name", TOYS)
def test_toy_counts_of_counts_and_discounts_are_kenlms(name: str) -> None:
    text = toy_text(name, True)
    statistics = analyze(text)
    for order, expected in toy(name)["models"].items():
        for length, counts in expected["count_of_counts"].items():
            is_top = length == order
            table = statistics.raw if is_top else statistics.continuation
            assert list(table[int(length) - 1]) == counts
            found = statistics.discount(int(length), raw=is_top)
            assert found == pytest.approx(expected["discounts"][length], rel=1e-4)
        fallbacks = [int(length) for length, how in expected["how"].items() if how == "fallback"]
        assert list(statistics.fallbacks(int(order))) == fallbacks


@pytest.mark.parametrize("split", [False, True])
def test_toy_sentences_of_unlimited_order(split: bool) -> None:
    text = toy_text(TOYS[0], split)
    expected = toy(TOYS[0])["infinite_order_max_disc_5"]
    model = make(KneserNey(), text, analyze(text, 5))
    for query in expected["queries"]:
        scores = model.score(text.encode(query["text"]), document=True)
        log10, lengths = zip(*query["tokens"], strict=True)
        assert scores.logprob / math.log(10) == pytest.approx(log10, abs=1e-8)
        assert scores.effective_n.tolist() == list(lengths)


def scores_of_known(found: np.ndarray, expected: list[float | None]) -> list[float]:
    """Return the scores that the reference has. It has none for unknown words; ours are below all others."""
    assert len(found) == len(expected)
    unknown = [score for score, reference in zip(found, expected, strict=True) if not reference]
    assert all(0 < score <= 0.4**100 for score in unknown)
    return [score for score, reference in zip(found.tolist(), expected, strict=True) if reference]


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_toy_scores_of_stupid_backoff(name: str, order: int) -> None:
    text = toy_text(name, True)
    model = make(Backoff(order=order), text)
    for query in toy(name)["models"][str(order)]["queries"]:
        if "stupid_backoff" in query:
            # Rounded to nine places in the file.
            assert scores_of_known(
                model.score(text.encode(query["text"]), document=True).prob, query["stupid_backoff"]
            ) == pytest.approx([score for score in query["stupid_backoff"] if score], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_every_entry_of_kenlms_toy_models_is_written(name: str, order: int) -> None:
    text = toy_text(name, False)
    words = {token: word for word, token in text.ids.items()}
    file = io.StringIO()
    write_arpa(make(KneserNey(order=order), text, analyze(text)), file, lambda token: words[token])
    written: dict[str, list[float]] = {}
    for line in file.getvalue().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            written[fields[1]] = [float(fields[0]), *map(float, fields[2:])]
    n_entries = 0
    for entries in toy(name)["models"][str(order)]["arpa"].values():
        for ngram, log10, *weight in entries:
            assert written[ngram][0] == pytest.approx(log10, abs=TOLERANCE)
            # A weight at the greatest order, or none: the same to whoever reads the file.
            assert (written[ngram][1:] or [0.0])[0] == pytest.approx(
                (weight or [0.0])[0] or 0.0, abs=TOLERANCE
            )
            n_entries += 1
    assert n_entries == len(written)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("order", [3, 5])
def test_wikitext_sentences_score_as_in_kenlm(order: int, split: bool) -> None:
    text, answers = wikitext(split), wikitext_answers()
    model = make(KneserNey(order=order), text, analyze(text))
    backoff = make(Backoff(order=order), text)
    sentences = [text.encode(sentence) for sentence in answers["sentences"]]
    for number, sentence in enumerate(sentences):
        scores = model.score(sentence, document=True)
        expected = np.array(answers["log10"][str(order)][number])
        np.testing.assert_allclose(scores.logprob / math.log(10), expected, rtol=0, atol=TOLERANCE)
        assert scores.effective_n.tolist() == answers["len"][str(order)][number]
        expected = answers["stupid_backoff"][str(order)][number]
        found = scores_of_known(backoff.score(sentence, document=True).prob, expected)
        np.testing.assert_allclose(found, [score for score in expected if score], rtol=1e-6)


@pytest.mark.parametrize(
    ("order", "expected"), [(2, 399.66), (3, 379.25), (5, 375.05), (10, 374.87), (None, 374.87)]
)
@pytest.mark.parametrize("split", [False, True])
def test_wikitext_perplexities_are_kenlms(order: int | None, expected: float, split: bool) -> None:
    text = wikitext(split)
    model = make(KneserNey(order=order), text, analyze(text))
    found = perplexity(model, wikitext_test())
    # The references have two decimals.
    assert abs(found.perplexity - expected) < 0.003 + 0.005
    assert found.n_tokens == 241_211 + 2_891


def test_wikitext_discounts_are_kenlms() -> None:
    statistics = analyze(wikitext(True))
    expected = wikitext_answers()["models"]["inf"]["discounts_continuation"]
    for length, discount in expected.items():
        assert statistics.discount(int(length)) == pytest.approx(discount, rel=1e-5)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("name", TOYS)
def test_toy_sentences_inside_documents_score_as_in_kenlm(name: str, order: int, split: bool) -> None:
    text = toy_text(name, split, per_document=3)
    statistics = analyze(text, separator=text.separator)
    model = make(KneserNey(order=order), text, statistics, separator=text.separator)
    expected = toy(name)["models"][str(order)]
    for length, counts in expected["count_of_counts"].items():
        table = statistics.raw if length == str(order) else statistics.continuation
        assert list(table[int(length) - 1]) == counts
    for query in expected["queries"]:
        scores = model.score(text.encode(query["text"]), document=True)
        log10, lengths, _ = zip(*query["tokens"], strict=True)
        assert scores.logprob / math.log(10) == pytest.approx(log10, abs=TOLERANCE)
        assert scores.effective_n.tolist() == list(lengths)


@pytest.mark.parametrize("split", [False, True])
def test_wikitext_sentences_inside_documents_score_as_in_kenlm(split: bool) -> None:
    text, answers = wikitext(split, per_document=20), wikitext_answers()
    backoff = make(Backoff(order=3), text, separator=text.separator)
    statistics = analyze(text, separator=text.separator)
    alone = analyze(wikitext(False))
    assert (statistics.continuation, statistics.raw) == (alone.continuation, alone.raw)
    for order in (3, 5):
        model = make(KneserNey(order=order), text, statistics, separator=text.separator)
        for number, sentence in enumerate(answers["sentences"]):
            scores = model.score(text.encode(sentence), document=True)
            expected = np.array(answers["log10"][str(order)][number])
            np.testing.assert_allclose(scores.logprob / math.log(10), expected, rtol=0, atol=TOLERANCE)
            assert scores.effective_n.tolist() == answers["len"][str(order)][number]
    for number, sentence in enumerate(answers["sentences"]):
        expected = answers["stupid_backoff"]["3"][number]
        found = scores_of_known(backoff.score(text.encode(sentence), document=True).prob, expected)
        np.testing.assert_allclose(found, [score for score in expected if score], rtol=1e-6)


@pytest.mark.parametrize(("order", "expected"), [(3, 379.25), (None, 374.87)])
def test_wikitext_perplexities_with_sentences_inside_documents(order: int | None, expected: float) -> None:
    text = wikitext(True, per_document=20)
    model = make(KneserNey(order=order), text, separator=text.separator)
    documents = [sentence for line in wikitext_test() for sentence in (*line, SEPARATOR)]
    found = perplexity(model, [documents])
    assert abs(found.perplexity - expected) < 0.003 + 0.005
    assert found.n_tokens == 241_211 + 2_891


def test_kenlm_itself_reads_what_is_written(tmp_path: Any) -> None:
    kenlm = pytest.importorskip("kenlm")
    text = wikitext(False)
    words = {token: word for word, token in text.ids.items()}
    model = make(KneserNey(order=3), text, analyze(text))
    path = tmp_path / "model.arpa"
    with path.open("w", encoding="utf-8") as file:
        write_arpa(model, file, lambda token: words[token])
    peer = kenlm.Model(str(path))
    for sentence in wikitext_answers()["sentences"][:40]:
        scores = model.score(text.encode(sentence), document=True)
        log10, lengths, unknown = zip(*peer.full_scores(sentence, bos=True, eos=True), strict=True)
        np.testing.assert_allclose(scores.logprob / math.log(10), log10, rtol=0, atol=TOLERANCE)
        assert scores.effective_n.tolist() == list(lengths)
        assert [token == UNKNOWN for token in text.encode(sentence)] == list(unknown[:-1])
