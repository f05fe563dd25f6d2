"""Document expressions: sets of documents."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from ngramdb.lazy import dataclass
from ngramdb.patterns.grams import Gram
from ngramdb.planner.plan.fields import part_of
from ngramdb.planner.plan.nodes import DocExpr, Node, Occurring
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from ngramdb.patterns.nodes import Pattern
    from ngramdb.planner.plan.fields import Predicate


@dataclass(frozen=True)
class AllDocs(DocExpr):
    """Every document."""

    def label(self) -> str:
        return "all documents"


@dataclass(frozen=True)
class NoDocs(DocExpr):
    """No document; `reason` is shown by EXPLAIN."""

    reason: str = field(default="", compare=False)

    def label(self) -> str:
        return f"no documents ({self.reason})" if self.reason else "no documents"


@dataclass(frozen=True)
class DocsWith(DocExpr):
    """Documents that contain the n-gram; the empty one is in every document."""

    gram: Gram

    def label(self) -> str:
        return f"contains {self.gram.shown}"


@dataclass(frozen=True)
class DocsMatching(DocExpr):
    """Documents that contain a pattern other than a plain n-gram."""

    pattern: Pattern

    def label(self) -> str:
        return f"contains {self.pattern.shown}"

    def details(self) -> tuple[str, ...]:
        return () if isinstance(self.pattern, Gram) else self.pattern.details()


@dataclass(frozen=True)
class CountTest(DocExpr):
    """COUNT("x") >= 3: documents by the number of occurrences of the pattern. `operator` may also be `!=`."""

    pattern: Pattern
    operator: str
    value: int

    def label(self) -> str:
        return f"count of {self.pattern.shown} {self.operator} {self.value:,}"

    def holds(self, count: int) -> bool:
        """Return True if a document with `count` occurrences meets it."""
        return {
            "=": count == self.value,
            "!=": count != self.value,
            "<": count < self.value,
            "<=": count <= self.value,
            ">": count > self.value,
            ">=": count >= self.value,
        }[self.operator]

    def details(self) -> tuple[str, ...]:
        return () if isinstance(self.pattern, Gram) else self.pattern.details()


@dataclass(frozen=True)
class Nearby(DocExpr):
    """Documents in which an occurrence of each operand starts within `tokens` tokens of all the others'.

    If `tokens` is None: documents with a sentence that has an occurrence of each.
    """

    operands: tuple[Occurring, ...]
    tokens: int | None
    ordered: bool = field(default=False, compare=False)

    def label(self) -> str:
        distance = "a sentence" if self.tokens is None else f"{self.tokens:,} tokens"
        return f"within {distance}" + (", rarest first" if self.ordered else "")

    def children(self) -> tuple[Node, ...]:
        return self.operands

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operands=children)


@dataclass(frozen=True)
class DocsOf(DocExpr):
    """Documents with an occurrence of an expression."""

    what: Occurring

    def label(self) -> str:
        return "documents of"

    def children(self) -> tuple[Node, ...]:
        return (self.what,)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, what=children[0])


@dataclass(frozen=True)
class FieldTest(DocExpr):
    """Documents for which the predicate on a field is true, or, if `negated`, false: unknown is neither.

    `own` distinguishes `doc_id` and `length` from metadata of the same name; `path` is the metadata column's.
    `part` is the part of its dates that is tested, 'year', 'month' or 'day'.
    """

    path: str
    predicate: Predicate
    own: bool = False
    negated: bool = False
    part: str = ""

    @property
    def name(self) -> str:
        """The field or part of a date, as the language writes it."""
        return part_of(self.part, self.path)

    def label(self) -> str:
        shown = self.predicate.label(self.name)
        return f"not ({shown})" if self.negated else shown


@dataclass(frozen=True)
class OverlapTest(DocExpr):
    """OVERLAP(corpus, n) >= share: the share of the document's n-grams that occur in another corpus."""

    other: Corpus = field(compare=False, repr=False)
    other_name: str
    n: int
    operator: str
    share: float

    def label(self) -> str:
        return f"overlap with {self.other_name}, {self.n}-grams, {self.operator} {self.share:g}"


@dataclass(frozen=True)
class Intersection(DocExpr):
    """Documents in all operands. `ordered`: operands may be taken in order of their exact counts."""

    operands: tuple[DocExpr, ...]
    ordered: bool = field(default=False, compare=False)

    def label(self) -> str:
        return "intersection" + (", rarest first" if self.ordered else "")

    def children(self) -> tuple[Node, ...]:
        return self.operands

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operands=children)


@dataclass(frozen=True)
class UnionOf(DocExpr):
    """Documents in any operand."""

    operands: tuple[DocExpr, ...]

    def label(self) -> str:
        return "union"

    def children(self) -> tuple[Node, ...]:
        return self.operands

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operands=children)


@dataclass(frozen=True)
class Contrast(DocExpr):
    """Two sets of documents that are compared; without a second one, with all documents not in the first.

    `n_first`: the first set is in the first `n_first` segments, the second in the others; None: both are in
    all.
    """

    first: DocExpr
    second: DocExpr | None = None
    n_first: int | None = None

    def label(self) -> str:
        return "compared with the rest" if self.second is None else "the first compared with the second"

    def children(self) -> tuple[Node, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, first=children[0], second=None if self.second is None else children[1])


@dataclass(frozen=True)
class Complement(DocExpr):
    """Documents not in the operand; costs nothing beyond the operand until the ids are read."""

    operand: DocExpr

    def label(self) -> str:
        return "not"

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operand=children[0])
