"""Texts that are read token by token have the scores of whole texts, whatever the model."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_corpora import DOCUMENTS, View, model_of

from ngramdb.errors import InvalidArgument, NotSupportedError
from ngramdb.lm import BEGIN, END, UNKNOWN, Backoff, InfGram, KneserNey, NGram, make

SPECS = [
    KneserNey(),
    KneserNey(order=3),
    KneserNey(order=2, min_count=2),
    Backoff(),
    Backoff(order=3),
    InfGram(),
    NGram(order=3),
    NGram(),
]
TOKENS = st.sampled_from([*range(5), 9, 99, UNKNOWN, END, BEGIN])
ALL = [list(document) for document in DOCUMENTS]
VIEWS = [View(ALL), View(ALL[:4], [[1, 2], [2]])]
MODELS = [make(spec, view) for spec in SPECS for view in VIEWS]


def read(state, tokens):
    return [state.read(state, token) for token in tokens]


def same(found, expected):
    return found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=60, deadline=None)
@given(text=st.lists(TOKENS, max_size=12))
def test_a_text_read_by_tokens_has_the_scores_of_the_whole(model, text):
    scores = model.score(text)
    probs, lengths = zip(*read(model.state(document=False), text), strict=True) if text else ((), ())
    assert same(list(probs), scores.prob.tolist())
    assert list(lengths) == scores.effective_n.tolist()
    sentence = model.score([BEGIN, *text])
    found = read(model.state(), text)
    assert same([prob for prob, _ in found], sentence.prob[1:].tolist())


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(max_examples=60, deadline=None)
@given(text=st.lists(TOKENS, max_size=8), others=st.lists(TOKENS, max_size=4))
def test_several_texts_go_on_from_one_state(model, text, others):
    origin = model.state()
    read(origin, text)
    before = origin.context
    for token in others:
        branch = model.state(document=False)
        assert same(branch.read(origin, token)[0], float(model.score([BEGIN, *text, token]).prob[-1]))
        copied = origin.copy()
        copied.read(copied, token)
        assert copied.context == branch.context
    assert origin.context == before


@pytest.mark.parametrize("model", MODELS[:4], ids=str)
@settings(max_examples=60, deadline=None)
@given(texts=st.tuples(*[st.lists(TOKENS, max_size=6)] * 2), token=TOKENS)
def test_equal_contexts_have_equal_continuations(model, texts, token):
    states = [model.state(), model.state()]
    for state, text in zip(states, texts, strict=True):
        read(state, text)
    if states[0].context != states[1].context:
        return
    one, other = (state.read(state, token) for state in states)
    assert math.isclose(one[0], other[0]) and one[1] == other[1]


def test_the_context_is_what_still_matters(documents):
    model = model_of(documents, KneserNey(order=3))
    state = model.state()
    assert state.context == (BEGIN,)
    state.read(state, 0)
    assert state.context == (BEGIN, 0)
    read(state, [99])
    assert state.context == ()
    read(state, [0, 1, 2])
    assert state.context == (1, 2)
    state.begin(True)
    assert state.context == (BEGIN,)


def test_a_state_reads_on_by_tokens_alone(documents):
    model = model_of(documents, KneserNey(order=3))
    alone, named = model.state(), model.state()
    for token in (1, 2, 1):
        assert alone.read(token) == named.read(named, token)
        assert alone.context == named.context


def test_other_models_states_and_ids_are_refused(documents):
    one, other = model_of(documents, KneserNey(order=3)), model_of(documents, KneserNey(order=2))
    with pytest.raises(ValueError, match="another model"):
        one.state().read(other.state(), 1)
    for token in (-4, 2**32):
        with pytest.raises(ValueError, match="a token id must be a whole number from -3"):
            one.state().read(one.state(), token)


NO_TOKENS = (1.9, np.float64(2.7), 1j, True, np.True_, "x", None, [1], np.array([1]), 2**40, 2**70, -4)


@pytest.mark.parametrize("token", NO_TOKENS, ids=repr)
def test_what_is_not_a_token_id_is_refused_by_states_as_by_models(token):
    model = MODELS[0]
    state = model.state()
    asked = (lambda: state.read(token), lambda: state.read(state, token))
    for ask in (*asked, lambda: model.prob([1], token), lambda: model.score([1, token])):
        if token is None and ask is asked[1]:
            continue  # the same as `state.read(state)`
        with pytest.raises(InvalidArgument):
            ask()
    with pytest.raises(InvalidArgument):
        state.read(state, None)
    assert state.context == model.state().context


def test_origins_are_states_of_the_same_model():
    state, other = MODELS[0].state(), MODELS[1].state()
    for origin in (other, 3, None, "x"):
        with pytest.raises(InvalidArgument, match="state"):
            state.read(origin, 1)


def test_numpy_integers_are_token_ids():
    state, other = MODELS[0].state(), MODELS[0].state()
    assert same(state.read(np.uint8(2))[0], other.read(2)[0])


def test_states_are_copied_and_not_pickled():
    state = MODELS[0].state()
    state.read(1)
    for made in (copy.copy(state), copy.deepcopy(state)):
        assert made.context == state.context
        made.read(2)
        assert made.context != state.context
    with pytest.raises(NotSupportedError, match="a state reads its model's files"):
        pickle.dumps(state)
