"""The physical step: which choices the executor may make, and, for EXPLAIN, which it is going to make.

The executor chooses for each segment, from that segment's counts and the candidates that are really left, by
the functions of `planner.choices`; EXPLAIN asks the same functions (`foreseeing`). A count costs about a
microsecond, so the occurrences of every n-gram are counted; what remains an estimate is how many documents
they fall into (as if spread at random) and how conditions overlap (as if independent). Each choice can be
switched off by name, as rules can.
"""

from __future__ import annotations

from ngramdb.planner.physical.estimating import (
    NEGATION_AS_DIFFERENCE,
    ORDER_OPERANDS,
    SCAN_CANDIDATES,
    Estimator,
    costs_of,
    in_order,
    subtract_negations,
)
from ngramdb.planner.physical.explain_estimates import foresee
from ngramdb.planner.plan import Plan, changed

CHOICES: dict[str, str] = {
    ORDER_OPERANDS: "takes operands in the order of their exact counts, rarest first",
    SCAN_CANDIDATES: "reads parts of the text where that is cheaper than locating all occurrences",
    NEGATION_AS_DIFFERENCE: "counts x AND NOT y as what is left of all x, where few documents have y",
}


def choose(plan: Plan, disabled: frozenset[str] = frozenset(), estimated: bool = True) -> Plan:
    """The plan with choices made, and estimates filled in where they will be shown.

    To run a plan takes none: the executor counts again, segment by segment.
    """
    tree = plan.tree()
    if tree is None or not hasattr(plan, "costs"):
        return plan
    costs = costs_of(disabled)
    if ORDER_OPERANDS not in disabled:
        tree = in_order(tree)
    if NEGATION_AS_DIFFERENCE not in disabled:
        tree = subtract_negations(tree)
    if estimated:
        corpus = plan.corpus  # type: ignore[attr-defined]
        tree = Estimator(corpus, foresee(tree, corpus.segments, costs)).annotate(tree)
    return changed(plan.with_tree(tree), costs=costs)
