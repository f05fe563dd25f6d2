"""Matchers: arguments, long texts, errors."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from support.polls import is_stopped, n_polls

import ngramdb
from ngramdb.errors import InvalidArgument, NotSupportedError
from ngramdb.lm import BEGIN, END, append_many
from ngramdb.registries import MODELS


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append(["the cat sat on the mat", "the dog sat on the rug"])
        yield made


def test_text_and_ids_are_appended(corpus):
    matcher = corpus.matcher("a cat sat")
    assert (matcher.length, matcher.count, matcher.n_tokens) == (2, 1, 3)
    assert corpus.tokenizer.decode(matcher.append("on the").next().ids) == "mat"
    assert repr(matcher) == "<Matcher of 5 tokens: the last 4 occur 1 times>"
    for ids in (int(matcher.next().ids[0]), np.int64(4), [4, 5], np.array([4], np.int32), ()):
        before = matcher.n_tokens
        matcher.append(ids)
        assert matcher.n_tokens == before + np.size(ids)
    matcher.clear()
    assert (matcher.length, matcher.count, matcher.n_tokens) == (0, corpus.n_tokens, 0)


def test_of_a_corpus_of_token_ids():
    with ngramdb.connect() as db:
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.append([{"ids": [5, 6, 7]}])
        matcher = ids.matcher()
        assert (matcher.append([6, 7]).length, matcher.count) == (2, 1)
        with pytest.raises(InvalidArgument, match="only token ids"):
            matcher.append("text")


def test_a_model_gives_probabilities(corpus):
    matcher = corpus.matcher("the cat", model="kneser_ney order 2")
    assert repr(matcher).endswith("occur 1 times, KNESER_NEY ORDER 2>")
    assert round(float(matcher.next().probs.sum()), 9) == 1
    sat = int(corpus.tokenizer.encode("sat")[0])
    assert matcher.prob(sat) == matcher.copy().score("sat")[0]
    matcher.clear()
    assert matcher.prob(sat) == corpus.score("sat", "kneser_ney order 2").prob[0]


@pytest.mark.parametrize("tokens", [True, 2.5, [2.5], -7, [-7], None, [[1]], 2**32])
def test_what_is_no_token_is_refused(corpus, tokens):
    matcher = corpus.matcher("the")
    with pytest.raises((InvalidArgument, TypeError, ValueError)):
        matcher.append(tokens)
    assert (matcher.length, matcher.n_tokens) == (1, 1)


def test_batches_are_checked(corpus):
    one, two = corpus.matcher(), corpus.matcher(least_count=2)
    for states, ids in (([one], [1, 2]), ([one, two], [1, 2]), ([one, one], [1, 2])):
        with pytest.raises(InvalidArgument):
            append_many(states, ids)
    assert one.n_tokens == 0
    append_many([one], [1])
    append_many([], [])
    assert one.n_tokens == 1
    with pytest.raises(InvalidArgument, match="least_count"):
        corpus.matcher(least_count=0)


def test_it_is_not_pickled(corpus):
    with pytest.raises(NotSupportedError, match="pickle the tokens"):
        pickle.dumps(corpus.matcher())


def test_a_long_text_keeps_little(corpus):
    matcher = corpus.matcher()
    ids = np.tile(corpus.tokenizer.encode("the cat sat on the mat x"), 1000)
    matcher.append(ids)
    assert (matcher.n_tokens, matcher.length) == (7000, 0)
    assert 1024 <= len(matcher.known_ids()) <= 2060


@pytest.mark.parametrize("model", [None, "kneser_ney order 3"])
def test_a_stopped_matcher_has_the_tokens_that_were_read(corpus, model):
    ids = np.tile(corpus.tokenizer.encode("the cat sat on the x mat"), 9)
    fresh = corpus.matcher(ids, model=model)
    n = n_polls(lambda: corpus.matcher(model=model).append(ids))
    n_stopped = 0
    for k in range(0, n, 5 if model is None else 1):
        matcher = corpus.matcher(model=model)
        if not is_stopped(lambda matcher=matcher: matcher.append(ids), k):
            continue
        n_stopped += 1
        alone = corpus.matcher(ids[: matcher.n_tokens], model=model)
        assert (matcher.length, matcher.count) == (alone.length, alone.count)
        matcher.append(ids[matcher.n_tokens :])
        assert (matcher.length, matcher.prob(1)) == (fresh.length, fresh.prob(1))
    assert n_stopped > 2


def test_borders_of_sentences_are_refused(corpus):
    for model in (None, "kneser_ney"):
        matcher = corpus.matcher("the", model=model)
        for token in (END, BEGIN):
            with pytest.raises(InvalidArgument):
                matcher.append([token])
        assert (matcher.n_tokens, matcher.length) == (1, 1)


def test_threads_use_copies(corpus):
    matcher = corpus.matcher()
    ids = np.tile(corpus.tokenizer.encode("the cat sat on the mat"), 2000)
    copies = [matcher.copy() for _ in range(2)]
    threads = [threading.Thread(target=copy.append, args=(ids,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(copy.length, copy.n_tokens) for copy in copies} == {(6, 12000)}


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_is_as_appending_to_each(corpus, model):
    texts = ["the cat", "on the", "sat", ""]
    tokens = corpus.tokenizer.encode("sat cat on the").tolist()
    ones, batch = ([corpus.matcher(text, model=model) for text in texts] for _ in range(2))
    mixed = [*batch, corpus.matcher("the cat")]
    append_many(mixed, [*tokens, tokens[0]])
    for one, many, token in zip(ones, batch, tokens, strict=True):
        one.append(token)
        assert (one.length, one.n_tokens) == (many.length, many.n_tokens)
        probs = [[matcher.prob(i) for i in range(4)] for matcher in (one, many)]
        assert np.array_equal(*probs, equal_nan=True)


def test_the_end_of_a_document_has_its_share(corpus):
    matcher = corpus.matcher("the mat")
    assert (matcher.next().ids.tolist(), matcher.prob(END)) == ([END], 1.0)
    assert matcher.append("the").prob(END) == 0.0


@pytest.mark.parametrize("token", [-7, "the", 2.5, True, None, 2**70])
def test_a_probability_is_that_of_a_token(corpus, token):
    with pytest.raises(InvalidArgument, match="token id"):
        corpus.matcher("the").prob(token)
    with pytest.raises(InvalidArgument):
        append_many([corpus.matcher("the")], [token])
