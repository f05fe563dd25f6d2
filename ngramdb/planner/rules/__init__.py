"""Rewrite rules, one per file, in the order in which they are tried until none changes the plan."""

from __future__ import annotations

from ngramdb.planner.plan import Plan
from ngramdb.planner.rules.base import Rule, kinds_of
from ngramdb.planner.rules.boolean import (
    ABSORB_IMPLIED,
    DOUBLE_NEGATION,
    FLATTEN,
    FOLD_CONSTANTS,
    FOLD_CONTRADICTIONS,
)
from ngramdb.planner.rules.leaves import (
    CUT_CONTEXT,
    FOLD_FIELDS,
    FOLD_ONE_NEARBY,
    FOLD_UNKNOWN_WORDS,
    SINGLE_VARIANT,
)

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


def rewrite(plan: Plan, disabled: frozenset[str] = frozenset()) -> tuple[Plan, tuple[str, ...]]:
    """The plan with every rule applied until nothing changes, and the names of the rules that did something.

    Ends because every rule makes the tree smaller or an n-gram shorter, and none the opposite.
    """
    fired: list[str] = []
    kinds = kinds_of(plan)
    while True:
        before = plan
        for rule in RULES:
            # Most rules are about nodes that most conditions don't have: walking the tree costs more.
            if rule.name in disabled or (rule.kinds and kinds.isdisjoint(rule.kinds)):
                continue
            rewritten = rule.rewrite(plan)
            # Identity first: a rule that does not apply returns the plan itself, and comparing costs more.
            if rewritten is not plan and rewritten != plan:
                plan = rewritten
                kinds = kinds_of(plan)
                if rule.name not in fired:
                    fired.append(rule.name)
        if plan is before:
            return plan, tuple(fired)
