"""`tokens`: documents come as token ids, made elsewhere; there is no text on either side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy.typing as npt

from ngramdb.errors import InvalidArgument
from ngramdb.interrupts import checked
from ngramdb.tokenizers.base import N_IDS, Ids, Offsets, QueryIds, Tokenizer, as_ids

# Ids between two interrupt checks: some 5 ms.
CHUNK = 1 << 15


class TokensTokenizer(Tokenizer):
    """Any id of 0..2**32-1, shown as its number."""

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
        """The numbers joined by blanks."""
        numbers = as_ids(ids)
        starts = checked(range(0, len(numbers), CHUNK))
        return " ".join(" ".join(map(str, numbers[start : start + CHUNK].tolist())) for start in starts)

    def token_text(self, token_id: int) -> str:
        return str(self.check_id(token_id))

    def token_texts(self, ids: npt.ArrayLike) -> list[str]:
        return list(map(str, as_ids(ids).tolist()))


def _refuse(what: str) -> NoReturn:
    raise InvalidArgument(f"{what}: the corpus has no tokenizer, only token ids; write them as [1, 2]")
