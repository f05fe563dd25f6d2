"""Interpolated models: a context gives a token what it has of it, and the rest to the next shorter context.

They differ by their counts and parameters alone: see interpolation.hpp for the formula of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngramdb._cext.lm import models as kernel
from ngramdb.errors import InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.lm.models import SharingModel
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.statistics import Statistics
from ngramdb.lm.values import UNKNOWN, Distribution, Integers


class InterpolatedModel(SharingModel):
    """An interpolated model of an order, or without a limit.

    parameters : what the kernel needs beside the order and the least count
    """

    has_sampler = True

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, **parameters: Any) -> None:
        model = kernel.Model(index, "interpolated", spec.limit, spec.min_count, **parameters)
        super().__init__(spec, index, model)

    def left_out(self, n_wanted: int) -> kernel.LeftOut:
        """Return about so many tokens of the corpus, each without its one occurrence, for a fit."""
        return kernel.LeftOut(self._model, n_wanted)

    def dist(self, context: ArrayLike) -> Distribution:
        """Return every token that occurs, END, and UNKNOWN for any other: V entries that sum to 1.

        Cost: a pass over the types, and over the occurrences of the suffixes of the context.
        """
        used, begins = self._used(context)
        probs = self._model.distribution(used, begins)
        _, _, context_count, length = self._model.successors(used, begins)
        return Distribution(self._outcomes.copy(), probs, None, context_count, length + 1)

    @cached_property
    def _outcomes(self) -> Integers:
        return np.append(self.vocabulary.ids, UNKNOWN)


class KneserNeyModel(InterpolatedModel):
    """Interpolated modified Kneser-Ney of an order, or without a limit."""

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, statistics: Statistics) -> None:
        top = () if spec.order is None else statistics.discount(spec.order, raw=True)
        try:
            super().__init__(
                spec,
                index,
                levels=(*statistics.discounts(), statistics.discount(statistics.max_length + 1)),
                top=top,
                empty=statistics.empty_context,
                n_left_of_end=statistics.n_left_of_end,
                frequent=statistics.frequent,
            )
        except ValueError as error:
            raise InvalidArgument(
                f"these are not statistics of the corpus: {error}; run ANALYZE again"
            ) from error
        self.statistics = statistics

    @property
    def note(self) -> str | None:
        notes = (self.statistics.note(self.spec.order), self.advice)
        return ". ".join(note for note in notes if note) or None


class WittenBellModel(InterpolatedModel):
    """Witten-Bell: a context with many different successors leaves more to shorter ones. By occurrences."""

    # No discounts, no concentration, and one per type.
    SMOOTHING = (0.0, 0.0, 0.0, 0.0, 1.0)

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex) -> None:
        super().__init__(spec, index, levels=(self.SMOOTHING,), top=self.SMOOTHING, by_occurrences=True)
