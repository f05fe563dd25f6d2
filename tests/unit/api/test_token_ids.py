"""Valid token ids in every verb, statement and kernel: one rule.

A token id is an integer from 0 to 2**32 - 1; -1, which `encode` gives, stands for a word that is out of
vocabulary and occurs nowhere. Anything else is InvalidArgument, in whatever it comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest
from support.connections import connection_of

import ngramdb
from ngramdb import registries
from ngramdb.errors import InvalidArgument, LoadError, QueryError
from ngramdb.types import MAX_TOKEN_ID, UNKNOWN, token_ids

# None of them is a token id, and none may become one on the way to a kernel.
NUMBERS = [-2, -3, -(2**63), 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 2**200]
OTHERS = [True, np.bool_(True), 1.0, np.float32(2), "1", None, [1], b"1"]

VERBS: dict[str, Any] = {
    "count": lambda c, ids: c.count(ids),
    "count_many": lambda c, ids: c.count_many([[0], ids]),
    "count_docs": lambda c, ids: c.count_docs("?", params=[ids]),
    "count_docs, AND": lambda c, ids: c.count_docs("? AND NOT ?", params=[ids, [0]]),
    "count_docs, near": lambda c, ids: c.count_docs("? AND ? WITHIN 3 TOKENS", params=[ids, [0]]),
    "docs": lambda c, ids: c.docs("?", params=[ids]).fetchall(),
    "delete": lambda c, ids: c.delete("?", params=[ids]),
    "kwic": lambda c, ids: c.kwic(ids).fetchall(),
    "trace": lambda c, ids: c.trace(ids).fetchall(),
    "trace_arrays": lambda c, ids: c.trace_arrays(ids),
    "match_lengths": lambda c, ids: c.match_lengths(ids),
    "prob": lambda c, ids: c.prob(ids, [0]),
    "prob, context": lambda c, ids: c.prob(0, ids),
    "prob, context, kneser_ney": lambda c, ids: c.prob(0, ids, "kneser_ney"),
    "prob_many": lambda c, ids: c.prob_many([ids], [[0]]),
    "prob_many, continuations": lambda c, ids: c.prob_many([[0]], [ids]),
    "prob_many, array": lambda c, ids: c.prob_many([[0]] * len(ids), ids),
    "dist": lambda c, ids: c.dist(ids).fetchall(),
    "dist_arrays": lambda c, ids: c.dist_arrays(ids),
    "dist_arrays, infgram": lambda c, ids: c.dist_arrays(ids, "infgram"),
    "dist_many": lambda c, ids: c.dist_many([ids]),
    "score": lambda c, ids: c.score(ids),
    "score, infgram": lambda c, ids: c.score(ids, "infgram"),
    "score, kneser_ney": lambda c, ids: c.score(ids, "kneser_ney"),
    "score_many": lambda c, ids: c.score_many([ids]),
    "generate": lambda c, ids: c.generate(ids, 2),
    "stream": lambda c, ids: list(c.stream(ids, 2)),
    "draft": lambda c, ids: c.draft(ids, 2),
    "perplexity": lambda c, ids: c.perplexity([ids]),
    "agreement": lambda c, ids: c.agreement([ids]),
    "COUNT ?": lambda c, ids: connection_of(c).execute("COUNT ?", [ids]).fetchall(),
    "PROB ? GIVEN ?": lambda c, ids: connection_of(c).execute("PROB ? GIVEN ?", [[0], ids]).fetchall(),
    "DIST": lambda c, ids: connection_of(c).execute("DIST GIVEN ?", [ids]).fetchall(),
    "SCORE": lambda c, ids: connection_of(c).execute("SCORE ?", [ids]).fetchall(),
    "KWIC": lambda c, ids: connection_of(c).execute("KWIC ?", [ids]).fetchall(),
    "GENERATE": lambda c, ids: connection_of(c).execute("GENERATE GIVEN ? TOKENS 2", [ids]).fetchall(),
    "TRACE": lambda c, ids: connection_of(c).execute("TRACE ?", [ids]).fetchall(),
}

# Language models and their helpers take the borders of a sentence, too: -2 and -3.
MODELS: dict[str, Any] = {
    f"{kind}, {name}": (lambda c, ids, kind=kind, call=call: call(c.language_model(kind), ids))
    for kind in registries.MODELS
    for name, call in {
        "prob": lambda m, ids: m.prob(ids, 0),
        "prob, token": lambda m, ids: m.prob([0], ids[-1] if isinstance(ids, np.ndarray) else list(ids)[-1]),
        "prob_many": lambda m, ids: m.prob_many(ids, [0, len(ids)], [0]),
        "score": lambda m, ids: m.score(ids),
        "dist": lambda m, ids: m.dist(ids),
        "successors": lambda m, ids: m.successors(ids),
        "sampler": lambda m, ids: m.sampler(ids) or m.dist(ids),
    }.items()
}


def forms(value: Any) -> list[Any]:
    """A value as the last of an n-gram's tokens, in everything that can hold it."""
    given: list[Any] = [[0, value], (0, value), [value]]
    if type(value) is not int:
        return [*given, np.array([value])]
    for dtype in (np.int8, np.int32, np.int64, np.uint32, np.uint64):
        if np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            given.append(np.array([0, value], dtype=dtype))
    return given


@pytest.fixture(params=["words", "tokens"])
def corpus(request):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=request.param)
        given = ["a b a c", "a b"] if request.param == "words" else [[0, 1, 0, 2], [0, 1]]
        corpus.append([{"text": item} if isinstance(item, str) else {"ids": item} for item in given])
        db.execute("USE c")
        yield corpus


@pytest.mark.parametrize("verb", [*VERBS, *MODELS])
def test_what_is_no_token_id_is_refused_by_every_verb(corpus, verb):
    call = {**VERBS, **MODELS}[verb]
    for value in (*NUMBERS, *OTHERS):
        if verb in MODELS and value in (-2, -3):
            continue
        for ids in forms(value):
            if verb == "prob_many, array" and not isinstance(ids, np.ndarray):
                continue
            with pytest.raises((InvalidArgument, QueryError)):
                call(corpus, ids)
                pytest.fail(f"{verb} took {ids!r}", pytrace=False)
    assert corpus.n_documents == 2


@pytest.mark.parametrize("verb", [*VERBS, *MODELS])
def test_unknown_words_absent_ids_and_every_integer_type_are_taken_by_every_verb(corpus, verb):
    call = {**VERBS, **MODELS}[verb]
    for value in (UNKNOWN, 0, 77, MAX_TOKEN_ID):
        for ids in (*forms(value), [0, np.int64(value)]):
            if verb == "prob_many, array" and not isinstance(ids, np.ndarray):
                continue
            if verb == "delete" and value == 0:
                continue
            call(corpus, ids)


def test_what_encode_gives_is_a_question(corpus):
    if corpus.tokenizer.kind != "words":
        return
    ids = corpus.tokenizer.encode("a zebra")
    assert ids.tolist() == [0, UNKNOWN]
    assert corpus.count(ids) == corpus.count("a zebra") == corpus.count(ids.tolist()) == 0
    assert corpus.count_many([ids, [0]]).tolist() == [0, 3]
    assert corpus.prob(UNKNOWN, "a") == corpus.prob("zebra", "a") == 0.0
    assert corpus.prob("a", [UNKNOWN]) is None
    assert corpus.score(ids, "kneser_ney").prob[1] == corpus.language_model().prob([0], UNKNOWN).prob > 0
    with pytest.raises(InvalidArgument, match="-1"):
        corpus.tokenizer.decode(ids)


@pytest.mark.parametrize("value", [UNKNOWN, *NUMBERS, *OTHERS])
def test_no_document_holds_anything_but_token_ids(corpus, value):
    if corpus.tokenizer.kind != "tokens":
        return
    for ids in forms(value):
        with pytest.raises(LoadError):
            corpus.append([{"ids": ids}])
    assert corpus.n_documents == 2


def test_long_flat_arrays_are_checked_wherever_the_bad_id_is(corpus):
    offsets = np.arange(0, 30_001, 3)
    for place in (0, 4095, 4096, 29_999):
        for bad in (-2, 2**32):
            flat = np.full(30_000, UNKNOWN)
            flat[place] = bad
            for ask in (corpus.count_many, corpus.dist_many, corpus.score_many):
                with pytest.raises(InvalidArgument, match=f"token id {bad} is outside 0 … 4294967295"):
                    ask((flat, offsets))
    assert corpus.count_many((np.full(30_000, UNKNOWN), offsets)).sum() == 0


def test_an_array_of_the_right_kind_is_not_copied():
    ids = np.arange(5)
    assert np.shares_memory(token_ids(ids), ids)


def test_two_lists_that_could_be_ids_and_offsets_are_refused():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[0, 1, 1, 2]])
        ids, offsets = [0, 1, 1, 2], [0, 2, 4]
        with pytest.raises(InvalidArgument, match="ids and offsets as a pair of arrays"):
            corpus.count_many((ids, offsets))
        assert corpus.count_many((np.array(ids), np.array(offsets))).tolist() == [1, 1]
        assert corpus.count_many([ids, offsets]).tolist() == [1, 0]
        assert corpus.count_many(([0, 1], [1, 2])).tolist() == [1, 1]


@pytest.mark.parametrize("values", [[None, [1]], [[1], None]])
def test_an_arrow_array_with_nulls_is_no_batch(values):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([[1, 2, 3]])
        with pytest.raises(InvalidArgument, match=f"n-gram {values.index(None)} "):
            corpus.count_many(pyarrow.array(values))
