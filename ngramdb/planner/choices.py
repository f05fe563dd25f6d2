"""How a condition is run on one segment: in which order its operands, and by which access path.

These functions are the only place where that is decided: the executor calls them when it runs a condition,
and EXPLAIN calls them to foresee it. Everything follows from the segment's exact counts, a search each, and,
for access paths, from the number of documents that are still candidates. The kernel for conditions of plain
n-grams (`conditions.hpp`) makes the same choices in C++; a property test compares its trace with these
functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ngramdb.patterns import Gapped, Gram, Pattern, StoredText, StoredWords, TokenPattern, Variants
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

# Work in occurrences located: a value of a typed column, one of a column of JSON, a token whose n-gram is
# looked up in another corpus, and an occurrence that is joined with those near it.
FIELD_WORK = 0.5
PARSED_FIELD_WORK = 200.0
OVERLAP_WORK = 50.0
NEAR_WORK = 4.0

# Candidates are few where they are at most one document of so many.
FEW = 8

# Access paths of an n-gram: by its rows in the index, or by reading the documents in question.
LOCATE = "locate"
SCAN = "scan"
# Access path of a string that no n-grams spell.
READ_TEXT = "read stored text"
# Which side of an InDocs comes first.
DOCUMENTS_FIRST = "documents first"
OCCURRENCES_FIRST = "occurrences first"

Leaf = DocsWith | DocsMatching | CountTest | OccurrencesOf


class Extent(Protocol):
    """How large a segment is."""

    @property
    def n_documents(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...


class Sizes(Extent, Protocol):
    """What the choices for a segment are made from."""

    def bound(self, leaf: Leaf, /) -> int:
        """At most how many occurrences the node's pattern has; exact for n-grams and variants."""

    def is_parsed(self, path: str, /) -> bool:
        """Whether the values of a metadata field must be parsed one by one."""


def pattern_of(leaf: Leaf) -> Pattern:
    """The pattern of a node that has one."""
    return leaf.gram if isinstance(leaf, DocsWith) else leaf.pattern


def pattern_bound(pattern: Pattern, count: Callable[[Gram], int], whole: int) -> int:
    """At most how many occurrences a pattern has, given the counts of n-grams.

    Exact for n-grams and variants. `whole` is the work of reading every text: a document's text costs about
    what locating its tokens does.
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
    """At most how many occurrences an expression has."""
    if isinstance(expr, OccurrencesOf):
        return sizes.bound(expr)
    if isinstance(expr, AnyOf):
        return sum(bound(operand, sizes) for operand in expr.operands)
    if isinstance(expr, InDocs):
        return bound(expr.what, sizes)
    if isinstance(expr, NearTo):
        # One place may have any number of occurrences near it; but if one operand is absent, there is none.
        others = min((bound(other, sizes) for other in expr.others), default=1)
        return bound(expr.what, sizes) if others else 0
    return 0


def work(expr: DocExpr, sizes: Sizes) -> float:
    """What evaluating a condition on all documents costs, in occurrences located."""
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
        costly = not expr.own and sizes.is_parsed(expr.path)
        return sizes.n_documents * (PARSED_FIELD_WORK if costly else FIELD_WORK)
    return OVERLAP_WORK * sizes.n_tokens if isinstance(expr, OverlapTest) else 0.0


def weight(expr: DocExpr, sizes: Sizes) -> float:
    """The sort key of AND's operands: at most how many occurrences bear on the condition.

    Infinite where it selects by leaving out, since that cuts little away. Conditions on fields are weighed by
    their work: which share of the documents they select is not known before.
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

    `is_empty`: the counts alone show that nothing meets all of them.
    """

    numbers: list[int]
    is_empty: bool = False


def order_of(expr: Intersection | Nearby, sizes: Sizes) -> Order:
    """The order of the operands; equals keep theirs."""
    if not expr.ordered:
        return Order(list(range(len(expr.operands))))
    weights: list[float]
    if isinstance(expr, Intersection):
        weights = [weight(operand, sizes) for operand in expr.operands]
    else:
        weights = [bound(operand, sizes) for operand in expr.operands]
    return Order(sorted(range(len(weights)), key=weights.__getitem__), 0 in weights)


def near_order_of(expr: NearTo, sizes: Sizes) -> list[int]:
    """The numbers of the children in the order in which they are evaluated.

    The rarest operand is located first. Where that is another one than the first, whose occurrences are asked
    for, then the first is looked for around it; the others follow, the rarest first.
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
    """Which side comes first: the documents, or the occurrences, whose documents alone are then tested."""
    first = expr.ordered and bound(expr.what, sizes) <= work(expr.docs, sizes)
    return OCCURRENCES_FIRST if first else DOCUMENTS_FIRST


def gram_path(costs: Costs | None, n_occurrences: int, n_candidates: int, extent: Extent) -> str:
    """How the documents of an n-gram are found among candidates (all documents: n_documents of them)."""
    n = extent.n_documents
    if costs is None or not n:
        return LOCATE
    locating = costs.sift_ns if n_candidates <= n // FEW else costs.locate_ns
    reading = costs.scan_ns * (n_candidates / n) * extent.n_tokens
    return SCAN if reading < locating * n_occurrences else LOCATE


def kernel_costs(costs: Costs | None) -> tuple[float, float, float, int]:
    """The costs as `SegmentIndex.docs_where` takes them; without any, documents are never read."""
    if costs is None:
        return 1.0, math.inf, 1.0, FEW
    return costs.locate_ns, costs.scan_ns, costs.sift_ns, FEW


def are_few(n_candidates: int, n_documents: int) -> bool:
    """Whether rows are compared with where the candidates stand, and not collected first."""
    return n_candidates <= n_documents // FEW


def is_parsed(metadata: MetadataReader, path: str) -> bool:
    """Whether the values of a metadata field must be parsed one by one."""
    return metadata.fields().get(path) in (None, PARSED_TYPE)


def one_id(expr: FieldTest) -> int | None:
    """The id of `doc_id = 17`, which needs no other id; None for any other test."""
    predicate = expr.predicate
    if not (expr.own and expr.path == "doc_id" and isinstance(predicate, Compared)) or expr.negated:
        return None
    literal = predicate.literal
    return literal if predicate.operator == "=" and type(literal) is int else None


def pattern_path(pattern: Pattern, among_candidates: bool) -> str | None:
    """The access path of DocsMatching and CountTest; None where the lengths of documents decide, too."""
    if isinstance(pattern, (StoredText, StoredWords)):
        return READ_TEXT
    return LOCATE if isinstance(pattern, (Gram, Variants)) and not among_candidates else None


def most_documents(expr: DocExpr, sizes: Sizes) -> int:
    """At most how many documents meet a condition, as far as counts show."""
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
