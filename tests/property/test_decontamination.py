"""Decontamination at any threshold, against a comparison of all n-grams one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.api.verbs.contamination import Criterion, FoldedWords
from ngramdb.conditions.overlap_field import LEAST_TOKENS
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.tokenizers.words import WordsTokenizer

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


def test_items_are_short_if_documents_contain_them_in_fewer_tokens(tmp_path):
    """Alone `bb` has two tokens; the document contains it as the one token ` bb`."""
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"text": "bb"}) + "\n" + json.dumps({"text": "cc"}) + "\n")
    with ngramdb.connect() as db:
        tokenizer = write_tokenizer(tmp_path / "tokenizer.json", ("Ġ b", "Ġb b"))
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        corpus.append([{"text": "aa bb aa"}])
        (overlap,) = corpus.decontaminate(path, n=2, threshold=0, dry_run=True).overlaps
    assert (overlap.items, overlap.items_found, overlap.items_short) == (2, 0, 1)


def by_text(document: list[str], items: list[list[str]], n: int) -> bool:
    """Return True if an n-gram of the document is one of an item, or spells the beginning or end of one."""
    return any(
        has(item, window)
        or (len(window) == n and len(item) < 2 * n and at_edge(window, "".join(item).strip()))
        or (len(document) < n and spelled(document, item))
        for window in ngrams_of(document, n)
        for item in items
    )


def at_edge(window: tuple[str, ...], text: str) -> bool:
    spelling = "".join(window)
    begins = bool(window[0].strip()) and text.startswith(spelling.lstrip())
    ends = bool(window[-1].strip()) and text.endswith(spelling.rstrip())
    return begins or ends or (bool(window[0].strip() and window[-1].strip()) and text == spelling.strip())


def spelled(document: list[str], item: list[str]) -> bool:
    """Return True if tokens of the item, up to white space outside, spell the whole document."""
    text = "".join(document).strip()
    pieces = (item[i:j] for i in range(len(item)) for j in range(i + 1, len(item) + 1))
    return any(bool(one[0].strip() and one[-1].strip()) and "".join(one).strip() == text for one in pieces)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    documents=st.lists(st.text("aab  c", min_size=1, max_size=30), min_size=1, max_size=6),
    cuts=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 20), st.integers(1, 12)), min_size=1, max_size=4
    ),
    n=st.integers(1, 7),
    n_loads=st.integers(1, 3),
    removed=st.integers(0, 5),
    keep_space=st.booleans(),
)
def test_items_that_are_cut_out_of_documents_are_found_by_their_text(
    tmp_path_factory, documents, cuts, n, n_loads, removed, keep_space
):
    """Under sub-words, an item's first and last tokens are others than within the document it comes from."""
    folder = tmp_path_factory.mktemp("sets")
    merges = ("Ġ a", "a b", "Ġa b", "a a", "b c", "Ġ Ġ", "ab c")
    path = folder / "set.jsonl"
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=write_tokenizer(folder / "tokenizer.json", merges))
        for start in range(n_loads):
            corpus.append([{"text": text} for text in documents[start::n_loads]])
        order = [text for start in range(n_loads) for text in documents[start::n_loads]]

        def tokens(text: str) -> list[str]:
            tokenizer = db.snapshot.view("c").tokenizer
            return [tokenizer.decode_exact([i]).decode() for i in tokenizer.encode(text).tolist()]

        items = []
        for k, start, length in cuts:
            item = "".join(tokens(documents[k % len(documents)])[start : start + length])
            items.append(item if keep_space else item.strip())
        items = [item for item in items if item.strip()]
        path.write_text("".join(json.dumps({"text": item}) + "\n" for item in items))
        if removed < len(order) - 1:
            corpus.delete("doc_id = ?", params=[removed])
            del order[removed]
        report = corpus.decontaminate(path, n=n, threshold=0, dry_run=True)
        expected = [by_text(tokens(text), [tokens(item) for item in items], n) for text in order]
        assert report.contaminated == sum(expected)
        (overlap,) = report.overlaps
        if all(len(tokens(item)) < 2 * n and any(item in text for text in order) for item in items):
            assert overlap.items_found + overlap.items_short >= len(items)
        if items:
            corpus.decontaminate(path, n=n, threshold=0)
            assert not corpus.decontaminate(path, n=n, threshold=0, dry_run=True).contaminated


# Letters whose lower case depends on their neighbours or has another length, signs, and white space.
letters = st.text("aAΣςİßǅ\u0301'-. \n\u200d\u3000", max_size=12)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    documents=st.lists(letters, min_size=1, max_size=6),
    items=st.lists(letters, max_size=4),
    kind=st.sampled_from(GROWING_TOKENIZERS),
    criterion=st.builds(
        Criterion, st.just(3), st.just(0.0), st.just(False), lower=st.booleans(), fold_space=st.booleans()
    ),
)
def test_folded_tokens_of_documents_are_the_words_of_their_folded_texts(documents, items, kind, criterion):
    words = WordsTokenizer()
    words.encode_batch([criterion.fold(text).encode() for text in items])
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer=kind).append(documents)
        view = db.snapshot.view("c")

        def fold(text: str) -> str:
            return replace(criterion, fold_space=False).fold(view.tokenizer.normalized(text))

        folded = FoldedWords(view, words, fold)
        for segment in view.segments:
            ids, offsets = folded.of_documents(segment, np.arange(segment.n_documents, dtype=np.uint32))
            texts = [documents[segment.doc_id(i)] for i in range(segment.n_documents)]
            wanted = [
                words.encode(criterion.fold(view.tokenizer.normalized(text))).tolist() for text in texts
            ]
            assert ids.tolist() == [token for one in wanted for token in one]
            assert np.diff(offsets).tolist() == list(map(len, wanted))
