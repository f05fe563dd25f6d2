"""OVERLAP equals brute force, however it is computed, and reports places."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ngramdb
from ngramdb.conditions import overlap_field
from ngramdb.conditions.overlap_field import LEAST_TOKENS, Overlap, Span, n_windows


def share(document, others, n):
    """Return, by definition, the share of windows that another document contains."""
    if len(document) < n:
        windows = [tuple(document)] if len(document) >= min(LEAST_TOKENS, n) else []
    else:
        windows = [tuple(document[i : i + n]) for i in range(len(document) - n + 1)]
    if not windows:
        return 0.0
    size = len(windows[0])
    known = {tuple(other[i : i + size]) for other in others for i in range(len(other) - size + 1)}
    return sum(window in known for window in windows) / len(windows)


def corpora(seed, alphabet=3, tokenizer="tokens"):
    rng = random.Random(seed)
    documents = [[rng.randrange(alphabet) for _ in range(rng.randrange(0, 25))] for _ in range(40)]
    others = [[rng.randrange(alphabet) for _ in range(rng.randrange(0, 40))] for _ in range(6)]
    others += [documents[3][2:], documents[4]]
    return documents, others


def open_views(db, documents, others, n_segments=1):
    """Open both corpora; the other one has that many segments."""
    db.settings["auto_compact"] = False
    for name, content, n in (("corpus", documents, 1), ("other", others, n_segments)):
        corpus = db.create_corpus(name, tokenizer="tokens")
        for part in range(n):
            corpus.append([(ids, {}) for ids in content[part::n]])
    return db.snapshot.view("corpus"), db.snapshot.view("other")


@pytest.mark.parametrize("n", [1, 3, 5, 8, 13])
@pytest.mark.parametrize("n_segments", [1, 3])
@pytest.mark.parametrize(("inverted_cost", "longest_halved"), [(0.0, 64), (1e9, 64), (1e9, 0)])
def test_shares_equal_brute_force(monkeypatch, n, n_segments, inverted_cost, longest_halved):
    monkeypatch.setattr(overlap_field, "INVERTED_COST", inverted_cost)
    monkeypatch.setattr(overlap_field, "LONGEST_HALVED", longest_halved)
    monkeypatch.setattr(overlap_field, "CHUNK_TOKENS", 50)
    documents, others = corpora(n)
    with ngramdb.connect() as db:
        view, other = open_views(db, documents, others, n_segments)
        every = np.arange(40, dtype=np.uint32)
        found = Overlap(view, view.segments[0], other, n).shares(every)
        assert found.tolist() == [share(document, others, n) for document in documents]
        some = np.array([3, 4, 17, 39], dtype=np.uint32)
        assert Overlap(view, view.segments[0], other, n).shares(some).tolist() == found[some].tolist()
        none = np.empty(0, dtype=np.uint32)
        assert Overlap(view, view.segments[0], other, n).shares(none).tolist() == []


@pytest.mark.parametrize("n_segments", [1, 3])
@pytest.mark.parametrize("inverted_cost", [0.0, 1e9])
def test_documents_that_were_removed_from_the_other_corpus_do_not_count(
    monkeypatch, n_segments, inverted_cost
):
    monkeypatch.setattr(overlap_field, "INVERTED_COST", inverted_cost)
    documents, others = corpora(7)
    with ngramdb.connect() as db:
        open_views(db, documents, others, n_segments)
        db.corpus("other").delete("[0, 1]")
        left = [other for other in others if share([0, 1], [other], 2) == 0]
        assert len(left) < len(others)
        view, other = db.snapshot.view("corpus"), db.snapshot.view("other")
        found = Overlap(view, view.segments[0], other, 3).shares(np.arange(40, dtype=np.uint32))
        assert found.tolist() == [share(document, left, 3) for document in documents]


@pytest.mark.parametrize("inverted_cost", [0.0, 1e9])
def test_words_mean_the_same_in_corpora_with_vocabularies_of_their_own(monkeypatch, inverted_cost):
    monkeypatch.setattr(overlap_field, "INVERTED_COST", inverted_cost)
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append(
            [
                "some words that stand before the answer is forty two of course",
                "nothing here to be found at all",
            ]
        )
        db.create_corpus("e").append(["unseen question : the answer is forty two of course"])
        view, other = db.snapshot.view("c"), db.snapshot.view("e")
        found = Overlap(view, view.segments[0], other, 3).shares(np.arange(2, dtype=np.uint32))
        assert found.tolist() == [5 / 10, 0.0]
        docs = np.array([0, 1], dtype=np.uint32)
        assert list(Overlap(view, view.segments[0], other, 3).spans(docs)) == [[Span(5, 12, 0)], []]


def test_spans_are_maximal_runs_and_name_the_document_they_come_from():
    with ngramdb.connect() as db:
        documents = [[1, 2, 3, 9, 9, 4, 5, 6, 7, 9, 1, 2, 3]]
        view, other = open_views(db, documents, [[8, 1, 2, 3], [0, 4, 5, 6, 7]])
        (found,) = Overlap(view, view.segments[0], other, 3).spans(np.zeros(1, dtype=np.uint32))
        assert found == [Span(0, 3, 0), Span(5, 9, 1), Span(10, 13, 0)]


def test_how_many_ngrams_a_document_has():
    lengths = np.array([0, 4, 5, 12, 13, 20])
    assert n_windows(lengths, 13).tolist() == [0, 0, 1, 1, 1, 8]
    assert n_windows(np.array([0, 1, 2, 3]), 2).tolist() == [0, 0, 1, 2]


@pytest.fixture
def n_looked_up(monkeypatch):
    """Count the sequences of tokens that are looked up, once per segment."""
    total, occur = [0], overlap_field._occur

    def counted(flat, offsets, index):
        total[0] += (len(offsets) - 1) * len(index.segments)
        return occur(flat, offsets, index)

    monkeypatch.setattr(overlap_field, "_occur", counted)
    return total


@pytest.mark.parametrize(
    ("copied", "most"),
    [
        (True, 12_000 / overlap_field.LARGE_BLOCK + 1),  # one lookup per block
        (
            False,
            12_000 / 9 + 12_000 / overlap_field.LARGE_BLOCK + 100,
        ),  # one per nine tokens, and the blocks
    ],
)
def test_one_lookup_tells_about_many_ngrams(monkeypatch, n_looked_up, copied, most):
    monkeypatch.setattr(overlap_field, "INVERTED_COST", 1e9)
    ids = np.random.default_rng(5).integers(0, 1000, 24_000).tolist()
    document, other = (ids[:12_000],) * 2 if copied else (ids[:12_000], ids[12_000:])
    with ngramdb.connect() as db:
        view, others = open_views(db, [document], [other])
        every = np.zeros(1, dtype=np.uint32)
        assert Overlap(view, view.segments[0], others, 13).shares(every).tolist() == [float(copied)]
    assert n_looked_up[0] <= most


def test_ngrams_are_looked_up_only_in_segments_that_may_have_them(monkeypatch, n_looked_up):
    """Each run of ten tokens occurs in one of eight segments: an n-gram of 13 tokens never does."""
    monkeypatch.setattr(overlap_field, "INVERTED_COST", 1e9)
    runs = np.random.default_rng(5).integers(0, 1000, (1200, 10))
    with ngramdb.connect() as db:
        view, other = open_views(db, [runs.ravel()], [runs[part::8].ravel() for part in range(8)], 8)
        shares = Overlap(view, view.segments[0], other, 13).shares(np.zeros(1, dtype=np.uint32))
    assert shares.tolist() == [0.0]
    n_everywhere = 12_000 / 7 + 12_000 / overlap_field.LARGE_BLOCK + 2
    assert n_looked_up[0] <= 8 * n_everywhere + 2 * 12_000


@pytest.mark.parametrize("n_other", [19_999, 4_999, 100])
@pytest.mark.parametrize("n", [65, 1000, 5000])
def test_work_is_linear_in_the_tokens_however_long_ngrams_are(monkeypatch, n, n_other):
    """Repetitions are the hard case: every part of an n-gram that does not occur itself may occur."""
    n_tokens, read = 20_000, []
    gathered = overlap_field._gathered
    monkeypatch.setattr(
        overlap_field, "_gathered", lambda *given: read.append(given[2].sum()) or gathered(*given)
    )
    with ngramdb.connect() as db:
        view, other = open_views(db, [[0] * n_tokens], [[0] * n_other])
        found = Overlap(view, view.segments[0], other, n).shares(np.zeros(1, dtype=np.uint32))
    assert found.tolist() == [float(n <= n_other)]
    assert sum(read) <= 8 * n_tokens


def test_delete_and_returning_compare_documents_once(monkeypatch):
    n_compared, shares = [0], Overlap.shares

    def counted(self, docs):
        n_compared[0] += len(docs)
        return shares(self, docs)

    monkeypatch.setattr(Overlap, "shares", counted)
    documents, others = corpora(7)
    with ngramdb.connect() as db:
        open_views(db, documents, others)
        removed = db.execute("DELETE DOCS WHERE OVERLAP(other, 3) > 0.2 FROM corpus RETURNING doc_id")
        assert len(removed.fetchall()) == sum(share(one, others, 3) > 0.2 for one in documents)
    assert n_compared[0] == len(documents)
