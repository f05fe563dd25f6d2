"""Hierarchical Pitman-Yor models, their parameters fitted to tokens of the corpus that are left out.

Of the process (Teh 2006; without a limit on order: Wood et al. 2009) the table counts are approximated by
one table for each type and context, so that a context's counts are numbers of different left neighbours, as
in Kneser-Ney. What a table more would take is in the discounts, which depend on the count; they also depend
on the length of the n-gram, and on whether the context is followed by one token only.

The gradient of the likelihood is followed by its signs alone, with a step of its own for each parameter
(iRprop: Igel & Hüsken 2003): no rate must be chosen, and the same corpus gives the same parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ngramdb import interrupts
from ngramdb._cext.lm import models as kernel
from ngramdb.lm.interpolated import InterpolatedModel, KneserNeyModel
from ngramdb.lm.spec import KneserNey

if TYPE_CHECKING:
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.lm.statistics import Statistics
    from ngramdb.lm.values import Floats

# Tokens that are left out, and steps of the fit.
N_LEFT_OUT = 100_000
N_STEPS = 50
# The concentration before the fit, and the standard deviation of the prior of each parameter, in natural
# units: logits of discounts, the logarithm of concentrations.
CONCENTRATION = 0.1
DEVIATION = 1.0
MOST_NATURAL = 8.0
# Columns of a level are D1, D2, D3+, θ, θ per type, of contexts that one token follows and then of others.
DISCOUNTS, CONCENTRATIONS = [0, 1, 2, 5, 6, 7], [3, 8]
MOST_DISCOUNTS = np.array([1.0, 2.0, 3.0] * 2)


class PitmanYorModel(InterpolatedModel):
    """An interpolated hierarchical Pitman-Yor model of an order, or without a limit."""

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, statistics: Statistics) -> None:
        unpruned = KneserNeyModel(KneserNey(spec.order), index, statistics)
        levels = fitted_levels(unpruned, N_LEFT_OUT)
        super().__init__(
            spec,
            index,
            levels=levels,
            top=levels[-1],
            empty=statistics.empty_context,
            n_left_of_end=statistics.n_left_of_end,
            frequent=statistics.frequent,
        )
        self.levels = levels


def fitted_levels(model: KneserNeyModel, n_wanted: int) -> Floats:
    """Return discounts and concentrations by n-gram length: (lengths, 10), as the kernel's models take them.

    They are those of the greatest posterior probability of about `n_wanted` tokens; before, the model's own
    discounts are the most likely ones.
    """
    statistics, order = model.statistics, model.spec.order
    n_lengths = statistics.max_length if order is None else min(order, statistics.max_length)
    start = [statistics.discount(n, raw=n == order) for n in range(1, n_lengths + 1)]
    levels = np.tile(np.column_stack([start, np.full(n_lengths, CONCENTRATION), np.zeros(n_lengths)]), 2)
    left_out = model.left_out(n_wanted)
    base = 1.0 / (len(model.vocabulary.ids) + 1)
    first = natural = _natural(levels)
    step, before = np.full_like(natural, 0.1), np.zeros_like(natural)
    for _ in range(N_STEPS if len(left_out) else 0):
        interrupts.check()
        _, slopes = left_out.log_likelihood(levels.tolist(), base)
        gradient = _natural_slopes(levels, slopes) - (natural - first) / DEVIATION**2
        turns = gradient * before
        step = np.clip(step * np.where(turns > 0, 1.2, np.where(turns < 0, 0.5, 1.0)), 1e-6, 1.0)
        before = np.where((turns < 0) | (np.abs(gradient) < 1e-9), 0.0, gradient)
        natural = np.clip(natural + np.sign(before) * step, -MOST_NATURAL, MOST_NATURAL)
        levels = _levels(natural)
    return levels


def _natural(levels: Floats) -> Floats:
    share = np.clip(levels[:, DISCOUNTS] / MOST_DISCOUNTS, 0.01, 0.99)
    return np.column_stack([np.log(share / (1.0 - share)), np.log(levels[:, CONCENTRATIONS])])


def _levels(natural: Floats) -> Floats:
    levels = np.zeros((len(natural), 10))
    levels[:, DISCOUNTS] = MOST_DISCOUNTS / (1.0 + np.exp(-natural[:, : len(DISCOUNTS)]))
    levels[:, CONCENTRATIONS] = np.exp(natural[:, len(DISCOUNTS) :])
    return levels


def _natural_slopes(levels: Floats, slopes: Floats) -> Floats:
    share = levels[:, DISCOUNTS] / MOST_DISCOUNTS
    of_discounts = slopes[:, DISCOUNTS] * MOST_DISCOUNTS * share * (1.0 - share)
    return np.column_stack([of_discounts, slopes[:, CONCENTRATIONS] * levels[:, CONCENTRATIONS]])
