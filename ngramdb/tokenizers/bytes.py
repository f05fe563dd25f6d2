"""`bytes`: a token is a byte of the UTF-8 text, its id the byte's value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers import sentences
from ngramdb.tokenizers.base import (
    Flags,
    Ids,
    Offsets,
    Pieces,
    QueryIds,
    Tokenizer,
    as_ids,
    offsets_of,
    reproduced,
    to_utf8,
)


class BytesTokenizer(Tokenizer):
    """Ids 0..255."""

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
            raise InvalidArgument(f"token id {int(as_ids(ids).max())} is no byte: ids are 0..255")
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
