"""The rule that cuts text into words: against a slow implementation of it, and against Python's `re`."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb._cext.text import words as kernel

ROOT = Path(__file__).resolve().parents[3]
SAME_UNICODE = unicodedata.unidata_version == kernel.UNICODE_VERSION
JOINERS = "\u200c\u200d"
HAN = re.compile(
    "CJK (UNIFIED|COMPATIBILITY) IDEOGRAPH|HANGZHOU NUMERAL|(VERTICAL )?IDEOGRAPHIC ITERATION MARK"
)


def is_stable(char: str) -> bool:
    """Return True if this Python's Unicode and the kernel's certainly agree on the character."""
    category = unicodedata.category(char)
    return category != "Cs" and (SAME_UNICODE or unicodedata.ucd_3_2_0.category(char) == category != "Cn")


def is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def is_single(char: str) -> bool:
    name = unicodedata.name(char, "")
    if not unicodedata.category(char).startswith(("L", "N")):
        return False
    return bool(HAN.match(name)) or char == "〇" or name.startswith(("HIRAGANA", "HENTAIGANA"))


def is_in_run(char: str) -> bool:
    category = unicodedata.category(char)
    return not is_single(char) and (category[0] in "LMN" or category == "Pc")


def words_by_the_rule(text: str) -> list[str]:
    found = []
    at = 0
    while at < len(text):
        start = at
        at += 1
        if text[start].isspace():
            continue
        if is_in_run(text[start]):
            while at < len(text):
                between = text[at] in JOINERS and at + 1 < len(text) and is_in_run(text[at + 1])
                if not between and not is_in_run(text[at]):
                    break
                at += 1 + between
        elif is_single(text[start]):
            while at < len(text) and is_mark(text[at]):
                at += 1
        found.append(text[start:at])
    return found


def words_by_kernel(text: bytes) -> list[bytes]:
    vocabulary = kernel.Vocabulary()
    ids, _ = vocabulary.encode_batch([text])
    return [vocabulary.word(int(token_id)) for token_id in ids]


# Every branch of the rule, often: letters of one to four bytes, digits, marks, joiners, Han, kana, blanks.
TELLING = (
    "aZß9_é東々〇一𠀀かゞガーっ½²Ⅷ١אα한𝒳क‿.,'-!—👩🚀 \n\t\x1c\x85\xa0\u3000"
    "\u0301\u3099\u20e3\ufe0f\U000e0100\u094d\u200b\u200c\u200d\u00ad\ufeff"
)
ANY_TEXT = st.text(st.one_of(st.sampled_from(TELLING), st.characters().filter(is_stable)))


@given(ANY_TEXT)
def test_words_follow_the_rule(text: str) -> None:
    assert words_by_kernel(text.encode()) == [word.encode() for word in words_by_the_rule(text)]


def is_plain(char: str) -> bool:
    """Return True if the rule and `re` treat the character alike."""
    connects = unicodedata.category(char) == "Pc" and char != "_"
    return is_stable(char) and not (is_mark(char) or is_single(char) or connects or char in JOINERS)


PLAIN_TEXT = st.text(
    st.one_of(st.sampled_from("aZß9_é.,'-!— \n\t½١אα한ガ👩"), st.characters().filter(is_plain))
)


@given(PLAIN_TEXT)
def test_words_of_plain_text_are_those_of_re(text: str) -> None:
    assert [word.decode() for word in words_by_kernel(text.encode())] == re.findall(r"\w+|[^\w\s]", text)


def test_every_assigned_character_is_in_the_class_that_the_rule_says() -> None:
    codes = [
        code for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn" and is_stable(chr(code))
    ]
    assert len(codes) > 60_000
    texts = [f"a{chr(code)}b" for code in codes]
    _, offsets = kernel.Vocabulary().encode_batch([text.encode() for text in texts])
    found = np.diff(offsets)
    expected = np.array([len(words_by_the_rule(text)) for text in texts])
    assert [hex(code) for code in np.array(codes)[found != expected]] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t\u3000 ", []),
        ("don't stop_now -- 3.14", ["don", "'", "t", "stop_now", "-", "-", "3", ".", "14"]),
        ("cafe\u0301s", ["cafe\u0301s"]),
        ("東京タワーへ行く", ["東", "京", "タワー", "へ", "行", "く"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
        ("か\u3099く", ["か\u3099", "く"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("a\u200d b", ["a", "\u200d", "b"]),
        ("a\u200d\u200db", ["a", "\u200d", "\u200d", "b"]),
        ("a\u200d東", ["a", "\u200d", "東"]),
        ("\u0301a", ["\u0301a"]),
        ("한국어 कक्षा", ["한국어", "कक्षा"]),
    ],
)
def test_worked_examples(text: str, words: list[str]) -> None:
    assert [word.decode() for word in words_by_kernel(text.encode())] == words


@given(st.binary())
def test_bytes_that_are_no_utf8_are_cut_into_words_all_the_same(text: bytes) -> None:
    blanks = [char.encode() for char in map(chr, range(0x3001)) if char.isspace()]
    found = words_by_kernel(text)
    assert all(found)
    rest = text
    for word in found:  # the words are the text's bytes in order, with nothing but white space between them
        at = rest.index(word)
        assert re.fullmatch(b"(?:" + b"|".join(map(re.escape, blanks)) + b")*", rest[:at])
        rest = rest[at + len(word) :]


@pytest.mark.parametrize("tail", [b"\xc3", b"\xe6\x9d", b"\xf0\xa0\x80", b"\xe6", b"\xf0", b"\xff", b"\x80"])
@pytest.mark.parametrize("head", [b"", b"abc", "東".encode(), b"a\xe2\x80\x8d", b"?"])
def test_a_text_may_end_in_the_middle_of_a_character(head: bytes, tail: bytes) -> None:
    assert b"".join(words_by_kernel(head + tail)) == head + tail


def test_the_committed_tables_are_what_the_generator_writes() -> None:
    if not SAME_UNICODE:
        pytest.skip(
            f"made from Unicode {kernel.UNICODE_VERSION}; this Python has {unicodedata.unidata_version}"
        )
    spec = importlib.util.spec_from_file_location(
        "make_unicode_tables", ROOT / "tools" / "make_unicode_tables.py"
    )
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.TARGET.read_text(encoding="ascii") == generator.header()
