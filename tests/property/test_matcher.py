"""Matchers against brute force: the longest suffix, its count, what follows, and scores by state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.api.session import DatabaseSession
from ngramdb.lm import END, append_many
from ngramdb.lm import matching as matchers

DOCUMENTS = st.lists(st.text("abc", min_size=0, max_size=9), min_size=1, max_size=8)
TEXTS = st.text("abcx", max_size=14)
MODELS = [
    "infgram",
    "infgram min count 2",
    "ngram order 2",
    "backoff",
    "kneser_ney",
    "kneser_ney order 3",
    "witten_bell",
    "pitman_yor",
    "katz order 3",
    "skip_kneser_ney order 3",
]


def loaded(db, name, documents, n_segments=3):
    db.settings["auto_compact"] = False
    corpus = db.create_corpus(name, tokenizer="bytes")
    for i in range(n_segments):
        if documents[i::n_segments]:
            corpus.append([{"text": text, "n": len(text)} for text in documents[i::n_segments]])
    return corpus


def longest(count, ids, least=1):
    """Return length and count of the longest suffix that occurs; the empty one is counted by `count` too."""
    for length in range(len(ids), 0, -1):
        found = count(ids[len(ids) - length :])
        if found >= least:
            return length, found
    return 0, count([])


def check_walk(matcher, count, ids, least=1):
    for i, token in enumerate(ids):
        matcher.append(token)
        assert (matcher.length, matcher.count) == longest(count, ids[: i + 1], least)
        assert matcher.ids.tolist() == ids[i + 1 - matcher.length : i + 1]
        shown = matcher.next()
        suffix = matcher.ids.tolist()
        for token_after, n in zip(shown.ids.tolist(), shown.counts.tolist(), strict=True):
            if token_after != END:
                assert n == count([*suffix, token_after])
                assert matcher.prob(token_after) == n / matcher.count
        if suffix:
            assert shown.counts.sum() == matcher.count
        assert matcher.prob(200) == 0


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, TEXTS, st.integers(1, 3))
def test_it_is_the_longest_suffix_that_occurs(documents, text, least):
    with ngramdb.connect() as db:
        corpus = loaded(db, "a", documents)
        corpus.delete("n = 3")
        matcher = corpus.matcher(least_count=least)
        check_walk(
            matcher, lambda ids: corpus.count(ids) if ids else corpus.n_tokens, list(text.encode()), least
        )


@settings(max_examples=25, deadline=None)
@given(DOCUMENTS, TEXTS)
def test_of_a_part_and_of_a_sum(documents, text):
    ids = list(text.encode())
    with ngramdb.connect() as db:
        corpus, other = loaded(db, "a", documents), loaded(db, "b", [text[:3], "abcabc"])
        part = corpus.where("n > 2")
        for matcher in (corpus.matcher(where="n > 2"), part.matcher()):
            check_walk(matcher, lambda ids: part.count(ids) if ids else part.n_tokens, ids)
        view = DatabaseSession(db._database, db._database.snapshot).algebra(((1, "a", None), (1, "b", None)))
        check_walk(matchers.matcher(lambda: view), lambda ids: view.index.count(ids), ids)
        assert other.n_documents == 2


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, TEXTS, st.sampled_from(MODELS), st.booleans())
def test_scores_by_state_are_those_of_score(documents, text, model, document):
    with ngramdb.connect() as db:
        corpus = loaded(db, "a", documents)
        corpus.delete("n = 3")
        ids = list(text.encode())
        expected = corpus.score(ids, model, document=document).prob[: len(ids)]
        matcher = corpus.matcher(model=model, document=document)
        found = []
        for token in ids:
            found.append(matcher.prob(token))
            matcher.append(token)
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.array_equal(
            corpus.matcher(model=model, document=document).score(ids), expected, equal_nan=True
        )
        if model == "infgram" and not document:
            assert np.array_equal(corpus.matcher().score(ids), expected, equal_nan=True)


@settings(max_examples=30, deadline=None)
@given(DOCUMENTS, st.lists(st.text("abc", min_size=6, max_size=6), min_size=1, max_size=40))
def test_many_at_once_and_copies(documents, texts):
    with ngramdb.connect() as db:
        corpus = loaded(db, "a", documents)
        states = [corpus.matcher() for _ in texts]
        for i in range(6):
            append_many(states, [text.encode()[i] for text in texts])
            for text, state in zip(texts, states, strict=True):
                alone = corpus.matcher(text[: i + 1])
                assert (state.length, state.count, state.n_tokens) == (alone.length, alone.count, i + 1)
        copy = states[0].copy()
        copy.append("abc")
        alone = corpus.matcher(texts[0] + "abc")
        assert (copy.length, copy.count, copy.next().ids.tolist()) == (
            *(alone.length, alone.count),
            alone.next().ids.tolist(),
        )
        assert (states[0].length, states[0].n_tokens) == (corpus.matcher(texts[0]).length, 6)


@pytest.mark.parametrize("model", [None, "kneser_ney order 3"])
def test_new_versions_are_seen_when_asked_for(model):
    with ngramdb.connect() as db:
        corpus = loaded(db, "a", ["abc", "bca"])
        matcher = corpus.matcher("xabcab", model=model)
        assert (matcher.length, matcher.count) == (2, 1)
        before = matcher.prob(ord("c"))
        corpus.append(["abcabc"])
        assert (matcher.length, matcher.count, matcher.prob(ord("c"))) == (2, 1, before)
        matcher.refresh()
        assert (matcher.length, matcher.count) == (5, 1)
        assert matcher.prob(ord("c")) == corpus.score("xabcabc", model or "infgram").prob[-1]
