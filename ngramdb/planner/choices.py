"""The evaluation of a condition on one segment: the order of its operands, and their access paths.

Only these functions decide it: the executor calls them when it runs a condition, and EXPLAIN to predict that.
They use the segment's exact counts, one search each, and, for access paths, the number of remaining
candidates. The kernel for conditions of plain
n-grams (`conditions.hpp`) makes the same choices in C++; a property test compares its trace with these
functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ngramdb.patterns import (
    Gapped,
    Gram,
    Pattern,
    StoredExpression,
    StoredText,
    StoredWords,
    TokenPattern,
    Variants,
)
from ngramdb.planner.plan import (
    AnyOf,
    Compared,
    Complement,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    FieldTest,
    InDocs,
    Intersection,
    Nearby,
    NearTo,
    NoDocs,
    OccurrencesOf,
    Occurring,
    OverlapTest,
    UnionOf,
)
from ngramdb.segments.metadata import MetadataReader
from ngramdb.source import PARSED_TYPE

# Work, in located occurrences, for a value of a typed column, a value of a JSON column, a token whose n-gram
# is looked up in another corpus, and an occurrence that is joined with those near it.
FIELD_WORK = 0.5
PARSED_FIELD_WORK = 200.0
OVERLAP_WORK = 50.0
NEAR_WORK = 4.0

# Tokens whose text is read in the time in which an occurrence is located.
READ_AT_ONCE = 8
# N-grams that are searched for among candidates before their texts are read.
FEW_GRAMS = 16

# Candidates are few if they are at most one in this many documents.
FEW = 8

# Access paths of an n-gram: by its rows in the index, or by reading the candidates.
LOCATE = "locate"
SCAN = "scan"
# Access path of a string that is not a sequence of tokens.
READ_TEXT = "read stored text"
# The side of an InDocs that is evaluated first.
DOCUMENTS_FIRST = "documents first"
OCCURRENCES_FIRST = "occurrences first"

Leaf = DocsWith | DocsMatching | CountTest | OccurrencesOf


class Extent(Protocol):
    """The size of a segment."""

    @property
    def n_documents(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...


class Sizes(Extent, Protocol):
    """The numbers that decide the choices for a segment."""

    def bound(self, leaf: Leaf, /) -> int:
        """Return an upper bound of the occurrences of the node's pattern; exact for n-grams and variants."""

    def is_parsed(self, path: str, /) -> bool:
        """Return True if the values of a metadata field must be parsed one by one."""


def pattern_of(leaf: Leaf) -> Pattern:
    """Return the pattern of a node that has one."""
    return leaf.gram if isinstance(leaf, DocsWith) else leaf.pattern


def pattern_bound(pattern: Pattern, count: Callable[[Gram], int], whole: int) -> int:
    """Return an upper bound of a pattern's occurrences from the counts of n-grams.

    Exact for n-grams and variants. `whole` is the work of reading every text, which is about that of locating
    all tokens.
    """
    if isinstance(pattern, Gram):
        return count(pattern)
    if isinstance(pattern, Variants):
        return sum(w * count(gram) for gram, w in zip(pattern.grams, pattern.weights, strict=True))
    if isinstance(pattern, TokenPattern):
        return pattern.bound(whole)
    if isinstance(pattern, StoredWords):
        return min(whole, pattern.most)
    if isinstance(pattern, Gapped):
        return min(pattern_bound(part, count, whole) for part in pattern.parts)
    return min([whole, *(sum(map(count, clause)) for clause in pattern.needs)])


def bound(expr: Occurring, sizes: Sizes) -> int:
    """Return an upper bound of the occurrences of an expression."""
    if isinstance(expr, OccurrencesOf):
        return sizes.bound(expr)
    if isinstance(expr, AnyOf):
        return sum(bound(operand, sizes) for operand in expr.operands)
    if isinstance(expr, InDocs):
        return bound(expr.what, sizes)
    if isinstance(expr, NearTo):
        # Any number of occurrences may be near one place, but none if one operand does not occur.
        others = min((bound(other, sizes) for other in expr.others), default=1)
        return bound(expr.what, sizes) if others else 0
    return 0


def work(expr: DocExpr, sizes: Sizes) -> float:
    """Return the cost of evaluating a condition on all documents, in located occurrences."""
    if isinstance(expr, (DocsWith, DocsMatching, CountTest)):
        return sizes.bound(expr)
    if isinstance(expr, Complement):
        return work(expr.operand, sizes)
    if isinstance(expr, UnionOf):
        return sum(work(operand, sizes) for operand in expr.operands)
    if isinstance(expr, Intersection):
        return min((work(operand, sizes) for operand in expr.operands), default=0.0)
    if isinstance(expr, Nearby):
        return NEAR_WORK * min(bound(operand, sizes) for operand in expr.operands)
    if isinstance(expr, DocsOf):
        return NEAR_WORK * bound(expr.what, sizes)
    if isinstance(expr, FieldTest):
        if one_id(expr) is not None:
            return 1.0
        if expr.function is not None:
            return OVERLAP_WORK * sizes.n_tokens
        costly = not expr.own and sizes.is_parsed(expr.path)
        return sizes.n_documents * (PARSED_FIELD_WORK if costly else FIELD_WORK)
    return OVERLAP_WORK * sizes.n_tokens if isinstance(expr, OverlapTest) else 0.0


def weight(expr: DocExpr, sizes: Sizes) -> float:
    """Return the sort key of AND's operands: an upper bound of the occurrences that decide the condition.

    Infinite for conditions that exclude documents, which reduce the candidates little. Conditions on fields
    are weighed by their work, since the share of documents that they select is not known in advance.
    """
    if isinstance(expr, DocsWith):
        return sizes.bound(expr) if len(expr.gram) else math.inf
    if isinstance(expr, DocsMatching):
        return sizes.bound(expr)
    if isinstance(expr, UnionOf):
        return sum(weight(operand, sizes) for operand in expr.operands)
    if isinstance(expr, Intersection):
        return min((weight(operand, sizes) for operand in expr.operands), default=math.inf)
    if isinstance(expr, CountTest):
        return math.inf if expr.holds(0) else sizes.bound(expr)
    if isinstance(expr, (Nearby, DocsOf)):
        return work(expr, sizes)
    if isinstance(expr, (FieldTest, OverlapTest)):
        return max(work(expr, sizes), 1.0)
    return 0 if isinstance(expr, NoDocs) else math.inf


class Order(NamedTuple):
    """The numbers of operands in the order in which they are evaluated.

    `is_empty`: the counts show that no document meets all of them.
    """

    numbers: list[int]
    is_empty: bool = False


def order_of(expr: Intersection | Nearby, sizes: Sizes) -> Order:
    """Return the order of the operands; the sort is stable."""
    if not expr.ordered:
        return Order(list(range(len(expr.operands))))
    weights: list[float]
    if isinstance(expr, Intersection):
        weights = [weight(operand, sizes) for operand in expr.operands]
    else:
        weights = [bound(operand, sizes) for operand in expr.operands]
    return Order(sorted(range(len(weights)), key=weights.__getitem__), 0 in weights)


def near_order_of(expr: NearTo, sizes: Sizes) -> list[int]:
    """Return the numbers of the children in the order in which they are evaluated.

    The rarest operand is located first. If it is not the first one, whose occurrences are the result, the
    first is then searched around it. The others follow, the rarest first.
    """
    every = list(range(len(expr.children())))
    if not expr.ordered:
        return every
    bounds = [bound(operand, sizes) for operand in (expr.what, *expr.others)]
    others = sorted(range(1, len(bounds)), key=bounds.__getitem__)
    if others and bounds[others[0]] < bounds[0]:
        others.insert(1, 0)
    else:
        others.insert(0, 0)
    return others + every[len(bounds) :]


def in_docs_path(expr: InDocs, sizes: Sizes) -> str:
    """Return the side to evaluate first: the documents, or the occurrences if that is cheaper."""
    first = expr.ordered and bound(expr.what, sizes) <= work(expr.docs, sizes)
    return OCCURRENCES_FIRST if first else DOCUMENTS_FIRST


def gram_path(costs: Costs | None, n_occurrences: int, n_candidates: int, extent: Extent) -> str:
    """Return the access path of an n-gram among a number of candidates, up to all documents."""
    n = extent.n_documents
    if costs is None or not n:
        return LOCATE
    locating = costs.sift_ns if n_candidates <= n // FEW else costs.locate_ns
    reading = costs.scan_ns * (n_candidates / n) * extent.n_tokens
    return SCAN if reading < locating * n_occurrences else LOCATE


def kernel_costs(costs: Costs | None) -> tuple[float, float, float, int]:
    """Return the costs for `SegmentIndex.docs_where`; without any, documents are never read."""
    if costs is None:
        return 1.0, math.inf, 1.0, FEW
    return costs.locate_ns, costs.scan_ns, costs.sift_ns, FEW


def are_few(n_candidates: int, n_documents: int) -> bool:
    """Return True if rows are tested against the candidates one by one instead of collected first."""
    return n_candidates <= n_documents // FEW


def is_parsed(metadata: MetadataReader, path: str) -> bool:
    """Return True if the values of a metadata field must be parsed one by one."""
    return metadata.fields().get(path) in (None, PARSED_TYPE)


def one_id(expr: FieldTest) -> int | None:
    """Return the id in `doc_id = 17`; None for any other test."""
    predicate = expr.predicate
    if not (expr.own and expr.path == "doc_id" and isinstance(predicate, Compared)) or expr.negated:
        return None
    literal = predicate.literal
    return literal if predicate.operator == "=" and type(literal) is int else None


def pattern_path(pattern: Pattern, among_candidates: bool) -> str | None:
    """Return the access path of DocsMatching and CountTest; None if it also depends on document lengths."""
    if isinstance(pattern, (StoredText, StoredWords, StoredExpression)):
        return READ_TEXT
    return LOCATE if isinstance(pattern, (Gram, Variants)) and not among_candidates else None


def most_documents(expr: DocExpr, sizes: Sizes) -> int:
    """Return an upper bound of the documents that meet a condition, from counts."""
    most: float = sizes.n_documents
    if isinstance(expr, (DocsWith, DocsMatching, CountTest, UnionOf, Intersection, NoDocs)):
        if not isinstance(expr, (UnionOf, Intersection)):
            most = min(most, weight(expr, sizes))
        elif isinstance(expr, UnionOf):
            most = min(most, sum(most_documents(operand, sizes) for operand in expr.operands))
        else:
            most = min([most, *(most_documents(operand, sizes) for operand in expr.operands)])
    elif isinstance(expr, FieldTest) and one_id(expr) is not None:
        most = min(most, 1)
    return int(most)
