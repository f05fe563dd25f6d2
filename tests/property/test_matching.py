"""MATCH TEXT and IGNORE CASE equal a plain search in the original texts, under every kind of tokenizer."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_questions import text_count, text_places

import ngramdb
from ngramdb.patterns import string_to_ids

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)

# Letters in both cases, the Kelvin sign (which is a k of three bytes), marks, white space, ideographs.
LETTERS = "aAbBkK\u212aéÉ\u0301 \n.,'東に\u200d\u3000"
TEXTS = st.lists(st.text(LETTERS, max_size=14), min_size=1, max_size=6)
STRINGS = st.text(LETTERS, min_size=1, max_size=4)


@pytest.fixture(scope="module")
def byte_level_file(tmp_path_factory):
    """A byte-level BPE whose tokens are made of these letters and of several of them."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    prose = ["aa aaa aAb abab. Ab aB kK kabé É東 に, aa ab abk'a", "aaaa bab aba ab ab a a. aab"]
    library.train_from_iterator(prose * 3, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    path.write_text(library.to_str(), encoding="utf-8")
    return str(path)


def check(kind, texts, string, n_segments, disabled=""):
    size = math.ceil(len(texts) / n_segments)
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        c = db.create_corpus("c", tokenizer=kind)
        for start in range(0, len(texts), size):
            c.append([(text, {}) for text in texts[start : start + size]])
        db.execute("SET disabled_rules = ?", [disabled])
        for modifiers, ignore_case in (("MATCH TEXT", False), ("MATCH TEXT IGNORE CASE", True)):
            expected = [text_count(string, [text], ignore_case) for text in texts]
            places = [i for i, n in enumerate(expected) if n]
            assert db.execute(f"COUNT ? {modifiers}", [string]).fetchall() == [(sum(expected),)]
            docs = db.execute(f"COUNT DOCS WHERE ? {modifiers} GROUP BY doc_id", [string]).fetchall()
            assert [row[0] for row in docs] == places
            rows = db.execute(f"COUNT ? {modifiers} GROUP BY doc_id", [string]).fetchall()
            assert rows == [(i, expected[i]) for i in places]
            negated = f"COUNT DOCS WHERE NOT ? {modifiers} AND doc_id >= 1"
            assert db.execute(negated, [string]).fetchall() == [(len(texts) - 1 - len({*places} - {0}),)]


@EXAMPLES
@given(TEXTS, STRINGS, st.sampled_from([1, 3]))
def test_bytes(texts, string, n_segments):
    check("bytes", texts, string, n_segments)


@EXAMPLES
@given(TEXTS, STRINGS, st.sampled_from([1, 3]))
def test_chars(texts, string, n_segments):
    check("chars", texts, string, n_segments)


@EXAMPLES
@given(TEXTS, STRINGS, st.sampled_from([1, 3]), st.sampled_from(["", "scan_candidates", "single_variant"]))
def test_words(texts, string, n_segments, disabled):
    check("words", texts, string, n_segments, disabled)


@EXAMPLES
@given(TEXTS, STRINGS, st.sampled_from([1, 3]), st.sampled_from(["", "scan_candidates", "single_variant"]))
def test_sub_words(byte_level_file, texts, string, n_segments, disabled):
    check(byte_level_file, texts, string, n_segments, disabled)


@EXAMPLES
@given(
    st.lists(st.text("aAbB ", max_size=12), min_size=1, max_size=5),
    st.lists(st.text("aAbB", min_size=1, max_size=2), min_size=1, max_size=2),
)
def test_words_in_any_case_are_the_words_with_the_same_letters(texts, words):
    folded = [word.casefold() for word in words]
    expected = 0
    for text in texts:
        tokens = [token.casefold() for token in text.split()]
        expected += sum(tokens[i : i + len(folded)] == folded for i in range(len(tokens)))
    with ngramdb.connect() as db:
        db.create_corpus("c").append([(text, {}) for text in texts])
        assert db.execute("COUNT ? IGNORE CASE", [" ".join(words)]).fetchall() == [(expected,)]
        db.execute("SET match = 'text ignore case'")
        assert db.execute("COUNT ?", [" ".join(words)]).fetchall()[0][0] >= expected
        assert db.execute("COUNT ? MATCH TOKENS", [" ".join(words)]).fetchall()[0][0] <= expected


# Texts of few letters, so that ends of a string also occur outside the string.
FEW = st.text("aAb ", min_size=1, max_size=40)


@EXAMPLES
@given(st.lists(FEW, min_size=1, max_size=4), st.data())
@pytest.mark.parametrize("kind", ["bytes", "chars", "words", "sub-words"])
def test_strings_that_are_longer_than_what_is_counted_at_each_step(kind, byte_level_file, texts, data):
    """As a long sequence grows, only its end is counted: here from two tokens on."""
    text = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(text) - 1))
    string = text[start : data.draw(st.integers(start + 1, len(text)))]
    other = data.draw(st.sampled_from([string, string.swapcase(), string[::-1], string[:-1] + "b"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_to_ids, "WINDOW", 2)
        patch.setattr(string_to_ids, "COUNTED_TOKENS", data.draw(st.sampled_from([0, 256])))
        check(byte_level_file if kind == "sub-words" else kind, texts, other, 1)


# ---- alternatives -----------------------------------------------------------------------------------------

MODIFIERS = ["", "MATCH TEXT", "IGNORE CASE", "MATCH TEXT IGNORE CASE"]
ASCII = "aAbBkK .,\n"
ALTERNATIVES = st.lists(
    st.tuples(
        st.integers(0, 10**6), st.integers(0, 3), st.sampled_from(MODIFIERS), st.none() | st.integers(1, 3)
    ),
    min_size=2,
    max_size=4,
)


def token_spans(kind, text):
    """Return the tokens of a text and their spans in characters."""
    if kind in ("bytes", "chars"):  # they are the same for ASCII
        return list(text), [(i, i + 1) for i in range(len(text))]
    if kind == "words":
        found = list(re.finditer(r"\w+|[^\w\s]", text))
        return [match.group() for match in found], [match.span() for match in found]
    from tokenizers import Tokenizer

    encoded = Tokenizer.from_file(kind).encode(text)
    return encoded.ids, encoded.offsets


def stretches(kind, text, string, modifiers):
    """The stretches of a text that an alternative finds."""
    if "TEXT" in modifiers or (modifiers and kind != "words"):
        return set(text_places(string, text, "IGNORE" in modifiers))
    tokens, places = token_spans(kind, text)
    wanted, _ = token_spans(kind, string)
    if modifiers:
        tokens, wanted = ([token.casefold() for token in some] for some in (tokens, wanted))
    n = len(wanted)
    return {
        (places[i][0], places[i + n - 1][1])
        for i in range(len(tokens) - n + 1)
        if tokens[i : i + n] == wanted
    }


@EXAMPLES
@given(
    st.lists(st.text(ASCII, min_size=1, max_size=20), min_size=1, max_size=5),
    ALTERNATIVES,
    st.sampled_from([1, 3]),
    st.sampled_from(["", "flatten, single_variant, fold_constants"]),
)
@pytest.mark.parametrize("kind", ["bytes", "chars", "words", "sub-words"])
def test_alternatives_find_each_stretch_of_text_once(
    kind, byte_level_file, texts, alternatives, n_segments, disabled
):
    """Literals with and without modifiers, some limited to the first documents, joined by OR."""
    kind = byte_level_file if kind == "sub-words" else kind
    expected = [set() for _ in texts]
    written, values = [], []
    whole = "".join(texts)
    for place, more, modifiers, limit in alternatives:
        start = place % len(whole)
        string = whole[start : start + 1 + more]
        if kind == "words" and not string.strip():
            modifiers = "MATCH TEXT"
        for found, text in list(zip(expected, texts, strict=True))[:limit]:
            found |= stretches(kind, text, string, modifiers)
        written.append(f"? {modifiers}" if limit is None else f"(? {modifiers} AND doc_id < {limit})")
        values.append(string)
    counts = [len(found) for found in expected]
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        c = db.create_corpus("c", tokenizer=kind)
        size = math.ceil(len(texts) / n_segments)
        for first in range(0, len(texts), size):
            c.append([(text, {}) for text in texts[first : first + size]])
        db.execute("SET disabled_rules = ?", [disabled])
        question = f"COUNT {' OR '.join(written)}"
        assert db.execute(question, values).fetchall() == [(sum(counts),)]
        assert db.execute(f"{question} SAMPLE 1000", values).fetchall() == [(sum(counts),)]
        assert db.execute(f"{question} GROUP BY doc_id", values).fetchall() == [
            (i, n) for i, n in enumerate(counts) if n
        ]
        lines = [line for (line,) in db.execute(f"EXPLAIN ANALYZE {question}", values).fetchall()]
        figures = re.findall(r"^└─ .*actual ([\d,]+) occurrences", "\n".join(lines), re.MULTILINE)
        assert figures in ([], [f"{sum(counts):,}"])
        if not whole[0].strip():  # a text without tokens has nothing near
            return
        nearby = f"COUNT ? MATCH TEXT AND ({' OR '.join(written)}) WITHIN 1000 TOKENS"
        assert db.execute(nearby, [whole[0], *values]).fetchall() == [
            (sum(text.count(whole[0]) for text, n in zip(texts, counts, strict=True) if n),)
        ]
