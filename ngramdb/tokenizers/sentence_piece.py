"""`sentencepiece`: a model of the library SentencePiece (`.model`), run by that library.

A document consists of its own tokens only: the ids of beginnings and ends (BOS, EOS) that the library can add
around a text are left out, and neither these nor control symbols are found in a text. Texts are stored,
because a model may change blanks and characters, and the text of a piece depends on its place.

The library is an extra (`pip install 'ngramdb[tokenizers]'`), so only `registry` imports this module,
when a model is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sentencepiece

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.tokenizers.base import (
    BLANK,
    DefinedTokenizer,
    Ids,
    Offsets,
    Placed,
    QueryIds,
    batches,
    from_utf8,
    library_errors,
    offsets_of,
    placed,
    to_utf8,
)

# Texts with this many characters together are one call of the library, between two interrupt checks.
BATCH_CHARS = 1 << 20


class SentencePieceTokenizer(DefinedTokenizer):
    """The tokenizer of one model."""

    kind = "sentencepiece"
    library = f"sentencepiece {sentencepiece.__version__}"
    lossless = False

    def __init__(self, definition: bytes, source: str = "tokenizer.model") -> None:
        """Read a file's content. Raises InvalidArgument."""
        super().__init__(definition, source)
        self._library = sentencepiece.SentencePieceProcessor()
        try:
            self._library.LoadFromSerializedProto(definition)
        except Exception as error:  # the library raises RuntimeError and others
            raise InvalidArgument(f"{source} is not a SentencePiece model: {error}") from error

    @cached_property
    def n_vocabulary(self) -> int:
        return int(self._library.get_piece_size())

    def normalized(self, text: str) -> str:
        if not hasattr(self._library, "normalize"):  # before version 0.2
            return text
        normal: str = self._library.normalize(text)
        return normal.replace(BLANK, " ")

    def encode(self, text: str) -> QueryIds:
        to_utf8(text)
        return np.array(self._ids_of([text])[0], dtype=np.int64)

    def encode_batch(self, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
        found = [ids for batch in batches(from_utf8(texts), BATCH_CHARS) for ids in self._ids_of(batch)]
        flat = np.fromiter((token for ids in found for token in ids), dtype=np.uint32)
        return flat, offsets_of([len(ids) for ids in found])

    def _ids_of(self, texts: Sequence[str]) -> list[list[int]]:
        interrupts.check()
        if not texts:
            return []
        with library_errors():
            ids: list[list[int]] = self._library.encode(
                list(texts), out_type=int, add_bos=False, add_eos=False, enable_sampling=False
            )
        return ids

    @property
    def has_places(self) -> bool:
        return True

    def places(self, text: str) -> Placed:
        interrupts.check()
        # Earlier versions have the same under another name.
        kind: Any = (
            "offset_mapping" if hasattr(self._library, "encode_as_offset_mapping") else "immutable_proto"
        )
        found: Any = self._library.encode(
            text, out_type=kind, add_bos=False, add_eos=False, enable_sampling=False
        )
        if kind == "offset_mapping":
            return placed(found["ids"], found["offsets"])
        return placed(
            [piece.id for piece in found.pieces], [(piece.begin, piece.end) for piece in found.pieces]
        )

    def decode(self, ids: npt.ArrayLike) -> str:
        text: str = self._library.decode(self.check_ids(ids).tolist())
        return text

    def token_text(self, token_id: int) -> str:
        piece: str = self._library.id_to_piece(self.check_id(token_id))
        return piece.replace(BLANK, " ")
