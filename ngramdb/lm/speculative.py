"""Speculative decoding: continuations drafted from the corpus, for a larger model to check."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ngramdb import interrupts
from ngramdb.lm.measures import shown_arrays
from ngramdb.lm.models import LanguageModel, after_last_border, as_ids
from ngramdb.lm.values import END, Floats, Integers


class Draft(NamedTuple):
    """A continuation: ids (k,) int64.

    Probs (k,) float64, each token's share; effective_n (k,), the length of the n-grams after them.

    `confidence` is the probability of the whole draft.
    """

    ids: Integers
    probs: Floats
    effective_n: Integers

    @property
    def confidence(self) -> float:
        return float(self.probs.prod())

    def __repr__(self) -> str:
        return shown_arrays("Draft", **self._asdict())


def draft(model: LanguageModel, context: ArrayLike, n: int, *, least_prob: float = 0.0) -> Draft:
    """The most frequent continuation after the longest suffix of the context that occurs, token by token.

    Of successors with the same count, the smallest id is taken.

    Parameters
    ----------
    model : any model
    context : token ids
    n : the greatest number of tokens; a document's end stops earlier
    least_prob : stop before a token that is less probable
    """
    used, begins = after_last_border(as_ids(context), model.index.separator)
    ids = as_ids(context).tolist() if begins else used.tolist()
    drafted: list[int] = []
    probs: list[float] = []
    lengths: list[int] = []
    while len(drafted) < n:
        interrupts.check()
        tokens, counts, context_count, length = model.continuations(ids)
        if not len(tokens):
            break
        best = int(np.argmax(counts))
        prob = float(counts[best]) / context_count
        if tokens[best] == END or prob < least_prob:
            break
        drafted.append(int(tokens[best]))
        probs.append(prob)
        lengths.append(length + 1)
        # A suffix that occurs with the token occurs without it.
        ids = [*(ids if begins else ids[len(ids) - length :]), drafted[-1]]
    return Draft(
        np.array(drafted, dtype=np.int64),
        np.array(probs, dtype=np.float64),
        np.array(lengths, dtype=np.int64),
    )
