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
