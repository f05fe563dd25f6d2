"""Conditions on fields that no value can meet, or that every document meets.

`year BETWEEN 2020 AND 2010`, a comparison with NULL and `length < 0` select no document, `doc_id >= 0`
selects every one.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.patterns import Gapped, Gram, Pattern, Simple, StoredWords, TokenPattern, Variants
from ngramdb.planner.plan import (
    AllDocs,
    Compared,
    CountTest,
    DocsMatching,
    DocsOf,
    DocsWith,
    FieldTest,
    InRange,
    Nearby,
    NearTo,
    Node,
    NoDocs,
    Nowhere,
    OccurrencesOf,
    OneOf,
    why_nowhere,
)
from ngramdb.planner.rules.base import Rule, on_nodes


def _fold(expr: Node) -> Node:
    if not isinstance(expr, FieldTest):
        return expr
    predicate = expr.predicate
    if predicate.is_unknown:
        return NoDocs("nothing can be said of a comparison with NULL")
    if isinstance(predicate, Compared):
        return _fold_own(expr, predicate) if expr.own else expr
    if expr.negated:
        # Without a NULL among them, what is not met by any value is still unknown of documents without one.
        return NoDocs("NOT IN is never true with NULL in the list") if _has_null(predicate) else expr
    if isinstance(predicate, OneOf) and not predicate.values:
        return NoDocs("no value is in an empty list")
    if isinstance(predicate, InRange) and predicate.is_empty:
        return NoDocs(f"nothing is {predicate.label(expr.path).removeprefix(expr.path).strip()}")
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
    "answers conditions on fields that hold of no document or of all",
    on_nodes(_fold),
    frozenset((FieldTest,)),
)


# ---- An n-gram with a word outside the vocabulary occurs nowhere: its answer needs no index.


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


_fold_nodes = on_nodes(_fold_leaf)


FOLD_UNKNOWN_WORDS = Rule(
    "fold_unknown_words",
    "answers without the index what a word outside the vocabulary decides",
    lambda plan: _fold_nodes(plan.fold_unknown_words()),
)


# ---- Variants of which one occurs are that n-gram; several in a document condition are searched as one.


def single(pattern: Simple) -> Simple:
    """The n-gram that a pattern comes down to, or the pattern itself."""
    if isinstance(pattern, Variants) and pattern.weights == (1,):
        return pattern.grams[0]
    return pattern


def _single(pattern: Pattern) -> Pattern:
    if isinstance(pattern, (StoredWords, TokenPattern)):
        return pattern
    if not isinstance(pattern, Gapped):
        return single(pattern)
    parts = tuple(map(single, pattern.parts))
    same = all(new is old for new, old in zip(parts, pattern.parts, strict=True))
    return pattern if same else replace(pattern, parts=parts)


def _rewrite(expr: Node) -> Node:
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
    "takes the only variant that occurs for the pattern",
    on_nodes(_rewrite),
    frozenset((DocsMatching, CountTest, OccurrencesOf)),
)


# ---- WITHIN of one n-gram is the n-gram alone, anywhere, or within a sentence.


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
    "takes WITHIN away where one n-gram is left",
    on_nodes(_fold_nearby),
    frozenset((Nearby, DocsOf)),
)


# ---- A context is cut to the tokens that its model reads.


CUT_CONTEXT = Rule(
    "cut_context",
    "drops the part of a context that its model never looks at",
    lambda plan: plan.cut_context(),
)
