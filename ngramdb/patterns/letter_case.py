"""Letters' case: which characters IGNORE CASE takes for the same, character by character.

Two characters are the same when they have the same full case folding (Unicode, CaseFolding.txt; Python's
`str.casefold`). Characters are compared one by one: `ß` is `ẞ`, but not `ss`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

# All characters with a case folding lie below this one (Unicode 15.1: the last is U+1E921).
LAST_FOLDED = 0x1F000


@cache
def _classes() -> dict[str, str]:
    """By case folding, the characters that have it, where there are several. Takes some 20 ms, once."""
    found: dict[str, list[str]] = {}
    for code in range(LAST_FOLDED):
        character = chr(code)
        folded = character.casefold()
        if folded != character:
            found.setdefault(folded, [folded] if len(folded) == 1 else []).append(character)
    return {folded: "".join(characters) for folded, characters in found.items()}


def same_letters(character: str) -> str:
    """The characters that are the same but for their case, the given one first."""
    others = _classes().get(character.casefold(), character)
    return character + others.replace(character, "")


def one_case(text: str) -> str:
    """The text with one letter in place of all that are the same: equal where texts are but for case."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    table = _one_of_each()
    below = codes < LAST_FOLDED
    found = np.where(below, table[np.where(below, codes, 0)], codes)
    return found.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _one_of_each() -> NDArray[np.uint32]:
    """For every code point below LAST_FOLDED the least one of the same letters."""
    table = np.arange(LAST_FOLDED, dtype=np.uint32)
    for characters in _classes().values():
        codes = [ord(character) for character in characters]
        table[codes] = min(codes)
    return table
