"""Contexts of a concordance: slices of the text under any tokenizer, down to the character."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import ngramdb
from ngramdb.questions import kwic_lines, kwic_text


@contextmanager
def corpus_of(*texts, tokenizer="words"):
    with ngramdb.connect() as db:
        c = db.create_corpus("c", tokenizer=tokenizer)
        c.append(texts)
        yield c


def shown(result):
    return [row[2:] for row in result]


def test_white_space_and_marks_stand_as_they_came():
    with corpus_of('  He said:\n\n"The  end" —\tat last.  ') as c:
        assert shown(c.kwic("The end")) == [('  He said:\n\n"', "The  end", '" —\tat last.  ')]
        assert shown(c.kwic("The end", window=1)) == [('"', "The  end", '"')]
        assert shown(c.kwic("The end", window=0)) == [("", "The  end", "")]
        assert shown(c.kwic("last", window=2)) == [("\tat ", "last", ".  ")] or shown(
            c.kwic("last", window=2)
        ) == [("—\tat ", "last", ".  ")]


def test_characters_of_several_bytes_are_not_cut():
    text = "öäü€😀x€😀öä"
    with corpus_of(text, tokenizer="bytes") as c:
        for window in range(14):
            ((left, match, right),) = shown(c.kwic("x", window=window))
            assert match == "x" and left + match + right in text
            for side, n_bytes in ((left, 13), (right, 11)):
                assert min(window, n_bytes) <= len(side.encode()) < window + 4
    with corpus_of(text, tokenizer="chars") as c:
        assert shown(c.kwic("x", window=2)) == [("€😀", "x", "€😀")]


def test_text_is_matched_within_tokens_and_overlapping():
    with corpus_of("banana bananas", "BAN anana") as c:
        found = shown(c.kwic("ana", match_text=True, window=0))
        assert found == [("", "ana", "")] * 6
        lines = [row[:4] for row in c.kwic("ana", match_text=True)]
        assert lines[:2] == [(0, 0, "b", "ana"), (0, 0, "ban", "ana")]
        assert shown(c.kwic("ban A", match_text=True, ignore_case=True, window=0)) == [("", "BAN a", "")]


def test_documents_of_token_ids_are_shown_by_their_words():
    with corpus_of("one two three") as c:
        c.append([([0, 1, 2, 1], {})])
        assert shown(c.kwic("two")) == [
            ("one ", "two", " three"),
            ("one ", "two", " three two"),
            ("one two three ", "two", ""),
        ]


@pytest.mark.parametrize("order", ["left", "right"])
@pytest.mark.parametrize("descending", [False, True])
def test_matches_within_tokens_are_ordered_by_the_text_beside_them(order, descending):
    with corpus_of("xab", "yab", "zaB c", "Xabd", "wab  C") as c:
        rows = shown(c.kwic("ab", match_text=True, ignore_case=True, order_by=order, descending=descending))
        keys = [row[0].casefold() if order == "left" else " ".join(row[2].casefold().split()) for row in rows]
        assert keys == sorted(keys, reverse=descending) and len(keys) == 5


def test_gapped_patterns_show_all_between_their_parts():
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["one, two three four", "one two two"])
        rows = db.execute('KWIC "one" [0..2] "two" WINDOW 1').fetchall()
        assert rows == [(0, 0, "", "one, two", " three"), (1, 0, "", "one two", " two")]


@pytest.mark.parametrize(("n_documents", "n_tokens"), [(1, 1 << 20), (3, 1 << 20), (4096, 1), (4096, 7)])
def test_lines_are_the_same_however_few_documents_are_kept(monkeypatch, n_documents, n_tokens):
    texts = [f"{word} x,  {other} x" for word in ("b", "a", "c") for other in ("c", "a", "b")]
    with corpus_of(*texts) as c:
        expected = shown(c.kwic("x", order_by="left"))
        assert len(expected) == 18 and {"".join(line) for line in expected} == set(texts)
        monkeypatch.setattr(kwic_text, "MOST_RECENT", n_documents)
        monkeypatch.setattr(kwic_text, "MOST_RECENT_TOKENS", n_tokens)
        assert shown(c.kwic("x", order_by="left")) == expected


@pytest.mark.parametrize("order", ["left", "right"])
def test_sorted_lines_read_each_document_few_times(order, monkeypatch):
    monkeypatch.setattr(kwic_text, "MOST_RECENT", 1)
    read = []
    was = kwic_text.StoredContexts._read
    monkeypatch.setattr(kwic_text.StoredContexts, "_read", lambda self, i: read.append(i) or was(self, i))
    with corpus_of(*(" ".join(f"w{i * k % 97} the" for k in range(300)) for i in range(1, 11))) as c:
        rows = list(c.kwic("the", order_by=order, window=1))
        keys = [row[2 if order == "left" else 4].split() for row in rows]
        assert len(rows) == 3000 and keys == sorted(keys)
        assert len(read) <= 10 * 5  # for each batch: 64, 256, 1,024 and 4,096 lines


def test_lines_in_the_order_of_their_matches_are_shown_only_if_they_are_rows(monkeypatch):
    with corpus_of(*(f"The a{i} the b the" for i in range(100))) as c:
        lines, show = [], kwic_text.StoredContexts.show
        monkeypatch.setattr(
            kwic_text.StoredContexts, "show", lambda self, line: lines.append(line) or show(self, line)
        )
        rows = c.kwic("the", ignore_case=True, order_by="form", limit=3).fetchall()
        assert [row[:2] for row in rows] == [(0, 0), (0, 2), (0, 4)] and len(lines) == 3


def test_pieces_are_cut_anew_and_lose_nothing():
    pieces = [np.arange(i, i + n) for i, n in ((0, 0), (0, 70), (70, 5), (75, 3000), (3075, 1))]
    cut = list(kwic_lines.in_batches(pieces))
    assert [len(some) for some in cut] == [64, 256, 1024, 1732]
    assert np.concatenate(cut).tolist() == list(range(3076))
    assert not list(kwic_lines.in_batches([])) and not list(kwic_lines.in_batches([np.arange(0)]))


LETTERS = ["e\u0301\u0323", "n\u0303", "\u0915\u093f", "👩\u200d🚀", "👍🏽", "❤\ufe0f", "a", "🇩🇪", "🇫🇷", "日"]
LETTERS += ["👩\u200d👩\u200d👧\u200d👦"]


@pytest.mark.parametrize("tokenizer", ["chars", "bytes", "words", "words(lower)"])
def test_contexts_show_every_token_of_the_window_and_whole_letters(tokenizer):
    between = " " if "words" in tokenizer else ""
    with corpus_of(between.join(["x", *LETTERS, "y"]), tokenizer=tokenizer) as c:
        n_tokens = [len(c.tokenizer.encode(letter)) for letter in LETTERS]
        assert sum(n_tokens) + 2 == c.n_tokens > len(LETTERS) + 2
        for window in range(sum(n_tokens) + 1):
            after = np.searchsorted(np.cumsum(n_tokens), window) + 1 if window else 0
            before = np.searchsorted(np.cumsum(n_tokens[::-1]), window) + 1 if window else 0
            ((_, _, right),) = shown(c.kwic("x", window=window))
            ((left, _, _),) = shown(c.kwic("y", window=window))
            assert right.split() == between.join(LETTERS[:after]).split()
            assert left.split() == between.join(LETTERS[len(LETTERS) - before :]).split()


@pytest.mark.parametrize("tokenizer", ["chars", "bytes"])
def test_a_letter_without_end_is_cut(tokenizer):
    with corpus_of("x" + "\u0301" * 10_000 + "y", tokenizer=tokenizer) as c:
        for word in "xy":
            ((left, _, right),) = shown(c.kwic(word, window=1))
            assert 16 <= len(left + right) < 100 and set(left + right) == {"\u0301"}


def test_a_match_is_what_was_sought_even_within_a_letter():
    with corpus_of("ae\u0301b", tokenizer="chars") as c:
        assert shown(c.kwic("e", window=9)) == [("a", "e", "\u0301b")]
        assert shown(c.kwic("\u0301", window=9)) == [("ae", "\u0301", "b")]
        assert shown(c.kwic("\u0301", window=1)) == [("e", "\u0301", "b")]
        assert shown(c.kwic("a", window=1)) == [("", "a", "e\u0301")]
        assert shown(c.kwic("b", window=1)) == [("e\u0301", "b", "")]
