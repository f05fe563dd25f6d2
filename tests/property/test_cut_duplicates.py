"""CUT DUPLICATES with all clauses: no window is left twice, and what is left is a corpus like any other."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.changes import begin
from support.cut_texts import SENTENCES, TOKENIZERS

import ngramdb
from ngramdb.curation.cut_rules import TextCuts, bridged, on_borders
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.questions import cuts


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    make = TOKENIZERS[request.param]
    return request.param if make is None else make(pytest.importorskip("tokenizers"))


@pytest.fixture(scope="module")
def several_threads():
    """Use the threads of the setting, however few tokens there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts, "PARALLEL", 0)
        yield


@st.composite
def pieces(draw):
    """A part of some of the sentences, which may begin within a word."""
    text = " ".join(draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3)))
    return text[draw(st.integers(0, 5)) : len(text) - draw(st.integers(0, 5))].strip() or "a"


documents = st.lists(st.lists(pieces(), min_size=1, max_size=2), min_size=1, max_size=4)


def load(db, name, segments, gone):
    for segment in segments:
        append_broken(db, [(document, {}) for document in segment], name)
    corpus = db.corpus(name)
    if gone is not None:
        corpus.delete(f"doc_id = {gone}")
    return corpus


def windows(db, name, length, unit="tokens"):
    """Count the windows of the documents that are left; tokens are given as bytes or texts."""
    with begin(db._database.store, name, "look") as change:
        view = change.view
        view.check()
        found = Counter()
        for i, segment in enumerate(view.segments):
            for number in view.kept(i).tolist():
                for piece in segment.pieces(number):
                    texts = [view.tokenizer.decode([token]) for token in piece.tolist()]
                    sizes = np.cumsum([0] + [len(text.encode()) for text in texts])
                    for k in range(len(texts)):
                        stop = k + length
                        if unit == "bytes":
                            stop = int(np.searchsorted(sizes, sizes[k] + length))
                        if stop <= len(texts):
                            found[tuple(piece[k:stop].tolist()), tuple(texts[k:stop])] += 1
        return found


def check_texts(db, name):
    """Check that the text of each piece is valid, and has the piece's tokens."""
    with begin(db._database.store, name, "look") as change:
        view = change.view
        for i, segment in enumerate(view.segments):
            for number in view.kept(i).tolist():
                content = segment.text(number, view.tokenizer)
                content.decode()
                texts = [piece.content for piece in segment.text_pieces(number, content)]
                assert b"".join(texts) == content
                ids, offsets = view.tokenizer.encode_batch(texts)
                expected = [ids[a:b].tolist() for a, b in pairwise(offsets)]
                assert [piece.tolist() for piece in segment.pieces(number)] == expected


@settings(max_examples=10, deadline=None)
@given(
    segments=st.lists(documents, min_size=1, max_size=3) | st.lists(documents, min_size=9, max_size=16),
    gone=st.none() | st.just(0),
    other=st.none() | documents,
    length=st.integers(1, 9),
    keep=st.sampled_from(["first", "none"]),
    threads=st.integers(1, 4),
)
def test_no_window_is_left_twice(tokenizer, several_threads, segments, gone, other, length, keep, threads):
    with connected(tokenizer) as db:
        db.settings["threads"] = threads
        corpus = load(db, "c", segments, gone)
        if other is not None:
            db.create_corpus("other", tokenizer)
            load(db, "other", [other, [["never compared"]]], len(other))
        options = {"length": length, "keep": keep, "against": None if other is None else "other"}
        report = corpus.cut_duplicates(**options)
        left = windows(db, "c", length)
        assert max(left.values(), default=1) == 1
        if other is not None:
            there = {texts for _, texts in windows(db, "other", length)}
            assert not any(texts in there for _, texts in left)
        check_texts(db, "c")
        assert corpus.cut_duplicates(**options).version == report.version


@settings(max_examples=10, deadline=None)
@given(segments=st.lists(documents, min_size=1, max_size=2), length=st.integers(1, 20))
def test_windows_of_bytes(segments, length):
    with connected("words") as db:
        corpus = load(db, "c", segments, None)
        report = corpus.cut_duplicates(length=length, unit="bytes")
        assert max(windows(db, "c", length, "bytes").values(), default=1) == 1
        check_texts(db, "c")
        assert corpus.cut_duplicates(length=length, unit="bytes").version == report.version


ranges = st.lists(st.integers(1, 4), max_size=12).map(np.cumsum).map(lambda ends: ends[: len(ends) // 2 * 2])


@given(ranges, st.sampled_from([0.25, 0.5, 0.6, 0.75, 0.9, 0.95, 1.0]))
def test_stretches_of_which_enough_is_cut(ends, share):
    starts, stops = ends[::2].astype(np.int64), ends[1::2].astype(np.int64)
    expected = set()
    for i in range(len(starts)):
        for j in range(i, len(starts)):
            if (stops[i : j + 1] - starts[i : j + 1]).sum() >= share * (stops[j] - starts[i]) - 1e-9:
                expected.update(range(starts[i], stops[j]))
    found = [k for a, b in zip(*bridged(starts, stops, share), strict=True) for k in range(a, b)]
    assert found == sorted(expected)


def naive_border(text, k, on, closes):
    if k in (0, len(text)):
        return True
    if on == "lines":
        return text[k - 1] == "\n" or (closes and text[k] == "\n")
    return text[k - 1].isspace() or text[k].isspace()


def naive_words(text, a, b):
    """The longest cut within [a, b) that has a word, and leaves white space beside it."""
    found = (0, 0)
    for i in range(a, b):
        for k in range(i + 1, b + 1):
            is_apart = i == 0 or text[i - 1].isspace() or k == len(text) or text[k].isspace()
            borders = naive_border(text, i, "words", False) and naive_border(text, k, "words", True)
            if is_apart and borders and text[i:k].strip() and k - i > found[1] - found[0]:
                found = i, k
    return found


@given(st.text("ab é\n漢", max_size=12), ranges, st.sampled_from(["words", "lines"]))
def test_cuts_shrink_to_whole_words_and_lines(text, ends, on):
    ends = ends[ends <= len(text)]
    ends = ends[: len(ends) // 2 * 2]
    starts, stops = ends[::2].astype(np.int64), ends[1::2].astype(np.int64)
    expected = []
    for a, b in zip(starts.tolist(), stops.tolist(), strict=True):
        a = next((k for k in range(a, len(text) + 1) if naive_border(text, k, on, False)), None)
        b = next(k for k in range(b, -1, -1) if naive_border(text, k, on, True))
        if a is not None and a < b and on == "words":
            a, b = naive_words(text, a, b)
        if a is not None and a < b:
            expected.append((a, b))
    sizes = [len(character.encode()) for character in text]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    found = on_borders(starts, stops, TextCuts(text.encode(), offsets[:-1], offsets[1:]), on)
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected


def test_whole_lines_are_cut_with_their_ends():
    with connected("words") as db:
        corpus = db.corpus("c")
        corpus.append(["one\nCookies help us.\ntwo", "Cookies help us. No\nthree\n  Cookies help us."])
        assert corpus.cut_duplicates(length=4, on="lines").documents == 1
        texts = [row["text"] for row in corpus.docs().to_dicts()]
        assert texts == ["one\nCookies help us.\ntwo", "Cookies help us. No\nthree\n  "]
        assert not corpus.cut_duplicates(length=4, on="lines").documents
        assert corpus.cut_spans("Cookies", on="words").documents == 2


def test_documents_with_little_left_or_in_many_pieces_are_removed():
    with connected("words") as db:
        corpus = db.corpus("c")
        corpus.append(["a b a b a", "a b b b", "b"])
        done = corpus.cut_spans("a", max_pieces=1)
        assert (done.documents, done.removed, done.tokens) == (2, 1, 6)
        corpus.append(["c c c d", "c d d d"])
        done = corpus.cut_spans("c", min_rest=0.5, gap_share=1)
        assert (done.documents, done.removed, done.pieces) == (2, 1, 1)
        assert [row["text"] for row in corpus.docs().to_dicts()] == [" b b b", "b", " d d d"]


def test_what_cannot_be_cut_is_refused():
    with connected("tokens") as db:
        corpus = db.corpus("c")
        append_broken(db, [([[1, 2, 3, 1, 2]], {})])
        with pytest.raises(PlanError, match="no length in BYTES"):
            corpus.cut_duplicates(length=2, unit="bytes")
        with pytest.raises(InvalidArgument, match="has token ids without a text, so it has no lines"):
            corpus.cut_duplicates(length=2, on="lines")
        with pytest.raises(PlanError, match="occurs in itself"):
            corpus.cut_duplicates(against="c")
        db.create_corpus("letters", "chars")
        with pytest.raises(PlanError, match="another tokenizer"):
            corpus.cut_duplicates(against="letters")
        for wrong in ({"on": "pages"}, {"unit": "lines"}, {"keep": "last"}, {"gap_share": "all"}):
            with pytest.raises(InvalidArgument, match=next(iter(wrong))):
                corpus.cut_duplicates(**wrong)
        assert corpus.cut_duplicates(length=2).tokens == 2


@pytest.mark.parametrize("tokenizer", ["chars", "bytes", "words"])
def test_words_beside_a_cut_stay_apart(tokenizer):
    with connected(tokenizer) as db:
        corpus = db.corpus("c")
        corpus.append(["Another sentence here! One sentence here.", "a b", "no  such\nthing"])
        corpus.cut_spans(ngramdb.pattern(r"TEXT ~ /\s+(sentence|such)\s+|a b|\b \b/"), on="words")
        texts = [row["text"].split() for row in corpus.docs().to_dicts()]
        assert texts == [["Another", "here!", "One", "here."], ["no", "thing"]]
