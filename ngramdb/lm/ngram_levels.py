"""Kneser-Ney probabilities of all n-grams of a corpus at once, from the short ones to the long ones.

An n-gram is known by its prefix, which is an (n - 1)-gram's number, and its last token. Its suffix, another
one's number, has the probability that it is interpolated with; and how many n-grams share a suffix is that
suffix's adjusted count. So each length takes a few passes over arrays, where a model that is asked for one
n-gram after the other searches each of them, and all of their suffixes.

Source: Chen & Goodman 1999, section 3; Heafield et al. 2013, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.lm.models import KneserNeyModel
from ngramdb.lm.statistics import Discount
from ngramdb.lm.values import END, Floats, Integers

Numbers = NDArray[np.int32] | NDArray[np.int64]

# n-grams that are looked up between two looks whether the work shall end.
CHUNK = 1 << 20


@dataclass
class Level:
    """The n-grams of one length, numbered in their order.

    `last` has codes of tokens: places in the ascending list of the corpus's types, then END's, then that of
    `<s>`, which is the last of the 1-grams.
    """

    last: Numbers
    prefix: Numbers  # numbers of (n - 1)-grams, ascending
    suffix: Numbers  # numbers of (n - 1)-grams
    counts: Integers  # adjusted ones; of the greatest length, and behind `<s>`, occurrences
    n_within: int  # those from there on begin with `<s>`
    prob: Floats
    backoff: Floats  # the share that goes to shorter contexts; 1 where nothing follows

    def __len__(self) -> int:
        return len(self.last)


def levels_of(model: KneserNeyModel, order: int) -> list[Level]:
    """The n-grams of length 1 … order, with probabilities and the weights of backing off from them.

    Cost: a pass over the suffix arrays for each length; half a microsecond and some 60 bytes an n-gram.
    """
    types, _ = model.index.types()
    levels = [_unigrams(model, types)]
    for n in range(2, order + 1):
        levels.append(_longer(model, n, types, levels[-1]))
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        if n > 2:
            shorter.counts[: shorter.n_within] = np.bincount(level.suffix, minlength=len(shorter))[
                : shorter.n_within
            ]
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        _interpolate(shorter, level, model.statistics.discount(n, raw=n == order))
    return levels


def _unigrams(model: KneserNeyModel, types: Integers) -> Level:
    ids = np.append(types, END)
    contexts = np.empty(0, dtype=np.int64), np.zeros(len(ids) + 1, dtype=np.int64)
    probs = np.append(model.prob_many(*contexts, ids).prob, 1.0)  # `<s>` is given, and never predicted
    nothing = np.empty(0, dtype=np.int64)
    codes = np.arange(len(probs))
    return Level(codes, nothing, nothing, nothing, len(ids), probs, np.ones(len(probs)))


def _longer(model: KneserNeyModel, n: int, types: Integers, shorter: Level) -> Level:
    """The n-grams, given those a token shorter; probabilities are still to be found."""
    ids, counts, fresh, n_within = model.index.ngrams(n)
    end = len(types)
    is_dense = end > 0 and types[-1] == end - 1  # every id up to the last occurs, as a rule
    last = np.where(ids == END, end, ids if is_dense else np.searchsorted(types, ids))
    followed = np.flatnonzero(shorter.last != end)
    prefix = followed[np.cumsum(fresh) - 1]
    suffix = last if n == 2 else _places(shorter, shorter.suffix[prefix], last, end + 2)
    nothing = np.empty(0)
    backoff = np.ones(len(last))
    return Level(
        _narrow(last, end + 2),
        _narrow(prefix, len(shorter)),
        _narrow(suffix, len(shorter)),
        counts,
        n_within,
        nothing,
        backoff,
    )


def _places(level: Level, prefix: Numbers, last: Integers, n_codes: int) -> Integers:
    """The numbers of n-grams of a level by their prefix and last token."""
    keys = level.prefix.astype(np.int64) * n_codes + level.last
    order = np.argsort(keys, kind="stable")  # in order already, but for END
    keys = keys[order]
    found = np.empty(len(last), dtype=np.int64)
    for start in range(0, len(last), CHUNK):
        interrupts.check()
        chunk = slice(start, start + CHUNK)
        wanted = prefix[chunk].astype(np.int64) * n_codes + last[chunk]
        ascending = np.argsort(wanted)  # so that look-ups go through the keys once
        found[start + ascending] = order[np.searchsorted(keys, wanted[ascending])]
    return found


def _narrow(numbers: Integers, bound: int) -> Numbers:
    return numbers.astype(np.int32) if bound < 2**31 else numbers


def _interpolate(shorter: Level, level: Level, discount: Discount) -> None:
    if not len(level):
        level.prob = np.empty(0)
        return
    starts = np.flatnonzero(np.append(True, level.prefix[1:] != level.prefix[:-1]))
    sizes = np.diff(np.append(starts, len(level)))
    taken = np.array(discount)[np.minimum(level.counts, 3) - 1]
    sums = np.add.reduceat(level.counts, starts)
    left = np.add.reduceat(taken, starts) / sums
    level.prob = (level.counts - taken) / np.repeat(sums, sizes)
    level.prob += np.repeat(left, sizes) * shorter.prob[level.suffix]
    shorter.backoff[level.prefix[starts]] = left
