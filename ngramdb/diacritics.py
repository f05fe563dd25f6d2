"""Marks on letters, which `IGNORE DIACRITICS` ignores, and characters that join words."""

from __future__ import annotations

import unicodedata
from itertools import takewhile
from typing import NamedTuple

from ngramdb.lazy import lazy_pattern

# Characters that are a word each, with the marks after them: Han ideographs and Hiragana.
SINGLE = lazy_pattern(
    "[\u3005\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b001-\U0001b11f\U0001b150-\U0001b152\U0001f200\U00020000-\U000323af]"
)

# Maximum number of characters of one letter or emoji; longer ones are cut.
MOST_JOINED = 64

# A word may extend over these into the adjacent text, so that a part of a text does not show its words.
JOINERS = frozenset("\u200c\u200d")


class Spelling(NamedTuple):
    """A word, or with `is_prefix` its beginning: for each character the possible characters in its place."""

    choices: tuple[str, ...]
    is_prefix: bool = False


def is_within_letter(text: str, place: int) -> bool:
    """Return True if the characters on both sides of a place form one letter, emoji or flag.

    By the rules of Unicode's UAX #29 for marks, joiners, emoji and flags.
    """
    if not 0 < place < len(text) or text[place].isascii():
        return False
    category = unicodedata.category(text[place])
    if category[0] == "M" or text[place] in JOINERS or "\U0001f3fb" <= text[place] <= "\U0001f3ff":
        return True
    before = text[max(0, place - MOST_JOINED) : place]
    if _is_half_flag(text[place]):
        halves = takewhile(_is_half_flag, reversed(before))
        return sum(1 for _ in halves) % 2 == 1
    return before[-1] == "\u200d" and category == "So"


def _is_half_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def first_cut(text: str, start: int) -> int:
    """Return the first place from `start` on that is not within a letter."""
    places = range(start, min(start + MOST_JOINED, len(text)))
    return next((place for place in places if not is_within_letter(text, place)), places.stop)


def last_cut(text: str, stop: int) -> int:
    """Return the last place up to `stop` that is not within a letter."""
    places = range(stop, max(stop - MOST_JOINED, 0), -1)
    return next((place for place in places if not is_within_letter(text, place)), places.stop)


def unmarked(text: str) -> str:
    """Return the text without the marks on its letters: `é` and `e` with a combining accent become `e`.

    Each character that is a letter with marks, by Unicode's canonical decomposition, becomes the
    letter; a separate mark is removed.
    """
    if text.isascii():
        return text
    return "".join(map(_letter, text))


def changed_letters(characters: str) -> dict[str, str]:
    """Return those of the given distinct characters that `unmarked` changes, with the results.

    Cost: 0.3 µs per character, a tenth of separate calls.
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
