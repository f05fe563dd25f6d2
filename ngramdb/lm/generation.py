"""Generating text: greedily, by sampling, by beam search and diverse beam search, with any model.

If a model has no answer after the whole context, shorter suffixes are tried, down to none, so that there
is always a next token; generation stops at a document's end, or after the given number of tokens.

Sources: nucleus sampling: Holtzman et al. 2020, section 3.1. Diverse beam search with the Hamming penalty,
one beam per group: Vijayakumar et al. 2018, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ngramdb import interrupts
from ngramdb._cext.lm.models import Sampler
from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.limits import MAX_TOKEN_ID
from ngramdb.lm.models import LanguageModel, SharingModel, after_last_border, as_ids
from ngramdb.lm.shares import Shares, drawn_place
from ngramdb.lm.spec import is_real, is_whole
from ngramdb.lm.values import END, UNKNOWN, Floats, Integers, shown_arrays

# Default number of beams: that of the paper on diverse search.
BEAMS = 5


@dataclass(frozen=True)
class Greedy:
    """The most probable token at each step; the smaller id among equals."""


@dataclass(frozen=True)
class Sampling:
    """Random sampling. temperature: below 1 sharper, above 1 flatter.

    top_k, top_p: from this many of the most probable tokens, or from as few of them as have this
    probability together.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not (is_real(self.temperature) and self.temperature > 0):
            raise InvalidArgument(
                f"a temperature must be above 0, not {self.temperature!r}; METHOD greedy is the limit"
            )
        if self.top_k is not None and not (is_whole(self.top_k) and self.top_k >= 1):
            raise InvalidArgument(f"top_k must be a whole number of at least 1, not {self.top_k!r}")
        if self.top_p is not None and not (is_real(self.top_p) and 0 < self.top_p <= 1):
            raise InvalidArgument(f"top_p must be above 0 and at most 1, not {self.top_p!r}")

    @property
    def is_plain(self) -> bool:
        """True if tokens are drawn by their unmodified probabilities."""
        return self.temperature == 1.0 and self.top_k is None and self.top_p in (None, 1.0)


@dataclass(frozen=True)
class Search:
    """Beam search.

    `diversity` is what a token costs for each earlier beam that chose it at the same place, in natural
    logarithms.
    """

    beams: int = BEAMS
    diversity: float = 0.0

    def __post_init__(self) -> None:
        if not (is_whole(self.beams) and self.beams >= 1):
            raise InvalidArgument(f"beams must be a whole number of at least 1, not {self.beams!r}")
        if not (is_real(self.diversity) and self.diversity >= 0):
            raise InvalidArgument(f"a diversity must be at least 0, not {self.diversity!r}")


Method = Greedy | Sampling | Search


@dataclass(frozen=True)
class Stops:
    """Conditions that end a text before it has all of its tokens.

    ngrams : token ids; a text ends after any of these n-grams
    least_prob : tokens that are less probable are not chosen, and a text ends if all of them are
    """

    ngrams: tuple[tuple[int, ...], ...] = ()
    least_prob: float = 0.0

    def __post_init__(self) -> None:
        if not all(self.ngrams):
            raise InvalidArgument("an n-gram that ends a text must have a token")
        if not (is_real(self.least_prob) and 0 <= self.least_prob <= 1):
            raise InvalidArgument(f"a least probability must be from 0 to 1, not {self.least_prob!r}")

    def after(self, ids: Sequence[int]) -> bool:
        """Return True if a text ends after these tokens."""
        return any(tuple(ids[-len(ngram) :]) == ngram for ngram in self.ngrams)

    def probable(self, ids: Integers, probs: Floats) -> tuple[Integers, Floats]:
        """Return the tokens that may be chosen."""
        if not self.least_prob:
            return ids, probs
        kept = probs >= self.least_prob
        return ids[kept], probs[kept]

    def most(self, k: int | None) -> int | None:
        """Return the greatest number of tokens to choose from; k is that without a least probability."""
        if not self.least_prob:
            return k
        # One more, as the quotient may be rounded.
        possible = int(min(1.0 / self.least_prob, MAX_TOKEN_ID)) + 1
        return possible if k is None else min(k, possible)


NEVER = Stops()


@dataclass(frozen=True)
class Continuation:
    """Tokens after a context, and the natural logarithm of their probability, including that of `</s>`.

    ended : the text ended with `</s>`
    stopped : it ended earlier, after a given n-gram, or as no token was probable enough
    """

    ids: tuple[int, ...]
    logprob: float
    ended: bool
    stopped: bool = False

    def extended(self, token: int, logprob: float, stops: Stops = NEVER) -> Continuation:
        if token == END:
            return Continuation(self.ids, self.logprob + logprob, True)
        ids = (*self.ids, token)
        return Continuation(ids, self.logprob + logprob, False, stops.after(ids))

    @property
    def is_complete(self) -> bool:
        """True if no token can follow."""
        return self.ended or self.stopped


class Generator:
    """Continuations of a context by a model.

    Example: `Generator(make(KneserNey(), view)).generate(ids, 20, Sampling(top_p=0.9), seed=1)`.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        # Beams and repeated samples reach the same context again and again.
        self._candidates = lru_cache(maxsize=64)(self._candidates_after)
        self._shares = lru_cache(maxsize=64)(self._shares_after)

    def generate(
        self,
        context: ArrayLike,
        n: int,
        method: Method,
        *,
        seed: int | None = None,
        n_return: int = 1,
        stops: Stops = NEVER,
    ) -> list[Continuation]:
        """Generate continuations, the most probable first.

        Parameters
        ----------
        context : token ids
        n : the greatest number of tokens of each
        method : Greedy, Sampling or Search
        seed : the same seed draws the same samples, independently of each other and of `n_return`
        n_return : the number of continuations: 1 for Greedy, at most the number of beams for Search, which
            returns fewer if it finds fewer different ones
        stops : conditions that end texts before they have n tokens

        Raises
        ------
        InvalidArgument
            More continuations than the method has, or a number out of range.
        """
        if not (is_whole(n) and is_whole(n_return) and n >= 0 and n_return >= 1):
            raise InvalidArgument(f"{n!r} tokens and {n_return!r} continuations cannot be generated")
        ids = tuple(as_ids(context).tolist())
        if isinstance(method, Search):
            if n_return > method.beams:
                raise InvalidArgument(
                    f"a search with {method.beams} beams cannot return {n_return} continuations"
                )
            if method.diversity > 0:  # a small one lets several beams find the same text
                found = list(dict.fromkeys(self._diverse_beams(ids, n, method, stops)))
            else:
                found = self._beams(ids, n, method.beams, stops)
        else:
            if isinstance(method, Greedy) and n_return > 1:
                raise InvalidArgument("greedy generation has one continuation; use sample or beam for more")
            found = [self._walk(ids, n, method, _random(seed, i), stops) for i in range(n_return)]
        return sorted(found, key=lambda item: -item.logprob)[:n_return]

    def stream(
        self,
        context: ArrayLike,
        n: int,
        method: Method,
        *,
        seed: int | None = None,
        stops: Stops = NEVER,
    ) -> Iterator[tuple[int, float]]:
        """Yield the tokens of one continuation with their log-probabilities, as they are chosen.

        The tokens are those of `generate` with n_return=1, followed by END if the text ended. The result of a
        search is known only at its end, and is then yielded at once.

        Parameters
        ----------
        context, n, method, seed, stops : as in `generate`
        """
        if isinstance(method, Search):
            best = self.generate(context, n, method, stops=stops)[0]
            known = tuple(as_ids(context).tolist())
            for token in (*best.ids, *([END] if best.ended else [])):
                prob = self._prob(known, token)
                if prob is None:  # a corpus without tokens
                    return
                yield token, math.log(prob)
                known = (*known, token)
            return
        yield from self._tokens(tuple(as_ids(context).tolist()), n, method, _random(seed, 0), stops)

    # ---- one continuation ----

    def _walk(
        self,
        context: tuple[int, ...],
        n: int,
        method: Greedy | Sampling,
        random: np.random.Generator,
        stops: Stops,
    ) -> Continuation:
        found = Continuation((), 0.0, False)
        for token, logprob in self._tokens(context, n, method, random, stops):
            found = found.extended(token, logprob, stops)
        return found

    def _tokens(
        self,
        context: tuple[int, ...],
        n: int,
        method: Greedy | Sampling,
        random: np.random.Generator,
        stops: Stops,
    ) -> Iterator[tuple[int, float]]:
        sampler = None
        if isinstance(method, Sampling) and method.is_plain and not stops.least_prob:
            sampler = self.model.sampler(context)
        made: list[int] = []
        steps = (
            self._steps(context, n, method, random, stops) if sampler is None else _drawn(sampler, n, random)
        )
        for token, logprob in steps:
            yield token, logprob
            made.append(token)
            if token != END and stops.after(made):
                return

    def _steps(
        self,
        context: tuple[int, ...],
        n: int,
        method: Greedy | Sampling,
        random: np.random.Generator,
        stops: Stops,
    ) -> Iterator[tuple[int, float]]:
        for _ in range(n):
            interrupts.check()
            chosen = self._choice(context, method, random, stops)
            if chosen is None:  # a corpus without tokens, or none is probable enough
                return
            token, prob = chosen
            yield token, math.log(prob)
            if token == END:
                return
            context = (*context, token)

    def _choice(
        self, context: tuple[int, ...], method: Greedy | Sampling, random: np.random.Generator, stops: Stops
    ) -> tuple[int, float] | None:
        """Return the next token and its probability."""
        k = 1 if isinstance(method, Greedy) else stops.most(method.top_k)
        if k is None and isinstance(method, Sampling) and isinstance(self.model, SharingModel):
            share = 1.0 if method.top_p is None else method.top_p
            return self._shares(context).draw(method.temperature, share, random.random())
        ids, probs = stops.probable(*self._candidates(context, k))
        if not len(ids):
            return None
        best = int(np.argmax(probs)) if isinstance(method, Greedy) else _draw(probs, method, random)
        return int(ids[best]), float(probs[best])

    # ---- several at once ----

    def _beams(self, context: tuple[int, ...], n: int, width: int, stops: Stops) -> list[Continuation]:
        beams = [Continuation((), 0.0, False)]
        for _ in range(n):
            if all(beam.is_complete for beam in beams):
                break
            grown: list[Continuation] = []
            for beam in beams:
                longer = [] if beam.is_complete else self._best_extensions(context, beam, width, stops)
                # Without any, no token is frequent or probable enough to come next.
                grown += longer or [beam if beam.is_complete else replace(beam, stopped=True)]
            beams = sorted(grown, key=lambda item: (-item.logprob, item.ids))[:width]
        return beams

    def _diverse_beams(
        self, context: tuple[int, ...], n: int, method: Search, stops: Stops
    ) -> list[Continuation]:
        beams = [Continuation((), 0.0, False)] * method.beams
        for _ in range(n):
            if all(beam.is_complete for beam in beams):
                break
            taken: dict[int, int] = {}
            for i, beam in enumerate(beams):
                if beam.is_complete:
                    continue
                interrupts.check()
                ids, probs = stops.probable(*self._candidates(context + beam.ids, method.beams))
                if not len(ids):
                    beams[i] = replace(beam, stopped=True)
                    continue
                scores = np.log(probs)
                for token, times in taken.items():
                    place = np.flatnonzero(ids == token)
                    scores[place] -= method.diversity * times
                best = int(np.argmax(scores))
                token = int(ids[best])
                taken[token] = taken.get(token, 0) + 1
                beams[i] = beam.extended(token, float(np.log(probs[best])), stops)
        return beams

    def _best_extensions(
        self, context: tuple[int, ...], beam: Continuation, width: int, stops: Stops
    ) -> list[Continuation]:
        interrupts.check()
        ids, probs = stops.probable(*self._candidates(context + beam.ids, width))
        best = np.lexsort((ids, -probs))[:width]
        return [beam.extended(int(ids[i]), float(np.log(probs[i])), stops) for i in best]

    # ---- what may come next ----

    def _candidates_after(self, context: tuple[int, ...], k: int | None) -> tuple[Integers, Floats]:
        """Return tokens that may come next, each with a positive probability.

        At least the k most probable; all of them if k is None. The probabilities of all sum to 1, or to less
        if an n-gram model leaves out tokens that are not frequent enough. Empty if no token is.
        """
        if not isinstance(self.model, SharingModel):
            return self._relative(context)
        shares = self._shares(context)
        ids, probs = shares.top(len(shares.vocabulary.ids) if k is None else k)
        return ids, probs / shares.total if shares.total > 0 else probs

    def _shares_after(self, context: tuple[int, ...]) -> Shares:
        assert isinstance(self.model, SharingModel)
        return self.model.shares(context)

    def _prob(self, context: tuple[int, ...], token: int) -> float | None:
        """Return the probability of a token that was found."""
        if isinstance(self.model, SharingModel):
            shares = self._shares(context)
            return shares.prob(token) / shares.total
        ids, probs = self._candidates(context, None)
        return float(probs[ids == token][0]) if len(ids) else None

    def _relative(self, context: tuple[int, ...]) -> tuple[Integers, Floats]:
        """Return tokens after the longest suffix that a token follows often enough for an n-gram model."""
        spec = self.model.spec
        while True:
            ids, counts, context_count, length = self.model.continuations(context)
            if spec.kind == "ngram":
                kept = counts >= spec.min_count
                ids, counts = ids[kept], counts[kept]
            if len(ids) or length == 0:
                return ids, counts / max(1, context_count)
            context = context[len(context) - (length - 1) :]


def _random(seed: int | None, number: int) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else [seed, number])


def _drawn(sampler: Sampler, n: int, random: np.random.Generator) -> Iterator[tuple[int, float]]:
    """Yield tokens with log-probabilities, without computing a distribution for each."""
    for _ in range(n):
        interrupts.check()
        token, prob = sampler.next(int(random.integers(2**63)))
        if token == UNKNOWN:  # nothing is frequent enough
            return
        if not prob > 0:
            raise CorruptionError(
                "the statistics that ANALYZE keeps of the corpus are damaged: a token has the probability "
                f"{prob:g}; restore the newest manifest from a backup",
                expected="a probability above 0",
                found=prob,
            )
        yield token, math.log(prob)
        if token == END:
            return


def _draw(probs: Floats, method: Sampling, random: np.random.Generator) -> int:
    """Return the place of a randomly drawn token."""
    share = 1.0 if method.top_p is None else method.top_p
    if method.top_k is None or method.top_k >= len(probs):
        # The probabilities of tokens that are not frequent enough count.
        whole = 1.0 if method.temperature == 1.0 and method.top_k is None else None
        return drawn_place(probs, method.temperature, share, random.random(), whole)
    kept = np.sort(np.argsort(-probs, kind="stable")[: method.top_k])
    return int(kept[drawn_place(probs[kept], method.temperature, share, random.random())])


# ---- Speculative decoding: continuations drafted from the corpus, for a larger model to verify.


class Draft(NamedTuple):
    """A continuation: ids (k,) int64.

    probs (k,) float64, each token's share; effective_n (k,), the length of the n-grams after them.

    `confidence` is the probability of the whole draft.
    """

    ids: Integers
    probs: Floats
    effective_n: Integers

    @property
    def confidence(self) -> float:
        return float(self.probs.prod())

    def __repr__(self) -> str:
        return shown_arrays("Draft", **self._asdict())


def draft(model: LanguageModel, context: ArrayLike, n: int, *, least_prob: float = 0.0) -> Draft:
    """Draft the most frequent continuation of the longest suffix of the context that occurs, token by token.

    The smallest id is chosen among successors with the same count.

    Parameters
    ----------
    model : any model
    context : token ids
    n : the greatest number of tokens; a document's end stops earlier
    least_prob : stop before a token that is less probable
    """
    used, begins = after_last_border(as_ids(context), model.index.separator)
    ids = as_ids(context).tolist() if begins else used.tolist()
    drafted: list[int] = []
    probs: list[float] = []
    lengths: list[int] = []
    while len(drafted) < n:
        interrupts.check()
        tokens, counts, context_count, length = model.continuations(ids)
        if not len(tokens):
            break
        best = int(np.argmax(counts))
        prob = float(counts[best]) / context_count
        if tokens[best] == END or prob < least_prob:
            break
        drafted.append(int(tokens[best]))
        probs.append(prob)
        lengths.append(length + 1)
        # A suffix that occurs with the token also occurs without it.
        ids = [*(ids if begins else ids[len(ids) - length :]), drafted[-1]]
    return Draft(
        np.array(drafted, dtype=np.int64),
        np.array(probs, dtype=np.float64),
        np.array(lengths, dtype=np.int64),
    )
