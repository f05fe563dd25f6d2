"""Where the tokens of a text begin in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def token_starts(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int]:
    """The character of `text` at which each of its tokens begins: (n,) ascending.

    A token that begins within a character, as all but the first one of its bytes, is at that character. Where
    the tokenizer does not say how a text has these tokens, each is looked for behind the one before it.
    """
    found = _by_bytes(tokenizer, text, ids)
    if found is None and tokenizer.has_places:
        placed = tokenizer.places(text)
        if placed is not None and placed[0].tolist() == list(ids):
            found = placed[1].tolist()
    return _one_after_the_other(tokenizer, text, ids) if found is None else found


def _by_bytes(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int] | None:
    """The same where tokens are bytes, one after the other; None where they are not those of the text."""
    if tokenizer.token_bytes is None:
        return None
    bounds = tokenizer.token_bytes[1]
    known = [one if 0 <= one < len(bounds) - 1 else None for one in ids]
    sizes = [0 if one is None else int(bounds[one + 1] - bounds[one]) for one in known]
    content = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    if sum(sizes) != len(content):
        return None
    # How many characters have begun up to each byte, that one included; behind the last one, all and one.
    begun = np.append(np.cumsum(content & 0xC0 != 0x80), len(text) + 1)
    starts: list[int] = (begun[np.cumsum([0, *sizes])[:-1]] - 1).tolist()
    return starts


def _one_after_the_other(tokenizer: Any, text: str, ids: Sequence[int]) -> list[int]:
    pieces = tokenizer.split(text)
    if len(pieces) != len(ids):
        pieces = [tokenizer.token_text(one) if 0 <= one < tokenizer.n_vocabulary else "" for one in ids]
    starts, at = [], 0
    for piece in pieces:
        place = text.find(piece, at)
        if place < 0:  # with a blank that begins no text
            piece = piece.lstrip()
            place = text.find(piece, at)
        starts.append(max(place, at))
        at = starts[-1] + (len(piece) if place >= 0 else 0)
    return starts
