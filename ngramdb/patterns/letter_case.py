"""Case folding, character by character, as IGNORE CASE applies it.

Two characters are equal if they have the same full case folding (Unicode, CaseFolding.txt; Python's
`str.casefold`). Characters are compared one by one: `ß` equals `ẞ`, but not `ss`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

# All characters with a case folding are below this one (Unicode 15.1: the last is U+1E921).
LAST_FOLDED = 0x1F000


@cache
def _classes() -> dict[str, str]:
    """Return the characters of each case folding that several share. Cost: about 20 ms, once."""
    found: dict[str, list[str]] = {}
    for code in range(LAST_FOLDED):
        character = chr(code)
        folded = character.casefold()
        if folded != character:
            found.setdefault(folded, [folded] if len(folded) == 1 else []).append(character)
    return {folded: "".join(characters) for folded, characters in found.items()}


def same_letters(character: str) -> str:
    """Return the characters that differ from one in case only, beginning with itself."""
    others = _classes().get(character.casefold(), character)
    return character + others.replace(character, "")


def one_case(text: str) -> str:
    """Replace each letter by one of its case folding; texts that differ in case only become equal."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    table = _one_of_each()
    below = codes < LAST_FOLDED
    found = np.where(below, table[np.where(below, codes, 0)], codes)
    return found.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _one_of_each() -> NDArray[np.uint32]:
    """Return the smallest of the same letters for each code point below LAST_FOLDED."""
    table = np.arange(LAST_FOLDED, dtype=np.uint32)
    for characters in _classes().values():
        codes = [ord(character) for character in characters]
        table[codes] = min(codes)
    return table
