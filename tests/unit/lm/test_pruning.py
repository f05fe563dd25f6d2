"""Pruned models beside the formulas, worked out one n-gram after the other, over small corpora."""

from __future__ import annotations

import io
import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from support.language_corpora import DOCUMENTS, View, model_of

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    Backoff,
    KneserNey,
    analyze,
    arpa,
    levels,
    make,
    make_table,
    write_arpa,
)
from ngramdb.lm.pruning import Pruning
from ngramdb.lm.tables import read_arpa

RNG = np.random.default_rng(11)
LARGER = [(RNG.zipf(1.3, int(n)) % 12).tolist() for n in RNG.integers(0, 15, 60)]


def written(model, **options):
    """The n-grams of a file: log10 of probability and weight by words, in natural numbers."""
    file = io.StringIO()
    sizes = write_arpa(model, file, lambda token: f"w{token}", **options)
    found = {}
    for line in file.getvalue().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            weight = 10 ** float(fields[2]) if len(fields) > 2 else 1.0
            found[tuple(fields[1].split(" "))] = 10 ** float(fields[0]), weight
    lengths = Counter(map(len, found))
    assert sizes == [lengths[n] for n in range(1, len(sizes) + 1)]
    return found


def prob_of(found, ngram, order):
    ngram = ngram[-order:]
    if ngram in found:
        return found[ngram][0]
    weight = found[ngram[:-1]][1] if ngram[:-1] in found else 1.0
    return weight * prob_of(found, ngram[1:], order)


def assert_sound(found, order):
    """Prefixes and suffixes of every n-gram are there, and every context sums to 1."""
    words = [ngram for ngram in found if len(ngram) == 1 and ngram != ("<s>",)]
    for ngram in found:
        if len(ngram) > 1:
            assert ngram[:-1] in found and ngram[1:] in found
    for context in found:
        if len(context) < order and "</s>" not in context and "<unk>" not in context:
            total = math.fsum(prob_of(found, context + word, order) for word in words)
            assert total == pytest.approx(1.0, abs=3e-7)  # eight digits in the file


def counted(documents, order):
    """Occurrences and adjusted counts of the n-grams of documents."""
    raw, left = Counter(), defaultdict(set)
    for document in documents:
        words = ["<s>", *(f"w{token}" for token in document), "</s>"]
        for n in range(1, order + 1):
            for start in range(len(words) - n + 1):
                ngram = tuple(words[start : start + n])
                raw[ngram] += 1
                if start > 0:
                    left[ngram].add(words[start - 1])
    adjusted = {
        ngram: raw[ngram] if len(ngram) == order or ngram[0] == "<s>" else len(left[ngram]) for ngram in raw
    }
    return raw, adjusted


@pytest.mark.parametrize("least", [(1, 2), (1, 1, 2), (1, 1, 2, 3), (1, 9)])
@pytest.mark.parametrize("documents", [DOCUMENTS, LARGER], ids=["small", "larger"])
def test_pruning_by_counts_is_kenlms(documents, least):
    order = 4
    model = model_of(documents, KneserNey(order=order))
    raw, adjusted = counted(documents, order)
    found = written(model, min_count=least)
    pruning = Pruning.of(least, None)
    kept = {ngram for ngram in raw if len(ngram) > 1 and raw[ngram] >= pruning.least(len(ngram))}
    assert kept == {ngram for ngram in found if len(ngram) > 1}
    successors = defaultdict(list)
    for ngram in raw:
        successors[ngram[:-1]].append(ngram)

    def weight(context):
        followed, n = successors[context], len(context) + 1
        discounts = model.statistics.discount(n, raw=n == order)
        left = sum(discounts[min(adjusted[g], 3) - 1] if g in kept else adjusted[g] for g in followed)
        return left / sum(adjusted[g] for g in followed) if followed else 1.0

    def prob(ngram):
        if len(ngram) == 1:
            return found[ngram][0]
        below = weight(ngram[:-1]) * prob(ngram[1:])
        if ngram not in kept:
            return below
        discounts = model.statistics.discount(len(ngram), raw=len(ngram) == order)
        own = adjusted[ngram] - discounts[min(adjusted[ngram], 3) - 1]
        return own / sum(adjusted[g] for g in successors[ngram[:-1]]) + below

    for ngram in kept:
        assert found[ngram][0] == pytest.approx(prob(ngram), rel=1e-6)
        if len(ngram) < order:
            assert found[ngram][1] == pytest.approx(weight(ngram), rel=1e-6)
    assert_sound(found, order)


def naively_pruned(found, order, threshold):
    """Stolcke's criterion as SRILM has it, with prefixes and suffixes of what stays kept, too."""
    found = dict(found)
    whole = dict(found)

    def prob_of_context(context):
        total = 1.0
        for i, word in enumerate(context):
            if word != "<s>":
                total *= prob_of(whole, context[: i + 1], order)
        return total

    for n in range(order, 1, -1):
        required = {part for g in found if len(g) == n + 1 for part in (g[:-1], g[1:])}
        contexts = defaultdict(list)
        for ngram in found:
            if len(ngram) == n:
                contexts[ngram[:-1]].append(ngram)
        for context, ngrams in contexts.items():
            rest = 1 - math.fsum(found[g][0] for g in ngrams)
            below = 1 - math.fsum(whole[g[1:]][0] for g in ngrams)
            gone = []
            for g in ngrams:
                p, q = found[g][0], whole[g[1:]][0]
                weight = (rest + p) / (below + q)
                change = p * (math.log(q * weight) - math.log(p))
                change += rest * (math.log(weight) - math.log(rest / below))
                if math.expm1(-prob_of_context(context) * change) < threshold and g not in required:
                    gone.append(g)
            stay = [g for g in ngrams if g not in gone]
            if gone:
                for g in gone:
                    del found[g]
                rest = 1 - math.fsum(found[g][0] for g in stay)
                found[context] = found[context][0], rest / (1 - math.fsum(whole[g[1:]][0] for g in stay))
    return found


@pytest.mark.parametrize("threshold", [1e-5, 1e-3, 1e-2])
@pytest.mark.parametrize("chunk", [4, 1 << 18])
def test_pruning_by_entropy_is_stolckes(monkeypatch, threshold, chunk):
    monkeypatch.setattr(levels, "CHUNK", chunk)
    model = model_of(LARGER, KneserNey(order=4))
    whole = written(model)
    expected = naively_pruned(whole, 4, threshold)
    found = written(model, prune=f"entropy:{threshold}")
    assert len(found) < len(whole)
    assert found.keys() == expected.keys()
    for ngram, (prob, weight) in expected.items():
        assert found[ngram] == (pytest.approx(prob, rel=1e-6), pytest.approx(weight, rel=1e-4))
    assert_sound(found, 4)


def test_both_kinds_of_pruning_and_none():
    model = model_of(LARGER, KneserNey(order=4))
    whole = written(model)
    assert written(model, prune="entropy:0").keys() <= whole.keys()
    assert written(model, min_count=1) == whole
    found = written(model, min_count=(1, 1, 2), prune="entropy:1e-4")
    by_count = written(model, min_count=(1, 1, 2))
    assert len(found) < len(by_count) < len(whole)
    assert found.keys() < by_count.keys()
    assert_sound(found, 4)
    only_words = written(model, min_count=10**9)
    assert {len(ngram) for ngram in only_words} == {1}


@pytest.mark.parametrize("options", [{"min_count": (1, 1, 2)}, {"prune": "entropy:1e-3"}])
def test_a_pruned_table_answers_as_the_pruned_file(tmp_path, options):
    view = View(LARGER)
    model = make(KneserNey(order=4), view, analyze(view))
    path = tmp_path / "lm.arpa"
    with path.open("w") as file:
        write_arpa(model, file, lambda token: f"w{token}", **options)
    types = model.index.types()[0].tolist()
    read = read_arpa(path, {f"w{token}": token for token in types})
    table = make_table(model, **options)
    assert table.sizes == read.sizes
    text = RNG.integers(0, 13, 500)
    expected, found = read.score(text, document=True), table.score(text, document=True)
    np.testing.assert_allclose(found.prob, expected.prob, rtol=1e-5)
    assert found.effective_n.tolist() == expected.effective_n.tolist()
    for context in product(types[:3], repeat=2):
        assert table.dist(context).probs.sum() == pytest.approx(1.0, abs=1e-6)


def test_nemos_symbols():
    model = model_of([[0, 33, 60, 155], [60, 33, 0]], KneserNey(order=2))
    file = io.StringIO()
    write_arpa(model, file, lambda token: "", symbols="nemo")
    words = {line.split("\t")[1] for line in file.getvalue().split("\n") if line.count("\t") == 2}
    assert {"<unk>", "<s>", "</s>", "d", "\x85", "\xa0", "\xff"} <= words
    with pytest.raises(InvalidArgument, match="55196 has no character"):
        arpa.characters_of([0, 0xD800 - 100])
    assert arpa.characters_of([0xE000 - 100]) == ["\ue000"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": (2, 2)}, "begin with 1"),
        ({"min_count": (1, 3, 2)}, "not fall"),
        ({"min_count": ()}, "begin with 1"),
        ({"min_count": 0}, "not fall"),
        ({"min_count": "12"}, "whole number"),
        ({"min_count": 1.5}, "whole number"),
        ({"prune": "1e-8"}, "'entropy:1e-8'"),
        ({"prune": "entropy:x"}, "'entropy:1e-8'"),
        ({"prune": "entropy:-1"}, "at least 0"),
        ({"prune": "entropy:nan"}, "at least 0"),
        ({"prune": 1e-8}, "'entropy:1e-8'"),
        ({"symbols": "kaldi"}, "'text' or 'nemo'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    model = model_of(DOCUMENTS, KneserNey(order=3))
    with pytest.raises(InvalidArgument, match=message):
        write_arpa(model, io.StringIO(), str, **options)


def test_tables_of_stupid_backoff_are_not_pruned():
    with pytest.raises(InvalidArgument, match="Kneser-Ney"):
        make_table(model_of(DOCUMENTS, Backoff(order=3)), min_count=2)
