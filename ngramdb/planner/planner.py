"""From a bound statement to the plan that runs: rules, then the choices that the executor may make.

The executor chooses orders and access paths for each segment, from that segment's counts and the remaining
candidates, by the functions of `planner.choices`; EXPLAIN calls them as well (`planner.estimates`). Each rule
and each choice can be disabled by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ngramdb.lazy import lazy_module
from ngramdb.planner import plan
from ngramdb.planner.plan.nodes import COSTS, Costs, Node

# An import in a function that is called a million times takes half a microsecond each time.
if TYPE_CHECKING:
    from ngramdb.planner import estimates, rewrite_rules
    from ngramdb.planner.plan import documents
else:
    estimates = lazy_module("ngramdb.planner.estimates")
    documents = lazy_module("ngramdb.planner.plan.documents")
    rewrite_rules = lazy_module("ngramdb.planner.rewrite_rules")

# Evaluate operands in the order of their exact counts, rarest first.
ORDER_OPERANDS = "order_operands"
# Read parts of the text if that is cheaper than locating all occurrences.
SCAN_CANDIDATES = "scan_candidates"
# Count x AND NOT y as all x minus those in documents with y, if few documents have y.
NEGATION_AS_DIFFERENCE = "negation_as_difference"
CHOICES = (ORDER_OPERANDS, SCAN_CANDIDATES, NEGATION_AS_DIFFERENCE)


def rule_names() -> tuple[str, ...]:
    """Return the names of all rules and choices that `SET disabled_rules` can disable."""
    return (*(rule.name for rule in rewrite_rules.RULES), *CHOICES)


def optimize(
    logical: plan.Plan, disabled: frozenset[str] = frozenset(), estimated: bool = True
) -> tuple[plan.Plan, tuple[str, ...]]:
    """Return the plan that runs, and the names of the rewrite rules that changed it.

    With `estimated`, n-grams are counted for the estimates that EXPLAIN prints; without, the plan can only be
    run.
    """
    found, fired = _optimized(logical, disabled, estimated)
    if logical.phrases and not found.phrases:  # a rule has replaced the plan
        found = plan.changed(found, phrases=logical.phrases)
    return found, fired


def _optimized(
    logical: plan.Plan, disabled: frozenset[str], estimated: bool
) -> tuple[plan.Plan, tuple[str, ...]]:
    if logical.is_settled:
        return logical, ()
    in_kernel = False
    if not estimated and logical.takes_plain_docs:
        where = logical.where_clause()
        if isinstance(where, plan.PlainDocs):  # from a template
            return plan.changed(logical, costs=_costs(disabled)), ()
        if where is not None and documents.is_settled(where):  # no rule would change it
            return _for_kernel(logical, disabled), ()
        in_kernel = True
    elif isinstance(logical, plan.Outer):
        inner, fired = optimize(logical.inner, disabled, estimated or logical.is_shown)
        return logical.with_inner(inner, fired), () if logical.is_shown else fired

    rewritten, fired = rewrite_rules.rewrite(logical, disabled)
    if in_kernel:
        return _for_kernel(rewritten, disabled), fired
    return _chosen(rewritten, disabled, estimated), fired


def _for_kernel(rewritten: plan.Plan, disabled: frozenset[str]) -> plan.Plan:
    """Return a plan to run, with its condition as `PlainDocs` if it is on plain n-grams."""
    where = rewritten.where_clause()
    if where is not None and not isinstance(where, plan.PlainDocs):
        where = plan.PlainDocs.of(where, ORDER_OPERANDS not in disabled)
    if where is None:
        return _chosen(rewritten, disabled, estimated=False)
    return plan.changed(rewritten, where=where, costs=_costs(disabled))


def _chosen(rewritten: plan.Plan, disabled: frozenset[str], estimated: bool) -> plan.Plan:
    """Return the plan with the choices that the executor may make, and estimates if they are printed."""
    tree = rewritten.tree()
    if tree is None or not hasattr(rewritten, "costs"):
        return rewritten
    costs = _costs(disabled)
    if ORDER_OPERANDS not in disabled:
        tree = _in_order(tree)
    if NEGATION_AS_DIFFERENCE not in disabled:
        tree = _with_differences(tree)
    if estimated:
        corpus = rewritten.corpus  # type: ignore[attr-defined]
        foreseen = estimates.foresee(tree, corpus.segments, costs)
        tree = estimates.Estimator(corpus, foreseen).annotate(tree)
    return plan.changed(rewritten.with_tree(tree), costs=costs)


def _in_order(node: Node) -> Node:
    """Mark operands that the executor orders for each segment."""
    node = node.with_each(_in_order)
    if isinstance(node, (plan.InDocs, plan.Intersection, plan.Nearby, plan.NearTo)):
        return plan.changed(node, ordered=True)
    return node


def _with_differences(node: Node) -> Node:
    """Allow the executor to count each restriction to documents by what it excludes."""
    node = node.with_each(_with_differences)
    return replace(node, difference=True) if isinstance(node, plan.InDocs) else node


def _costs(disabled: frozenset[str]) -> Costs | None:
    """Return the costs that the executor compares; None if it must always locate."""
    return None if SCAN_CANDIDATES in disabled else COSTS
