"""The most probable next tokens, without a pass over the vocabulary.

Under Kneser-Ney and stupid backoff every token may come next. But after a context only those that follow some
suffix of it have specific probabilities; all others keep the order that they have without context, which
is sorted once per model. So the most probable tokens are among the former and the first of the latter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ngramdb.caching import cached_property
from ngramdb.lm.values import END, Floats, Integers

# Spare tokens of a nucleus: sums in a different order are rounded differently.
SPARE = 8


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All tokens that may come next, including END, in the order of a model's distributions.

    alone : the value of each without context, a probability or a count
    least : no positive probability is below it
    """

    ids: Integers
    alone: Floats
    least: float = 0.0

    @cached_property
    def end(self) -> int:
        """The place of END."""
        return int(np.flatnonzero(self.ids == END)[0])

    @cached_property
    def order(self) -> Integers:
        """The places, the most probable first; among equals the first one."""
        return np.argsort(-self.alone, kind="stable")

    @cached_property
    def ranks(self) -> Integers:
        """The rank of each place in that order."""
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.arange(len(self.order))
        return ranks

    @cached_property
    def sums(self) -> Floats:
        """Sums over the first tokens in that order: over none, one, …, all."""
        return np.append(0.0, np.cumsum(self.alone[self.order]))


@dataclass(frozen=True, eq=False)
class Shares:
    """The distribution of the next token after a context.

    Places (k,) of tokens in the vocabulary, ascending, with their probabilities; any other token has `rest`
    times its value in `alone`.
    """

    vocabulary: Vocabulary
    places: Integers
    probs: Floats
    rest: float

    @cached_property
    def total(self) -> float:
        """The sum of all probabilities."""
        others = self.vocabulary.sums[-1] - self.vocabulary.alone[self.places].sum()
        return float(self.probs.sum() + self.rest * others)

    def all(self) -> Floats:
        """Return the probability of every token of the vocabulary."""
        probs = self._others(slice(None))
        probs[self.places] = self.probs
        return probs

    def wanted(self, k: int | None, share: float) -> tuple[Integers, Floats]:
        """Return the k most probable, or a nucleus, or by default all with positive probabilities."""
        if k is None and share < 1.0:
            k = self.size_of_nucleus(share)
        if k is not None and k < len(self.vocabulary.ids):
            return self.top(k)
        probs = self.all()
        possible = probs > 0
        return self.vocabulary.ids[possible], probs[possible]

    def top(self, k: int) -> tuple[Integers, Floats]:
        """Return tokens with positive probabilities, in the vocabulary's order: the k most probable, and END.

        Among equals the first ones count.
        """
        vocabulary = self.vocabulary
        first = vocabulary.order[: k + len(self.places)]
        ranks = vocabulary.ranks[self.places]
        is_listed = np.zeros(len(first), dtype=np.bool_)
        is_listed[ranks[ranks < len(first)]] = True
        others = first[~is_listed][:k]
        places = np.concatenate([self.places, others])
        probs = np.concatenate([self.probs, self._others(others)])
        if len(places) > k:
            kept = _greatest(probs, places, k)
            places, probs = places[kept], probs[kept]
        if not (places == vocabulary.end).any():
            places, probs = np.append(places, vocabulary.end), np.append(probs, self._prob(vocabulary.end))
        ascending = np.argsort(places)
        ascending = ascending[probs[ascending] > 0]
        return vocabulary.ids[places[ascending]], probs[ascending]

    def size_of_nucleus(self, share: float) -> int:
        """Return how many of the most probable tokens suffice for that share of the total, or a few more.

        By bisection: how far to go in the order of the tokens that are not listed, including listed ones that
        are as probable.
        """
        vocabulary = self.vocabulary
        probs = np.sort(self.probs)
        prob_sums = np.append(0.0, np.cumsum(probs[::-1]))
        ranks = np.sort(vocabulary.ranks[self.places])
        listed_sums = np.append(0.0, np.cumsum(vocabulary.alone[vocabulary.order[ranks]]))
        wanted = share * self.total
        low, high, n_listed = 0, len(vocabulary.ids), 0
        while low < high:
            middle = (low + high) // 2
            prob = self.rest * vocabulary.alone[vocabulary.order[middle]]
            n_listed = len(probs) - int(np.searchsorted(probs, prob))
            alone = vocabulary.sums[middle + 1] - listed_sums[np.searchsorted(ranks, middle, side="right")]
            if prob_sums[n_listed] + self.rest * alone >= wanted:
                high = middle
            else:
                low = middle + 1
        return low + 1 + len(probs) + SPARE

    def _prob(self, place: int) -> float:
        at = int(np.searchsorted(self.places, place))
        if at < len(self.places) and self.places[at] == place:
            return float(self.probs[at])
        return float(self._others(np.array([place]))[0])

    def _others(self, places: Integers | slice) -> Floats:
        alone = self.vocabulary.alone[places]
        probs = self.rest * alone
        if self.vocabulary.least > 0:
            probs[alone > 0] = np.maximum(probs[alone > 0], self.vocabulary.least)
        return probs


def _greatest(probs: Floats, places: Integers, k: int) -> Integers:
    """Return the places of the k greatest; among equals the first places."""
    least = np.partition(probs, len(probs) - k)[len(probs) - k]
    above = np.flatnonzero(probs > least)
    equal = np.flatnonzero(probs == least)
    return np.append(above, equal[np.argsort(places[equal])][: k - len(above)])
