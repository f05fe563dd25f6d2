"""DUPLICATES against brute force: segments, removed and broken documents, all clauses."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.polls import cpu_below, is_stopped, n_polls

import ngramdb
from ngramdb.curation import spans
from ngramdb.curation.windows import Window
from ngramdb.errors import BindError, InvalidArgument, PlanError

WORDS = ("a", "bb", "ccc", "ddddddd")


@st.composite
def collections(draw, most=8):
    """Documents as pieces of words, the number of segments, documents that were removed, and that count."""
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9)
    some = draw(st.lists(words, min_size=1, max_size=3))
    pieces = st.lists(st.sampled_from(some) | words, min_size=1, max_size=3)
    joined = st.lists(st.sampled_from(some) | words, max_size=3).map(lambda parts: [list(chain(*parts))])
    documents = draw(st.lists(pieces | joined, min_size=1, max_size=most))
    numbers = st.sets(st.integers(0, len(documents) - 1), max_size=len(documents) - 1)
    return documents, draw(st.integers(1, 16)), draw(numbers), draw(st.none() | numbers)


def load(db, name, collection):
    """Append the documents in segments, and remove some."""
    documents, n_segments, removed, _ = collection
    for part in np.array_split(np.arange(len(documents)), n_segments):
        if len(part):
            rows = [
                ([" ".join(piece) for piece in documents[i] if piece] or [""], {"n": int(i)}) for i in part
            ]
            append_broken(db, rows, name)
    for i in removed:
        db.corpus(name).delete(f"n = {i}")


def left(collection, chosen=None):
    """The pieces of the documents that count: document, tokens before the piece, and its words."""
    found = []
    for number, pieces in enumerate(collection[0]):
        if number in collection[2] or (chosen is not None and number not in chosen):
            continue
        before = 0
        for piece in pieces:
            found.append((number, before, tuple(piece)))
            before += len(piece)
    return found


def occurrences(pieces):
    """All n-grams of pieces with their places."""
    found = {}
    for number, before, words in pieces:
        for start in range(len(words)):
            for stop in range(start + 1, len(words) + 1):
                found.setdefault(words[start:stop], []).append((number, before + start))
    return found


def expected(collection, window, k, there, chosen):
    """Per text count, count there, documents, first place; tokens; per document the longest; windows."""
    pieces = left(collection, chosen)
    every = occurrences(pieces)

    def size(words):
        return len(words) if window.unit == "tokens" else sum(map(len, words))

    def is_duplicate(words):
        return len(every.get(words, ())) >= k or words in there

    found, tokens, longest, n_windows = {}, set(), {}, 0
    for number, before, words in pieces:
        best = 0
        for start in range(len(words)):
            stops = [
                stop
                for stop in range(start + 1, len(words) + 1)
                if size(words[start:stop]) >= window.length and is_duplicate(words[start:stop])
            ]
            if not stops:
                continue
            n_windows += 1
            tokens.update((number, before + at) for at in range(start, stops[-1]))
            if stops[-1] > best:
                text = words[start : stops[-1]]
                places = every[text]
                docs = {doc for doc, _ in places}
                found[text] = (len(places), len(there.get(text, ())), len(docs), min(places))
                longest[number] = max(longest.get(number, 0), len(text))
            best = max(best, stops[-1])
    return found, tokens, longest, n_windows


@settings(max_examples=75, deadline=None)
@example(([[["a"], ["a"]], [[]]], 1, set(), None), ([[["a"]]], 1, set(), None), 1, "tokens", 2, 1)
@given(
    collections(),
    st.none() | collections(4),
    st.integers(1, 6),
    st.sampled_from(["tokens", "bytes"]),
    st.integers(2, 4),
    st.integers(1, 4),
)
def test_spans_are_those_of_brute_force(collection, other, length, unit, k, threads):
    window = Window(length, unit)
    with connected("words") as db:
        load(db, "c", collection)
        against = None
        if other is not None:
            # Its words have other ids.
            db.create_corpus("other", tokenizer="words")
            append_broken(db, [(["ddddddd ccc"], {"n": -1})], "other")
            db.corpus("other").delete("n = -1")
            load(db, "other", other)
            db.refresh()
            against = db.snapshot.view("other")
        db.refresh()
        view = db.snapshot.view("c")
        documents = None
        if collection[3] is not None:
            documents = [
                np.array(
                    [n for n in view.kept(i).tolist() if segment.doc_id(n) in collection[3]], dtype=np.uint32
                )
                for i, segment in enumerate(view.segments)
            ]
        there = {} if other is None else occurrences(left(other))
        texts, tokens, longest, n_windows = expected(collection, window, k, there, collection[3])
        found = spans.duplicate_spans(
            view, window, min_count=k, against=against, documents=documents, threads=threads
        )
        counting = spans.Counting(view, k, against, documents)
        rows = {}
        columns = zip(found.spans.counts.tolist(), found.spans.there.tolist(), strict=True)
        parts = [
            flat[start:stop]
            for flat, offsets in counting.texts(found.spans.places)
            for start, stop in pairwise(offsets)
        ]
        for ids, (count, count_there) in zip(parts, columns, strict=True):
            text = tuple(view.tokenizer.decode(ids).split())
            assert text not in rows
            n_docs, (segment, position) = counting.occurrences(ids)
            doc, before = view.segments[segment].index.places_at(np.array([position], dtype=np.uint32))
            place = (view.segments[segment].doc_id(int(doc[0])), int(before[0]))
            rows[text] = (count, count_there, n_docs, place)
        assert rows == texts
        assert sum(of.n_tokens for of in found.texts) == len(tokens)
        assert found.n_windows == n_windows
        by_document = {}
        where, lengths = found.stretches
        for i, position, n in zip(
            where.segments.tolist(), where.positions.tolist(), lengths.tolist(), strict=True
        ):
            (doc,) = view.segments[i].index.documents_at(np.array([position], dtype=np.uint32)).tolist()
            doc_id = view.segments[i].doc_id(doc)
            by_document[doc_id] = max(by_document.get(doc_id, 0), n)
        assert by_document == longest


# ---- cost


@pytest.mark.parametrize("n_segments", [1, 2])
@pytest.mark.parametrize(
    ("documents", "found"),
    [
        pytest.param([list(range(100))] * 10_000, [(100, 10_000)], id="equal-documents"),
        pytest.param([[7] * 1_000_000, [7] * 300_000], [(300_000, 700_002), (999_999, 2)], id="one-token"),
        pytest.param([[*range(60), 99] * 5000] * 2, [(305_000, 2)], id="equal-lines"),
    ],
)
def test_repetitions_take_linear_time(documents, found, n_segments):
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c", tokenizer="tokens")
        for part in np.array_split(np.arange(len(documents)), n_segments):
            corpus.append([(documents[i], {}) for i in part])
        with cpu_below(40):
            rows = corpus.duplicates(order_by="length").fetchall()
        assert [(row[1], row[3]) for row in rows] == found
        with cpu_below(40):
            rows = corpus.duplicates("doc_id >= 1", min_count=3, order_by="length").fetchall()
        assert [row[3] for row in rows] == [len(documents) - 1 if len(documents) > 2 else 3] * len(rows)


def test_it_stops_at_every_poll():
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 5, 300).tolist() for _ in range(6)]
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([(document, {}) for document in documents])

        def run():
            corpus.duplicates("doc_id < 5", length=4).fetchall()

        run()
        n = n_polls(run)
        assert n > 10
        assert all(is_stopped(run, polls) for polls in range(0, n, max(1, n // 10)))


def test_what_the_verb_refuses():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "words")
        corpus.append(["a b", "a b"])
        for refused, message in (
            ({"unit": "words"}, "unit must be one of tokens, bytes"),
            ({"descending": True}, "the order of order_by, which is missing"),
            ({"length": 0}, "length must be a whole number of at least 1"),
            ({"min_count": 1}, "min_count must be a whole number of at least 2"),
            ({"against": 3}, "must be a corpus or the name of one"),
        ):
            with pytest.raises(InvalidArgument, match=message):
                corpus.duplicates(**refused)
        with pytest.raises(PlanError, match="equals itself"):
            corpus.duplicates(against=corpus)
        with pytest.raises(BindError, match="no column 'documents'"):
            corpus.duplicates(order_by="documents")
