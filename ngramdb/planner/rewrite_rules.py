"""Rewrite rules: each replaces a plan by an equal one that is smaller, or settles a part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ngramdb.interrupts import check
from ngramdb.patterns import (
    Gapped,
    Gram,
    Pattern,
    Simple,
    StoredExpression,
    StoredWords,
    TokenPattern,
    Variants,
)
from ngramdb.planner.plan import (
    AllDocs,
    AnyOf,
    Compared,
    Complement,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    FieldTest,
    InDocs,
    InRange,
    Intersection,
    Nearby,
    NearTo,
    Node,
    NoDocs,
    Nowhere,
    OccurrencesOf,
    Occurring,
    OneOf,
    Plan,
    UnionOf,
    why_nowhere,
)


@dataclass(frozen=True)
class Rule:
    """A rewrite that never changes an answer. `rewrite` returns an equal plan if it does not apply.

    The rule applies only to trees with a node of one of the `kinds`, or to any plan if `kinds` is empty.
    """

    name: str
    rewrite: Callable[[Plan], Plan]
    kinds: frozenset[type[Node]] = frozenset()


def rewrite(plan: Plan, disabled: frozenset[str] = frozenset()) -> tuple[Plan, tuple[str, ...]]:
    """Apply every rule until nothing changes; return the plan, and the names of the rules that changed it.

    Terminates because every rule makes the tree smaller or an n-gram shorter.
    """
    fired: list[str] = []
    kinds = _kinds_of(plan)
    while True:
        before = plan
        for rule in RULES:
            # Most conditions lack the nodes that most rules are about, and walking the tree costs more.
            if rule.name in disabled or (rule.kinds and kinds.isdisjoint(rule.kinds)):
                continue
            rewritten = rule.rewrite(plan)
            # Identity first: a rule that does not apply returns the plan itself, and comparing costs more.
            if rewritten is not plan and rewritten != plan:
                plan = rewritten
                kinds = _kinds_of(plan)
                if rule.name not in fired:
                    fired.append(rule.name)
        if plan is before:
            return plan, tuple(fired)


def _kinds_of(plan: Plan) -> set[type[Node]]:
    """Return the kinds of nodes in the plan's tree."""
    found: set[type[Node]] = set()
    tree = plan.tree()
    pending = [] if tree is None else [tree]
    while pending:
        node = pending.pop()
        found.add(type(node))
        pending.extend(node.children())
    return found


def _on_nodes(rewrite: Callable[[Any], Node]) -> Callable[[Plan], Plan]:
    """Return a plan rewrite that applies `rewrite` to every node of the tree, children first.

    Document expressions are replaced by document expressions, occurrence expressions by their like.
    """

    def walk(node: Node) -> Node:
        check()
        return rewrite(node.with_each(walk))

    def rewrite_plan(plan: Plan) -> Plan:
        tree = plan.tree()
        if tree is None:
            return plan
        rewritten = walk(tree)
        return plan if rewritten is tree else plan.with_tree(rewritten)

    return rewrite_plan


# ---- fold_fields: conditions on fields that select no document or all -----------------------------------
#
# `year BETWEEN 2020 AND 2010`, a comparison with NULL and `length < 0` select no document, `doc_id >= 0`
# selects every one.


def _fold_field(expr: Node) -> Node:
    if not isinstance(expr, FieldTest):
        return expr
    predicate = expr.predicate
    if predicate.is_unknown:
        return NoDocs("a comparison with NULL is never true")
    if isinstance(predicate, Compared):
        return _fold_own(expr, predicate) if expr.own and expr.function is None else expr
    if expr.negated:
        # Without NULL in the list, the condition is still unknown for documents without a value.
        return NoDocs("NOT IN is never true with NULL in the list") if _has_null(predicate) else expr
    if isinstance(predicate, OneOf) and not predicate.values:
        return NoDocs("no value is in an empty list")
    if isinstance(predicate, InRange) and predicate.is_empty:
        return NoDocs(f"no value is {predicate.label(expr.path).removeprefix(expr.path).strip()}")
    return expr


def _has_null(predicate: object) -> bool:
    return isinstance(predicate, OneOf) and predicate.has_null


def _fold_own(expr: FieldTest, predicate: Compared) -> Node:
    """doc_id and length are whole numbers, never negative and never missing."""
    literal = predicate.literal
    if not isinstance(literal, (int, float)) or isinstance(literal, bool):
        return expr
    outcomes = {
        "<": False if literal <= 0 else None,
        "<=": False if literal < 0 else None,
        ">": True if literal < 0 else None,
        ">=": True if literal <= 0 else None,
        "=": False if literal < 0 else None,
    }
    found = outcomes[predicate.operator]
    if found is None:
        return expr
    if found != expr.negated:
        return AllDocs()
    return NoDocs(f"{expr.path} is never below 0")


FOLD_FIELDS = Rule(
    "fold_fields",
    _on_nodes(_fold_field),
    frozenset((FieldTest,)),
)


# ---- fold_unknown_words: an n-gram with a word outside the vocabulary does not occur ---------------------


def _fold_leaf(expr: Node) -> Node:
    if isinstance(expr, DocsWith) and not expr.gram.known:
        return NoDocs(why_nowhere(expr.gram))
    if isinstance(expr, DocsMatching) and not expr.pattern.known:
        return NoDocs(why_nowhere(expr.pattern))
    if isinstance(expr, OccurrencesOf) and not expr.pattern.known:
        return Nowhere(why_nowhere(expr.pattern))
    if isinstance(expr, CountTest) and not expr.pattern.known:
        return AllDocs() if expr.holds(0) else NoDocs(why_nowhere(expr.pattern))
    return expr


_fold_leaves = _on_nodes(_fold_leaf)


FOLD_UNKNOWN_WORDS = Rule(
    "fold_unknown_words",
    lambda plan: _fold_leaves(plan.fold_unknown_words()),
)


# ---- single_variant: variants of which only one occurs are this n-gram -----------------------------------


def _single_simple(pattern: Simple) -> Simple:
    """Return the n-gram that a pattern is equal to, or the pattern itself."""
    if isinstance(pattern, Variants) and pattern.weights == (1,):
        return pattern.grams[0]
    return pattern


def _single(pattern: Pattern) -> Pattern:
    if isinstance(pattern, (StoredExpression, StoredWords, TokenPattern)):
        return pattern
    if not isinstance(pattern, Gapped):
        return _single_simple(pattern)
    parts = tuple(map(_single_simple, pattern.parts))
    same = all(new is old for new, old in zip(parts, pattern.parts, strict=True))
    return pattern if same else replace(pattern, parts=parts)


def _take_only_variant(expr: Node) -> Node:
    if isinstance(expr, (DocsMatching, CountTest, OccurrencesOf)):
        found = _single(expr.pattern)
        if found is expr.pattern:
            return expr
        if isinstance(expr, DocsMatching) and not isinstance(found, (Variants, Gapped, TokenPattern)):
            return DocsWith(found)  # type: ignore[arg-type]
        return replace(expr, pattern=found)
    return expr


SINGLE_VARIANT = Rule(
    "single_variant",
    _on_nodes(_take_only_variant),
    frozenset((DocsMatching, CountTest, OccurrencesOf)),
)


# ---- fold_one_nearby: WITHIN of one n-gram is the n-gram alone, anywhere or within a sentence ------------


def _fold_nearby(expr: Node) -> Node:
    if isinstance(expr, Nearby):
        operands = tuple(dict.fromkeys(expr.operands))
        if len(operands) == 1 and expr.tokens is None:
            return DocsOf(NearTo(operands[0], (), (), None))
        if len(operands) == 1:
            return _fold_nearby(DocsOf(operands[0]))
        return expr if len(operands) == len(expr.operands) else expr.with_children(operands)
    if isinstance(expr, DocsOf) and isinstance(expr.what, OccurrencesOf):
        pattern = expr.what.pattern
        return DocsWith(pattern) if isinstance(pattern, Gram) else DocsMatching(pattern)
    return expr


FOLD_ONE_NEARBY = Rule(
    "fold_one_nearby",
    _on_nodes(_fold_nearby),
    frozenset((Nearby, DocsOf)),
)


# ---- cut_context: a context is cut to the tokens that its model reads -------------------------------------

CUT_CONTEXT = Rule(
    "cut_context",
    lambda plan: plan.cut_context(),
)


# ---- absorb_implied: a document with `"a b c"` contains `"b c"` -----------------------------------------
#
# AND needs only the longer one, OR only the shorter one.

# Comparing every pair is quadratic, so that conditions with more n-grams are left unchanged.
MAX_OPERANDS = 64


def _contains(longer: Gram, shorter: Gram) -> bool:
    """Return True if `longer` contains `shorter`."""
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
            return any(_contains(other, operand.gram) for other in others)
        return any(_contains(operand.gram, other) for other in others)

    kept = tuple(operand for operand in expr.operands if not implied(operand))
    if len(kept) == len(expr.operands):
        return expr
    return kept[0] if len(kept) == 1 else replace(expr, operands=kept)


ABSORB_IMPLIED = Rule(
    "absorb_implied",
    _on_nodes(_absorb),
    frozenset((Intersection, UnionOf)),
)


# ---- double_negation: `NOT NOT x` is x --------------------------------------------------------------------


def _undo(expr: Node) -> Node:
    if isinstance(expr, Complement) and isinstance(expr.operand, Complement):
        return expr.operand.operand
    return expr


DOUBLE_NEGATION = Rule(
    "double_negation",
    _on_nodes(_undo),
    frozenset((Complement,)),
)


# ---- flatten: nested ANDs and ORs are merged, repeated operands dropped; one operand needs no AND ---------


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
    """Return one OR without repetitions: in `x AND a OR x AND b` and `x AND a OR x`, x counts once."""
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
    _on_nodes(_flatten),
    frozenset((AnyOf, InDocs, Intersection, UnionOf)),
)


# ---- fold_contradictions: `x AND NOT x` selects no document, `x OR NOT x` all -----------------------------


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
    _on_nodes(_fold_contradiction),
    frozenset((Complement,)),
)


# ---- fold_constants: AND with no documents selects none, NOT of none selects all --------------------------


def _fold_constant(expr: Node) -> Node:
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


_fold_constants = _on_nodes(_fold_constant)


FOLD_CONSTANTS = Rule(
    "fold_constants",
    lambda plan: _fold_constants(plan).fold_constants(),
)


# In the order in which they are tried until none changes the plan.
RULES: tuple[Rule, ...] = (
    FOLD_UNKNOWN_WORDS,
    SINGLE_VARIANT,
    FOLD_FIELDS,
    FOLD_ONE_NEARBY,
    CUT_CONTEXT,
    DOUBLE_NEGATION,
    FLATTEN,
    FOLD_CONTRADICTIONS,
    ABSORB_IMPLIED,
    FOLD_CONSTANTS,
)
