"""Repeated windows of text, as ranges to cut and as starts, against brute force over lists of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.polls import cpu_below, is_stopped, n_polls

import ngramdb
from ngramdb.curation import windows
from ngramdb.curation.keeping import counting

EXAMPLES = settings(max_examples=150, deadline=None)
IDS = (0, 1, 2, 255, 256, 65535, 2**32 - 2)
WORDS = ("a", "bb", "ccc", "ddddddd")


@st.composite
def collections(draw, tokens=IDS):
    """Documents, the number of segments, documents that were removed, and those that count (None for all)."""
    alphabet = draw(st.lists(st.sampled_from(tokens), min_size=1, max_size=3, unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(alphabet), max_size=14), min_size=1, max_size=8))
    documents *= draw(st.sampled_from([1, 1, 2, 9]))
    numbers = st.sets(st.integers(0, len(documents) - 1), max_size=len(documents) - 1)
    chosen = draw(st.none() | numbers)
    return documents, draw(st.integers(1, 16)), draw(numbers), chosen


def load(db, name, collection, tokenizer):
    """Load documents in several segments, and remove some; return the corpus at its version."""
    documents, n_segments, removed, _ = collection
    size = -(-len(documents) // n_segments)
    db.settings["auto_compact"] = False
    corpus = db.create_corpus(name, tokenizer=tokenizer)
    for start in range(0, len(documents), size):
        part = documents[start : start + size]
        corpus.append([(ids, {}) if tokenizer == "tokens" else " ".join(ids) for ids in part])
    if removed:
        corpus.delete(f"doc_id IN ({', '.join(map(str, sorted(removed)))})")
    return db.snapshot.view(name)


def alone_of(collection):
    """Return the collection with all documents that are left."""
    return (*collection[:3], None)


def weight(token, unit):
    return 1 if unit == "tokens" else len(token)


def window_at(document, start, length, unit):
    """Return the window as a tuple, None if the document is too short."""
    total = 0
    for stop in range(start, len(document)):
        total += weight(document[stop], unit)
        if total >= length:
            return tuple(document[start : stop + 1])
    return None


def classes(documents, length, unit):
    """Return the places (document, position) of each window, in order."""
    found = {}
    for number, document in documents.items():
        for start in range(len(document)):
            window = window_at(document, start, length, unit)
            if window is not None:
                found.setdefault(window, []).append((number, start))
    return found


def expected_cut(documents, length, unit, k, rank, keeps_one, there):
    """Return the tokens to cut, and the starts of repeated windows: sets of (document, position)."""
    cut, starts = set(), set()
    for window, places in classes(documents, length, unit).items():
        in_other = window in there
        if len(places) < k and not in_other:
            continue
        starts.update(places)
        kept = set()
        best = None
        if keeps_one and len(places) >= k:
            best = min(places, key=lambda place: (rank[place[0]], place[1]))
            kept = {(best[0], best[1] + i) for i in range(len(window))}
        for place in places:
            tokens = {(place[0], place[1] + i) for i in range(len(window))}
            if place != best and len(places) >= k:
                cut |= tokens - kept
            if in_other:
                cut |= tokens
    return cut, starts


def places_of(view, ranges):
    """Return the tokens of ranges: (document id, position)."""
    found = []
    for segment, (starts, stops) in zip(view.segments, ranges, strict=True):
        assert starts.dtype == stops.dtype == np.uint32
        assert (starts < stops).all() and (starts[1:] > stops[:-1]).all()
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            (doc,) = segment.index.documents_at(np.array([start], dtype=np.uint32)).tolist()
            (first,), (last,) = segment.index.document_bounds(np.array([doc], dtype=np.uint32))
            assert stop <= last
            found += [(segment.doc_id(doc), at - int(first)) for at in range(start, stop)]
    assert len(set(found)) == len(found)
    return set(found)


def chosen_documents(view, chosen):
    """Return, per segment, the documents that count."""
    every = counting(view)
    if chosen is None:
        return None
    return [
        np.array([i for i in docs.tolist() if segment.doc_id(i) in chosen], dtype=np.uint32)
        for segment, docs in zip(view.segments, every, strict=True)
    ]


def left_of(collection):
    documents, _, removed, chosen = collection
    return {
        i: document
        for i, document in enumerate(documents)
        if i not in removed and (chosen is None or i in chosen)
    }


def order_of(view, documents, numbers):
    """Return the documents in the order of `numbers`, as segments and local numbers."""
    places = {
        segment.doc_id(i): (owner, i)
        for owner, segment in enumerate(view.segments)
        for i in (counting(view) if documents is None else documents)[owner].tolist()
    }
    ordered = [places[number] for number in numbers]
    owners, locals_ = zip(*ordered, strict=True) if ordered else ((), ())
    return np.array(owners, dtype=np.int64), np.array(locals_, dtype=np.int64)


@EXAMPLES
@given(st.data(), st.sampled_from(["tokens", "bytes"]))
def test_what_is_cut_and_where_windows_begin(data, unit):
    tokenizer, tokens = ("tokens", IDS) if unit == "tokens" else ("words", WORDS)
    collection = data.draw(collections(tokens))
    other = data.draw(st.none() | collections(tokens))
    length, k = data.draw(st.integers(1, 12)), data.draw(st.integers(2, 4))
    keeps_one, threads = data.draw(st.booleans()), data.draw(st.integers(1, 4))
    documents = left_of(collection)
    ordered = data.draw(st.none() | st.permutations(sorted(documents)))
    rank = {number: place for place, number in enumerate(ordered or documents)}
    with ngramdb.connect() as db:
        view = load(db, "c", collection, tokenizer)
        against = None if other is None else load(db, "other", alone_of(other), tokenizer)
        there = {} if other is None else classes(left_of(alone_of(other)), length, unit)
        chosen = chosen_documents(view, collection[3])
        found = windows.duplicate_ranges(
            view,
            length,
            unit,
            min_count=k,
            order=None if ordered is None else order_of(view, chosen, ordered),
            keeps_one=keeps_one,
            against=against,
            documents=chosen,
            threads=threads,
        )
        window = windows.Window(length, unit)
        starts = windows.duplicate_starts(
            view, window, min_count=k, against=against, documents=chosen, threads=threads
        )
        cut, begins = expected_cut(documents, length, unit, k, rank, keeps_one, there)
        assert places_of(view, found) == cut
        assert places_of(view, starts) == begins


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["tokens", "bytes"]))
def test_no_window_crosses_a_break(data, unit):
    pieces = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=3)
    documents = data.draw(st.lists(pieces, min_size=1, max_size=4))
    other = data.draw(pieces)
    length = data.draw(st.integers(1, 6))
    with connected("words") as db:
        db.create_corpus("other", tokenizer="words").append([" ".join(words) for words in other])
        for one in documents:
            append_broken(db, [([" ".join(words) for words in one], {})])
        db.refresh()
        view, against = db.snapshot.view("c"), db.snapshot.view("other")
        cut = places_of(view, windows.duplicate_ranges(view, length, unit, against=against))
        starts = places_of(
            view, windows.duplicate_starts(view, windows.Window(length, unit), against=against)
        )
    places, flat = [], {}
    for number, one in enumerate(documents):
        at = 0
        for k, words in enumerate(one):
            flat[len(flat)] = words
            # A break is a position, too.
            places.append((number, at + k))
            at += len(words)
    there = classes(dict(enumerate(other)), length, unit)
    rank = {piece: piece for piece in flat}
    expected = expected_cut(flat, length, unit, 2, rank, True, there)
    for found, these in zip((cut, starts), expected, strict=True):
        assert found == {(places[piece][0], places[piece][1] + at) for piece, at in these}


@EXAMPLES
@given(collections(), st.integers(1, 6), st.booleans())
def test_no_window_is_left_twice(collection, length, keeps_one):
    with ngramdb.connect() as db:
        view = load(db, "c", alone_of(collection), "tokens")
        cut = places_of(view, windows.duplicate_ranges(view, length, keeps_one=keeps_one))
    pieces = []
    for number, document in left_of(alone_of(collection)).items():
        pieces.append([])
        for at, token in enumerate(document):
            if (number, at) in cut:
                pieces.append([])
            else:
                pieces[-1].append(token)
    left = classes(dict(enumerate(pieces)), length, "tokens")
    assert all(len(places) == 1 for places in left.values())
    before = {tuple(w) for w in classes(left_of(alone_of(collection)), 1, "tokens")}
    if keeps_one:  # every token is still there
        assert {(token,) for piece in pieces for token in piece} == before


@pytest.mark.parametrize("n_segments", [1, 3, 15])
@pytest.mark.parametrize("length", [3, 9, 40, 700])
def test_chunks_of_rows_find_the_same(n_segments, length):
    rng = np.random.default_rng(length)
    documents = [rng.integers(0, 2 if length < 10 else 1 + i % 2, 400).tolist() for i in range(12)]
    documents += [documents[0] + documents[1] + documents[0]] * 3
    collection = (documents, n_segments, set(), None)
    with ngramdb.connect() as db:
        view = load(db, "c", collection, "tokens")
        alone, together = [
            places_of(view, windows.duplicate_ranges(view, length, threads=threads)) for threads in (1, 4)
        ]
    assert alone == together
    numbered = dict(enumerate(documents))
    cut, _ = expected_cut(numbered, length, "tokens", 2, {i: i for i in numbered}, True, {})
    assert alone == cut


def test_windows_of_few_and_of_many_symbols_are_found():
    """Windows are sampled by their first symbols, of which some have fewer than most, or than all have."""
    rng = np.random.default_rng(3)
    heavy = ["w" * 90 + str(i) for i in range(4)]
    texts = [" ".join(rng.choice(list("abcdefghij"), 300)) for _ in range(8)]
    shared = [" ".join(heavy[:3]), texts[0][:160], " ".join(heavy[1:]) + texts[1][:100]]
    texts += [f"{text} {shared[i % 3]} {text[:50]}" for i, text in enumerate(texts)]
    with ngramdb.connect() as db:
        documents = [text.split() for text in texts]
        view = load(db, "c", (documents, 5, set(), None), "words")
        for length in (12, 91, 100, 270, 400):
            cut = places_of(view, windows.duplicate_ranges(view, length, "bytes"))
            numbered = dict(enumerate(documents))
            assert cut == expected_cut(numbered, length, "bytes", 2, {i: i for i in numbered}, True, {})[0]


# ---- cost


@pytest.mark.parametrize("n_segments", [1, 2])
@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([list(range(1000))] * 3000, id="equal-documents"),
        pytest.param([[7] * 1_000_000, [7] * 1_000_000], id="one-token"),
        pytest.param([[*range(60), 99] * 10_000] * 2, id="equal-lines"),
    ],
)
@pytest.mark.parametrize("length", [50, 5000])
def test_repetitions_take_linear_time(documents, n_segments, length):
    with ngramdb.connect() as db:
        view = load(db, "c", (documents, n_segments, set(), None), "tokens")
        with cpu_below(20):
            found = windows.duplicate_ranges(view, length)
    n_tokens = sum(map(len, documents))
    cut = sum(one.n_tokens for one in found)
    if length > 1000 and len(documents[0]) == 1000:
        assert cut == 0
    elif len(documents[0]) == 1000:
        assert cut == n_tokens - 1000
    else:  # of periodic text, the first window or the first period of the first document is left
        period = 1 if len(set(documents[0])) == 1 else 61
        assert cut == n_tokens - max(length, period)


@pytest.mark.parametrize("n_segments", [1, 2])
def test_it_stops_at_every_poll(n_segments):
    documents = [np.random.default_rng(1).integers(0, 1000, 50_000).tolist()] * 4
    with ngramdb.connect() as db:
        view = load(db, "c", (documents, n_segments, set(), None), "tokens")

        def run():
            windows.duplicate_ranges(view, 50)

        run()
        n = n_polls(run)
        assert n > 3
        assert all(is_stopped(run, polls) for polls in range(0, n, max(1, n // 20)))
