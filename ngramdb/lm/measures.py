"""What probabilities of tokens come to: the one definition of log-probability and perplexity.

Every face has its numbers from here: SCORE's summary, `Corpus.perplexity` and its command, and
`Scores.perplexity`. A token without an answer (an n-gram model after an unseen context) is left out of all
sums. A token of probability 0 is not: it makes the log-probability -inf and the perplexity infinite.
`perplexity_nonzero` is the perplexity of the tokens above 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """Sums over tokens; those of several texts add up.

    n_tokens : all of them
    n_unanswered : those without an answer
    n_zero : those of probability 0
    positive_logprob : the sum of natural logarithms over the others
    """

    n_tokens: int = 0
    n_unanswered: int = 0
    n_zero: int = 0
    positive_logprob: float = 0.0

    @classmethod
    def of(cls, logprob: Floats) -> Measure:
        """Of natural logarithms, one per token: NaN without an answer, -inf for 0."""
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
        """Tokens with an answer: the mean is over them."""
        return self.n_tokens - self.n_unanswered

    @property
    def logprob(self) -> float:
        """The sum over the tokens with an answer; -inf when one of them has probability 0."""
        return -math.inf if self.n_zero else self.positive_logprob

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative logarithm: infinite when one is 0, NaN without answers."""
        return _perplexity(self.logprob, self.n_answered)

    @property
    def perplexity_nonzero(self) -> float:
        """The perplexity of the tokens whose probability is above 0; NaN when there are none."""
        return _perplexity(self.positive_logprob, self.n_answered - self.n_zero)


def _perplexity(logprob: float, n: int) -> float:
    if not n:
        return math.nan
    try:
        return math.exp(-logprob / n)
    except OverflowError:
        return math.inf


def shown_arrays(name: str, **fields: object) -> str:
    """An object in one line: arrays by their length and first values."""
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
    """A measured number in a representation: six digits, and the same whether numpy's or Python's."""
    return f"{value:.6g}"
