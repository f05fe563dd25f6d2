"""Questions that show text around occurrences, list n-grams, or trace a text in a corpus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ngramdb.planner.plan.base import Question, SliceQuestion
from ngramdb.planner.plan.grams import Gram
from ngramdb.planner.plan.nodes import DocExpr

if TYPE_CHECKING:
    from ngramdb.planner.plan.estimates import Costs
    from ngramdb.planner.plan.field_keys import FieldKey
    from ngramdb.planner.plan.patterns import Pattern

CONCORDANCE_COLUMNS = ("doc_id", "position", "left", "match", "right")
NGRAM_COLUMNS = ("ngram", "token_ids", "count")
TRACE_COLUMNS = ("start", "length", "span", "count", "doc_ids")

# What lines of a concordance can be ordered by.
BY_PLACE = "doc_id"
BY_LEFT = "left"
BY_RIGHT = "right"
CONCORDANCE_ORDERS = (BY_PLACE, BY_LEFT, BY_RIGHT)

# Documents that TRACE names for a span.
TRACE_DOCUMENTS = 10


@dataclass(frozen=True)
class Sampling:
    """SAMPLE: `size` of all, drawn without replacement; the seed decides which."""

    size: int
    seed: int

    def label(self) -> str:
        return f"sample {self.size:,}, seed {self.seed}"


@dataclass(frozen=True)
class Concordance(Question, operator="kwic.concordance.concordance", binders={"Kwic": "concordance.kwic"}):
    """KWIC: the occurrences of a pattern with up to `window` tokens on either side."""

    pattern: Pattern
    where: DocExpr
    window: int
    order: str = BY_PLACE
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    sample: Sampling | None = None
    returning: tuple[FieldKey, ...] = ()
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        parts = [f"window {self.window:,}", self.order + (" descending" if self.descending else "")]
        if self.sample is not None:
            parts.append(self.sample.label())
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        if self.returning:
            parts.append("returning " + ", ".join(key.path for key in self.returning))
        return f"concordance of {self.pattern.shown} ({', '.join(parts)})"

    def details(self) -> tuple[str, ...]:
        pattern = self.pattern
        if isinstance(pattern, Gram):
            return (*super().details(), f"{pattern.shown}: count {self.corpus.index.count(pattern.ids):,}")
        return (*super().details(), *pattern.details())

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class NgramList(Question, operator="questions.ngrams.ngrams", binders={"Ngrams": "concordance.ngrams"}):
    """NGRAMS: all n-grams of one length, the most frequent first."""

    n: int
    where: DocExpr
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        top = "" if self.top is None else f", top {self.top:,}"
        return f"{self.n}-grams by count{top}"

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class Tracing(SliceQuestion, operator="questions.trace.trace", binders={"Trace": "concordance.trace"}):
    """TRACE: the maximal spans of a text, of at least `min_length` tokens, that stand in the corpus.

    `n_documents` is how many documents are named for each, None for all.
    """

    gram: Gram
    min_length: int = 1
    n_documents: int | None = TRACE_DOCUMENTS

    def label(self) -> str:
        least = f", at least {self.min_length:,}" if self.min_length > 1 else ""
        n = len(self.gram)
        return f"trace {n:,} token{'' if n == 1 else 's'}{least}"
