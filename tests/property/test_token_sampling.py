"""SAMPLE n TOKENS against brute force: segments, removed documents, strata, every statement."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import ExecutionError, InvalidArgument, ParseError, PlanError
from ngramdb.questions.sampling import Sampling, ranks

SOURCES = ["wiki", "web", 3, None]
documents = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(SOURCES)), max_size=12)
weightings = st.dictionaries(st.sampled_from(SOURCES), st.sampled_from([0, 1, 2.5, 7]), min_size=1)


def made(db, name, pieces, gone):
    corpus = db.create_corpus(name, "words")
    for piece in pieces:
        corpus.append(
            [
                {"text": " ".join(["x"] * n), **({} if source is None else {"source": source})}
                for n, source in piece
            ]
        )
    if gone:
        corpus.delete("doc_id IN :gone", params={"gone": sorted(gone)})
    return corpus


def expected(rows, tokens, weights, by, seed):
    """The ids that are drawn; rows are (id, length, source)."""
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    order = [rows[i] for i in np.argsort(ranks(Sampling(1, seed), "", ids))] if rows else []
    if by and weights is None:
        weights = {row[2]: 1 for row in rows if row[2] is not None}
    drawn = []
    for value, weight in (weights if by else {...: 1}).items():
        share = math.ceil(tokens * (weight / sum(weights.values()))) if by else tokens
        has = 0
        for doc_id, length, source in order:
            if value in (..., source) and has < share:
                has += length
                drawn.append(doc_id)
    return sorted(drawn)


def literal(value):
    return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(documents, min_size=1, max_size=3),
    st.sets(st.integers(0, 20)),
    st.integers(1, 60),
    st.booleans(),
    st.none() | weightings.filter(lambda weights: any(weights.values())),
    st.integers(0, 5),
)
@example([[(0, 3), (0, None)], [(0, "wiki"), (3, "wiki")]], set(), 7, True, None, 0)
@example([[(5, "wiki"), (5, "web")]], set(), 1, True, {"wiki": 1}, 0)
@example([[(0, "web")]], set(), 1, True, {"wiki": 1}, 0)
def test_samples_are_those_of_brute_force(pieces, gone, tokens, by, weights, seed):
    rows = [(i, *row) for i, row in enumerate(row for piece in pieces for row in piece) if i not in gone]
    want = expected(rows, tokens, weights, by, seed)
    clause = f"SAMPLE {tokens} TOKENS"
    if by:
        clause += " BY source"
        if weights is not None:
            pairs = ", ".join(f"{literal(value)}: {weight}" for value, weight in weights.items())
            clause += f" WEIGHTS ({pairs})"
    if by and not any(row[2] is not None for piece in pieces for row in [(0, *one) for one in piece]):
        return  # no document has the field
    clause += f" SEED {seed}"
    whole = [[row for piece in pieces for row in piece]]
    for pieces_now in (pieces, whole):
        with ngramdb.connect() as db:
            db.execute("SET auto_compact = FALSE")
            corpus = made(db, "c", pieces_now, gone)
            found = db.execute(f"DOCS {clause} RETURNING doc_id, length").fetchall()
            assert [row[0] for row in found] == want
            drawn = corpus.sample(
                tokens=tokens, by="source" if by else None, weights=weights if by else None, seed=seed
            )
            assert [row["doc_id"] for row in drawn.to_dicts()] == want
            db.execute(f"CREATE CORPUS mix AS (DOCS {clause} FROM c)")
            assert db.corpus("mix").n_tokens == sum(row[1] for row in found)
            keep = partial(
                corpus.keep_sample,
                tokens,
                by="source" if by else None,
                weights=weights if by else None,
                seed=seed,
            )
            if rows and not want:
                with pytest.raises(ExecutionError, match="the sample is empty"):
                    keep()
                continue
            for _ in range(2):  # a sample of a sample is the same
                done = keep()
                assert (done.documents, done.tokens) == (len(want), sum(row[1] for row in found))
                assert [row["doc_id"] for row in corpus.docs().to_dicts()] == want
            removed = {one.doc_id for one in corpus.removed_documents()} - gone
            assert removed == {row[0] for row in rows} - set(want)


def test_the_share_is_met_to_within_a_document_of_each_stratum(tmp_path):
    rng = np.random.default_rng(3)
    pieces = [[(int(n), SOURCES[k % 3]) for k, n in enumerate(rng.integers(1, 40, 20_000))] for _ in range(2)]
    with ngramdb.connect() as db:
        corpus = made(db, "c", pieces, set())
        path = tmp_path / "mix.jsonl"
        db.execute(
            "COPY (DOCS SAMPLE 120000 TOKENS BY source WEIGHTS ('wiki': 2, 'web': 1, 3: 1) SEED 9) TO ?",
            [str(path)],
        )
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for source, share in (("wiki", 60_000), ("web", 30_000), (3, 30_000)):
            has = sum(len(line["text"].split()) for line in lines if line["source"] == source)
            assert share <= has < share + 40
        # More tokens, and more again: what was drawn before stays.
        small, large = (
            {row["doc_id"] for row in db.execute(f"DOCS SAMPLE {n} TOKENS SEED 9").to_dicts()}
            for n in (1000, 5000)
        )
        assert small < large
        dry = corpus.keep_sample(10**9, by="source", weights={"web": 1, "no": 1}, seed=1)
        assert (
            "no document has source 'no'" in dry.note and "documents of other values are left out" in dry.note
        )


def test_numbers_of_tokens_may_have_a_suffix():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([f"a b c d {i}" for i in range(1000)])
        for written, tokens in (("1K", 1000), ("1.5k", 1500), ("0.001M", 1000), ("0.000002B", 2000)):
            want = db.execute(f"DOCS SAMPLE {tokens} TOKENS SEED 3").fetchall()
            assert len(want) == tokens // 5
            assert db.execute(f"DOCS SAMPLE {written} TOKENS SEED 3").fetchall() == want
            assert db.execute("DOCS SAMPLE ? TOKENS SEED 3", [written]).fetchall() == want
            assert corpus.sample(tokens=written, seed=3).fetchall() == want
        assert corpus.keep_sample("1K", seed=3).documents == 200
        for clause, error, message in (
            ("SAMPLE 1G TOKENS", ParseError, "unknown suffix G; a number may end in K"),
            ("SAMPLE 1.0001K TOKENS", PlanError, "whole number of at least 1 token, not 1000.1"),
            ("SAMPLE -1B TOKENS", PlanError, "at least 1 token, not -1000000000"),
            ("SAMPLE 1K", ParseError, "TOKENS"),
            ("LIMIT 1K", ParseError, "'1K' is not a number|1K is not a number"),
        ):
            with pytest.raises(error, match=message):
                db.execute(f"DOCS {clause}")
        for given, message in (("many", "such as 5000 or 1B"), ("1T", "unknown suffix T"), ("0K", "1 token")):
            with pytest.raises(InvalidArgument, match=message):
                corpus.sample(tokens=given)
        for arguments in ({}, {"size": 1, "tokens": 5}, {"size": 1, "by": "url"}):
            with pytest.raises(InvalidArgument, match="tokens"):
                corpus.sample(**arguments)


def test_what_cannot_be_sampled_is_refused():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "a", "url": f"u{i}", "tags": ["x"]} for i in range(1001)])
        with pytest.raises(ExecutionError, match="more than 1,000 values; name those"):
            db.execute("DOCS SAMPLE 5 TOKENS BY url").fetchall()
        for clause, message in (
            ("SAMPLE 0 TOKENS", "at least 1 token"),
            ("SAMPLE 1.5 TOKENS", "whole number"),
            ("SAMPLE 5 TOKENS BY url WEIGHTS ('a': -1)", "at least 0"),
            ("SAMPLE 5 TOKENS BY url WEIGHTS ('a': 0)", "at least one weight"),
            ("SAMPLE 5 TOKENS BY url WEIGHTS ('a': 1, 'a': 2)", "two weights"),
        ):
            with pytest.raises(PlanError, match=message):
                db.execute(f"DOCS {clause}")
        with pytest.raises(InvalidArgument, match="given as by"):
            corpus.keep_sample(5, weights={"a": 1})
        with pytest.raises(InvalidArgument, match="a dictionary"):
            corpus.keep_sample(5, by="url", weights=[1])
        assert corpus.n_documents == 1001
