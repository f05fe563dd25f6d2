"""Guards: runs against brute force, documents, tokens that are forbidden, the logits processor."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import InvalidArgument
from ngramdb.lm import Guard, GuardLogits

TEXTS = [
    ("to be or not to be that is the question", "public"),
    ("the slings and arrows of outrageous fortune", "private"),
    ("to be or not to ask that is the question", "private"),
]


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append([{"text": text, "licence": licence} for text, licence in TEXTS])
        yield made


def maximal_runs(corpus, ids, longest):
    """Return the maximal runs of more than `longest` tokens, by counting every n-gram."""
    found = []
    for start in range(len(ids)):
        stop = start
        while stop < len(ids) and corpus.count(ids[start : stop + 1]):
            stop += 1
        if stop - start > longest and (not found or stop > found[-1][0] + found[-1][1]):
            found.append((start, stop - start, corpus.count(ids[start:stop])))
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text("abc", min_size=1, max_size=10), min_size=1, max_size=5),
    st.text("abcx", max_size=30),
    st.integers(1, 4),
)
def test_runs_are_the_maximal_ones(documents, text, longest):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("a", tokenizer="bytes")
        corpus.append(documents)
        guard, ids = Guard(corpus, longest), list(text.encode())
        for i, token in enumerate(ids, start=1):
            too_long = guard.append(token)
            expected = maximal_runs(corpus, ids[:i], longest)
            assert guard.runs == expected
            assert too_long == bool(expected and expected[-1][0] + expected[-1][1] == i)
        every = maximal_runs(corpus, ids, 0)
        assert guard.best.length == max((run[1] for run in every), default=0)
        if guard.best.length:
            assert tuple(guard.best) in every


def test_documents_of_a_run_and_their_fields(corpus):
    guard = Guard(corpus, longest=3)
    assert not guard.append("he wrote to be or")
    assert not guard.append("not to be or so")
    assert [tuple(run) for run in guard.runs] == [(2, 6, 1)]
    rows = guard.documents(guard.runs[0], returning="licence").to_dicts()
    shown = [(row["span"], row["doc_id"], row["licence"]) for row in rows]
    assert shown == [("to be or not to be", 0, "public")]
    assert repr(guard) == "<Guard of 10 tokens: longest run 6, 1 too long>"
    guard.clear()
    assert (guard.n_tokens, guard.runs, tuple(guard.best)) == (0, [], (0, 0, 0))


def test_conditions_choose_what_may_not_be_copied(corpus):
    text = "to be or not to be"
    lengths = [
        Guard(corpus),
        Guard(corpus, where="licence = 'private'"),
        Guard(corpus, except_="licence = 'public'"),
        Guard(corpus, where="licence = ?", except_="licence = ?", params=["private", "private"]),
    ]
    for guard in lengths:
        guard.append(text)
    assert [guard.best.length for guard in lengths] == [6, 5, 5, 0]


def test_forbidden_tokens_would_make_a_run_too_long(corpus):
    guard = Guard(corpus, longest=4)
    guard.append("to be or")
    assert guard.forbidden().tolist() == []
    guard.append("not")
    assert corpus.tokenizer.decode(guard.forbidden()) == "to"
    guard.append("to")  # all the same: the last four tokens count
    assert set(corpus.tokenizer.decode(guard.forbidden()).split()) == {"be", "ask"}


def test_the_processor_keeps_runs_short(corpus):
    n = corpus.tokenizer.n_vocabulary
    rng = np.random.default_rng(0)
    longest = 3
    processor = GuardLogits(Guard(corpus, longest), prompt=2)
    ids = np.repeat([[0, 1]], 3, axis=0)
    source = [corpus.tokenizer.encode(text).tolist() for text, _ in TEXTS]
    for step in range(9):
        scores = rng.random((3, n)).astype(np.float32)
        for row in range(3):
            scores[row, source[row][step % len(source[row])]] += 10  # the model wants to copy
        changed = processor(ids, scores)
        assert (changed[changed != scores] == -np.inf).all()
        ids = np.concatenate([ids, changed.argmax(axis=1)[:, None]], axis=1)
        if step == 4:
            ids = ids[::-1].copy()  # beams change places
            source = source[::-1]
    for row in ids:
        found = Guard(corpus, longest)
        found.append(row[2:])
        assert found.best.length == longest


@pytest.mark.parametrize("longest", [0, -1, 2.5, True, "5"])
def test_a_length_is_a_positive_number(corpus, longest):
    with pytest.raises(InvalidArgument, match="longest must be"):
        Guard(corpus, longest)


@pytest.mark.parametrize(
    ("conditions", "runs"),
    [
        ({"except_": "licence = 'free'"}, ["unknown", "mine"]),
        ({"except_": "licence = ?", "params": ["free"]}, ["unknown", "mine"]),
        ({"except_": "licence = :a", "where": "year = :b", "params": {"a": "free", "b": 1}}, ["mine"]),
        ({"except_": "licence = ?", "where": "year = ?", "params": [1, "free"]}, ["mine"]),
        ({"except_": "licence = 'none'"}, ["free", "mine", "unknown"]),
    ],
)
def test_documents_without_a_value_are_not_excepted(conditions, runs):
    texts = {"free": "a b c d", "mine": "e f g h", "unknown": "i j k l"}
    fields = {"free": {"licence": "free", "year": 1}, "mine": {"licence": "mine", "year": 1}, "unknown": {}}
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([(text, fields[name]) for name, text in texts.items()])
        found = []
        for name, text in texts.items():
            guard = Guard(corpus, 2, **conditions)
            guard.append(text)
            found += [name] * len(guard.runs)
        assert sorted(found) == sorted(runs)


@pytest.mark.parametrize("prompt", [-1, "2", 1.5, True, None])
def test_a_prompt_has_a_number_of_tokens(corpus, prompt):
    with pytest.raises(InvalidArgument, match="prompt must be"):
        GuardLogits(Guard(corpus, 3), prompt)


def test_only_a_corpus_is_guarded_and_only_tokens_are_read(corpus):
    with pytest.raises(InvalidArgument, match=r"must be an ngramdb\.Corpus, not str"):
        Guard("corpus", 3)
    guard = Guard(corpus, 3)
    for tokens in (-2, [-2], True, 1.5, 2**70, [2**70]):
        with pytest.raises(InvalidArgument):
            guard.append(tokens)
    assert guard.n_tokens == 0


def test_a_copy_grows_by_itself(corpus):
    guard = Guard(corpus, 3)
    made = copy.copy(guard)
    made.append("to be or not")
    assert (guard.n_tokens, made.n_tokens) == (0, 4)
