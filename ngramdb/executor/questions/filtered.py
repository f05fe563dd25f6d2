"""DIST in some documents only, from the places of the context: without an index of these documents.

Making such an index costs some 100 ns for each of their tokens, once; looking at every place of a context
some 30 ns each. So a question that is asked once is answered from the places, unless there are very many.
"""

from __future__ import annotations

import numpy as np

from ngramdb.executor.questions.distribution import NextTokens, result_of
from ngramdb.executor.questions.models import is_counted
from ngramdb.executor.questions.neighbours import Documents, neighbours
from ngramdb.executor.results.result import Result
from ngramdb.planner.plan import Distribution
from ngramdb.planner.source import Corpus, IntArray

# What indexing a token costs, in places of a context that are looked at meanwhile.
PLACES_PER_TOKEN = 3


def distribution_among(plan: Distribution, found: Documents) -> Result | None:
    """DIST of an n-gram model in these documents; None where an index of them answers faster."""
    context, model = plan.context.before(plan.model.order), plan.model
    if model.kind != "ngram" or model.min_count > 1 or not is_counted(plan.corpus, model):
        return None
    if not len(context) or not context.known:
        return None
    plan.corpus.check_difference()
    if plan.corpus.has_slice([docs.numbers() for _, docs in found]):
        return None
    if not _is_cheap(plan.corpus, context.ids, found):
        return None
    tokens = neighbours(context.ids, found, len(context))
    ids, n = tokens.ids.astype(np.uint32), len(context) + 1
    following = NextTokens(ids, tokens.counts, tokens.n_none, tokens.n_places, n)
    return result_of(following, plan.top, plan.corpus, effective_n=n, sparse=following.sparse)


def _is_cheap(corpus: Corpus, ids: IntArray, found: Documents) -> bool:
    """Whether the places are fewer than what an index would have to be made of."""
    chosen = 0
    for segment, docs in found:
        starts, stops = segment.index.document_bounds(docs.numbers())
        chosen += int((stops.astype(np.int64) - starts).sum())
    n_indexed = min(chosen, corpus.n_tokens - chosen)
    ranges = [segment.index.find(ids) for segment, _ in found]
    return sum(hi - lo for lo, hi in ranges) <= PLACES_PER_TOKEN * n_indexed
