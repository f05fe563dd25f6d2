"""A document with `"a b c"` contains `"b c"`: AND needs only the longer one, OR only the shorter one."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.patterns import Gram
from ngramdb.planner.plan import (
    AllDocs,
    AnyOf,
    Complement,
    DocExpr,
    DocsOf,
    DocsWith,
    InDocs,
    Intersection,
    Nearby,
    NearTo,
    Node,
    NoDocs,
    Nowhere,
    Occurring,
    UnionOf,
)
from ngramdb.planner.rules.base import Rule, on_nodes

# Comparing every pair is quadratic: beyond this many n-grams a condition is left as it stands.
MAX_OPERANDS = 64


def contains(longer: Gram, shorter: Gram) -> bool:
    """Return True if `longer` contains `shorter`, so that every occurrence of it is one of `shorter`."""
    n = len(shorter)
    return any(longer.key[i : i + n] == shorter.key for i in range(len(longer) - n + 1))


def _absorb(expr: Node) -> Node:
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    grams = [operand.gram for operand in expr.operands if isinstance(operand, DocsWith)]
    if not 2 <= len(grams) <= MAX_OPERANDS:
        return expr

    def implied(operand: Node) -> bool:
        if not isinstance(operand, DocsWith):
            return False
        others = (other for other in grams if other != operand.gram)
        if isinstance(expr, Intersection):
            return any(contains(other, operand.gram) for other in others)
        return any(contains(operand.gram, other) for other in others)

    kept = tuple(operand for operand in expr.operands if not implied(operand))
    if len(kept) == len(expr.operands):
        return expr
    return kept[0] if len(kept) == 1 else replace(expr, operands=kept)


ABSORB_IMPLIED = Rule(
    "absorb_implied",
    "drops n-grams that another operand implies",
    on_nodes(_absorb),
    frozenset((Intersection, UnionOf)),
)


# ---- `NOT NOT x` is x.


def _undo(expr: Node) -> Node:
    if isinstance(expr, Complement) and isinstance(expr.operand, Complement):
        return expr.operand.operand
    return expr


DOUBLE_NEGATION = Rule(
    "double_negation",
    "takes NOT NOT away",
    on_nodes(_undo),
    frozenset((Complement,)),
)


# ---- `(a AND b) AND c` is one conjunction of three; repeated operands count once; one operand needs no AND.


def _flatten(expr: Node) -> Node:
    if isinstance(expr, AnyOf):
        return _flatten_sum(expr)
    if isinstance(expr, InDocs) and isinstance(expr.what, InDocs):
        return replace(expr, what=expr.what.what, docs=Intersection((expr.what.docs, expr.docs)))
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    flat: dict[Node, None] = {}
    for operand in expr.operands:
        inner = operand.operands if isinstance(operand, type(expr)) else (operand,)
        flat.update(dict.fromkeys(inner))
    operands = tuple(flat)
    if len(operands) == 1:
        return operands[0]
    return expr if operands == expr.operands else expr.with_children(operands)


def _flatten_sum(expr: AnyOf) -> Node:
    """One OR without repetitions: of `x AND a OR x AND b` and of `x AND a OR x`, each x counts once."""
    flat: dict[Occurring, None] = {}
    for operand in expr.operands:
        flat.update(dict.fromkeys(operand.operands if isinstance(operand, AnyOf) else (operand,)))
    limits: dict[Occurring, list[DocExpr]] = {}
    for operand in flat:
        if isinstance(operand, InDocs):
            limits.setdefault(operand.what, []).append(operand.docs)
    kept: dict[Occurring, None] = {}
    for operand in flat:
        if isinstance(operand, (InDocs, NearTo)) and operand.what in flat:
            continue
        if isinstance(operand, InDocs) and len(limits[operand.what]) > 1:
            operand = InDocs(operand.what, UnionOf(tuple(limits[operand.what])))
        kept[operand] = None
    operands = tuple(kept)
    if len(operands) == 1:
        return operands[0]
    return expr if operands == expr.operands else replace(expr, operands=operands)


FLATTEN = Rule(
    "flatten",
    "merges nested ANDs and ORs and drops repeated operands",
    on_nodes(_flatten),
    frozenset((AnyOf, InDocs, Intersection, UnionOf)),
)


# ---- `x AND NOT x` matches no document, `x OR NOT x` is every document.


def _fold_contradiction(expr: Node) -> Node:
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    negated = {operand.operand for operand in expr.operands if isinstance(operand, Complement)}
    both = [operand for operand in expr.operands if operand in negated]
    if not both:
        return expr
    if isinstance(expr, UnionOf):
        return AllDocs()
    return NoDocs(f"{both[0].label()} and its negation")


FOLD_CONTRADICTIONS = Rule(
    "fold_contradictions",
    "answers a condition joined with its own negation",
    on_nodes(_fold_contradiction),
    frozenset((Complement,)),
)


# ---- constants vanish from conditions: `x AND nothing` is nothing, `NOT nothing` is all documents


def _fold(expr: Node) -> Node:
    if isinstance(expr, Occurring):
        return _fold_occurrences(expr)
    if isinstance(expr, DocsWith) and not len(expr.gram):
        return AllDocs()
    if isinstance(expr, Complement):
        if isinstance(expr.operand, NoDocs):
            return AllDocs()
        if isinstance(expr.operand, AllDocs):
            return NoDocs("NOT of all documents")
    if isinstance(expr, Intersection):
        return _fold_operands(expr, absorbing=NoDocs, neutral=AllDocs)
    if isinstance(expr, UnionOf):
        return _fold_operands(expr, absorbing=AllDocs, neutral=NoDocs)
    if isinstance(expr, DocsOf) and isinstance(expr.what, Nowhere):
        return NoDocs(expr.what.reason)
    if isinstance(expr, Nearby):
        for operand in expr.operands:
            if isinstance(operand, Nowhere):
                return NoDocs(operand.reason)
    return expr


def _fold_operands(expr: Intersection | UnionOf, absorbing: type[DocExpr], neutral: type[DocExpr]) -> DocExpr:
    for operand in expr.operands:
        if isinstance(operand, absorbing):
            return operand
    kept = tuple(operand for operand in expr.operands if not isinstance(operand, neutral))
    if len(kept) == len(expr.operands):
        return expr
    if not kept:
        return expr.operands[0]
    return kept[0] if len(kept) == 1 else replace(expr, operands=kept)


def _fold_occurrences(expr: Occurring) -> Occurring:
    if isinstance(expr, InDocs):
        if isinstance(expr.docs, NoDocs):
            return Nowhere(expr.docs.reason)
        return expr.what if isinstance(expr.docs, AllDocs) or isinstance(expr.what, Nowhere) else expr
    if isinstance(expr, NearTo):
        return _fold_near(expr)
    if isinstance(expr, AnyOf):
        kept = tuple(operand for operand in expr.operands if not isinstance(operand, Nowhere))
        if not kept:
            return expr.operands[0]
        if len(kept) < len(expr.operands):
            return kept[0] if len(kept) == 1 else replace(expr, operands=kept)
    return expr


def _fold_near(expr: NearTo) -> Occurring:
    for operand in (expr.what, *expr.others):
        if isinstance(operand, Nowhere):
            return operand
    apart = tuple(operand for operand in expr.apart if not isinstance(operand, Nowhere))
    if not apart and not expr.others and expr.tokens is not None:
        return expr.what
    return expr if len(apart) == len(expr.apart) else replace(expr, apart=apart)


_fold_nodes = on_nodes(_fold)


FOLD_CONSTANTS = Rule(
    "fold_constants",
    "drops operands that decide nothing or decide all",
    lambda plan: _fold_nodes(plan).fold_constants(),
)
