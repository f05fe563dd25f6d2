"""Pruning the n-grams of a Kneser-Ney model, for smaller ARPA files and tables.

By counts, as KenLM's `lmplz --prune`: n-grams that are too rare are left out before probabilities are
interpolated, and their mass goes to shorter contexts. By entropy, as SRILM's `ngram -prune`: n-grams are left
out if the model's perplexity hardly grows without them. An n-gram stays if a longer one that stays begins or
ends with it, and every context still sums to 1.

Source: Heafield et al. 2013; Stolcke 1998, Entropy-based Pruning of Backoff Language Models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lm.interpolated import KneserNeyModel
from ngramdb.lm.levels import Level, interpolated, interpolated_at_once, levels_of, pieces_of
from ngramdb.lm.spec import is_whole
from ngramdb.lm.values import Floats, Integers

BY_ENTROPY = "entropy:"

# A smaller share of shorter contexts counts as 0.
NOTHING = 1e-12


@dataclass(frozen=True)
class Pruning:
    """The n-grams that are left out.

    min_count : least occurrences of n-grams of length 1, 2, …; the last one applies to all longer ones
    threshold : n-grams go if the relative growth of perplexity is below it; None keeps them
    """

    min_count: tuple[int, ...] = (1,)
    threshold: float | None = None

    @classmethod
    def of(cls, min_count: int | Sequence[int], prune: str | None) -> Pruning:
        """Read the arguments of `export_arpa`. Raises InvalidArgument."""
        given: Any = (1, min_count) if is_whole(min_count) else min_count
        if not isinstance(given, Sequence) or not all(map(is_whole, given)):
            raise InvalidArgument(f"min_count must be a whole number or several of them, not {min_count!r}")
        counts = tuple(map(int, given))
        falls = any(longer < shorter for shorter, longer in pairwise(counts))
        if not counts or counts[0] != 1 or falls:
            raise InvalidArgument(
                f"min_count must begin with 1, since words are not pruned, and not fall, not {min_count!r}"
            )
        return cls(counts, None if prune is None else _threshold(prune))

    def least(self, n: int) -> int:
        """Return the least occurrences of an n-gram of length n."""
        return self.min_count[min(n, len(self.min_count)) - 1]


def _threshold(prune: str) -> float:
    try:
        if not prune.startswith(BY_ENTROPY):
            raise ValueError
        value = float(prune.removeprefix(BY_ENTROPY))
    except (AttributeError, ValueError):
        raise InvalidArgument(
            f"prune must be 'entropy:' and a threshold, as in 'entropy:1e-8', not {prune!r}"
        ) from None
    if not 0 <= value < np.inf:
        raise InvalidArgument(f"the threshold of prune must be at least 0 and finite, not {value!r}")
    return value


def pruned(model: KneserNeyModel, order: int, pruning: Pruning) -> tuple[list[Level], Iterator[int]]:
    """Return the levels of a model, and the iterator that computes them, as `levels.interpolated` does.

    The n-grams that are left out are known after its first step: `Level.kept`. Cost: that of `interpolated`;
    with a threshold another 0.3 microseconds per n-gram, and 24 bytes, since all lengths are needed at once.
    """
    levels = levels_of(model, order, least=pruning.least)
    if pruning.threshold is None:
        return levels, interpolated(model, levels)
    return levels, _pruned_by_entropy(model, levels, pruning.threshold)


def _pruned_by_entropy(model: KneserNeyModel, levels: list[Level], threshold: float) -> Iterator[int]:
    interpolated_at_once(model, levels)
    prune_by_entropy(levels, threshold)
    for n, level in enumerate(levels, start=1):
        if n < len(levels):
            level.mark_suffixes(levels[n])
        yield n
        level.prob = level.backoff = np.empty(0)


def prune_by_entropy(levels: list[Level], threshold: float) -> None:
    """Leave out n-grams whose removal raises perplexity by less than a share, and correct the weights.

    As in SRILM, the probability of a context is the model's, and each n-gram is judged as if it alone went.

    Parameters
    ----------
    levels : with the probabilities, weights and suffixes of all lengths
    """
    contexts = [levels[0].prob]
    for level in levels[1:-1]:
        contexts.append(contexts[-1][level.prefix] * level.prob)
    required = np.zeros(len(levels[-1]), dtype=np.bool_)
    for shorter, level in reversed(list(pairwise(levels))):
        kept = np.ones(len(level), dtype=np.bool_) if level.kept is None else level.kept
        context = contexts.pop()
        for starts, stop in pieces_of(level):
            interrupts.check()
            part = slice(int(starts[0]), stop)
            kept[part] = _remaining(
                shorter, level, context, starts, stop, kept[part], required[part], threshold
            )
        level.kept = kept
        required = np.zeros(len(shorter), dtype=np.bool_)
        required[level.prefix[kept]] = True
        required[level.suffix[kept]] = True


def _remaining(
    shorter: Level,
    level: Level,
    context: Floats,
    starts: Integers,
    stop: int,
    kept: NDArray[np.bool_],
    required: NDArray[np.bool_],
    threshold: float,
) -> NDArray[np.bool_]:
    """Return the n-grams of some contexts that stay, and correct the weights of these contexts.

    With p = P(w | h), q = P(w | h'), and the weight b(h) = (1 - Σ p) / (1 - Σ q) over the n-grams of h, the
    weight without w is b' = (1 - Σ p + p) / (1 - Σ q + q), and relative entropy grows by
    -P(h) (p (log q + log b' - log p) + (1 - Σ p) (log b' - log b)): Stolcke 1998, equation 5.
    """
    part = slice(int(starts[0]), stop)
    sizes = np.diff(np.append(starts, stop))
    heads = level.prefix[starts]
    p, q = level.prob[part], shorter.prob[level.suffix[part]]
    left, left_shorter = (1.0 - _sums(values, kept, starts) for values in (p, q))
    spread = [
        np.repeat(values, sizes) for values in (left, left_shorter, shorter.backoff[heads], context[heads])
    ]
    rest, rest_shorter, weight, prob = spread
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = np.log((rest + p) / (rest_shorter + q))
        growth = p * (np.log(q) + changed - np.log(p))
        growth += np.where(rest > NOTHING, rest * (changed - np.log(weight)), 0.0)
        goes = np.expm1(-prob * growth) < threshold
    stays: NDArray[np.bool_] = kept & (required | ~goes)
    _correct(shorter, heads, starts, kept & ~stays, stays, p, q)
    return stays


def _correct(
    shorter: Level,
    heads: NDArray[Any],
    starts: Integers,
    gone: NDArray[np.bool_],
    stays: NDArray[np.bool_],
    p: Floats,
    q: Floats,
) -> None:
    """Set the weights of contexts that have lost n-grams, so that they sum to 1 again."""
    is_changed = np.logical_or.reduceat(gone, starts - starts[0])
    left, left_shorter = (1.0 - _sums(values, stays, starts) for values in (p, q))
    weights = np.ones(len(starts))
    np.divide(left, left_shorter, out=weights, where=left_shorter > NOTHING)
    shorter.backoff[heads[is_changed]] = np.maximum(weights[is_changed], 0.0)


def _sums(values: Floats, chosen: NDArray[np.bool_], starts: Integers) -> Floats:
    sums: Floats = np.add.reduceat(np.where(chosen, values, 0.0), starts - starts[0])
    return sums
