"""ARPA files read as tables, beside KenLM itself: logarithms and matched lengths."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kenlm_data import TOLERANCE, wikitext_sentences
from support.peer_data import data_file

import ngramdb
from ngramdb.lm import read_arpa

kenlm = pytest.importorskip("kenlm")


@pytest.fixture(scope="module")
def path(tmp_path_factory: Any) -> Path:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("wikitext")
        corpus.append(" ".join(sentence) for sentence in wikitext_sentences())
        path = tmp_path_factory.mktemp("tables") / "wikitext.arpa"
        corpus.export_arpa(path, order=5)
        return path


def assert_equal(path: Path, sentences: list[str]) -> None:
    model, peer = read_arpa(path), kenlm.Model(str(path))
    for document in (True, False):
        texts = [model.encode(sentence) for sentence in sentences]
        offsets = np.cumsum([0, *map(len, texts)])
        scores = model.score_many(np.concatenate(texts), offsets, document=document)
        answers = [peer.full_scores(sentence, bos=document, eos=document) for sentence in sentences]
        logs, lengths, _ = zip(*(answer for one in answers for answer in one), strict=True)
        np.testing.assert_allclose(scores.logprob / math.log(10), logs, rtol=0, atol=TOLERANCE)
        assert scores.effective_n.tolist() == list(lengths)


def test_wikitext(path: Path) -> None:
    with gzip.open(data_file("wt2.test.txt.gz"), "rt", encoding="utf-8") as file:
        assert_equal(path, [line.strip() for line in file][:400])


@pytest.mark.parametrize("options", [{"min_count": (1, 1, 2, 2)}, {"prune": "entropy:1e-6"}], ids=str)
def test_pruned_files(tmp_path: Path, options: Any) -> None:
    """KenLM reads them, and every context still sums to 1 there."""
    sentences = [" ".join(sentence) for sentence in wikitext_sentences()[:400]]
    with ngramdb.connect() as db:
        corpus = db.create_corpus("wikitext")
        corpus.append(sentences)
        path = tmp_path / "pruned.arpa"
        assert sum(corpus.export_arpa(path, order=4, **options)) < 0.8 * sum(
            corpus.export_arpa(tmp_path / "whole.arpa", order=4)
        )
    assert_equal(path, sentences[:100])
    peer, words = kenlm.Model(str(path)), [*read_arpa(path).words, "</s>", "<unk>"]
    for context in sentences[:3]:
        state, following = kenlm.State(), kenlm.State()
        peer.BeginSentenceWrite(state)
        for word in context.split()[:5]:
            peer.BaseScore(state, word, following)
            state, following = following, state
        total = sum(10.0 ** peer.BaseScore(state, word, following) for word in words)
        assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_files_with_missing_suffixes(path: Path, tmp_path: Path, seed: int) -> None:
    """As SRILM's pruning leaves them: a tenth of the n-grams that begin no longer one is gone."""
    rng = random.Random(seed)
    sections: dict[int, list[list[str]]] = {n: [] for n in range(1, 6)}
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            sections[fields[1].count(" ") + 1].append(fields)
    sections[5] = rng.sample(sections[5], 5000)
    for n in range(4, 1, -1):
        contexts = {fields[1].rpartition(" ")[0] for fields in sections[n + 1]}
        sections[n] = [fields for fields in sections[n] if fields[1] in contexts or rng.random() < 0.9]
    lines = ["\\data\\", *(f"ngram {n}={len(found)}" for n, found in sections.items())]
    for n, found in sections.items():
        lines += ["", f"\\{n}-grams:", *("\t".join(fields) for fields in found)]
    pruned = tmp_path / "pruned.arpa"
    pruned.write_text("\n".join([*lines, "", "\\end\\", ""]))
    assert_equal(pruned, [" ".join(sentence) for sentence in wikitext_sentences()[:100]])
