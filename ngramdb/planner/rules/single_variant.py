"""Variants of which one occurs are that n-gram; several in a document condition are searched as one."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import (
    CountTest,
    DocsMatching,
    DocsWith,
    Gapped,
    Node,
    OccurrencesOf,
    Pattern,
    Simple,
    StoredWords,
    TokenPattern,
    Variants,
)
from ngramdb.planner.rules.base import Rule, on_nodes


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
