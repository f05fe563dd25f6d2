"""Measures of contamination by name: how much of an item a document has, as a share.

Each goes by the n-grams of the item's tokens that the document has, and has the length of n-grams and the
threshold of its publication:

- `gpt3`: 1 if any 13-gram occurs (Brown et al. 2020, appendix C)
- `llama2`: the share of the item's tokens in 10-grams that occur; 0.8 (Touvron et al. 2023, A.6)
- `palm`: the share of the item's 8-grams that occur; 0.7 (Chowdhery et al. 2022, section 8)
- `longest`: the longest piece of the item that occurs, as a share of its tokens; 0.5, of at least 8 tokens
- `decon`: question, answer and passage together; 0.8, of 5-grams (`curation.decon`)
- `bff`, the default, is the share of the *document's* 13-grams that items have (`conditions.overlap_field`)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """The tokens that items share with documents: arrays with an entry for each such pair.

    lengths : tokens of the item; `covered`: of these, tokens in n-grams that the document has
    ngrams : n-grams of the item; `found`: of these, n-grams that the document has
    longest : tokens of the longest piece
    """

    lengths: Ints
    covered: Ints
    ngrams: Ints
    found: Ints
    longest: Ints


def _gpt3(seen: Evidence) -> Shares:
    return (seen.found > 0).astype(np.float64)


def _llama2(seen: Evidence) -> Shares:
    shares: Shares = seen.covered / np.maximum(seen.lengths, 1)
    return shares


def _palm(seen: Evidence) -> Shares:
    shares: Shares = seen.found / seen.ngrams
    return shares


def _longest(seen: Evidence) -> Shares:
    shares: Shares = seen.longest / np.maximum(seen.lengths, 1)
    return shares


# By names of `registries.CONTAMINATION_MEASURES`. With `bff`, which documents are judged by, items are shown
# with the share of their tokens; `decon` has values of its own, from more than this evidence.
VALUES: dict[str, Callable[[Evidence], Shares]] = {
    "bff": _llama2,
    "gpt3": _gpt3,
    "llama2": _llama2,
    "palm": _palm,
    "longest": _longest,
    "decon": _llama2,
}
