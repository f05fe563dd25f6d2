"""A context is cut to what its model reads.

`ORDER n` reads the last n - 1 tokens; under INFGRAM no suffix with an unknown word has a count, so the
context begins after the last unknown word.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ngramdb.lm.spec import ModelSpec
from ngramdb.planner.plan import Distribution, Gram, Plan, Probability
from ngramdb.planner.rules.base import Rule


def cut(context: Gram, model: ModelSpec) -> Gram:
    """The part of the context that can matter."""
    context = context.before(model.order)
    if not model.infgram or context.known:
        return context
    last_unknown = int(np.flatnonzero(context.ids < 0)[-1])
    return context.last(len(context) - last_unknown - 1)


def _cut(plan: Plan) -> Plan:
    if isinstance(plan, (Probability, Distribution)):
        context = cut(plan.context, plan.model)
        return plan if context is plan.context else replace(plan, context=context)
    return plan


CUT_CONTEXT = Rule("cut_context", "drops the part of a context that its model never looks at", _cut)
