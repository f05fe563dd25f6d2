"""PERPLEXITY, AGREEMENT, NOVELTY and CONTINUATIONS equal the verbs of one model, and counting by hand.

Corpora have several segments and removed documents, and may be limited by WHERE.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.api import statements
from ngramdb.errors import LoadError, PlanError, ReadingOnly

WORDS = ("a", "b", "c", "d")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=6)
MODELS = [
    "ngram order 2",
    "infgram",
    "infgram order 3",
    "backoff order 2",
    "kneser_ney order 3",
    "witten_bell order 2",
    "pitman_yor order 3",
    "katz order 3",
    "skip_kneser_ney order 3",
]


def corpora(texts, measured):
    """Corpora with these texts: `train` in two segments with a removed document, `test` with a field."""
    db = ngramdb.connect()
    train, test = db.create_corpus("train"), db.create_corpus("test")
    half = len(texts) // 2
    for part in (texts[:half], ["b c d", *texts[half:]]):
        train.append([(text, {"k": len(text) % 2}) for text in part])
    train.delete(f"doc_id = {half}")
    # Words in another order, so that token ids differ.
    test.append([("zebra d c b a", {"k": 9})] + [(text, {"k": len(text) % 2}) for text in measured])
    test.delete("k = 9")
    return train, test


def near(a, b):
    if a is None or b is None:
        return a is None and (b is None or math.isnan(b))
    return a == pytest.approx(b, rel=1e-9, nan_ok=True)


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from([None, "k = 1"]))
def test_a_table_has_the_perplexity_of_each_model(texts, measured, where):
    train, test = corpora(texts, measured)
    found = train.perplexity_table(test, MODELS, where=where)
    part = train if where is None else train.where(where)
    for model, row in zip(MODELS, found.fetchall(), strict=True):
        row = dict(zip(found.columns, row, strict=True))
        one = part.perplexity(measured, model)
        assert (row["documents"], row["tokens"]) == (len(measured), one.n_tokens)
        assert (row["unknown"], row["unanswered"], row["zero"]) == (
            one.n_unknown,
            one.n_unanswered,
            one.n_zero,
        )
        for name in ("perplexity", "perplexity_known", "perplexity_nonzero"):
            assert near(row[name], getattr(one, name)), (model, name)
        if one.n_bytes:
            assert near(row["bits_per_byte"], one.bits_per_byte)
        by_document = train.perplexity_table(test, model, by="documents", where=where).fetchall()
        assert [n + 1 for n in range(len(measured))] == [row[2] for row in by_document]
        for row, value in zip(by_document, one.per_document.tolist(), strict=True):
            assert near(row[found.columns.index("perplexity") + 1], value)


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS)
def test_groups_of_a_table_have_the_perplexity_of_their_documents(texts, measured):
    train, test = corpora(texts, measured)
    found = train.perplexity_table(test, "backoff", "1..2, INF", by="k")
    rows = found.fetchall()
    kinds = sorted({len(text) % 2 for text in measured})
    assert [row[:3] for row in rows] == [("BACKOFF(0.4)", order, k) for order in (1, 2, None) for k in kinds]
    for row in rows:
        model = "backoff" if row[1] is None else f"backoff order {row[1]}"
        one = train.perplexity([text for text in measured if len(text) % 2 == row[2]], model)
        assert near(row[found.columns.index("perplexity")], one.perplexity)


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS, st.integers(0, 3))
def test_a_table_has_the_agreement_of_each_model(texts, measured, skip):
    train, test = corpora(texts, measured)
    for model in ("ngram order 2", "infgram", "infgram order 3", "kneser_ney"):
        one = train.agreement(measured, model, skip=skip)
        total = train.agreement_table(test, model, skip=skip)
        (row,) = total.fetchall()
        row = dict(zip(total.columns, row, strict=True))
        assert (row["tokens"], row["agreeing"]) == (one.total, one.n_agreeing.sum())
        assert (row["sparse_tokens"], row["sparse_agreeing"]) == (
            one.n_sparse.sum(),
            one.n_sparse_agreeing.sum(),
        )
        assert near(row["mean_effective_n"], one.mean_effective_n)
        assert near(row["median_effective_n"], one.median_effective_n)
        by_length = {row[2]: row[3:5] for row in train.agreement_table(test, model, by="length", skip=skip)}
        assert by_length == {
            n + 1: (tokens, agreeing)
            for n, (tokens, agreeing) in enumerate(
                zip(one.n_tokens.tolist(), one.n_agreeing.tolist(), strict=True)
            )
            if tokens
        }


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS)
@example([""], ["a"])
def test_the_most_probable_token_is_that_of_the_distribution(texts, measured):
    train, test = corpora(texts, measured)
    for model in ("infgram", "ngram order 2"):
        hits = 0
        counts = Counter()
        for text in measured:
            words = text.split()
            for i, word in enumerate(words):
                rows = train.dist(" ".join(words[:i]), model).fetchall()
                best = max((row[3] for row in rows if row[0] is not None or i), default=0)
                hits += any(row[0] == word and row[3] == best for row in rows)
                step = train.prob(word, " ".join(words[:i]), model)
                counts[0 if step is None else 1 << int(math.log2(step.context_count))] += 1
        (row,) = train.agreement_table(test, model, with_argmax=True).fetchall()
        assert row[8] == hits
        if model == "infgram":
            by_count = train.agreement_table(test, model, by="count")
            assert {row[2]: row[4] for row in by_count} == counts


def grams(texts, n):
    return {tuple(words[i : i + n]) for words in map(str.split, texts) for i in range(len(words) - n + 1)}


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_novelty_is_the_share_of_ngrams_that_do_not_occur(texts, measured):
    train, test = corpora(texts, measured)
    known = {n: grams(texts, n) for n in range(1, 13)}

    def uniqueness(words, n):
        covered = {
            k
            for i in range(len(words) - n + 1)
            if tuple(words[i : i + n]) in known[n]
            for k in range(i, i + n)
        }
        return len(words) - len(covered)

    n_tokens = sum(len(text.split()) for text in measured)
    found = train.novelty(test, (1, 6))
    for n, total, novel, share, unique, index in found.fetchall():
        every = [
            tuple(words[i : i + n]) for words in map(str.split, measured) for i in range(len(words) - n + 1)
        ]
        assert (total, novel) == (len(every), sum(gram not in known[n] for gram in every))
        assert near(share, novel / total if total else None)
        if n_tokens:
            lengths = {m: sum(uniqueness(text.split(), m) for text in measured) for m in (n, *range(5, 13))}
            assert near(unique, lengths[n] / n_tokens)
            assert near(index, sum(lengths[m] for m in range(5, 13)) / n_tokens)
    assert found.summary["tokens"] == n_tokens
    by_document = train.novelty(test, 2, by="documents").fetchall()
    assert [row[3] for row in by_document] == [
        sum(gram not in known[2] for gram in pairwise(words)) for words in map(str.split, measured)
    ]


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_the_longest_match_ends_with_each_token(texts, measured):
    train, test = corpora(texts, measured)
    rows = iter(train.novelty(test, by="tokens").fetchall())
    for number, words in enumerate(map(str.split, measured), start=1):
        for position, word in enumerate(words):
            ends = [words[start : position + 1] for start in range(position + 1)]
            match = next((gram for gram in ends if train.count(" ".join(gram))), [])
            document, place, token, _, length, count = next(rows)
            assert (document, place, length) == (number, position, len(match))
            assert token == word or (token == "<unk>" and not length)
            assert count == (train.count(" ".join(match)) if match else 0)
    assert next(rows, None) is None


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_spans_of_documents_are_those_of_their_texts(texts, measured):
    train, _ = corpora(texts, measured)
    found = train._bound.run(train._bound.bind_text("TRACE OF test MIN LENGTH 2 FROM train")).fetchall()
    assert found == [
        (number, *row)
        for number, text in enumerate(measured, start=1)
        for row in train.trace(text, 2).fetchall()
    ]


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=2))
def test_continuations_are_different_neighbours(texts, gram):
    train, _ = corpora(texts, ["a"])
    sides: dict[str, Counter] = {"after": Counter(), "before": Counter(), "both": Counter()}
    for text in texts:
        words = ["<s>", *text.split(), "</s>"]
        for i in range(1, len(words) - len(gram)):
            if words[i : i + len(gram)] == gram:
                left, right = words[i - 1], words[i + len(gram)]
                for side, value in (("after", right), ("before", left), ("both", (left, right))):
                    sides[side][value] += 1
    for side, count, different, *classes in train.continuations(" ".join(gram)).fetchall():
        counts = list(sides[side].values())
        assert (count, different) == (sum(counts), len(counts))
        assert classes == [counts.count(1), counts.count(2), sum(n > 2 for n in counts)]


@pytest.fixture
def db():
    db = ngramdb.connect()
    db.create_corpus("train").append(["a b a b a b", "a b c"])
    db.create_corpus("test").append(["a b", "b a c"])
    db.execute("USE train")
    return db


def test_probabilities_of_a_neural_model_are_groups(db, tmp_path):
    path = tmp_path / "neural.npy"
    np.save(path, np.array([0.05, 0.95, 1.0, 0.5, 0.55], dtype=np.float32))
    rows = db.execute(f"AGREEMENT OF test BY '{path}'").fetchall()
    assert [(row[2:6]) for row in rows] == [(0.0, 0.1, 1, 0), (0.5, 0.6, 2, 0), (0.9, 1.0, 2, 1)]
    for values, message in (
        (np.ones(4), "4 probabilities; the texts have more tokens"),
        (np.ones(6), "6 probabilities, and the texts have 5 tokens"),
        (np.full(5, -1.0), "from 0 to 1, not logarithms"),
        (np.ones((5, 1)), "one array of floats"),
        (np.ones(5, dtype=np.int64), "one array of floats"),
    ):
        np.save(path, values)
        with pytest.raises(PlanError, match=message):
            db.execute(f"AGREEMENT OF test BY '{path}'")
    path.write_text("0.5")
    with pytest.raises(PlanError, match="not an array of NumPy"):
        db.execute(f"AGREEMENT OF test BY '{path}'")


def test_files_give_the_numbers_of_their_documents(db, tmp_path):
    lines = tmp_path / "test.txt"
    lines.write_text("a b\n\nb a c\n")
    documents = tmp_path / "test.jsonl"
    documents.write_text('{"text": "a b"}\n{"text": "b a c"}\n')
    for statement in ("PERPLEXITY OF {}", "AGREEMENT OF {} BY COUNT", "NOVELTY OF {} NGRAMS 1..3"):
        expected = db.execute(statement.format("test")).fetchall()
        assert db.execute(statement.format(f"'{documents}'")).fetchall() == expected
        assert db.execute(statement.format("?"), [documents]).fetchall() == expected
        of_lines = statement.format(f"'{lines}' (format = 'lines')")
        assert db.execute(of_lines).fetchall() == expected
    train = db.corpus("train")
    assert train.novelty(documents).fetchall() == train.novelty(db.corpus("test")).fetchall()
    by_line = db.execute(f"PERPLEXITY OF '{lines}' BY LINES").fetchall()
    assert [row[2:4] for row in by_line] == [(0, 0), (0, 1)]
    with pytest.raises(LoadError):
        db.execute(f"PERPLEXITY OF '{tmp_path / 'missing.txt'}'")


def test_a_service_that_only_reads_reads_no_files(db, tmp_path):
    path = tmp_path / "test.txt"
    path.write_text("a b")
    for statement in (
        f"PERPLEXITY OF '{path}'",
        f"EXPLAIN ANALYZE NOVELTY OF '{path}'",
        f"AGREEMENT OF test BY '{path}'",
    ):
        with pytest.raises(ReadingOnly):
            statements.ask(db._database, statement, None, db._database.work(None, None))


def test_texts_are_split_by_the_tokenizer_of_the_corpus(db):
    chars = db.create_corpus("letters", tokenizer="chars")
    chars.append(["a b a b", "a c"])
    found = chars.perplexity_table(db.corpus("test"), "kneser_ney order 2")
    one = chars.perplexity(["a b", "b a c"], "kneser_ney order 2")
    (row,) = found.fetchall()
    assert near(row[found.columns.index("perplexity")], one.perplexity)
    assert near(row[-1], one.bits_per_byte)


@pytest.mark.parametrize("kind", ["katz", "skip_kneser_ney", "kneser_ney"])
def test_verbs_give_kinds_with_a_default_order_other_orders(kind):
    db = ngramdb.connect()
    train, test = db.create_corpus("train"), db.create_corpus("test")
    train.append(["a b c", "a b d"])
    test.append(["a b"])
    for verb, statement in ((train.perplexity_table, "PERPLEXITY"), (train.agreement_table, "AGREEMENT")):
        found = verb(test, kind, "2..3").fetchall()
        asked = db.execute(f"{statement} OF test USING {kind} ORDERS 2..3 FROM train").fetchall()
        assert repr(found) == repr(asked)
        assert [row[1] for row in found] == [2, 3]
        with pytest.raises(PlanError, match="has an order already"):
            verb(test, f"{kind} order 4", "2..3")
