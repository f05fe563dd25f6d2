"""Kneser-Ney over contexts with gaps (Pickhardt et al. 2014): `skips.hpp` has the formula.

A context backs off to all contexts that keep one token less. How much goes to which depends on the number of
tokens alone; that without the farthest token gets most, as in Kneser-Ney, which gives it all. (With equal
shares, as Pickhardt et al. have them, perplexities were higher than those of Kneser-Ney.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.lm import models as kernel
from ngramdb.lm.interpolated import KneserNeyModel
from ngramdb.lm.spec import KneserNey, ModelSpec
from ngramdb.lm.statistics import FALLBACK, Discount, Statistics, discounts_of
from ngramdb.lm.values import UNKNOWN, Floats, Integers
from ngramdb.lm.windows import WindowKernel, WindowModel

# The weight of dropping the farthest token; all others together have 1.
FARTHEST = 5.0
# Kinds of contexts whose n-grams are counted in one pass over the text.
KINDS_AT_ONCE = 16


class SkipKneserNeyModel(WindowModel):
    """Kneser-Ney whose contexts may have gaps. Counts and effective n are those of Kneser-Ney."""

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, statistics: Statistics) -> None:
        n_places = (spec.order or 1) - 1
        self._plain = KneserNeyModel(KneserNey(spec.order), index, statistics)
        discounts, self._n_guessed = _discounts_of_kinds(index, n_places)
        made: Any = self._plain.batches  # of order 1 there is no other
        if n_places > 0:
            alone = np.append(self._plain.vocabulary.alone, self._plain.prob([], UNKNOWN).prob or 0.0)
            skips = kernel.Skips(index, n_places, discounts, alone.tolist(), FARTHEST)
            made = _GappedKernel(self._plain.batches, skips, alone)
        super().__init__(spec, index, made)

    def state(self, *, document: bool = True) -> Any:
        return (
            self._plain.state(document=document) if self.spec.order == 1 else super().state(document=document)
        )

    @property
    def note(self) -> str | None:
        notes = [self._plain.note, self.advice]
        if self._n_guessed:
            notes.append(
                f"the corpus is too small (or unusual) to estimate discounts for {self._n_guessed} kinds of "
                "contexts with gaps; 0.5, 1 and 1.5 stand in"
            )
        return ". ".join(note for note in notes if note) or None


class _GappedKernel(WindowKernel):
    def __init__(self, plain: kernel.Model, skips: kernel.Skips, alone: Floats) -> None:
        super().__init__(plain, skips.n_places, alone)
        self._skips = skips

    def probabilities(self, windows: Integers, tokens: Integers, scored: NDArray[Any]) -> Floats:
        return self._skips.probabilities(windows, tokens)

    def after(self, window: Integers) -> Floats:
        return self._skips.distribution(window)


def _discounts_of_kinds(index: kernel.LanguageIndex, n_places: int) -> tuple[list[Discount], int]:
    """Return discounts by kept places, and the number of kinds of contexts with default discounts.

    Cost: a pass over the text for every KINDS_AT_ONCE kinds, and 50 MB.
    """
    found, n_guessed, n_kinds = [FALLBACK], 0, 1 << n_places
    for first in range(1, n_kinds, KINDS_AT_ONCE):
        interrupts.check()
        stop = min(first + KINDS_AT_ONCE, n_kinds)
        for row in kernel.Skips(index, n_places).counts_of_counts(first, stop):
            discount, is_estimated = discounts_of(row.tolist())
            found.append(discount)
            n_guessed += not is_estimated
    return found, n_guessed
