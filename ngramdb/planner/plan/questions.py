"""Queries of probabilities."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.base import Question, SliceQuestion
from ngramdb.planner.plan.nodes import Costs, DocExpr

if TYPE_CHECKING:
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns.grams import Gram

# The units that a text is scored in, each from its beginning to its end.
Unit: TypeAlias = Literal["document", "sentence"]

PROBABILITY_COLUMNS = ("prob", "cont_count", "context_count", "effective_n", "sparse")
DISTRIBUTION_COLUMNS = ("token", "token_id", "count", "prob")
SCORE_COLUMNS = (
    "position",
    "token",
    "token_id",
    "effective_n",
    "count",
    "context_count",
    "prob",
    "logprob",
    "sparse",
)


@dataclass(frozen=True)
class Probability(SliceQuestion):
    """PROB."""

    continuation: Gram
    context: Gram
    model: ModelSpec

    def label(self) -> str:
        return f"probability of {self.continuation.shown} given {self.context.shown}, {self.model}"


@dataclass(frozen=True)
class Distribution(SliceQuestion):
    """DIST."""

    context: Gram
    model: ModelSpec
    top: int | None = None

    def label(self) -> str:
        top = "" if self.top is None else f", top {self.top:,}"
        return f"distribution given {self.context.shown}, {self.model}{top}"


@dataclass(frozen=True)
class DistributionBefore(Question):
    """DIST BEFORE."""

    gram: Gram
    top: int | None = None
    where: DocExpr | None = None
    costs: Costs | None = field(default=None, compare=False)

    def where_clause(self) -> DocExpr | None:
        return self.where

    def label(self) -> str:
        top = "" if self.top is None else f", top {self.top:,}"
        return f"distribution before {self.gram.shown}{top}"


@dataclass(frozen=True)
class Scoring(SliceQuestion):
    """SCORE. `unit`: the text is a document, or is cut into sentences; each is between `<s>` and `</s>`."""

    gram: Gram
    model: ModelSpec
    unit: Unit | None = None

    def label(self) -> str:
        n = len(self.gram)
        what = {None: "", "document": "as a document, ", "sentence": "in sentences, "}[self.unit]
        return f"score {n:,} token{'' if n == 1 else 's'}, {what}{self.model}"
