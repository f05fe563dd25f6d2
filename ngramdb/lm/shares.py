"""The next token's distribution without a pass over the vocabulary: the most probable tokens, and draws.

A model's tokens are sorted once by their values without context. After a context only those that follow some
suffix of it are looked at; all others keep that order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ngramdb._cext.lm import models as kernel
from ngramdb.fork_safety import cached_property
from ngramdb.lm.values import END, Floats, Integers

# Sums that are rounded differently must not make a nucleus differ.
ROUNDING = 1e-12


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
    def ranking(self) -> kernel.Ranking:
        """The tokens by their values without context."""
        return kernel.Ranking(self.alone)


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
        return self.vocabulary.ranking.total(self.places, self.probs, self.rest)

    def all(self) -> Floats:
        """Return the probability of every token of the vocabulary."""
        alone = self.vocabulary.alone
        probs = self.rest * alone
        if self._is_least:
            probs[alone > 0] = np.maximum(probs[alone > 0], self.vocabulary.least)
        probs[self.places] = self.probs
        return probs

    def prob(self, token: int) -> float:
        """Return the probability of a token of the vocabulary."""
        return self._prob_at(int(np.flatnonzero(self.vocabulary.ids == token)[0]))

    def _prob_at(self, place: int) -> float:
        at = int(np.searchsorted(self.places, place))
        if at < len(self.places) and self.places[at] == place:
            return float(self.probs[at])
        alone = float(self.vocabulary.alone[place])
        return max(self.rest * alone, self.vocabulary.least) if alone > 0 else 0.0

    def top(self, k: int) -> tuple[Integers, Floats]:
        """Return ids and probabilities of the k most probable tokens, and END, in the vocabulary's order.

        Among equals the first ones count. Tokens of probability 0 are left out.
        """
        if self._is_least:
            probs = self.all()
            places = np.sort(np.argsort(-probs, kind="stable")[:k])
            places = places[probs[places] > 0]
            probs = probs[places]
        else:
            places, probs = self.vocabulary.ranking.top(self.places, self.probs, self.rest, k)
        end = self.vocabulary.end
        if not (places == end).any() and (prob := self._prob_at(end)) > 0:
            first = end == 0  # or the last one
            places = np.concatenate(([end], places) if first else (places, [end]))
            probs = np.concatenate(([prob], probs) if first else (probs, [prob]))
        return self.vocabulary.ids[places], probs

    def draw(self, temperature: float, share: float, at: float) -> tuple[int, float] | None:
        """Return a drawn token's id, and its probability divided by the sum of all; None if none is possible.

        Parameters
        ----------
        temperature : tokens are drawn by their probabilities to the power of 1 / temperature
        share : only as few of the most probable as have this share together are drawn
        at : a random number, at least 0 and below 1
        """
        if self._is_least:
            probs = self.all()
            possible = np.flatnonzero(probs > 0)
            place = int(possible[drawn_place(probs[possible], temperature, share, at)])
            return int(self.vocabulary.ids[place]), float(probs[place] / probs.sum())
        drawn = self.vocabulary.ranking.draw(self.places, self.probs, self.rest, temperature, share, at)
        return (int(self.vocabulary.ids[drawn[0]]), drawn[1]) if drawn[0] >= 0 else None

    @cached_property
    def _is_least(self) -> bool:
        """True if tokens that are not listed may have the least probability; then the first ones count."""
        return self.rest < self.vocabulary.least


def drawn_place(
    probs: Floats, temperature: float, share: float, at: float, whole: float | None = None
) -> int:
    """Return the place of a drawn token, as `Shares.draw` does; no probability is 0.

    whole : what the share is of; by default the sum of all
    """
    order = np.argsort(-probs, kind="stable")
    weights = probs[order]
    if temperature != 1.0:
        weights = np.exp((np.log(weights) - np.log(weights[0])) / temperature)
    sums = np.cumsum(weights)
    end = sums[-1]
    if share < 1.0:
        wanted = share * (end if whole is None else whole) * (1.0 - ROUNDING)
        end = sums[min(int(np.searchsorted(sums, wanted)), len(sums) - 1)]
    place = int(np.searchsorted(sums, at * end, side="right"))
    return int(order[min(place, len(order) - 1)])
