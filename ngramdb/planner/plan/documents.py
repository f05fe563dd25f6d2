"""Document expressions: sets of documents; and conditions on plain n-grams, evaluated in one call."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.patterns.grams import Gram
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.plan.fields import part_of
from ngramdb.planner.plan.nodes import DocExpr, Node, Occurring
from ngramdb.source import ConditionCode, Corpus, IntArray
from ngramdb.types import are_token_ids

if TYPE_CHECKING:
    from ngramdb.patterns.nodes import Pattern
    from ngramdb.planner.plan.fields import FunctionCall, Predicate


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
    `part` is the part of its dates that is tested, 'year', 'month' or 'day'. `function` computes its values,
    and `path` is the call.
    """

    path: str
    predicate: Predicate
    own: bool = False
    negated: bool = False
    part: str = ""
    function: FunctionCall | None = None

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


# ---- Conditions on plain n-grams with AND, OR and NOT, in the form that segments evaluate in one call.


GRAM, NOT, AND, AND_ORDERED, OR, EVERY = map(int, ConditionCode)

Ids = IntArray | tuple[int, ...]


@dataclass(frozen=True)
class PlainDocs(DocExpr):
    """The operators of a condition in prefix order, and its n-grams.

    It is used alone, if documents are requested and the plan is not shown.
    """

    code: list[int] = field(default_factory=list)
    grams: list[Ids] = field(default_factory=list)

    @classmethod
    def of(cls, expr: DocExpr, ordered: bool) -> PlainDocs | None:
        """Return the condition, or None if it has other parts.

        `ordered`: operands may be taken in the order of their exact counts.
        """
        plain = cls()
        return plain if plain._add(expr, AND_ORDERED if ordered else AND) else None

    def label(self) -> str:
        return f"condition on {len(self.grams):,} n-grams"

    def _add(self, expr: DocExpr, conjunction: int) -> bool:
        if isinstance(expr, DocsWith):
            self.code.append(GRAM)
            self.grams.append(expr.gram.given)
        elif isinstance(expr, (Intersection, UnionOf)):
            self.code.append(conjunction if isinstance(expr, Intersection) else OR)
            self.code.append(len(expr.operands))
            for operand in expr.operands:
                if not self._add(operand, conjunction):
                    return False
        elif isinstance(expr, Complement):
            self.code.append(NOT)
            return self._add(expr.operand, conjunction)
        elif isinstance(expr, AllDocs):
            self.code.append(EVERY)
        elif isinstance(expr, NoDocs):
            self.code.extend((NOT, EVERY))
        else:
            return False
        return True


def is_settled(expr: DocExpr) -> bool:
    """Return True if a condition on plain n-grams is changed by no rewrite rule, apart from unknown words.

    Takes a tenth of the time of trying the rules; returns False in doubt. Rules are about operators nested in
    operators of the same kind, about constants, and about n-grams that are equal or contained in each other.
    An n-gram with an unknown word costs the kernel nothing, so that folding it first would only take time.
    """
    keys: list[tuple[int, ...]] = []
    return _collect(expr, None, keys) and _are_independent(keys)


def _collect(expr: DocExpr, parent: type[DocExpr] | None, keys: list[tuple[int, ...]]) -> bool:
    kind = type(expr)
    if isinstance(expr, DocsWith):
        key = expr.gram.key
        keys.append(key)
        return bool(key)
    if isinstance(expr, Complement):
        return kind is not parent and _collect(expr.operand, kind, keys)
    if isinstance(expr, (Intersection, UnionOf)):
        if kind is parent or len(expr.operands) < 2:
            return False
        return all(_collect(operand, kind, keys) for operand in expr.operands)
    return parent is None and isinstance(expr, (AllDocs, NoDocs))


def _are_independent(keys: list[tuple[int, ...]]) -> bool:
    unique = set(keys)
    lengths = set(map(len, unique))
    if len(unique) < len(keys) or len(lengths) < 2:
        return len(unique) == len(keys)
    return not any(
        key[i : i + n] in unique
        for key in keys
        for n in lengths
        if n < len(key)
        for i in range(len(key) - n + 1)
    )


# ---- templates: conditions on placeholders with AND, OR and NOT, whose plan is made once for all n-grams


@dataclass(frozen=True)
class Template:
    """Operators in prefix order, as in PlainDocs, and the placeholders of the n-grams."""

    code: list[int]
    leaves: list[ast.Parameter]

    @classmethod
    def of(cls, node: ast.Condition) -> Template | None:
        """Return the template of a condition, or None if it has other parts."""
        template = cls([], [])
        return template if template._add(node) else None

    def filled(self, values: Parameters) -> PlainDocs | None:
        """Return the condition for these values; None unless all of them are lists or tuples of token ids."""
        grams: list[Ids] = []
        for leaf in self.leaves:
            ids = values.value(leaf)
            if not are_token_ids(ids):
                return None
            grams.append(tuple(ids))
        return PlainDocs(self.code, grams)

    def _add(self, node: ast.Condition) -> bool:
        if isinstance(node, ast.Contains) and isinstance(node.pattern, ast.Parameter):
            self.code.append(GRAM)
            self.leaves.append(node.pattern)
            return True
        if isinstance(node, ast.Not):
            self.code.append(NOT)
            return self._add(node.operand)
        if isinstance(node, (ast.And, ast.Or)):
            self.code.extend((AND_ORDERED if isinstance(node, ast.And) else OR, len(node.operands)))
            return all(self._add(operand) for operand in node.operands)
        return False
