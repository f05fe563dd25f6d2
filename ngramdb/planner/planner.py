"""From a bound statement to the plan that runs: rules, then the physical step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngramdb.lazy import lazy_module
from ngramdb.planner import plan

# An import in a function that is called a million times takes half a microsecond each time.
if TYPE_CHECKING:
    from ngramdb.planner import physical, rules
    from ngramdb.planner.physical import estimating
    from ngramdb.planner.plan import plain
else:
    physical = lazy_module("ngramdb.planner.physical")
    plain = lazy_module("ngramdb.planner.plan.plain")
    rules = lazy_module("ngramdb.planner.rules")
    estimating = lazy_module("ngramdb.planner.physical.estimating")


def rule_names() -> dict[str, str]:
    """Every rule and choice that `SET disabled_rules` can switch off, with what it does."""
    return {**{rule.name: rule.description for rule in rules.RULES}, **physical.CHOICES}


def optimize(
    logical: plan.Plan, disabled: frozenset[str] = frozenset(), estimated: bool = True
) -> tuple[plan.Plan, tuple[str, ...]]:
    """The plan that runs, and the names of the rewrite rules that changed it.

    With `estimated`, n-grams are counted for the estimates that EXPLAIN shows; without, the plan can be run
    only.
    """
    found, fired = _optimized(logical, disabled, estimated)
    if logical.phrases and not found.phrases:  # a rule has put another plan in its place
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
            return plan.changed(logical, costs=estimating.costs_of(disabled)), ()
        if where is not None and plain.is_settled(where):  # as the rules would leave it
            return _for_kernel(logical, disabled), ()
        in_kernel = True
    elif isinstance(logical, plan.Outer):
        inner, fired = optimize(logical.inner, disabled, estimated or logical.is_shown)
        return logical.with_inner(inner, fired), () if logical.is_shown else fired

    rewritten, fired = rules.rewrite(logical, disabled)
    if in_kernel:
        return _for_kernel(rewritten, disabled), fired
    return physical.choose(rewritten, disabled, estimated), fired


def _for_kernel(rewritten: plan.Plan, disabled: frozenset[str]) -> plan.Plan:
    """The plan that is only run: with a condition on plain n-grams in the form that one call answers."""
    where = rewritten.where_clause()
    if where is not None and not isinstance(where, plan.PlainDocs):
        where = plan.PlainDocs.of(where, estimating.ORDER_OPERANDS not in disabled)
    if where is None:
        return physical.choose(rewritten, disabled, estimated=False)
    return plan.changed(rewritten, where=where, costs=estimating.costs_of(disabled))
