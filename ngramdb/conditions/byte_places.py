"""Places of a document's tokens in the bytes of its text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.stored_text import TokenPlaces, token_places
from ngramdb.errors import ExecutionError
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer, to_utf8

Places = NDArray[np.int64]


def byte_places(segment: Segment, tokenizer: Tokenizer, i: int, content: bytes) -> tuple[Places, Places]:
    """Return the first byte of each token of document i in its text, and the byte after its last one.

    Raises ExecutionError if the tokens are not those of the text.
    """
    spelled = tokenizer.token_bytes
    if spelled is not None:
        ends = np.cumsum(np.diff(spelled[1])[segment.document(i)])
        if not len(ends) or ends[-1] == len(content):
            return np.concatenate([[0], ends[:-1]]).astype(np.int64), ends.astype(np.int64)
    text = content.decode("utf-8", "surrogateescape")
    found = (
        _characters(segment, i, text)
        if tokenizer.kind == "chars"
        else token_places(segment, tokenizer, i, text)
    )
    if found is None:
        raise ExecutionError(
            f"{segment.path}: the text of document {segment.doc_id(i)} has other tokens than when it was "
            "loaded or cut, so no part of the text can be found in its tokens: load it again"
        )
    sizes = [len(to_utf8(character)) for character in text] if not text.isascii() else [1] * len(text)
    before = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return before[found.starts], before[found.stops]


def _characters(segment: Segment, i: int, text: str) -> TokenPlaces | None:
    """Return the places of tokens that are characters."""
    places = np.arange(len(text) + 1)
    return TokenPlaces(places[:-1], places[1:]) if segment.document_length(i) == len(text) else None
