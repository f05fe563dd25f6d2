"""WITHIN of one n-gram asks for the n-gram alone, wherever it stands, or in a sentence."""

from __future__ import annotations

from ngramdb.planner.plan import DocsMatching, DocsOf, DocsWith, Gram, Nearby, NearTo, Node, OccurrencesOf
from ngramdb.planner.rules.base import Rule, on_nodes


def _fold(expr: Node) -> Node:
    if isinstance(expr, Nearby):
        operands = tuple(dict.fromkeys(expr.operands))
        if len(operands) == 1 and expr.tokens is None:
            return DocsOf(NearTo(operands[0], (), (), None))
        if len(operands) == 1:
            return _fold(DocsOf(operands[0]))
        return expr if len(operands) == len(expr.operands) else expr.with_children(operands)
    if isinstance(expr, DocsOf) and isinstance(expr.what, OccurrencesOf):
        pattern = expr.what.pattern
        return DocsWith(pattern) if isinstance(pattern, Gram) else DocsMatching(pattern)
    return expr


FOLD_ONE_NEARBY = Rule(
    "fold_one_nearby",
    "takes WITHIN away where one n-gram is left",
    on_nodes(_fold),
    frozenset((Nearby, DocsOf)),
)
