"""The answers of models.

Under Kneser-Ney and stupid backoff every token may come next. But after a context only those that follow some
suffix of it have specific probabilities; all others keep the order that they have without context, which is
sorted once per model. So the most probable tokens are among the former and the first of the latter: `Shares`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.lm import models as kernel
from ngramdb.fork_safety import cached_property

# Token ids with a special meaning: a word that does not occur in the corpus, `</s>`, and `<s>`.
UNKNOWN: int = kernel.UNKNOWN
END: int = kernel.END
BEGIN: int = kernel.BEGIN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Probability(NamedTuple):
    """P(token | context). prob: None without an answer (an n-gram model after an unseen context).

    cont_count and context_count belong to the longest n-gram that was used, effective_n is its length;
    sparse (n-gram and ∞-gram): the context has a single continuation.
    """

    prob: float | None
    cont_count: int
    context_count: int
    effective_n: int
    sparse: bool


class Probabilities(NamedTuple):
    """The same for n pairs: arrays (n,). prob is NaN without an answer."""

    prob: Floats
    cont_count: Integers
    context_count: Integers
    effective_n: NDArray[np.int32]
    sparse: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The scores of a text under a model, one entry per token; the last entry of a sentence is its `</s>`.

    prob : (n,) float64, NaN without an answer
    effective_n : (n,) int32, the length of the longest n-gram that was used (KenLM's matched length)
    count, context_count : (n,) int64, occurrences of that n-gram and of its context
    sparse : (n,) bool, for n-gram and ∞-gram
    is_probability : False for scores of stupid backoff, which do not sum to 1
    suffix_n, suffix_count : (n,) int32 and int64, the tokens of the longest suffix of the context that the
        model has, plus one, and its occurrences. They do not depend on the token; for n-gram and ∞-gram
        models they are `effective_n` and `context_count`, the default.
    """

    prob: Floats
    effective_n: NDArray[np.int32]
    count: Integers
    context_count: Integers
    sparse: NDArray[np.bool_]
    is_probability: bool = True
    suffix_n: Any = None
    suffix_count: Any = None

    def __post_init__(self) -> None:
        if self.suffix_n is None:
            object.__setattr__(self, "suffix_n", self.effective_n)
            object.__setattr__(self, "suffix_count", self.context_count)

    @classmethod
    def of(cls, scored: NDArray[Any], is_probability: bool = True) -> Scores:
        """Convert the kernel's structured array."""
        names = ("prob", "effective_n", "count", "context_count", "sparse", "suffix_n", "suffix_count")
        columns = {name: np.ascontiguousarray(scored[name]) for name in names}
        return cls(**columns, is_probability=is_probability)

    def __len__(self) -> int:
        return len(self.prob)

    def __getitem__(self, part: slice | NDArray[np.bool_]) -> Scores:
        return Scores(
            self.prob[part],
            self.effective_n[part],
            self.count[part],
            self.context_count[part],
            self.sparse[part],
            self.is_probability,
            self.suffix_n[part],
            self.suffix_count[part],
        )

    def __repr__(self) -> str:
        return shown_scores(self, self.measure)

    @cached_property
    def logprob(self) -> Floats:
        """Natural logarithms of the probabilities; -inf for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.prob)

    @property
    def measure(self) -> Measure:
        """Sums over the tokens: how many are without an answer or of probability 0, and perplexities."""
        return Measure.of(self.logprob)

    @property
    def total_logprob(self) -> float:
        """Sum of the logarithms over the tokens with an answer; -inf if one has probability 0."""
        return self.measure.logprob

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative log-probability of the answered tokens; infinite if one is 0."""
        return self.measure.perplexity


def shown_scores(scores: Any, measure: Measure) -> str:
    """Return scores in one line: the first probabilities, and their summary."""
    first = ", ".join("None" if np.isnan(prob) else f"{prob:.4g}" for prob in scores.prob[:4].tolist())
    more = ", …" if len(scores.prob) > 4 else ""
    parts = [f"{len(scores.prob):,} tokens", f"prob [{first}{more}]"]
    if measure.n_tokens:
        parts += [f"logprob {shown(measure.logprob)}", f"perplexity {shown(measure.perplexity)}"]
    if measure.n_unanswered:
        parts.append(f"{measure.n_unanswered:,} without an answer")
    if measure.n_zero:
        parts.append(f"{measure.n_zero:,} of probability 0")
    return f"<Scores of {', '.join(parts)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """The distribution of the next token: ids (k,) int64 and probs (k,) float64, in the order of the ids.

    END is the end of the document, UNKNOWN (Kneser-Ney only) any token that does not occur.
    `counts` are those of the suffix that was used (n-gram, ∞-gram), else None. context_count : how often the
    suffix occurs.
    effective_n : tokens of the suffix, plus one.
    """

    ids: Integers
    probs: Floats
    counts: Integers | None
    context_count: int
    effective_n: int

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sparse(self) -> bool:
        """True if a single token has all of the probability; the end of a document is not a token."""
        certain = self.ids[self.probs == 1.0]
        return len(certain) == 1 and int(certain[0]) != END

    def __repr__(self) -> str:
        ids, probs = self.top(4)
        first = ", ".join(
            f"{token}: {prob:.4g}" for token, prob in zip(ids.tolist(), probs.tolist(), strict=True)
        )
        more = ", …" if len(self) > 4 else ""
        return (
            f"<Distribution of {len(self):,} tokens after {self.context_count:,} occurrences, "
            f"effective n {self.effective_n}: {{{first}{more}}}>"
        )

    def top(self, k: int) -> tuple[Integers, Floats]:
        """Return the k most probable, the smaller id first among equals."""
        order = np.lexsort((self.ids, -self.probs))[:k]
        return self.ids[order], self.probs[order]


# ---- Summaries of probabilities: the one definition of log-probability and perplexity.


@dataclass(frozen=True)
class Measure:
    """Sums over tokens; those of several texts can be added.

    n_tokens : the number of all tokens
    n_unanswered : tokens without an answer
    n_zero : tokens of probability 0
    positive_logprob : the sum of natural logarithms over the others
    """

    n_tokens: int = 0
    n_unanswered: int = 0
    n_zero: int = 0
    positive_logprob: float = 0.0

    @classmethod
    def of(cls, logprob: Floats) -> Measure:
        """Sum natural logarithms, one per token: NaN without an answer, -inf for 0."""
        unanswered = np.isnan(logprob)
        zero = np.isneginf(logprob)
        positive = logprob[~(unanswered | zero)]
        return cls(len(logprob), int(unanswered.sum()), int(zero.sum()), float(positive.sum()))

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.n_tokens + other.n_tokens,
            self.n_unanswered + other.n_unanswered,
            self.n_zero + other.n_zero,
            self.positive_logprob + other.positive_logprob,
        )

    @property
    def n_answered(self) -> int:
        """Number of tokens with an answer: the mean is over them."""
        return self.n_tokens - self.n_unanswered

    @property
    def logprob(self) -> float:
        """The sum over the tokens with an answer; -inf if one of them has probability 0."""
        return -math.inf if self.n_zero else self.positive_logprob

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative logarithm: infinite if one is 0, NaN without answers."""
        return _perplexity(self.logprob, self.n_answered)

    @property
    def perplexity_nonzero(self) -> float:
        """The perplexity of the tokens with positive probability; NaN if there are none."""
        return _perplexity(self.positive_logprob, self.n_answered - self.n_zero)


def _perplexity(logprob: float, n: int) -> float:
    if not n:
        return math.nan
    try:
        return math.exp(-logprob / n)
    except OverflowError:
        return math.inf


def shown_arrays(name: str, **fields: object) -> str:
    """Return an object in one line: arrays by their length and first values."""
    parts = ", ".join(f"{field}={_shown_field(value)}" for field, value in fields.items())
    return f"{name}({parts})"


def _shown_field(value: object) -> str:
    if isinstance(value, np.ndarray):
        first = ", ".join(
            f"{item:.4g}" if isinstance(item, float) else str(item) for item in value[:6].tolist()
        )
        return f"[{first}]" if len(value) <= 6 else f"[{first}, … {len(value):,} in all]"
    return shown(value) if isinstance(value, float) else str(value)


def shown(value: float) -> str:
    """Return a measured number for a representation: six digits, the same for numpy and Python."""
    return f"{value:.6g}"


# ---- The most probable next tokens, without a pass over the vocabulary.


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
