"""Beside neural models: probabilities of texts, and mixtures in generation. The neural models are made
here.
"""

from __future__ import annotations

import contextlib
import sys
import types

import numpy as np
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.lm import CorpusLogits, InfGram, Interpolation, KneserNey, interpolate, neural_probabilities
from ngramdb.lm.neural import softmax

VOCABULARY = 7
BOS = 6
TEXTS = ["the cat sat", "the cat ran", "the dog sat", "a dog ran"]


@pytest.fixture(scope="module")
def corpus():
    made = ngramdb.connect().create_corpus("w")
    made.append(TEXTS)
    return made


class Causal:
    """A causal model whose logits depend on the sum of the ids so far: earlier tokens matter as well."""

    config = types.SimpleNamespace(max_position_embeddings=64)

    def __init__(self):
        self.table = np.random.default_rng(0).normal(size=(50, VOCABULARY))
        self.lengths = []

    def __call__(self, input_ids):
        self.lengths.append(input_ids.shape[1])
        sums = np.cumsum(input_ids, axis=1) % len(self.table)
        return types.SimpleNamespace(logits=self.table[sums])


@pytest.fixture
def torch(monkeypatch):
    fake = types.SimpleNamespace(
        tensor=lambda values, device: np.asarray(values), no_grad=contextlib.nullcontext
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def test_a_causal_model_gives_each_token_its_probability(torch):
    causal, ids = Causal(), [0, 3, 5, 1, 1]
    expected = [softmax(causal.table[(BOS + sum(ids[:i])) % 50])[ids[i]] for i in range(len(ids))]
    assert neural_probabilities(causal, ids, bos=BOS) == pytest.approx(expected)
    assert neural_probabilities(causal, [], bos=BOS).shape == (0,)
    with pytest.raises(InvalidArgument, match="the model has 7 tokens, ids 0 to 6, but not 9"):
        neural_probabilities(causal, [9], bos=BOS)


def test_long_texts_are_read_in_windows_that_overlap_by_half(torch):
    causal, ids = Causal(), np.arange(21) % 5
    probs = neural_probabilities(causal, ids, bos=BOS, window=8)
    assert max(causal.lengths) == 8 and (probs > 0).all() and len(probs) == 21
    whole = neural_probabilities(Causal(), ids, bos=BOS)
    assert probs[:8] == pytest.approx(whole[:8])
    text = [BOS, *ids]
    expected = softmax(causal.table[sum(text[4:9]) % 50])[ids[8]]  # token 8, read from the second window on
    assert probs[8] == pytest.approx(expected)


def test_without_torch_a_causal_model_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidArgument, match="pip install torch"):
        neural_probabilities(Causal(), [1], bos=BOS)


@pytest.mark.parametrize("spec", [InfGram(), KneserNey()])
def test_the_processor_mixes_the_two_distributions(corpus, spec):
    model = corpus.language_model(spec)
    ids = corpus.tokenizer.encode("the cat")
    logits = np.random.default_rng(1).normal(size=(1, VOCABULARY))
    mixed = np.exp(CorpusLogits(model, Interpolation(0.25, 0.75))(ids[np.newaxis], logits)[0])
    expected = 0.75 * softmax(logits[0])
    found = model.dist(ids)
    known = {int(i): p for i, p in zip(found.ids, found.probs, strict=True) if i >= 0}
    for token, prob in known.items():
        expected[token] += 0.25 * prob / sum(known.values())
    assert mixed == pytest.approx(expected) and mixed.sum() == pytest.approx(1)


def test_contexts_that_only_end_documents_are_not_sparse_and_ends_have_an_id(corpus):
    model = corpus.language_model("infgram")
    logits = np.zeros((2, VOCABULARY))
    processor = CorpusLogits(model, Interpolation(1.0, 0.0), eos=BOS)
    rows = [corpus.tokenizer.encode("the cat sat"), corpus.tokenizer.encode("the cat sat")]
    mixed = np.exp(processor(np.stack(rows), logits))
    assert mixed[0].tolist() == [0, 0, 0, 0, 0, 0, 1]  # every text with "the cat sat" ends there
    sparse_only = CorpusLogits(model, Interpolation(0.0, 1.0), eos=BOS)
    mixed = np.exp(sparse_only(np.stack(rows), logits))
    assert mixed[0] == pytest.approx(np.full(VOCABULARY, 1 / VOCABULARY))  # as `score` has it: not sparse


def test_contexts_do_not_reach_across_the_ends_of_texts_and_prompts(corpus):
    model = corpus.language_model("infgram")
    logits = np.zeros((1, VOCABULARY))
    the, cat = corpus.tokenizer.encode("the cat").tolist()
    processor = CorpusLogits(model, Interpolation(1.0, 1.0), eos=5, prompt=(BOS,))
    after_border = processor(np.array([[the, 5, cat]]), logits)
    assert after_border == pytest.approx(processor(np.array([[BOS, cat]]), logits))


def test_what_the_neural_model_lacks_leaves_its_scores_alone(corpus):
    model = corpus.language_model("infgram")
    logits = np.array([[0.5]])
    ids = corpus.tokenizer.encode("the cat")[np.newaxis]
    assert CorpusLogits(model, Interpolation(1.0, 1.0))(ids, logits).tolist() == [[0.5]]


def test_what_is_forbidden_stays_forbidden(corpus):
    model = corpus.language_model("infgram")
    the, cat = corpus.tokenizer.encode("the cat").tolist()
    logits = np.zeros((1, VOCABULARY))
    logits[0, cat] = -np.inf
    mixed = CorpusLogits(model)(np.array([[the]]), logits)[0]
    assert np.isneginf(mixed[cat]) and np.isfinite(np.delete(mixed, cat)).all()


class Tensor:
    """As much of a tensor as the processor touches."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def is_floating_point(self):
        return self.values.dtype.kind == "f"

    def float(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return self.values

    def new_tensor(self, values):
        return Tensor(values)


def test_tensors_go_in_and_come_out(corpus):
    model = corpus.language_model("infgram")
    ids = corpus.tokenizer.encode("the")[np.newaxis]
    logits = np.zeros((1, VOCABULARY))
    processor = CorpusLogits(model)
    found = processor(Tensor(ids), Tensor(logits))
    assert isinstance(found, Tensor)
    assert found.values == pytest.approx(processor(ids, logits))


def test_neural_probabilities_go_into_a_mixture(corpus, torch):
    ids = np.concatenate([corpus.tokenizer.encode(text) for text in TEXTS])
    scores = corpus.language_model("infgram").score(ids)
    neural = neural_probabilities(Causal(), ids, bos=BOS)
    mixture = interpolate(scores, neural)
    assert mixture.perplexity(scores, neural) <= np.exp(-np.log(neural).mean())
