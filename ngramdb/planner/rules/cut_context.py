"""A context is cut to the tokens that its model reads.

If the corpus has a sentence separator, the context begins at the last one, which stays because models read it
as `<s>`; the rest is left to the model. Otherwise `ORDER n` reads the last n - 1 tokens, and under INFGRAM no
suffix with an unknown word has a count, so the context begins after the last unknown word.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ngramdb.lm.sentences import is_cut, separator_of
from ngramdb.lm.spec import ModelSpec
from ngramdb.planner.plan import Distribution, Gram, Plan, Probability
from ngramdb.planner.rules.base import Rule
from ngramdb.planner.source import Corpus


def cut(context: Gram, model: ModelSpec, corpus: Corpus) -> Gram:
    """Return the part of the context that can affect the answer."""
    if is_cut(corpus):
        separators = np.flatnonzero(context.ids == separator_of(corpus))
        return context.last(len(context) - int(separators[-1])) if separators.size else context
    context = context.before(model.order)
    if not model.infgram or context.known:
        return context
    last_unknown = int(np.flatnonzero(context.ids < 0)[-1])
    return context.last(len(context) - last_unknown - 1)


def _cut(plan: Plan) -> Plan:
    if isinstance(plan, (Probability, Distribution)):
        context = cut(plan.context, plan.model, plan.corpus)
        return plan if context is plan.context else replace(plan, context=context)
    return plan


CUT_CONTEXT = Rule("cut_context", "drops the part of a context that its model never looks at", _cut)
