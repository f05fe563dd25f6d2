"""The longest n-gram that ends at each position of a text and occurs in a corpus."""

from __future__ import annotations

import numpy as np

from ngramdb._cext.corpus.index import Index
from ngramdb.source import IntArray


def longest_matches(index: Index, flat: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the longest match that ends at each position of texts, given as ids one text after the other.

    Returns
    -------
    lengths : (m + k,) int64, in tokens, of k texts with m tokens: n + 1 positions for a text of n tokens
    counts : (m + k,) int64, net counts

    Cost: about a microsecond per token and segment.
    """
    # An unknown token after each text: what the index reports about a token is the context before it.
    longer = np.insert(flat, offsets[1:], -1)
    bounds = offsets + np.arange(len(offsets))
    _, counts, effective_n, _ = index.score(longer, bounds, True, 0)
    return effective_n.astype(np.int64) - 1, counts
