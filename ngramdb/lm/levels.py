"""Kneser-Ney probabilities of all n-grams of a corpus at once: for ARPA files and tables.

They are computed from short n-grams to long ones. An n-gram is identified by its prefix, the number of an
(n - 1)-gram, and its last token. Its suffix, also a number, has the probability that it is interpolated
with; and the number of n-grams that share a suffix is the suffix's adjusted count. So each length takes a
few passes over arrays, while a model that is queried for one n-gram after the other searches for each of
them, and for all of their suffixes.

Source: Chen & Goodman 1999, section 3; Heafield et al. 2013, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.lm.interpolated import KneserNeyModel
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.statistics import Discount
from ngramdb.lm.values import END, Floats, Integers

Numbers = NDArray[np.int32] | NDArray[np.int64]

# n-grams that are looked up between two interrupt checks.
CHUNK = 1 << 18

_NO_FLAGS = np.empty(0, dtype=np.bool_)


@dataclass
class Level:
    """The n-grams of one length, numbered in their order.

    `last` has codes of tokens: places in the ascending list of the corpus's types, then END's, then that of
    `<s>`, which is the last of the 1-grams.
    """

    last: Numbers
    prefix: Numbers  # numbers of (n - 1)-grams, ascending
    suffix: Numbers  # numbers of (n - 1)-grams
    counts: Numbers  # adjusted ones; for the greatest length, and after `<s>`, occurrences
    n_within: int  # the first one that begins with `<s>`; all later ones do, too
    prob: Floats
    # The share of shorter contexts, 1 if nothing follows; empty for the greatest length.
    backoff: Floats
    # True if a longer n-gram ends with it; set with `backoff`.
    is_suffix: NDArray[np.bool_]
    # False for n-grams that are left out (`pruning.py`); None if all are kept.
    kept: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.last)

    @property
    def n_kept(self) -> int:
        return len(self) if self.kept is None else int(np.count_nonzero(self.kept))

    def mark_suffixes(self, longer: Level) -> None:
        """Set `is_suffix` by the n-grams that are a token longer."""
        self.is_suffix = np.zeros(len(self), dtype=np.bool_)
        self.is_suffix[longer.suffix if longer.kept is None else longer.suffix[longer.kept]] = True


def levels_of(
    model: LanguageModel, order: int, *, adjusted: bool = True, least: Callable[[int], int] = lambda n: 1
) -> list[Level]:
    """Return the n-grams of length 1 … order with adjusted counts; `interpolated` adds probabilities.

    adjusted : False for occurrences in place of adjusted counts
    least : the least occurrences of n-grams of a length that are kept

    Cost: a pass over the suffix arrays for each length; half a microsecond and 16 bytes per n-gram, and twice
    as much again for the longest while they are listed.
    """
    types, _ = model.index.types()
    levels = [_unigrams(model, types)]
    for n in range(2, order + 1):
        levels.append(_longer(model, n, types, levels[-1]))
        if least(n) > 1:
            levels[-1].kept = levels[-1].counts >= least(n)
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        if n > 2 and adjusted:
            _count_suffixes(shorter, level)
    return levels


def interpolated(model: KneserNeyModel, levels: list[Level]) -> Iterator[int]:
    """Compute probabilities and backoff weights, and yield each n-gram length as soon as its level has both.

    They are released when the generator resumes, so that at most two levels have any at a time. Only `last`
    and `prefix` are kept. Cost: 0.1 microseconds per n-gram.
    """
    order = len(levels)
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        interrupts.check()
        _interpolate(shorter, level, model.statistics.discount(n, raw=n == order))
        shorter.mark_suffixes(level)
        level.suffix = level.counts = np.empty(0, dtype=np.int64)
        yield n - 1
        shorter.prob = shorter.backoff = np.empty(0)
    yield order


def interpolated_at_once(model: KneserNeyModel, levels: list[Level]) -> None:
    """Compute probabilities and backoff weights of all lengths, and keep them: 16 bytes per n-gram."""
    for n, (shorter, level) in enumerate(pairwise(levels), start=2):
        _interpolate(shorter, level, model.statistics.discount(n, raw=n == len(levels)))
        level.counts = np.empty(0, dtype=np.int64)


def _unigrams(model: LanguageModel, types: Integers) -> Level:
    ids = np.append(types, END)
    contexts = np.empty(0, dtype=np.int64), np.zeros(len(ids) + 1, dtype=np.int64)
    probs = np.append(model.prob_many(*contexts, ids).prob, 1.0)  # `<s>` is given, never predicted
    nothing = np.empty(0, dtype=np.int64)
    codes = np.arange(len(probs))
    return Level(codes, nothing, nothing, nothing, len(ids), probs, np.empty(0), _NO_FLAGS)


def _longer(model: LanguageModel, n: int, types: Integers, shorter: Level) -> Level:
    """Return the n-grams one token longer than those of `shorter`, without probabilities."""
    known = model.statistics.n_types if isinstance(model, KneserNeyModel) else ()
    ids, counts, fresh, n_within = model.index.ngrams(n, known[n - 1] if n <= len(known) else 0)
    end = len(types)
    is_dense = end > 0 and types[-1] == end - 1  # usually every id up to the last occurs
    if not is_dense:
        ids = np.where(ids == END, END, np.searchsorted(types, ids))
    last = _narrow(ids, end + 2)
    narrow_counts = _narrow(counts, int(counts.max(initial=0)) + 1)
    del ids, counts  # arrays of all n-grams take most of the memory
    last[last == END] = end
    followed = _narrow(np.flatnonzero(shorter.last != end), len(shorter))
    prefix = followed[np.cumsum(fresh, dtype=followed.dtype) - 1]
    del fresh
    suffix = last if n == 2 else _suffixes(shorter, prefix, last, end + 2)
    return Level(last, prefix, suffix, narrow_counts, n_within, np.empty(0), np.empty(0), _NO_FLAGS)


def _suffixes(level: Level, prefix: Numbers, last: Numbers, n_codes: int) -> Numbers:
    """Return the numbers, in a level, of the suffixes of n-grams that are one token longer.

    Each is identified by the suffix of the prefix, and the last token.
    """
    keys = level.prefix.astype(np.int64) * n_codes + level.last
    order = _narrow(np.argsort(keys, kind="stable"), len(level))  # already in order, except for END
    keys = keys[order]
    found = np.empty(len(last), dtype=order.dtype)
    for start in range(0, len(last), CHUNK):
        interrupts.check()
        chunk = slice(start, start + CHUNK)
        wanted = level.suffix[prefix[chunk]].astype(np.int64) * n_codes + last[chunk]
        ascending = np.argsort(wanted)  # so that lookups pass over the keys once
        found[start + ascending] = order[np.searchsorted(keys, wanted[ascending])]
    return found


def _count_suffixes(shorter: Level, level: Level) -> None:
    """Count, for n-grams that do not begin with `<s>`, the longer ones that end with them."""
    counts = np.zeros(len(shorter), dtype=np.int64)
    size = max(CHUNK, len(level) // 4)  # since numpy widens its input for counting
    for start in range(0, len(level), size):
        counts += np.bincount(level.suffix[start : start + size], minlength=len(shorter))
    shorter.counts[: shorter.n_within] = counts[: shorter.n_within]


def _narrow(numbers: Integers, bound: int) -> Numbers:
    return numbers.astype(np.int32) if bound < 2**31 else numbers


def _interpolate(shorter: Level, level: Level, discount: Discount) -> None:
    shorter.backoff = np.ones(len(shorter))
    level.prob = np.empty(len(level))
    for starts, stop in pieces_of(level):
        interrupts.check()
        _interpolate_part(shorter, level, discount, starts, stop)


def pieces_of(level: Level) -> Iterator[tuple[Integers, int]]:
    """Yield, for about CHUNK n-grams at a time, where those of each prefix begin, and where the last end."""
    starts = np.flatnonzero(np.append(True, level.prefix[1:] != level.prefix[:-1])[: len(level)])
    first = 0
    while first < len(starts):
        beyond = max(first + 1, int(np.searchsorted(starts, starts[first] + CHUNK)))
        stop = int(starts[beyond]) if beyond < len(starts) else len(level)
        yield starts[first:beyond], stop
        first = beyond


def _interpolate_part(shorter: Level, level: Level, discount: Discount, starts: Integers, stop: int) -> None:
    """Interpolate the n-grams from the first of the starts on; n-grams of one prefix begin at each."""
    part = slice(int(starts[0]), stop)
    counts = level.counts[part].astype(np.int64)
    sizes = np.diff(np.append(starts, stop))
    taken = np.array(discount)[np.minimum(counts, 3) - 1]
    if level.kept is not None:
        taken = np.where(level.kept[part], taken, counts)  # all that is pruned goes to shorter contexts
    sums = np.add.reduceat(counts, starts - starts[0])
    left = np.add.reduceat(taken, starts - starts[0]) / sums
    prob = (counts - taken) / np.repeat(sums, sizes)
    prob += np.repeat(left, sizes) * shorter.prob[level.suffix[part]]
    level.prob[part] = prob
    shorter.backoff[level.prefix[starts]] = left
