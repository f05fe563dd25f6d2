"""Questions that show text around occurrences, or trace a text in a corpus."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ngramdb.late_dataclasses import dataclass
from ngramdb.patterns.grams import Gram
from ngramdb.planner.plan.base import Plan, Question, SliceQuestion
from ngramdb.planner.plan.nodes import DocExpr, Node, changed

if TYPE_CHECKING:
    from ngramdb.patterns.nodes import Pattern
    from ngramdb.planner.plan.fields import FieldKey
    from ngramdb.planner.plan.nodes import Costs
    from ngramdb.planner.plan.occurring import InPart

CONCORDANCE_COLUMNS = ("doc_id", "position", "left", "match", "right")
TRACE_COLUMNS = ("start", "length", "span", "count", "doc_ids")

# What lines of a concordance can be ordered by.
BY_PLACE = "doc_id"
BY_LEFT = "left"
BY_RIGHT = "right"
BY_FORM = "form"
BY_FIELDS = "fields"
CONCORDANCE_ORDERS = (BY_PLACE, BY_LEFT, BY_RIGHT, BY_FORM)

# No document is longer; a larger number in WINDOW means the same.
WHOLE_DOCUMENT = 2**32 - 1

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
class Concordance(Question):
    """KWIC: the occurrences of a pattern with up to `window` tokens on either side; None: their sentences.

    Those of an expression are `what`, with the documents that they are in; `pattern` is then the one that all
    of them are of, if there is one. `keys` are the fields of an order BY_FIELDS; `depth` is how many tokens
    orders BY_LEFT and BY_RIGHT compare, None for the whole window.
    """

    pattern: Pattern | None
    where: DocExpr
    window: int | None
    order: str = BY_PLACE
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    sample: Sampling | None = None
    returning: tuple[FieldKey, ...] = ()
    costs: Costs | None = field(default=None, compare=False)
    keys: tuple[FieldKey, ...] = ()
    depth: int | None = None
    what: InPart | None = None

    def label(self) -> str:
        depth = "" if self.depth is None else f" {self.depth:,}"
        order = self.order + depth + (" descending" if self.descending else "")
        if self.keys:
            order = "by " + ", ".join(key.label() for key in self.keys)
        parts = ["window sentence" if self.window is None else f"window {self.window:,}", order]
        if self.sample is not None:
            parts.append(self.sample.label())
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        if self.returning:
            parts.append("returning " + ", ".join(key.path for key in self.returning))
        of = "" if self.what is not None or self.pattern is None else f" of {self.pattern.shown}"
        return f"concordance{of} ({', '.join(parts)})"

    def details(self) -> tuple[str, ...]:
        pattern = self.pattern
        if self.what is not None or pattern is None:
            return super().details()
        if isinstance(pattern, Gram):
            return (*super().details(), f"{pattern.shown}: count {self.corpus.index.count(pattern.ids):,}")
        return (*super().details(), *pattern.details())

    def where_clause(self) -> DocExpr | None:
        return self.where

    def tree(self) -> Node | None:
        return self.where if self.what is None else self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, where=tree) if self.what is None else changed(self, what=tree)


@dataclass(frozen=True)
class Tracing(SliceQuestion):
    """TRACE: the maximal spans of a text, of at least `min_length` tokens, that stand in the corpus.

    `n_documents` is how many documents are named for each, None for all. With `returning` each of them is a
    row of its own, with these fields of it.
    """

    gram: Gram
    min_length: int = 1
    n_documents: int | None = TRACE_DOCUMENTS
    returning: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        least = f", at least {self.min_length:,}" if self.min_length > 1 else ""
        n = len(self.gram)
        returning = ", returning " + ", ".join(key.path for key in self.returning) if self.returning else ""
        return f"trace {n:,} token{'' if n == 1 else 's'}{least}{returning}"
