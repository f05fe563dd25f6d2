"""Questions about counts, probabilities and documents."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.base import Constant, Plan, Question, SliceQuestion
from ngramdb.planner.plan.fields import FieldKey, PlaceKey
from ngramdb.planner.plan.nodes import COSTS, Costs, DocExpr, Node, Occurring, changed
from ngramdb.planner.plan.occurring import Nowhere, Several, why_nowhere

if TYPE_CHECKING:
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns.grams import Gram
    from ngramdb.planner.plan.concordance import Sampling
    from ngramdb.source import Corpus

# The units that a text is scored in, each from its beginning to its end.
Unit: TypeAlias = Literal["document", "sentence"]

COUNT_COLUMNS = ("count",)
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
class CountGram(Question):
    """COUNT of one n-gram in all documents."""

    gram: Gram

    def label(self) -> str:
        n = len(self.gram)
        return f"count {self.gram.shown} ({n:,} token{'' if n == 1 else 's'})"

    @property
    def is_settled(self) -> bool:
        return self.gram.known

    def fold_unknown_words(self) -> Plan:
        if self.gram.known:
            return self
        return Constant(self.corpus, COUNT_COLUMNS, ((0,),), why_nowhere(self.gram))


@dataclass(frozen=True)
class CountOccurrences(Question):
    """COUNT of an expression."""

    what: Occurring
    costs: Costs | None = field(default=None, compare=False)
    sample: Sampling | None = None

    def label(self) -> str:
        return "count" if self.sample is None else f"estimated count ({self.sample.label()})"

    def fold_constants(self) -> Plan:
        if self.sample is not None or not isinstance(self.what, Nowhere):
            return self
        return Constant(self.corpus, COUNT_COLUMNS, ((0,),), self.what.reason)

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Any) -> Plan:
        return replace(self, what=tree)


@dataclass(frozen=True)
class GroupedCount(Question):
    """COUNT … GROUP BY: occurrences, or documents, for each combination of the fields' values.

    `order` has places of columns, the last one being the count, each with whether it descends.
    """

    what: Occurring | DocExpr
    keys: tuple[FieldKey, ...]
    order: tuple[tuple[int, bool], ...] = ()
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        counted = "documents" if isinstance(self.what, DocExpr) else "occurrences"
        names = [key.name for key in self.keys]
        parts = [f"count {counted} by {', '.join(names)}"]
        return "; ".join(parts + _ordered([*names, "count"], self.order, self.top))

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Any) -> Plan:
        return replace(self, what=tree)


def _ordered(columns: list[str], order: tuple[tuple[int, bool], ...], top: int | None) -> list[str]:
    """The order of rows, for a label."""
    keys = [columns[i] + (" descending" if down else "") for i, down in order]
    parts = [f"order {', '.join(keys)}"] if keys else []
    return parts if top is None else [*parts, f"top {top:,}"]


@dataclass(frozen=True)
class CountTable(Question):
    """COUNT of several n-grams, PER MILLION, or by the text beside occurrences.

    `names` are those of the operands of `what`, as the column `ngram` has them; one alone has no column.
    `order` has places of columns, each with whether it descends.
    """

    what: Several
    names: tuple[str, ...]
    keys: tuple[FieldKey | PlaceKey, ...] = ()
    order: tuple[tuple[int, bool], ...] = ()
    top: int | None = None
    per_million: bool = False
    costs: Costs | None = field(default=None, compare=False)

    @property
    def is_named(self) -> bool:
        """Whether rows name their n-gram."""
        return len(self.names) > 1

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns after those of n-gram and keys."""
        return ("count", "tokens", "per_million") if self.per_million else COUNT_COLUMNS

    @property
    def columns(self) -> list[str]:
        """What rows can be ordered by."""
        return [*(["ngram"] if self.is_named else []), *(key.name for key in self.keys), *self.numbers]

    def label(self) -> str:
        parts = [f"count {len(self.names):,} n-grams" if self.is_named else "count occurrences"]
        if self.keys:
            parts[0] += f" by {', '.join(key.label() for key in self.keys)}"
        if self.per_million:
            parts.append("per million tokens")
        return "; ".join(parts + _ordered(self.columns, self.order, self.top))

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)


@dataclass(frozen=True)
class CountDocuments(Question):
    """COUNT DOCS."""

    takes_plain_docs = True

    where: DocExpr
    costs: Costs | None = field(default=COSTS, compare=False)

    def label(self) -> str:
        return "count documents"

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class Documents(Question):
    """DOCS."""

    takes_plain_docs = True

    where: DocExpr
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    costs: Costs | None = field(default=COSTS, compare=False)
    order: tuple[FieldKey, ...] = ()
    sample: Sampling | None = None
    returning: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        if self.order:
            parts = ["by " + ", ".join(key.label() for key in self.order)]
        else:
            parts = ["doc_id " + ("descending" if self.descending else "ascending")]
        if self.sample is not None:
            parts.append(self.sample.label())
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        if self.returning:
            parts.append("returning " + ", ".join(key.path for key in self.returning))
        return f"documents ({', '.join(parts)})"

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def where_clause(self) -> DocExpr | None:
        return self.where


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
