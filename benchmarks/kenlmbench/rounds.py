"""Texts to score, dealt to several rounds. None is scored twice: what a model remembers is of other texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Round:
    """Texts as ids, flat[offsets[i]:offsets[i + 1]], and as words; `</s>` is scored behind each."""

    flat: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sentences: list[str]

    @property
    def n_scored(self) -> int:
        return len(self.flat) + len(self.sentences)


def deal(texts: Sequence[Any], sentences: Sequence[str], n_rounds: int) -> list[Round]:
    """Every n_rounds-th text (its ids, and its words between blanks) to each round; two rounds at least."""
    n = max(2, n_rounds)
    return [_round(texts[k::n], sentences[k::n]) for k in range(n)]


def _round(texts: Sequence[Any], sentences: Sequence[str]) -> Round:
    flat = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in texts])
    return Round(flat, np.cumsum([0, *map(len, texts)], dtype=np.int64), list(sentences))
