"""`chars`: a token is a Unicode code point, its id the code point's number."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers import sentences
from ngramdb.tokenizers.base import (
    Flags,
    Ids,
    Offsets,
    QueryIds,
    Tokenizer,
    as_ids,
    from_utf8,
    offsets_of,
    reproduced,
    to_utf8,
)

# One code point a number of four bytes, whatever the machine's byte order.
_ENCODING = "utf-32-le"
_CODE_POINT = np.dtype("<u4")

# The surrogates are not characters: no text holds them.
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


class CharsTokenizer(Tokenizer):
    """Ids 0..0x10FFFF."""

    kind = "chars"
    lossless = True

    @property
    def n_vocabulary(self) -> int:
        return sys.maxunicode + 1

    def encode(self, text: str) -> QueryIds:
        to_utf8(text)  # refuses lone surrogates with the same message as everywhere
        return np.frombuffer(text.encode(_ENCODING), dtype=_CODE_POINT).astype(np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        decoded = from_utf8(texts)
        ids = np.frombuffer("".join(decoded).encode(_ENCODING), dtype=_CODE_POINT).astype(np.uint32)
        return ids, offsets_of([len(text) for text in decoded])

    def decode(self, ids: npt.ArrayLike) -> str:
        codes = as_ids(ids)
        wrong = codes[codes > sys.maxunicode]
        if wrong.size:
            raise InvalidArgument(f"token id {int(wrong[0])} is no Unicode character")
        # Surrogates are not characters either, but a corpus may have them as ids: they are escaped.
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
