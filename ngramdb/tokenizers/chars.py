"""`chars`: a token is a Unicode code point, its id the code point's number."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import checked
from ngramdb.tokenizers import sentences
from ngramdb.tokenizers.base import (
    N_IDS,
    Flags,
    Ids,
    Offsets,
    Pieces,
    QueryIds,
    Tokenizer,
    as_ids,
    from_utf8,
    offsets_of,
    reproduced,
    to_utf8,
)

# One code point is a number of four bytes, whatever the machine's byte order.
_ENCODING = "utf-32-le"
_CODE_POINT = np.dtype("<u4")

# The surrogates are not characters: no text contains them.
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


class CharsTokenizer(Tokenizer):
    """A tokenizer with ids 0..0x10FFFF."""

    kind = "chars"
    lossless = True

    @property
    def n_vocabulary(self) -> int:
        return sys.maxunicode + 1

    def encode(self, text: str) -> QueryIds:
        to_utf8(text)  # rejects lone surrogates with the usual message
        return np.frombuffer(text.encode(_ENCODING), dtype=_CODE_POINT).astype(np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        decoded = from_utf8(texts)
        ids = np.frombuffer("".join(decoded).encode(_ENCODING), dtype=_CODE_POINT).astype(np.uint32)
        return ids, offsets_of([len(text) for text in decoded])

    def decode(self, ids: npt.ArrayLike) -> str:
        codes = as_ids(ids)
        wrong = codes[codes > sys.maxunicode]
        if wrong.size:
            raise InvalidArgument(f"token id {int(wrong[0])} is not a Unicode character")
        # Surrogates are not characters either, but a corpus may contain them as ids: they are escaped.
        text = codes.astype(_CODE_POINT).tobytes().decode(_ENCODING, "surrogatepass")
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def decode_exact(self, ids: npt.ArrayLike) -> bytes | None:
        codes = as_ids(ids)
        if np.any(_is_no_character(codes)):
            return None
        return codes.astype(_CODE_POINT).tobytes().decode(_ENCODING).encode("utf-8")

    def token_text(self, token_id: int) -> str:
        return chr(self.check_id(token_id)).encode("utf-8", "backslashreplace").decode("utf-8")

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        values = as_ids(ids)
        escaped = np.flatnonzero((values >= _FIRST_SURROGATE) & (values <= _LAST_SURROGATE))
        if not escaped.size:
            return list(self.decode(values))
        plain = values.copy()
        plain[escaped] = ord("?")
        texts = list(self.decode(plain))
        for i in escaped.tolist():
            texts[i] = self.token_text(int(values[i]))
        return texts

    def reproduces(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
        return reproduced(self, texts, ids, offsets)

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        return sentences.mark_spelled(texts, ids, offsets, sentences.sizes_of_characters())


def _is_no_character(codes: Ids) -> Flags:
    surrogate = (codes >= _FIRST_SURROGATE) & (codes <= _LAST_SURROGATE)
    return surrogate | (codes > sys.maxunicode)


# ---- `bytes`: a token is a byte of the UTF-8 text, its id the byte's value.


class BytesTokenizer(Tokenizer):
    """A tokenizer with ids 0..255."""

    kind = "bytes"
    lossless = True

    @property
    def n_vocabulary(self) -> int:
        return 256

    def encode(self, text: str) -> QueryIds:
        return np.frombuffer(to_utf8(text), dtype=np.uint8).astype(np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        ids = np.frombuffer(b"".join(texts), dtype=np.uint8).astype(np.uint32)
        return ids, offsets_of([len(text) for text in texts])

    def decode(self, ids: npt.ArrayLike) -> str:
        text = self.decode_exact(ids)
        if text is None:
            raise InvalidArgument(f"token id {int(as_ids(ids).max())} is not a byte: ids are 0..255")
        return text.decode("utf-8", "backslashreplace")

    def decode_exact(self, ids: npt.ArrayLike) -> bytes | None:
        values = as_ids(ids)
        return None if np.any(values > 255) else values.astype(np.uint8).tobytes()

    def token_text(self, token_id: int) -> str:
        return bytes([self.check_id(token_id)]).decode("utf-8", "backslashreplace")

    def reproduces(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags:
        return reproduced(self, texts, ids, offsets)

    def mark_sentences(self, texts: Sequence[bytes], ids: Ids, offsets: Offsets) -> Flags | None:
        return sentences.mark_spelled(texts, ids, offsets, sentences.sizes_of_bytes())

    @property
    def token_bytes(self) -> Pieces:
        return np.arange(256, dtype=np.uint8), np.arange(257, dtype=np.int64)


# ---- `tokens`: documents come as token ids, made elsewhere; neither documents nor queries have text.


# Ids between two interrupt checks: about 5 ms.
CHUNK = 1 << 15


class TokensTokenizer(Tokenizer):
    """A tokenizer with any id of 0..2**32-1, displayed as its number."""

    kind = "tokens"
    finds_sentences = False
    lossless = False

    @property
    def n_vocabulary(self) -> int:
        return N_IDS

    def encode(self, text: str) -> QueryIds:
        _refuse(f"{text!r} cannot be tokenized")

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        _refuse("a document's text cannot be tokenized")

    def decode(self, ids: npt.ArrayLike) -> str:
        """Return the numbers joined by blanks."""
        numbers = as_ids(ids)
        starts = checked(range(0, len(numbers), CHUNK))
        return " ".join(" ".join(map(str, numbers[start : start + CHUNK].tolist())) for start in starts)

    def token_text(self, token_id: int) -> str:
        return str(self.check_id(token_id))

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        return list(map(str, as_ids(ids).tolist()))


def _refuse(what: str) -> NoReturn:
    raise InvalidArgument(f"{what}: the corpus has no tokenizer, only token ids; write them as [1, 2]")
