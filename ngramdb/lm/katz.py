"""Katz backoff (Katz 1987) with Good-Turing discounts, as SRILM computes them.

An n-gram that occurs has its discounted share of the context; what that frees goes to the tokens that do not
follow, in proportion to their probabilities after the next shorter context. A discounted share is
d · c(hw) / c(h), with d for counts up to MOST_DISCOUNTED from the numbers of n-grams of each length that
occur once, twice, …; above it, and if it would not be a discount, d is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.lm import models as kernel
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.statistics import Statistics
from ngramdb.lm.values import BEGIN, END, Floats, Integers
from ngramdb.lm.windows import WindowKernel, WindowModel

# ANALYZE keeps how many n-grams occur one to four times.
MOST_DISCOUNTED = 3
# Successors of the contexts that a model keeps, 16 bytes each.
MOST_CACHED = 1 << 22
# Contexts between two interrupt checks.
CHECKED = 256


def good_turing(counts: tuple[int, ...]) -> Floats:
    """Return d for counts 0 … MOST_DISCOUNTED, and 1 for any greater, from t1 … t4.

    d(r) = ((r + 1) t(r + 1) / (r t(r)) - x) / (1 - x) with x = 4 t4 / t1, and 1 if that is not in (0, 1].
    Source: Katz 1987, equation 12; SRILM's Discount.cc for the exceptions.
    """
    found = np.ones(MOST_DISCOUNTED + 2)
    t = (0, *counts)
    x = (MOST_DISCOUNTED + 1) * t[-1] / t[1] if t[1] else 1.0
    for r in range(1, MOST_DISCOUNTED + 1):
        if t[r] > 0 and x < 1:
            discount = ((r + 1) * t[r + 1] / (r * t[r]) - x) / (1 - x)
            found[r] = discount if 0 < discount <= 1 else 1.0
    return found


class KatzModel(WindowModel):
    """Katz backoff of an order. Counts and effective n are those of stupid backoff."""

    def __init__(self, spec: ModelSpec, index: kernel.LanguageIndex, statistics: Statistics) -> None:
        plain = kernel.Model(index, "backoff", spec.limit)
        lengths = range(1, (spec.order or 1) + 1)
        discounts = [good_turing(statistics.raw[min(n, statistics.max_length) - 1]) for n in lengths]
        super().__init__(spec, index, _KatzKernel(plain, discounts))

    @property
    def note(self) -> str | None:
        return self.advice


@dataclass(frozen=True)
class _Context:
    """Successors of a context: ids (k,) ascending, END first, and P of each; and the factor of all others."""

    ids: Integers
    probs: Floats
    weight: float

    def of(self, ids: Integers) -> Floats:
        """Return the probabilities of tokens that all follow."""
        found: Floats = self.probs[np.searchsorted(self.ids, ids)]
        return found


class _KatzKernel(WindowKernel):
    def __init__(self, plain: kernel.Model, discounts: list[Floats]) -> None:
        self._discounts = discounts
        types, counts = plain.index.types()
        ids, all_counts = np.append(END, types), np.append(plain.index.n_sentences, counts)
        shares, self._unknown = self._shares(all_counts, 1)
        self._none = _Context(ids, shares, self._unknown)
        self._cache: dict[tuple[int, ...], _Context] = {}
        self._n_cached = 0
        alone = np.concatenate([np.roll(shares, -1), [self._unknown]])
        super().__init__(plain, len(discounts) - 1, alone)

    def probabilities(self, windows: Integers, tokens: Integers, scored: NDArray[Any]) -> Floats:
        probs = np.empty(len(tokens))
        longest, used = scored["suffix_n"] - 1, scored["effective_n"] - 1
        rows = zip(windows.tolist(), tokens.tolist(), longest.tolist(), used.tolist(), strict=True)
        for i, (window, token, n, n_used) in enumerate(rows):
            if i % CHECKED == 0:
                interrupts.check()
            suffix = tuple(reversed(window[:n]))
            prob = 1.0
            for start in range(n - n_used):
                prob *= self._context(suffix[start:]).weight
            probs[i] = prob * self._prob(suffix[n - n_used :], token)
        return probs

    def after(self, window: Integers) -> Floats:
        probs: Floats = self._alone.copy()
        types = self._none.ids
        context = [token for token in reversed(window.tolist()) if token != kernel.NOTHING]
        for n in range(1, len(context) + 1):
            found = self._context(tuple(context[len(context) - n :]))
            if not len(found.ids):
                break
            probs *= found.weight
            places = np.searchsorted(types, found.ids) - 1  # END is the last one here
            probs[np.where(places < 0, len(types) - 1, places)] = found.probs
        return probs

    def _prob(self, context: tuple[int, ...], token: int) -> float:
        found = self._context(context)
        at = int(np.searchsorted(found.ids, token))
        if at < len(found.ids) and found.ids[at] == token:
            return float(found.probs[at])
        return self._unknown  # only without context

    def _context(self, context: tuple[int, ...]) -> _Context:
        if not context:
            return self._none
        found = self._cache.get(context)
        if found is None:
            found = self._cached(context, self._counted(context))
        return found

    def _counted(self, context: tuple[int, ...]) -> _Context:
        begins = context[0] == BEGIN
        ids, counts, _, length = self._plain.successors(
            np.array(context[begins:], dtype=np.int64), begins, len(context)
        )
        if length < len(context):
            nothing = np.empty(0, dtype=np.int64)
            return _Context(nothing, nothing.astype(np.float64), 1.0)
        probs, left = self._shares(counts, len(context) + 1)
        shorter = self._context(context[1:]).of(ids).sum()
        return _Context(ids, probs, left / (1.0 - shorter))

    def _shares(self, counts: Integers, length: int) -> tuple[Floats, float]:
        """Return discounted shares of the n-grams of a length, and what is left.

        As in SRILM, a count of 1 is added to the context's if nothing is left.
        """
        discount = self._discounts[length - 1]
        kept = counts * discount[np.minimum(counts, MOST_DISCOUNTED + 1)]
        total = int(counts.sum())
        left = total - float(kept.sum())
        if left < 1e-9 * max(1, total):
            left, total = 1.0, total + 1
        return kept / total, left / total

    def _cached(self, context: tuple[int, ...], found: _Context) -> _Context:
        size = len(found.ids) + 8
        if self._n_cached + size > MOST_CACHED:
            self._cache, self._n_cached = {}, 0
        self._n_cached += size
        self._cache[context] = found
        return found
