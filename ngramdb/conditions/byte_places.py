"""Places of a document's tokens in the bytes of its text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.stored_text import TokenPlaces, token_places
from ngramdb.errors import CorruptionError, ExecutionError
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer

Places = NDArray[np.int64]


def byte_places(segment: Segment, tokenizer: Tokenizer, i: int, content: bytes) -> tuple[Places, Places]:
    """Return the first byte of each token of document i in its text, and the byte after its last one.

    Raises ExecutionError if the tokens are not those of the text.
    """
    spelled = tokenizer.token_bytes
    if spelled is not None:
        ends = np.cumsum(sizes_of(segment.document(i), np.diff(spelled[1])))
        if not len(ends) or ends[-1] == len(content):
            return np.concatenate([[0], ends[:-1]]).astype(np.int64), ends.astype(np.int64)
    text = content.decode("utf-8", "surrogateescape")
    found = (
        _characters(segment, i, text)
        if tokenizer.kind == "chars"
        else token_places(segment, tokenizer, i, text)
    )
    if found is None:
        raise other_tokens(segment, i)
    interrupts.check()
    before = bytes_before(text)
    interrupts.check()
    return before[found.starts], before[found.stops]


def other_tokens(segment: Segment, i: int) -> ExecutionError:
    """Return the error for a document whose tokens are not those of its text."""
    return ExecutionError(
        f"{segment.path}: the text of document {segment.doc_id(i)} has other tokens than when it was "
        "loaded or cut, so no part of the text can be found in its tokens: load it again"
    )


def sizes_of(ids: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the bytes of tokens by their ids, of which `sizes` has one for each.

    Raises CorruptionError for an id that no token has.
    """
    if len(ids) and int(ids.max()) >= len(sizes):
        raise CorruptionError(
            f"a document has the token id {int(ids.max())}, beyond the {len(sizes):,} tokens of the "
            "vocabulary; CHECK finds the damaged file"
        )
    return np.asarray(sizes[ids])


def bytes_before(text: str) -> Places:
    """Return the number of bytes before each character of a text, and that of all: (n + 1,) int64.

    A surrogate stands for a byte that belongs to no character.
    """
    if text.isascii():
        return np.arange(len(text) + 1)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xD800) & (codes <= 0xDFFF)] = 1
    return np.concatenate([[0], np.cumsum(sizes)])


def _characters(segment: Segment, i: int, text: str) -> TokenPlaces | None:
    """Return the places of tokens that are characters."""
    places = np.arange(len(text) + 1)
    return TokenPlaces(places[:-1], places[1:]) if segment.document_length(i) == len(text) else None
