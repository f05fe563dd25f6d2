"""Letters' case: which characters IGNORE CASE takes for the same, character by character.

Two characters are the same when they have the same full case folding (Unicode, CaseFolding.txt; Python's
`str.casefold`). Characters are compared one by one: `ß` is `ẞ`, but not `ss`.
"""

from __future__ import annotations

import re
from functools import cache

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


def any_case(text: str) -> str:
    """A regular expression that matches the text in any case."""
    pieces = []
    for character in text:
        same = same_letters(character)
        pieces.append(re.escape(character) if len(same) == 1 else f"[{re.escape(same)}]")
    return "".join(pieces)
