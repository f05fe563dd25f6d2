"""MATCH TEXT in texts of all kinds of characters: counts, documents, places, contexts equal a plain search.

Texts hold combining marks, scripts without blanks, and all of Unicode's controls, separators and marks;
strings begin and end inside tokens.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.reference_questions import text_places
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.conditions.stored_text import solid
from ngramdb.tokenizers.words import WordsTokenizer

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

# Letters with unusual case, marks (U+0345 is a mark whose case folding is the letter iota), ideographs,
# Hiragana, Thai, Devanagari, joiners, emoji with what changes them, digits, connector punctuation.
LETTERS = "aAbBkK\u212aßẞsſéÉıİiIιΙ\u1fbeσςΣǅǆ"
MARKS = "\u0301\u0345\u093e\u20dd\ufe0f\u3099"
OTHERS = "字東にをカไทยक\u200c\u200d👍🏽🇫_9٣Ⅷⅷ.,'\u00b7\ue000\u0378"
SPACES = " \n\t\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000\ufeff\u180e\x00"


KINDS = ["words", "chars", "bytes", "pieces", "runs"]


@cache
def of_categories() -> str:
    """All controls, formats, separators and marks."""
    every = map(chr, (code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000))
    return "".join(
        c for c in every if unicodedata.category(c) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me")
    )


CHARACTERS = st.one_of(
    st.sampled_from(LETTERS),
    st.sampled_from(MARKS),
    st.sampled_from(OTHERS),
    st.sampled_from(SPACES),
    st.deferred(lambda: st.sampled_from(of_categories())),
)


@st.composite
def questions(draw):
    """Texts of few characters, and a string: most often a part of one of them, in either case."""
    alphabet = [
        *draw(st.lists(CHARACTERS, min_size=1, max_size=4)),
        *draw(st.sampled_from(["a", "字", "字\u0301a", " b"])),
    ]
    texts = draw(st.lists(st.text(alphabet, max_size=9), min_size=1, max_size=4))
    text = draw(st.sampled_from(texts))
    if not text or not draw(st.integers(0, 5)):
        return texts, draw(st.text(alphabet, min_size=1, max_size=3))
    start = draw(st.integers(0, len(text) - 1))
    string = text[start : draw(st.integers(start + 1, len(text)))]
    return texts, draw(st.sampled_from([string, string, string.swapcase()]))


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    merges = ("a b", "ab a", "Ġ a", "Ġa b", "Ã ©", "å Ń", "åŃ Ĺ", "Ì ģ", "åŃĹ Ì", "K A", "Ċ Ġ")
    pieces = write_tokenizer(folder / "pieces.json", merges)
    # Tokens in which strings overlap themselves, and which end in the middle of such strings.
    runs = write_tokenizer(folder / "runs.json", ("a a", "aa aa", "b a", "ba ba", "Ġ a", "Ġa aa", "Ã ©"))
    return {"words": "words", "chars": "chars", "bytes": "bytes", "pieces": str(pieces), "runs": str(runs)}


def test_white_space_is_what_makes_no_token():
    everything = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    ids, offsets = WordsTokenizer().encode_batch([c.encode() for c in everything])
    assert (np.diff(offsets) > 0).tolist() == solid("".join(everything)).tolist()
    assert len(ids) == sum(not c.isspace() for c in everything)


def token_stops(corpus, kind, number, text):
    """Return the ends of the tokens of a document in its text, in bytes."""
    segment = corpus._bound.current().segments[0]
    stops, place = [], 0
    content = text.encode()
    for token in segment.document(number).tolist():
        if kind == "words":
            spelled = corpus.tokenizer.token_text(token).encode()
            place = content.index(spelled, place)
        elif kind == "chars":
            spelled = chr(token).encode()
        else:
            spelled = corpus.tokenizer.decode_exact([token])
        assert content[place:].startswith(spelled)
        place += len(spelled)
        stops.append(place)
    return stops


@EXAMPLES
@pytest.mark.parametrize("kind", KINDS)
@given(questions())
@example((["字\u0301É"], "\u0301É"))  # alone, the mark would join the letter
@example((["字\u0345", "字\u0399b"], "字ι"))  # the other case of a letter is a mark
@example((["字\u0345b"], "ιb"))
@example((["aaaaa"], "aa"))  # the last place ends in another token than the others
@example((["ß\x1cxa b"], "a"))  # white space, though without the property White_Space
def test_places_and_contexts_are_those_of_a_plain_search(tokenizers, kind, question):
    texts, string = question
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizers[kind])
        corpus.append([(text, {}) for text in texts])
        for modifiers, ignore_case in (("MATCH TEXT", False), ("MATCH TEXT IGNORE CASE", True)):
            lines = []
            for doc_id, text in enumerate(texts):
                stops = token_stops(corpus, kind, doc_id, text)
                for start, stop in text_places(string, text, ignore_case):
                    n_before = len(text[:start].encode())
                    position = sum(end <= n_before for end in stops)
                    position = min(position, max(len(stops) - 1, 0))
                    lines.append((doc_id, position, text[:start], text[start:stop], text[stop:]))
            docs = sorted({line[0] for line in lines})
            assert db.execute(f"COUNT ? {modifiers}", [string]).fetchall() == [(len(lines),)]
            assert [row[0] for row in db.execute(f"DOCS WHERE ? {modifiers}", [string])] == docs
            assert db.execute(f"KWIC ? {modifiers} WINDOW 1000", [string]).fetchall() == lines
            found = db.execute(f"COUNT ? {modifiers} WHERE doc_id >= 1", [string]).fetchall()
            assert found == [(sum(line[0] > 0 for line in lines),)]
        n = corpus.delete("? MATCH TEXT IGNORE CASE", params=[string])
        assert n == len(docs) and corpus.n_documents == len(texts) - n
        assert corpus.count(string, match_text=True, ignore_case=True) == 0


# Texts that repeat themselves, and strings that overlap themselves.
REPEATING = st.tuples(
    st.lists(
        st.lists(st.sampled_from(["a", "aa", "aaaa", "ba", "baba", "é", " "]), max_size=7).map("".join),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(["aa", "aaa", "aaaaa", "aba", "baba", "ababa", "éé", "a a", " aa"]),
)


@EXAMPLES
@pytest.mark.parametrize("kind", KINDS)
@given(REPEATING)
@example((["aaaaa"], "aa"))
def test_strings_that_overlap_themselves_are_shown_each_in_its_place(tokenizers, kind, question):
    texts, string = question
    places = [(i, *place) for i, text in enumerate(texts) for place in text_places(string, text)]
    lines = [(i, texts[i][:start], string, texts[i][stop:]) for i, start, stop in places]
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizers[kind])
        corpus.append([(text, {}) for text in texts])

        def shown(options: str):
            rows = db.execute(f"KWIC ? MATCH TEXT WINDOW 1000 {options}", [string]).fetchall()
            return [(row[0], *row[2:]) for row in rows]

        assert shown("") == lines
        assert shown("WHERE doc_id >= 1") == [line for line in lines if line[0]]
        to_left = [tuple(reversed(line[1].split())) for line in lines]
        to_right = [" ".join(line[3].split()) for line in lines]
        for side, keys in (("left", to_left), ("right", to_right)):
            expected = [lines[k] for k in sorted(range(len(lines)), key=keys.__getitem__)]
            assert shown(f"ORDER BY {side}") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_of_lines_that_begin_in_one_token_a_sample_shows_those_drawn(tokenizers, kind):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizers[kind])
        corpus.append([("aaaaaa", {})])
        every = db.execute('KWIC "aa" MATCH TEXT').fetchall()
        one = {db.execute(f'KWIC "aa" MATCH TEXT SAMPLE 1 SEED {seed}').fetchone() for seed in range(60)}
        assert len(every) == 5 and one == set(every)
        for size in range(1, 6):
            drawn = db.execute(f'KWIC "aa" MATCH TEXT SAMPLE {size} SEED 1').fetchall()
            assert len(drawn) == size and drawn == [row for row in every if row in drawn]
