"""What an unknown word is: the one definition, for SCORE's `<unk>`, perplexities and their commands.

A token is known when it occurs in what is asked: the corpus at its version, net of what was removed from it,
or the sum or difference of corpora. The vocabulary does not show that: a `tokenizer.json` has ids for words
that no document has, and words of removed documents keep their ids. So the numbers are those of a corpus
that was loaded without the removed documents, and of KenLM, whose vocabulary is that of its training text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.lm.values import BEGIN, END, Integers


def are_known(tokens: Integers, types: Integers, separator: int | None) -> NDArray[np.bool_]:
    """Whether each token is known: one of `types` (ascending), or a border of sentences. (n,) bool."""
    borders = [END, BEGIN] if separator is None else [END, BEGIN, separator]
    places = np.searchsorted(types, tokens)
    found = places < len(types)
    found[found] = types[places[found]] == tokens[found]
    known: NDArray[np.bool_] = found | np.isin(tokens, borders)
    return known


def types_among(tokens: Integers, index: Any) -> Integers:
    """Those of the tokens that occur in an index, ascending. Cost: a count per different token."""
    types = np.unique(tokens[tokens >= 0])
    occurring: Integers = types[index.count_many(types, np.arange(len(types) + 1)) > 0]
    return occurring
