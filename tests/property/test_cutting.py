"""Cutting repeated windows out of documents, against a twin whose documents are the pieces."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.changes import begin

from ngramdb.curation.cutting import cut
from ngramdb.curation.windows import Ranges, duplicate_ranges
from ngramdb.errors import InvalidArgument

TOKENIZERS = ("words", "chars", "bytes")
WORDS = ("a", "b", "b.", "é", "漢字", "👍🏽", "e\u0301")


@st.composite
def collections(draw):
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
    some = draw(st.lists(words, min_size=1, max_size=4))
    documents = draw(
        st.lists(st.lists(st.sampled_from(some), min_size=1, max_size=3), min_size=1, max_size=7)
    )
    gone = draw(st.sets(st.integers(0, len(documents) - 1), max_size=1))
    return documents, draw(st.sampled_from([1, 2, 3])), gone


def windows_of(view, length):
    """Count the windows of all documents that are left."""
    found = Counter()
    for i, segment in enumerate(view.segments):
        for number in view.kept(i).tolist():
            for piece in segment.pieces(number):
                tokens = piece.tolist()
                found.update(tuple(tokens[k : k + length]) for k in range(len(tokens) - length + 1))
    return found


def contents(view):
    """The documents that are left: ids, pieces, text and metadata."""
    return {
        segment.doc_id(k): (
            [piece.tolist() for piece in segment.pieces(k)],
            segment.text(k, view.tokenizer),
            next(segment.metadata.rows([k])),
            [piece.content for piece in segment.text_pieces(k, segment.text(k, view.tokenizer))],
        )
        for i, segment in enumerate(view.segments)
        for k in view.kept(i).tolist()
    }


def cut_duplicates(db, length, **options):
    with begin(db._database.store, "c", "cut", **options) as change:
        return cut(change, duplicate_ranges(change.view, length), statement="CUT")


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@settings(max_examples=12)
@given(collection=collections(), length=st.integers(1, 6), sort_tokens=st.sampled_from([5, 10**6]))
def test_no_window_is_left_twice(tokenizer, collection, length, sort_tokens):
    documents, n_segments, gone = collection
    with connected(tokenizer) as db, connected(tokenizer) as twin:
        for part in np.array_split(np.arange(len(documents)), n_segments):
            if len(part):
                append_broken(
                    db, [([" ".join(piece) for piece in documents[i]], {"n": int(i)}) for i in part]
                )
        for i in gone:
            db.corpus("c").delete(f"n = {i}")
        store = db._database.store
        with begin(store, "c", "look") as change:
            before, view = contents(change.view), change.view
        report = cut_duplicates(db, length, auto_compact=False, sort_tokens=sort_tokens)
        with begin(store, "c", "look") as change:
            view = change.view
            view.check()
            after = contents(view)
        counts = windows_of(view, length)
        assert not counts or max(counts.values()) == 1
        assert len(before) - len(after) == report.removed
        tokens = [sum(map(len, pieces)) for pieces, *_ in before.values()]
        assert sum(tokens) - report.tokens == sum(sum(map(len, p)) for p, *_ in after.values())
        for number, (pieces, text, fields, texts) in after.items():
            text.decode()
            assert fields == before[number][2] and b"".join(texts) == text
            assert len(pieces) == len(texts)
            for piece, content in zip(pieces, texts, strict=True):
                ids, _ = view.tokenizer.encode_batch([content])
                assert ids.tolist() == piece
        assert cut_duplicates(db, length).version == report.version
        append_broken(twin, [([text.decode()], {}) for *_, texts in after.values() for text in texts])
        for ngram in itertools.product(WORDS[:4], repeat=2):
            shown = " ".join(ngram)
            assert db.corpus("c").count(shown) == twin.corpus("c").count(shown)
        db.execute("COMPACT c")
        with begin(store, "c", "look") as change:
            assert contents(change.view) == after
        if report.tokens:
            (*_, record) = db.corpus("c").removals()
            assert (record.n_tokens, record.n_documents) == (report.tokens, report.documents)
            db.execute(f"RESTORE CORPUS c TO VERSION {report.version - 1}")
            with begin(store, "c", "look") as change:
                assert contents(change.view) == before


def test_ranges_lie_within_a_document_that_is_left():
    with connected("words") as db:
        append_broken(db, [(["a b"], {}), (["c d"], {"n": 1})])
        with (
            begin(db._database.store, "c", "cut") as change,
            pytest.raises(InvalidArgument, match="must lie within a document"),
        ):
            cut(change, [Ranges(np.array([1], dtype=np.uint32), np.array([5], dtype=np.uint32))])
        db.corpus("c").delete("n = 1")
        with (
            begin(db._database.store, "c", "cut") as change,
            pytest.raises(InvalidArgument, match="removed before cannot be cut"),
        ):
            cut(change, [Ranges(np.array([3], dtype=np.uint32), np.array([5], dtype=np.uint32))])


@settings(max_examples=30)
@given(
    collection=collections(), ngram=st.sampled_from(["a", "a b", "b a b", "é", "漢字 a"]), n=st.integers(0, 2)
)
def test_spans_are_cut_with_their_context_up_to_a_break(collection, ngram, n):
    documents, n_segments, gone = collection
    with connected("words") as db:
        for part in np.array_split(np.arange(len(documents)), n_segments):
            if len(part):
                append_broken(
                    db, [([" ".join(piece) for piece in documents[i]], {"n": int(i)}) for i in part]
                )
        corpus, split = db.corpus("c"), db.corpus("c").tokenizer.split
        sought = split(ngram)
        for i in gone:
            corpus.delete(f"n = {i}")
        expected, n_cut = {}, 0
        for i, pieces in enumerate(documents):
            left = []
            for words in pieces:
                piece = split(" ".join(words))
                is_cut = [False] * len(piece)
                for k in range(len(piece)):
                    if piece[k : k + len(sought)] == sought:
                        part = slice(max(k - n, 0), k + len(sought) + n)
                        is_cut[part] = [True] * len(is_cut[part])
                left += _runs_left(piece, is_cut)
                n_cut += sum(is_cut) * (i not in gone)
            if i not in gone and left:
                expected[i] = left
        report = corpus.cut_spans(ngram, context=n)
        assert report.tokens == n_cut
        with begin(db._database.store, "c", "look") as change:
            view = change.view
            found = {
                fields["n"]: [view.tokenizer.decode(piece).split() for piece in pieces]
                for pieces, _, fields, _ in contents(view).values()
            }
        assert found == expected
        assert not corpus.cut_spans(ngram, context=n).documents


def _runs_left(piece, is_cut):
    runs = itertools.groupby(zip(piece, is_cut, strict=True), key=lambda pair: pair[1])
    return [[word for word, _ in run] for gone, run in runs if not gone]
