"""DIST in some documents only, from the places of the context: without an index of these documents.

Making such an index costs some 100 ns for each of their tokens, once; looking at every place of a context
some 10 ns each. So the first questions are answered from the places, until these were as many as an index
would have been worth.
"""

from __future__ import annotations

import numpy as np

from ngramdb.executor.questions.distribution import NextTokens, result_of
from ngramdb.executor.questions.models import is_counted
from ngramdb.executor.questions.neighbours import Documents, followers
from ngramdb.executor.results.result import Result
from ngramdb.planner.plan import Distribution
from ngramdb.planner.source import Corpus

# What indexing a token costs, in places of a context that are looked at meanwhile.
PLACES_PER_TOKEN = 10


def distribution_among(plan: Distribution, found: Documents) -> Result | None:
    """DIST of an n-gram model in these documents; None where an index of them answers faster."""
    context, model = plan.context.before(plan.model.order), plan.model
    if model.kind != "ngram" or model.min_count > 1 or not is_counted(plan.corpus, model):
        return None
    if not len(context) or not context.known:
        return None
    plan.corpus.check_difference()
    ranges = [segment.index.find(context.ids) for segment, _ in found]
    places, tokens_indexed = sum(hi - lo for lo, hi in ranges), _n_indexed(plan.corpus, found)
    chosen = [docs.numbers() for _, docs in found]
    if plan.corpus.prefers_slice(chosen, places, PLACES_PER_TOKEN * tokens_indexed):
        return None
    tokens = followers(context.ids, found)
    n = len(context) + 1
    following = NextTokens(tokens.ids, tokens.counts, tokens.n_none, tokens.n_places, n)
    return result_of(following, plan.top, plan.corpus, effective_n=n, sparse=following.sparse)


def _n_indexed(corpus: Corpus, found: Documents) -> int:
    """How many tokens an index of these documents, or of the others, would be made of."""
    chosen = 0
    for segment, docs in found:
        starts, stops = segment.index.document_bounds(docs.numbers())
        chosen += int((stops.astype(np.int64) - starts).sum())
    return min(chosen, corpus.n_tokens - chosen)
