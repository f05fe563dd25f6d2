"""The most probable next tokens, without going through the vocabulary.

Under Kneser-Ney and stupid backoff every token may come next. But after a context only those that follow some
suffix of it have probabilities of their own; all others keep the order that they have without context, which
is sorted once for a model. So the most probable ones are among the former and the first of the latter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ngramdb.caching import cached_property
from ngramdb.lm.values import END, Floats, Integers

# Tokens of a nucleus beyond those that are needed: sums in another order are rounded otherwise.
SPARE = 8


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All tokens that may come, END among them, in the order of a model's distributions.

    alone : what each has without context, a probability or a count
    least : no probability above 0 is below it
    """

    ids: Integers
    alone: Floats
    least: float = 0.0

    @cached_property
    def end(self) -> int:
        """END's place."""
        return int(np.flatnonzero(self.ids == END)[0])

    @cached_property
    def order(self) -> Integers:
        """The places, the most probable first, of equals the first one."""
        return np.argsort(-self.alone, kind="stable")

    @cached_property
    def ranks(self) -> Integers:
        """Where each place stands in that order."""
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.arange(len(self.order))
        return ranks

    @cached_property
    def sums(self) -> Floats:
        """What the first tokens in that order have together: of none, of one, …, of all."""
        return np.append(0.0, np.cumsum(self.alone[self.order]))


@dataclass(frozen=True, eq=False)
class Shares:
    """The next token of a context.

    Places (k,) of tokens in the vocabulary, ascending, with their probabilities; any other token has `rest`
    times what it has alone.
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
        """The probability of every token of the vocabulary."""
        probs = self._others(slice(None))
        probs[self.places] = self.probs
        return probs

    def wanted(self, k: int | None, share: float) -> tuple[Integers, Floats]:
        """The k most probable, or a nucleus, or where neither is asked for all with probabilities above 0."""
        if k is None and share < 1.0:
            k = self.size_of_nucleus(share)
        if k is not None and k < len(self.vocabulary.ids):
            return self.top(k)
        probs = self.all()
        possible = probs > 0
        return self.vocabulary.ids[possible], probs[possible]

    def top(self, k: int) -> tuple[Integers, Floats]:
        """Tokens with probabilities above 0, in the vocabulary's order: the k most probable, and END.

        Of equals the first count.
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
        """How many of the most probable tokens are needed, or a few more, to have that share of the total.

        By halving: how far to go in the order of the tokens that are not listed, listed ones that are as
        probable taken with them.
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
    """Where the k greatest are, of equals those of the first places."""
    least = np.partition(probs, len(probs) - k)[len(probs) - k]
    above = np.flatnonzero(probs > least)
    equal = np.flatnonzero(probs == least)
    return np.append(above, equal[np.argsort(places[equal])][: k - len(above)])
