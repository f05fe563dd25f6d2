"""KenLM on the ARPA file of one of our models."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kenlmbench.timing import Timed, timed
from ngramdb.lm import LanguageModel, write_arpa


@dataclass(frozen=True)
class Peer:
    """What the ARPA file took, and what KenLM made of it; None where its module does not take the order."""

    arpa_bytes: int
    arpa_seconds: float
    time: Timed | None = None
    perplexity: float | None = None
    model: Any = None


def ask_kenlm(
    kenlm: ModuleType,
    model: LanguageModel,
    word_of: Callable[[int], str],
    rounds: Sequence[Sequence[str]],
    n_scored: Sequence[int],
) -> Peer:
    """Writes the model, loads it, scores each round's sentences, one call each: what the module offers."""
    with tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder:
        path = Path(folder) / "model.arpa"
        start = time.perf_counter()
        with path.open("w", encoding="utf-8") as file:
            write_arpa(model, file, word_of)
        seconds, size = time.perf_counter() - start, path.stat().st_size
        try:
            peer = kenlm.Model(str(path))
        except OSError:  # an order above what it was compiled for
            return Peer(size, seconds)
    totals: list[float] = []

    def work(k: int) -> None:
        totals.append(sum(peer.score(line, bos=True, eos=True) for line in rounds[k]))

    times = timed(work, n_scored)
    perplexity = math.exp(-sum(totals) * math.log(10) / sum(n_scored))
    return Peer(size, seconds, times, perplexity, peer)
