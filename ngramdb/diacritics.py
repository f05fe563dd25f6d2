"""Marks on letters, which `IGNORE DIACRITICS` leaves out, and characters that join words."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# Characters that are a word each, with the marks after them: Han ideographs and Hiragana.
SINGLE = re.compile(
    "[\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b001-\U0001b11f\U0001b150-\U0001b152\U0001f200\U00020000-\U000323af]"
)

# A word may join the text before and after it across these, so a part of a text does not show its words.
JOINERS = frozenset("\u200c\u200d")


class Spelling(NamedTuple):
    """A word, or with `is_prefix` its beginning: for each character those that may be in its place."""

    choices: tuple[str, ...]
    is_prefix: bool = False


def continues(before: str, character: str) -> bool:
    """Return True if a reader sees two neighbouring characters as one: a letter and its mark, an emoji.

    By the rules of Unicode's UAX #29 for marks, joiners and emoji; `before` is "" at the beginning of a text.
    """
    if not before or character.isascii():
        return False
    category = unicodedata.category(character)
    if category[0] == "M" or character in JOINERS or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    return before == "\u200d" and category == "So"


def whole_start(text: str, start: int) -> int:
    """Return the first place from `start` on at which a text can be cut."""
    while 0 < start < len(text) and continues(text[start - 1], text[start]):
        start += 1
    return start


def whole_stop(text: str, stop: int) -> int:
    """Return the last place up to `stop` at which a text can be cut."""
    while 0 < stop < len(text) and continues(text[stop - 1], text[stop]):
        stop -= 1
    return stop


def unmarked(text: str) -> str:
    """The text without the marks on its letters: `é` and `e` with a combining accent are `e`.

    Character by character: one that is a letter and marks, by Unicode's canonical decomposition, becomes the
    letter; a mark that stands alone goes.
    """
    if text.isascii():
        return text
    return "".join(map(_letter, text))


def changed_letters(characters: str) -> dict[str, str]:
    """Those of some different characters that `unmarked` changes, and what it makes of them.

    Cost: 0.3 µs a character, a tenth of asking for each.
    """
    others = [character for character in characters if not character.isascii()]
    apart = unicodedata.normalize("NFD", "\0".join(others)).split("\0") if others else []
    pairs = zip(others, apart, strict=True)
    composed = [one for one, parts in pairs if parts != one or unicodedata.category(one) == "Mn"]
    return {one: text for one in composed if (text := unmarked(one)) != one}


def _letter(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    kept = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return character if len(kept) == len(parts) else kept
