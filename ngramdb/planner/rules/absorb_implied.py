"""A document with `"a b c"` contains `"b c"`: AND needs only the longer one, OR only the shorter one."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import DocsWith, Gram, Intersection, Node, UnionOf
from ngramdb.planner.rules.base import Rule, on_nodes

# Comparing every pair is quadratic: beyond this many n-grams a condition is left as it stands.
MAX_OPERANDS = 64


def contains(longer: Gram, shorter: Gram) -> bool:
    """Whether `shorter` stands inside `longer` and every occurrence of one is therefore one of the other."""
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
