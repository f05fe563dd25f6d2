"""What decontamination finds, at any threshold, against n-grams that are compared one by one."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.executor.questions.overlap import LEAST_TOKENS

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

words = st.lists(st.sampled_from(["a", "b", "C", "d"]), max_size=12)
texts = st.lists(words, min_size=1, max_size=8)


def ngrams_of(tokens: list[str], n: int) -> list[tuple[str, ...]]:
    """The n-grams of a document: its windows, or the whole of one that is shorter, but not too short."""
    if min(LEAST_TOKENS, n) <= len(tokens) < n:
        return [tuple(tokens)]
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def has(tokens: list[str], ngram: tuple[str, ...]) -> bool:
    return any(tuple(tokens[i : i + len(ngram)]) == ngram for i in range(len(tokens)))


@EXAMPLES
@given(
    documents=texts,
    items=texts,
    n=st.integers(1, 7),
    threshold=st.sampled_from([0.0, 0.0, 0.3, 0.5, 1.0]),
    strict=st.booleans(),
    lower=st.booleans(),
    n_loads=st.integers(1, 3),
)
def test_decontamination_finds_what_comparing_finds(
    tmp_path_factory, documents, items, n, threshold, strict, lower, n_loads
):
    path = tmp_path_factory.mktemp("sets") / "set.jsonl"
    path.write_text("".join(json.dumps({"text": " ".join(item)}) + "\n" for item in items))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        for start in range(n_loads):
            corpus.append([" ".join(one) for one in documents[start::n_loads]])
        found = corpus.decontaminate(path, n=n, threshold=threshold, strict=strict, lower=lower, dry_run=True)
    if lower:
        documents, items = ([[word.lower() for word in one] for one in each] for each in (documents, items))
    shared = [[any(has(item, ngram) for item in items) for ngram in ngrams_of(one, n)] for one in documents]
    shares = [sum(marks) / len(marks) if marks else 0.0 for marks in shared]
    contaminated = [
        share for share in shares if share > 0 and (share > threshold if strict else share >= threshold)
    ]
    used = {
        ngram
        for one, marks in zip(documents, shared, strict=True)
        for ngram, mark in zip(ngrams_of(one, n), marks, strict=True)
        if mark
    }
    assert found.contaminated == len(contaminated)
    assert [row[2:4] for row in found.table] == [(len(documents), len(contaminated))]
    (overlap,) = found.overlaps
    assert overlap.documents == sum(share > 0 for share in shares)
    assert overlap.largest_share == max(shares)
    assert overlap.items == len(items)
    assert overlap.items_short == sum(len(item) < n for item in items)
    assert overlap.items_found == sum(any(has(item, ngram) for ngram in used) for item in items)
