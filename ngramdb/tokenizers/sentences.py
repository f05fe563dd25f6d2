"""Marking the tokens that begin a sentence of their document, by the rules of Unicode (UAX #29) for its text.

Words are found in the text again; places of other tokens in the text are known by their bytes
if these make up the text, else from the library that made them. A document whose ids are not those of its
text (they were given) is read as its tokens are displayed; if these do not lead back to the ids either, it is
one sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.text import sentences as kernel
from ngramdb.tokenizers.base import Flags, Ids, Offsets, Pieces, Tokenizer, as_ids

#: A document's text, None if it has none.
Texts = Sequence["bytes | None"]


def sentence_starts(
    tokenizer: Tokenizer, texts: Texts, ids: Ids, offsets: Offsets, spelled: Flags | None = None
) -> Flags | None:
    """Mark tokens that begin a sentence: (m,) bool; document k has ids[offsets[k]:offsets[k + 1]].

    `spelled` is the result of `Tokenizer.reproduces` for these, if known already. Returns None if the
    places of the tokenizer's tokens in a text are unknown.
    """
    if not tokenizer.finds_sentences:
        return None
    known = [text for text in texts if text is not None]
    if len(known) == len(texts):
        whole = _marked(tokenizer, known, ids, offsets, spelled)
        if whole is not None:
            return whole
    flags = np.zeros(len(ids), dtype=np.bool_)
    for text, (start, stop) in zip(texts, pairwise(offsets.tolist()), strict=True):
        flags[start:stop] = _of_document(tokenizer, text, ids[start:stop])
    return flags


def _marked(
    tokenizer: Tokenizer, texts: Sequence[bytes], ids: Ids, offsets: Offsets, spelled: Flags | None = None
) -> Flags | None:
    """Mark sentences of documents with texts; None if one of these does not match its ids."""
    found = None
    read = _as_spelled(tokenizer, texts, ids, offsets, spelled) if tokenizer.lossless else texts
    if read is not None:
        found = tokenizer.mark_sentences(read, ids, offsets)
    # If there are several documents, a tokenizer that usually spells its texts has changed a few.
    if found is None and tokenizer.has_places and (len(texts) == 1 or not tokenizer.lossless):
        found = _by_places(tokenizer, texts, ids, offsets)
    return found


def _as_spelled(
    tokenizer: Tokenizer, texts: Sequence[bytes], ids: Ids, offsets: Offsets, spelled: Flags | None
) -> Sequence[bytes] | None:
    """Return texts as their ids spell them, with a blank before if needed: sentences are the same.

    None if a text differs: changed by the tokenizer, or not that of its ids at all.
    """
    if spelled is None:
        spelled = tokenizer.reproduces(texts, ids, offsets)
    if spelled.all():
        return texts
    texts = [text if same else b" " + text for text, same in zip(texts, spelled.tolist(), strict=True)]
    return texts if tokenizer.reproduces(texts, ids, offsets).all() else None


def _of_document(tokenizer: Tokenizer, text: bytes | None, ids: Ids) -> Flags:
    offsets = np.array([0, len(ids)], dtype=np.int64)
    for some in (text, _shown(tokenizer, ids)):
        flags = None if some is None else _marked(tokenizer, [some], ids, offsets)
        if flags is not None:
            return flags
    one = np.zeros(len(ids), dtype=np.bool_)
    one[:1] = True
    return one


def _shown(tokenizer: Tokenizer, ids: Ids) -> bytes:
    exact = tokenizer.decode_exact(ids)
    return tokenizer.decode(ids).encode("utf-8", "replace") if exact is None else exact


class Sizes(NamedTuple):
    """The bytes of each token of a vocabulary, and the white space among them that it begins with: (v,) each.

    A token of only white space begins with -1.
    """

    lengths: NDArray[np.uint32]
    leads: NDArray[np.int32]


def mark_spelled(texts: Sequence[bytes], ids: Ids, offsets: Offsets, sizes: Sizes) -> Flags | None:
    """Mark the tokens that begin a sentence, of texts that are their tokens' bytes: (m,) bool.

    None if a text and its tokens differ in length: it is another text.
    """
    return kernel.mark_spelled(texts, as_ids(ids), np.ascontiguousarray(offsets), *sizes)


def sizes_of(pieces: Pieces) -> Sizes:
    """Return the sizes of a vocabulary's tokens. Cost: about a microsecond per token."""
    return Sizes(np.diff(pieces[1]).astype(np.uint32), leads_of(pieces).astype(np.int32))


@cache
def sizes_of_characters() -> Sizes:
    """Return the sizes of code points. Memory: 9 MB."""
    codes = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    white = white_codes()
    leads = np.where(white[np.minimum(codes, len(white) - 1)], -1, 0)
    return Sizes(utf8_lengths(codes).astype(np.uint32), leads.astype(np.int32))


@cache
def sizes_of_bytes() -> Sizes:
    """Return the sizes of bytes."""
    return Sizes(
        np.ones(256, dtype=np.uint32),
        np.where(white_codes()[:256] & (np.arange(256) < 0x80), -1, 0).astype(np.int32),
    )


def leads_of(pieces: Pieces) -> NDArray[np.int64]:
    """Return the bytes of white space that each piece begins with, -1 if it has nothing else: (n,) int64."""
    flat, offsets = pieces
    spelled = flat.tobytes()
    leads = np.zeros(len(offsets) - 1, dtype=np.int64)
    for i, (start, stop) in enumerate(pairwise(offsets.tolist())):
        text = spelled[start:stop].decode("utf-8", "surrogateescape")
        solid = text.lstrip()
        if len(solid) < len(text) or not text:
            leads[i] = len(text[: len(text) - len(solid)].encode("utf-8", "surrogateescape")) if solid else -1
    return leads


@cache
def white_codes() -> Flags:
    """Return True for each white code point up to the last one, and one more entry for the rest."""
    return np.array([chr(code).isspace() for code in range(0x3002)])


def utf8_lengths(codes: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the bytes of each code point in UTF-8."""
    return 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)


def _by_places(tokenizer: Tokenizer, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
    """Mark sentences by `Tokenizer.places`. Cost: that of encoding the texts once more."""
    every = [np.empty(0, dtype=np.int64)]
    for content, (start, stop) in zip(texts, pairwise(offsets.tolist()), strict=True):
        found = tokenizer.places(content.decode("utf-8"))
        if found is None or not np.array_equal(found[0], ids[start:stop]):
            return None
        every.append(_first_solid(content, found[1], found[2]))
    return kernel.mark_places(texts, offsets, np.concatenate(every))


def _first_solid(content: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the byte of the first non-white character of [start, stop); -1 without any."""
    codes = np.frombuffer(content.decode("utf-8").encode("utf-32-le"), dtype=np.uint32)
    white = white_codes()
    # For each character, the next solid one from there on; the last entry means none.
    solid = np.append(
        np.where(white[np.minimum(codes, len(white) - 1)], len(codes), np.arange(len(codes))), len(codes)
    )
    following = np.minimum.accumulate(solid[::-1])[::-1]
    first = following[np.minimum(starts, len(codes))]
    before = np.concatenate([[0], np.cumsum(utf8_lengths(codes))])
    return np.where(first < stops, before[first], -1)
