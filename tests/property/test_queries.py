"""Every question asked through the API equals brute force, over 1, 3 and many segments, rules on and off."""

from __future__ import annotations

import math
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference import ReferenceIndex, contains

import ngramdb
from ngramdb.lm import ModelSpec
from ngramdb.planner.planner import rule_names

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)

# Ids at the ends of the widths that segments choose from, and neighbours of the gap that symbols leave.
IDS = (0, 1, 2, 254, 255, 256, 65534, 65535, 2**32 - 2, 2**32 - 1)
RULES_OFF = ",".join(rule_names())


@st.composite
def corpora(draw):
    """Documents over a few ids (often one or two, so that n-grams repeat), and where segments end."""
    alphabet = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True))
    document = st.lists(st.sampled_from(alphabet), max_size=8)
    documents = draw(st.lists(document, max_size=8))
    if documents and draw(st.booleans()):
        documents += [documents[0]] * 3
    return documents, draw(st.sampled_from([1, 3, 99]))


def ngrams(max_size=4):
    return st.lists(st.sampled_from(IDS[:8]), max_size=max_size)


MODELS = st.sampled_from(["ngram", "infgram", "ngram order 1", "ngram order 2", "ngram order 4"])


def conditions():
    """Condition trees: an n-gram, or ('and' | 'or' | 'not', operands…)."""
    return st.recursive(
        ngrams(3).map(tuple),
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
            st.tuples(st.just("not"), st.lists(inner, min_size=1, max_size=1)),
        ),
        max_leaves=6,
    )


def as_text(condition, parameters):
    """The condition in the language; its n-grams become parameters."""
    if condition and condition[0] == "not":
        return f"NOT ({as_text(condition[1][0], parameters)})"
    if condition and condition[0] in ("and", "or"):
        word = f" {condition[0].upper()} "
        return "(" + word.join(as_text(operand, parameters) for operand in condition[1]) + ")"
    parameters.append(list(condition))
    return "?"


def holds(condition, document):
    if condition and condition[0] == "not":
        return not holds(condition[1][0], document)
    if condition and condition[0] == "and":
        return all(holds(operand, document) for operand in condition[1])
    if condition and condition[0] == "or":
        return any(holds(operand, document) for operand in condition[1])
    return contains(document, condition)


@contextmanager
def loaded(corpus):
    """Return a connection with the corpus in its number of segments, and the oracle of the same documents."""
    documents, n_segments = corpus
    size = max(1, math.ceil(len(documents) / n_segments))
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        c = db.create_corpus("c", tokenizer="tokens")
        for start in range(0, len(documents), size):
            c.append([(ids, {}) for ids in documents[start : start + size]])
        yield db, c, ReferenceIndex(documents)


def model_of(text):
    words = text.split()
    return words[0] == "infgram", int(words[-1]) if len(words) > 1 else 0


@EXAMPLES
@given(corpora(), st.lists(ngrams(10), max_size=5))
def test_counts_equal_brute_force(corpus, questions):
    with loaded(corpus) as (db, c, oracle):
        expected = [oracle.count(ngram) for ngram in questions]
        assert [c.count(ngram) for ngram in questions] == expected
        assert [c.count(np.array(ngram, dtype=np.uint32)) for ngram in questions] == expected
        assert c.count_many(questions).tolist() == expected
        assert [db.execute("COUNT ?", [ngram]).fetchall() for ngram in questions] == [
            [(n,)] for n in expected
        ]


@EXAMPLES
@given(corpora(), ngrams(5), ngrams(3).filter(len), MODELS)
def test_probabilities_equal_brute_force(corpus, context, continuation, model):
    with loaded(corpus) as (db, c, oracle):
        prob, step = chain(oracle, context, continuation, *model_of(model))
        answer = c.prob(continuation, given=context, model=model)
        sql = f"PROB ? GIVEN ? USING {model}"
        (row,) = db.execute(sql, [continuation, context]).fetchall()
        many = c.prob_many([context, context], [continuation, continuation], model=model)
        assert row[1:] == step and not any(isinstance(value, np.generic) for value in row)
        if prob is None:
            assert answer is None and row[0] is None and np.isnan(many.prob).all()
        else:
            assert answer == pytest.approx(prob) and row[0] == answer and many.prob == pytest.approx(prob)
            assert (answer.cont_count, answer.context_count, answer.effective_n, answer.sparse) == step
        for i in range(2):
            found = many.count[i], many.context_count[i], many.effective_n[i], many.sparse[i]
            assert found == step


def chain(oracle, context, continuation, infgram, order):
    prob = 1.0
    for i, token in enumerate(continuation):
        step = oracle.prob(context + continuation[:i], token, infgram, order)
        if not step[1]:
            return None, step
        prob *= step[0] / step[1]
        if not step[0]:
            break
    return prob, step


@EXAMPLES
@given(corpora(), ngrams(5), MODELS, st.none() | st.integers(0, 4))
def test_distributions_equal_brute_force_and_sum_to_one(corpus, context, model, top):
    infgram, order = model_of(model)
    with loaded(corpus) as (db, c, oracle):
        counts = oracle.next_counts(oracle.context(context, infgram, order))
        expected = sorted(
            counts.items(), key=lambda item: (-item[1], math.inf if item[0] is None else item[0])
        )
        result = c.dist(context, model=model, top=top)
        rows = result.fetchall()
        assert [(token_id, count) for _, token_id, count, _ in rows] == expected[:top]
        assert result.summary["total"] == len(expected) and result.n_rows == len(rows)
        assert all(token == (None if token_id is None else str(token_id)) for token, token_id, _, _ in rows)
        if top is None:
            assert db.execute(f"DIST GIVEN ? USING {model}", [context]).fetchall() == rows
            assert not rows or math.fsum(row[3] for row in rows) == pytest.approx(1, abs=1e-12)
            for _, token_id, count, prob in rows:
                if token_id is not None:
                    answer = c.prob([token_id], context, model)
                    assert answer == prob and answer.cont_count == count


@EXAMPLES
@given(corpora(), st.lists(ngrams(7), min_size=1, max_size=3), MODELS)
def test_scores_equal_brute_force(corpus, documents, model):
    infgram, order = model_of(model)
    with loaded(corpus) as (db, c, oracle):
        scores = c.score_many(documents, model=model)
        for document, found in zip(documents, scores, strict=True):
            expected = [oracle.prob(document[:i], document[i], infgram, order) for i in range(len(document))]
            rows = db.execute(f"SCORE ? USING {model}", [document]).fetchall()
            single = c.score(document, model=model)
            for i, (count, context_count, effective_n, sparse) in enumerate(expected):
                assert (found.count[i], found.context_count[i]) == (count, context_count)
                assert (found.effective_n[i], found.sparse[i]) == (effective_n, sparse)
                assert single.count[i] == count and single.effective_n[i] == effective_n
                shown = str(document[i]) if oracle.count([document[i]]) else "<unk>"
                assert rows[i][:6] == (i, shown, document[i], effective_n, count, context_count)
                assert rows[i][6] == (count / context_count if context_count else None)
                assert math.isnan(found.prob[i]) if not context_count else found.prob[i] == rows[i][6]


@EXAMPLES
@given(corpora(), conditions(), st.none() | st.integers(0, 4), st.integers(0, 3), st.booleans())
def test_documents_equal_brute_force(corpus, condition, limit, offset, descending):
    documents = corpus[0]
    with loaded(corpus) as (db, c, _):
        expected = [i for i, document in enumerate(documents) if holds(condition, document)]
        parameters = []
        where = as_text(condition, parameters)
        assert db.execute(f"COUNT DOCS WHERE {where}", parameters).fetchall() == [(len(expected),)]
        assert c.count_docs(where, params=parameters) == len(expected)
        ordered = expected[::-1] if descending else expected
        stop = None if limit is None else offset + limit
        clauses = "ORDER BY doc_id DESC " if descending else ""
        clauses += f"OFFSET {offset}" if limit is None else f"LIMIT {limit} OFFSET {offset}"
        for disabled in ("", RULES_OFF):
            db.execute("SET disabled_rules = ?", [disabled])
            result = db.execute(f"DOCS WHERE {where} {clauses}", parameters)
            assert result.summary["total"] == len(expected)
            assert result.n_rows == len(ordered[offset:stop])
            rows = result.fetchall()
            assert [row[0] for row in rows] == ordered[offset:stop]
            assert [row[1:] for row in rows] == [
                (len(documents[i]), " ".join(map(str, documents[i]))) for i in ordered[offset:stop]
            ]
            analyzed = db.execute(f"EXPLAIN ANALYZE COUNT DOCS WHERE {where}", parameters).fetchall()
            assert "actual 1 row" in analyzed[0][0]


@EXAMPLES
@given(corpora(), ngrams(6), st.sampled_from(IDS[:4]), st.integers(1, 4))
def test_infgram_with_an_order_looks_at_the_last_tokens_only(corpus, context, token, order):
    with loaded(corpus) as (_, c, oracle):
        answer = c.prob([token], given=context, model=ModelSpec("infgram", order or None))
        count, context_count, effective_n, sparse = oracle.prob(context, token, True, order)
        if context_count:
            assert answer == count / context_count
            assert (answer.cont_count, answer.effective_n, answer.sparse) == (count, effective_n, sparse)
        else:
            assert answer is None and not oracle.n_tokens
