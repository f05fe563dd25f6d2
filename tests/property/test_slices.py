"""A question with WHERE equals the question to a corpus of the selected documents."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb

EXAMPLES = settings(max_examples=30, deadline=None, derandomize=True)
IDS = (0, 1, 2, 255, 65535, 2**32 - 2)
MODELS = (
    "ngram",
    "infgram",
    "ngram order 2 min count 2",
    "backoff order 3",
    "kneser_ney order 3",
    "kneser_ney",
    "witten_bell",
    "pitman_yor",
    "katz",
    "skip_kneser_ney",
)


@st.composite
def collections(draw):
    """Documents, which of them are chosen and which removed, and after how many a segment ends."""
    alphabet = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(alphabet), max_size=10), min_size=1, max_size=9))
    marks = st.lists(st.booleans(), min_size=len(documents), max_size=len(documents))
    return documents, draw(marks), draw(marks), draw(st.integers(1, 9))


def corpus_of(db, name, documents, size):
    corpus = db.create_corpus(name, tokenizer="tokens")
    for start in range(0, len(documents), size):
        corpus.append(documents[start : start + size])
    return corpus


def statements(context, token, text):
    for model in MODELS:
        yield f"PROB ? GIVEN ? USING {model}", [[token], context]
        yield f"DIST GIVEN ? USING {model}", [context]
        yield f"SCORE ? USING {model}", [text]
        yield f"GENERATE GIVEN ? TOKENS 4 USING {model}", [context]
    yield "TRACE ?", [text]


def answers(db, statement, parameters, source):
    result = db.execute(f"{statement} FROM {source}", parameters)
    rows = result.fetchall()
    summary = {key: value for key, value in result.summary.items() if key != "note"}
    return rounded(rows), rounded(summary.items())


def rounded(rows):
    return [tuple(_rounded(value) for value in row) for row in rows]


def _rounded(value):
    if isinstance(value, float):
        return str(value) if not math.isfinite(value) else round(value, 9)
    return value


@EXAMPLES
@given(collections(), st.lists(st.sampled_from(IDS), max_size=4), st.sampled_from(IDS), st.data())
def test_some_documents_answer_as_a_corpus_of_their_own(collection, context, token, data):
    documents, chosen, removed, size = collection
    text = data.draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=8))
    marked = [(ids, {"chosen": mark}) for ids, mark in zip(documents, chosen, strict=True)]
    alone = [(i, pair) for i, pair in enumerate(marked) if pair[1]["chosen"] and not removed[i]]
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        whole = corpus_of(db, "whole", marked, size)
        if any(removed):
            ids = ", ".join(str(i) for i, gone in enumerate(removed) if gone)
            whole.delete(f"doc_id IN ({ids})")
        corpus_of(db, "part", [pair for _, pair in alone], 99)
        numbers = [i for i, _ in alone]
        for statement, parameters in statements(context, token, text):
            expected, summary = answers(db, statement, parameters, "part")
            if statement == "TRACE ?":
                expected = [(*row[:-1], [numbers[i] for i in row[-1]]) for row in expected]
            found = answers(db, statement, parameters, "whole WHERE chosen = true")
            assert found == (expected, summary), statement


@EXAMPLES
@given(collections(), collections(), st.lists(st.sampled_from(IDS), max_size=4), st.data())
def test_some_documents_of_a_sum_answer_as_a_corpus_of_their_own(one, other, context, data):
    token = data.draw(st.sampled_from(IDS))
    text = data.draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=8))
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        rest = []
        for name, (documents, chosen, _, size) in (("a", one), ("b", other)):
            marked = [(ids, {"chosen": mark}) for ids, mark in zip(documents, chosen, strict=True)]
            corpus_of(db, name, marked, size)
            rest += [pair for pair in marked if pair[1]["chosen"]]
        corpus_of(db, "part", rest, 99)
        for statement, parameters in statements(context, token, text):
            if statement == "TRACE ?":  # documents of a sum are named otherwise
                continue
            expected = answers(db, statement, parameters, "part")
            assert answers(db, statement, parameters, "a + b WHERE chosen = true") == expected, statement
