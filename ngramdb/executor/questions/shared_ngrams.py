"""The most frequent n-grams of a corpus whose segments are asked in groups.

An n-gram among the k best of all is not always among those of a group. But if the k-th best of some n-grams
has the count c, no better one has less than c / m in each of m groups. So the best of every group are counted
in all, then the groups are asked for what has c / m, and these are counted in all: two rounds each way,
whatever the size of the corpus. (Cao and Wang 2004, "Efficient top-k query calculation in distributed
networks", whose rounds these are.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.top_ngrams import NgramBlocks, frequent
from ngramdb.source import IntArray

Counted = tuple[NDArray[np.uint32], IntArray]

# A corpus of fewer tokens is read sooner than asked, and then says how many n-grams there are.
LEAST_TOKENS = 1 << 22
# N-grams that a group gives at most.
MOST_GIVEN = 1 << 18


def shared_best(index: Index, n: int, k: int) -> Counted | None:
    """The k most frequent n-grams, ties by token ids: ids (m, n) uint32 and counts (m,) int64.

    None where the index is not asked in groups, or they would have to give too many.
    """
    ask = getattr(index, "ask", None)
    if ask is None or index.n_tokens < LEAST_TOKENS or 4 * k > MOST_GIVEN:
        return None
    groups = [found for sign, found in ask([(best_of, (n, k))])[0] if sign > 0]
    _, counts = _counted(index, [ids for ids, _ in groups], n)
    least = int(np.sort(counts)[-k]) if len(counts) >= k else 1
    share = max(1, -(-least // len(groups)))
    given = [found for sign, found in ask([(with_count, (n, k, share))])[0] if sign > 0]
    if any(found is None for found in given):
        return None
    ids, counts = _counted(index, given, n)
    order = np.lexsort((*ids.T[::-1], -counts))[:k]
    order = order[counts[order] > 0]
    return ids[order], counts[order]


def best_of(index: Index, n: int, k: int) -> Counted:
    """The k most frequent n-grams of a group."""
    found = frequent(index, n, k)
    return NgramBlocks(index.segments, index.signs, n).next(k) if found is None else found


def with_count(index: Index, n: int, k: int, least: int) -> NDArray[np.uint32] | None:
    """All n-grams of a group with at least this count: ids (m, n); None for more than MOST_GIVEN."""
    while k <= MOST_GIVEN:
        ids, counts = best_of(index, n, k)
        if len(counts) < k or counts[-1] < least:
            return ids[counts >= least]
        k *= 4
    return None


def _counted(index: Index, given: list[NDArray[np.uint32]], n: int) -> Counted:
    """Each n-gram once, with its count in all groups."""
    ids = np.unique(np.concatenate(given), axis=0)
    flat = ids.astype(np.int64).reshape(-1)
    return ids, index.count_many(flat, np.arange(len(ids) + 1, dtype=np.int64) * n)
