"""Generating text, and drafting it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.language_corpora import model_of

from ngramdb._cext.lm.models import Sampler
from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    BEGIN,
    END,
    UNKNOWN,
    Backoff,
    Generator,
    Greedy,
    InfGram,
    KneserNey,
    NGram,
    Sampling,
    Search,
    Stops,
    WittenBell,
    draft,
)
from ngramdb.registries import MODELS

SPECS = [
    NGram(order=2),
    NGram(),
    InfGram(),
    InfGram(min_count=3),
    NGram(min_count=2),
    NGram(order=3, min_count=3),
    Backoff(order=3),
    KneserNey(),
    KneserNey(order=2),
]
METHODS = [Greedy(), Sampling(), Sampling(0.5, 3, 0.8), Search(3), Search(4, diversity=20.0)]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("context", [[], [0, 1], [UNKNOWN, 99], [BEGIN], [6, 6, 6, 2]], ids=str)
def test_generation_never_gets_stuck(documents, spec, method, context):
    generator = Generator(model_of(documents, spec))
    for found in generator.generate(context, 12, method, seed=1):
        assert found.ended or len(found.ids) == 12
        assert all(0 <= token <= 8 for token in found.ids)
        assert found.logprob <= 0


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_stream_is_the_same_text(documents, spec, method):
    generator = Generator(model_of(documents, spec))
    whole = generator.generate([0], 8, method, seed=7)[0]
    streamed = list(generator.stream([0], 8, method, seed=7))
    tokens = [token for token, _ in streamed]
    assert tokens == [*whole.ids, *([END] if whole.ended else [])]
    assert math.fsum(logprob for _, logprob in streamed) == pytest.approx(whole.logprob)


RELATIVE = [
    kind(order=order, min_count=min_count)
    for kind in (NGram, InfGram)
    for order in (None, 2)
    for min_count in (1, 2, 3)
]


@pytest.mark.parametrize("spec", RELATIVE, ids=str)
@pytest.mark.parametrize("context", [[], [0], [0, 1], [UNKNOWN, 99], [BEGIN], [6, 6, 6, 2]], ids=str)
def test_logarithms_are_those_of_the_models_probabilities(documents, spec, context):
    """All texts of two tokens: by the model's distributions, after shorter suffixes where these are empty."""
    model = model_of(documents, spec)

    def after(tokens):
        found = model.dist(tokens)
        return found if len(found.ids) or not tokens else after(tokens[1:])

    expected = {}
    for token, prob in zip(after(context).ids.tolist(), after(context).probs.tolist(), strict=True):
        if token == END:
            expected[()] = math.log(prob)
            continue
        longer = after([*context, token])
        for last, share in zip(longer.ids.tolist(), longer.probs.tolist(), strict=True):
            tokens = (token,) if last == END else (token, last)
            expected[tokens, last == END] = math.log(prob) + math.log(share)
    if () in expected:
        expected[(), True] = expected.pop(())
    found = Generator(model).generate(context, 2, Search(500), n_return=500)
    assert {(item.ids, item.ended): item.logprob for item in found} == pytest.approx(expected)
    drawn = Generator(model).generate(context, 2, Sampling(), seed=5, n_return=300)
    assert {(item.ids, item.ended) for item in drawn} <= set(expected)
    for item in drawn:
        assert item.logprob == pytest.approx(expected[item.ids, item.ended])


def test_nothing_is_generated_where_no_token_is_frequent_enough(documents):
    model = model_of(documents, NGram(min_count=1000))
    for method in METHODS:
        for found in Generator(model).generate([0], 5, method, seed=1):
            assert (found.ids, found.ended) == ((), False)
    assert not len(model.dist([]).ids)


def test_samples_come_again_with_their_seed(documents):
    model = model_of(documents, KneserNey())
    one = Generator(model).generate([0], 9, Sampling(), seed=4, n_return=5)
    assert one == Generator(model).generate([0], 9, Sampling(), seed=4, n_return=5)
    more = Generator(model).generate([0], 9, Sampling(), seed=4, n_return=8)
    assert set(one) <= set(more)
    assert one != Generator(model).generate([0], 9, Sampling(), seed=5, n_return=5)


@pytest.mark.parametrize(
    ("spec", "context"),
    [
        (KneserNey(), [1, 2]),
        (KneserNey(), [BEGIN, 0, 1, 2]),
        (KneserNey(order=2, min_count=2), [BEGIN]),
        (KneserNey(order=1), []),
        (KneserNey(), [0, 1, 2, 3, 99]),
        (InfGram(), [0, 2]),
        (Backoff(), [0, 2]),
    ],
)
def test_samples_follow_the_distribution(documents, spec, context):
    model = model_of(documents, spec)
    generator = Generator(model)
    distribution = model.dist(context)
    drawn = [next(generator.stream(context, 1, Sampling(), seed=seed))[0] for seed in range(2000)]
    seen = np.array([drawn.count(token) for token in distribution.ids]) / len(drawn)
    possible = distribution.ids != UNKNOWN
    expected = np.where(possible, distribution.probs, 0) / distribution.probs[possible].sum()
    # Five standard deviations of a share among 2000.
    assert (np.abs(seen - expected) < 5 * np.sqrt(expected / 2000) + 1e-9).all()


def test_top_k_and_top_p_keep_the_most_probable(documents):
    model = model_of(documents, KneserNey())
    generator = Generator(model)
    best, probs = model.dist([2]).top(3)
    top_k = {next(generator.stream([2], 1, Sampling(top_k=2), seed=seed))[0] for seed in range(300)}
    assert top_k == set(best[:2].tolist())
    threshold = float(probs[0] / (1 - model.prob([2], UNKNOWN).prob)) - 1e-6
    top_p = {next(generator.stream([2], 1, Sampling(top_p=threshold), seed=seed))[0] for seed in range(50)}
    assert top_p == {best[0]}


def test_a_cold_sample_is_greedy(documents):
    generator = Generator(model_of(documents, KneserNey()))
    greedy = generator.generate([0], 6, Greedy())[0]
    assert generator.generate([0], 6, Sampling(temperature=0.01), seed=3)[0] == greedy


def test_a_wide_search_finds_the_most_probable_of_all(documents):
    model = model_of(documents, InfGram(order=2))
    found = Generator(model).generate([1], 3, Search(200))[0]
    best = -math.inf
    for tokens in itertools.product([*range(9), END], repeat=3):
        if END in tokens[:-1]:
            tokens = tokens[: tokens.index(END) + 1]
        context, total = [1], 0.0
        for token in tokens:
            total += math.log(model.prob(context, token).prob or 1e-300)
            context.append(token)
        best = max(best, total)
    assert found.logprob == pytest.approx(best)


@pytest.mark.parametrize("diversity", [0.0, 0.01, 1.0, 20.0])
@pytest.mark.parametrize("n", [1, 4])
def test_a_search_returns_different_texts_the_best_first(documents, diversity, n):
    found = Generator(model_of(documents, KneserNey())).generate([0], n, Search(5, diversity), n_return=5)
    assert len({(item.ids, item.ended) for item in found}) == len(found)
    assert len(found) == 5 or 0 < diversity < 20
    assert [item.logprob for item in found] == sorted((item.logprob for item in found), reverse=True)


def test_diverse_beams_begin_with_different_tokens(documents):
    found = Generator(model_of(documents, KneserNey())).generate(
        [2], 3, Search(4, diversity=20.0), n_return=4
    )
    assert len({item.ids[:1] for item in found}) == 4


@pytest.mark.parametrize(("method", "n_return"), [(Greedy(), 2), (Search(3), 4), (Sampling(), 0)])
def test_more_texts_than_there_are_is_an_error(documents, method, n_return):
    with pytest.raises(InvalidArgument):
        Generator(model_of(documents, InfGram())).generate([0], 3, method, n_return=n_return)


@pytest.mark.parametrize("wrong", [{"temperature": 0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_parameters_of_sampling_are_checked(wrong):
    with pytest.raises(InvalidArgument):
        Sampling(**wrong)


def test_a_corpus_without_tokens_gives_an_empty_text():
    for method in METHODS:
        found = Generator(model_of([], InfGram())).generate([], 5, method, seed=0)[0]
        assert found.ids == ()


def test_a_draft_is_what_follows_the_longest_suffix(documents):
    found = draft(model_of(documents, InfGram()), [9, 1, 2], 5)
    assert found.ids.tolist() == [3, 4]
    assert found.effective_n.tolist() == [3, 4]
    assert found.confidence == pytest.approx(found.probs[0] * found.probs[1])
    assert draft(model_of(documents, InfGram()), [9, 1, 2], 1).ids.tolist() == [3]
    assert draft(model_of(documents, InfGram()), [9, 1, 2], 5, least_prob=0.99).ids.tolist() == []


def test_a_draft_searches_a_long_context_once(documents, monkeypatch):
    model = model_of(documents, InfGram())
    lengths = []
    search = model.continuations

    def counted(context):
        lengths.append(len(context))
        return search(context)

    monkeypatch.setattr(model, "continuations", counted)
    assert draft(model, [9] * 1000 + [1, 2], 5).ids.tolist() == [3, 4]
    assert lengths == [1002, 3, 4]


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("context", [[], [0], [BEGIN], [0, 1], [6, 6, 6], [99]], ids=str)
@pytest.mark.parametrize("kind", [Backoff, KneserNey])
@pytest.mark.parametrize("order", [None, 3])
def test_a_drawn_token_has_its_probability_in_the_distribution(documents, kind, order, context, min_count):
    model = model_of(documents, kind(order=order, min_count=min_count))
    known = list(context)
    sampler = model.sampler(known)
    for seed in range(12):
        distribution = model.dist(known)
        drawable = distribution.probs * (distribution.ids != UNKNOWN)
        token, prob = sampler.next(seed)
        [place] = np.flatnonzero(distribution.ids == token)
        assert prob == pytest.approx(drawable[place] / drawable.sum(), rel=1e-9)
        if token == END:
            break
        known.append(token)


@pytest.mark.parametrize("method", [Search(3), Search(4, diversity=20.0), Sampling(), Greedy()], ids=str)
def test_a_text_that_has_ended_takes_no_more_steps(method):
    generator = Generator(model_of([[1, 2], [1, 2], [3, 2]], InfGram()))
    (found, *_) = generator.generate([1], 2**40, method, seed=1)  # as many steps would take for ever
    assert found.ids == (2,) and found.ended


def test_a_model_without_a_sampler_is_drawn_from_its_distribution(monkeypatch):
    # A kind without a sampler: like the n-gram model, but under another name.
    monkeypatch.setitem(MODELS, "ngram", MODELS["ngram"]._replace(is_relative=False))
    model = model_of([[1, 2], [1, 2], [1, 3]], NGram(2))
    assert model.sampler([1]) is None
    drawn = Generator(model).generate([1], 1, Sampling(), seed=1, n_return=20)
    assert {text.ids for text in drawn} == {(2,), (3,)}


def test_a_sampler_refuses_other_models_and_goes_no_further_than_the_end():
    with pytest.raises(ValueError, match="drawn from its distribution"):
        Sampler(model_of([[1, 2]], InfGram())._model, [1])
    sampler = Sampler(model_of([[1, 2]], KneserNey(2))._model, [1])
    with pytest.raises(ValueError, match="the sentence has ended"):
        for seed in range(1000):
            sampler.next(seed)


@pytest.mark.parametrize("spec", [InfGram(), NGram(2), Backoff(), KneserNey(), WittenBell()], ids=str)
@pytest.mark.parametrize("method", [*METHODS, Search(1)], ids=str)
def test_texts_end_after_the_first_of_the_given_ngrams(documents, spec, method):
    stops = Stops(((1,), (2, 0)))
    n_return = method.beams if isinstance(method, Search) else 1
    for seed, context in enumerate(([0], [2, 0], [], [BEGIN])):
        for found in Generator(model_of(documents, spec)).generate(
            context, 8, method, seed=seed, n_return=n_return, stops=stops
        ):
            ends = [i for i in range(1, len(found.ids) + 1) if stops.after(found.ids[:i])]
            assert ends in ([], [len(found.ids)])
            assert found.stopped or found.ended or len(found.ids) == 8
            assert found.stopped == bool(ends)


@pytest.mark.parametrize("spec", [InfGram(), Backoff(), KneserNey()], ids=str)
@pytest.mark.parametrize("method", [*METHODS, Search(1)], ids=str)
@pytest.mark.parametrize("least", [0.05, 0.25, 0.5, 1.0])
def test_no_token_is_less_probable_than_the_least_probability(documents, spec, method, least):
    model = model_of(documents, spec)
    generator = Generator(model)
    for context in ([0], [2, 0], []):
        for found in generator.generate(context, 5, method, seed=3, stops=Stops((), least)):
            tokens = (*found.ids, *([END] if found.ended else ()))
            for i in range(len(tokens) + (len(found.ids) < 5 and not found.ended)):
                ids, probs = generator._candidates((*context, *tokens[:i]), None)
                if i == len(tokens):  # the text stopped
                    assert not (probs >= least).any()
                else:
                    assert probs[ids == tokens[i]] >= least


def test_stop_conditions_that_mean_nothing_are_refused():
    for odd in ({"ngrams": ((),)}, {"least_prob": -0.1}, {"least_prob": 1.5}, {"least_prob": "1"}):
        with pytest.raises(InvalidArgument):
            Stops(**odd)
