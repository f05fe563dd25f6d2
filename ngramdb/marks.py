"""Letters without their marks: what `IGNORE DIACRITICS` compares."""

from __future__ import annotations

import unicodedata


def unmarked(text: str) -> str:
    """The text without the marks on its letters: `é` and `e` with a combining accent are `e`.

    Character by character: one that is a letter and marks, by Unicode's canonical decomposition, becomes the
    letter; a mark that stands alone goes.
    """
    if text.isascii():
        return text
    return "".join(map(_letter, text))


def _letter(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    kept = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return character if len(kept) == len(parts) else kept
