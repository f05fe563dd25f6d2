"""What models answer with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext import lm as kernel

# Token ids with a meaning of their own: a word that the corpus has not, `</s>`, and `<s>`.
UNKNOWN: int = kernel.UNKNOWN
END: int = kernel.END
BEGIN: int = kernel.BEGIN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Probability(NamedTuple):
    """P(token | context). prob: None where the model has no answer (an n-gram model after an unseen context).

    cont_count and context_count are those of the longest n-gram that was used, effective_n its length;
    sparse (n-gram and ∞-gram): the context has one continuation only.
    """

    prob: float | None
    cont_count: int
    context_count: int
    effective_n: int
    sparse: bool


class Probabilities(NamedTuple):
    """The same for n pairs: arrays (n,). prob is NaN where there is no answer."""

    prob: Floats
    cont_count: Integers
    context_count: Integers
    effective_n: NDArray[np.int32]
    sparse: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scores:
    """A text under a model, one entry a token; the last entry of a sentence is its `</s>`.

    prob : (n,) float64, NaN where the model has no answer
    effective_n : (n,) int32, the length of the longest n-gram that was used (KenLM's matched length)
    count, context_count : (n,) int64, its occurrences and those of its context
    sparse : (n,) bool, for n-gram and ∞-gram
    """

    prob: Floats
    effective_n: NDArray[np.int32]
    count: Integers
    context_count: Integers
    sparse: NDArray[np.bool_]

    @classmethod
    def of(cls, scored: NDArray[Any]) -> Scores:
        """From the kernel's structured array."""
        names = ("prob", "effective_n", "count", "context_count", "sparse")
        return cls(*(np.ascontiguousarray(scored[name]) for name in names))

    def __len__(self) -> int:
        return len(self.prob)

    def __getitem__(self, part: slice | NDArray[np.bool_]) -> Scores:
        return Scores(
            self.prob[part],
            self.effective_n[part],
            self.count[part],
            self.context_count[part],
            self.sparse[part],
        )

    @cached_property
    def logprob(self) -> Floats:
        """Natural logarithms; -inf for a probability of zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.prob)

    @property
    def total_logprob(self) -> float:
        """Natural logarithm of the whole text's probability; NaN when the model has no answer somewhere."""
        return float(self.logprob.sum())

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability."""
        return float(np.exp(-self.logprob.mean())) if len(self) else float("nan")


@dataclass(frozen=True, eq=False)
class Distribution:
    """The next token of a context: ids (k,) int64 and probs (k,) float64, in the order of the ids.

    END stands for the end of the document, UNKNOWN (Kneser-Ney only) for any token that the corpus has not.
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

    def top(self, k: int) -> tuple[Integers, Floats]:
        """The k most probable, the smaller id first among equals."""
        order = np.lexsort((self.ids, -self.probs))[:k]
        return self.ids[order], self.probs[order]
