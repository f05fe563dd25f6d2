"""Binding n-grams: text or token ids, from a statement or from Python, to the ids of one corpus."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.planner.plan import Gram, show_text, takes_text
from ngramdb.planner.source import Tokenizer
from ngramdb.types import are_token_ids, token_ids


def bind_gram(value: Any, tokenizer: Tokenizer) -> Gram:
    """The n-gram that a str (tokenized as a document is) or token ids (list, tuple, array of integers) mean.

    Raises
    ------
    InvalidArgument
        Neither text nor a flat sequence of integers, or an id outside 0 … 2**32 - 1 (-1: an unknown word);
        a text without a token, such as a blank under `words`: the empty n-gram, which is "", isn't meant.
    """
    found = bind_text(value, tokenizer)
    if isinstance(value, str) and value and not len(found):
        raise InvalidArgument(no_token(value, tokenizer))
    return found


def bind_text(value: Any, tokenizer: Tokenizer) -> Gram:
    """The tokens of a text that is read token by token: like `bind_gram`, and it may have none."""
    if isinstance(value, Gram):
        return value
    if isinstance(value, str):
        return Gram(np.asarray(tokenizer.encode(value), dtype=np.int64), text=value)
    if are_token_ids(value):
        return Gram(tuple(value))
    return Gram(token_ids(value))


def no_token(text: str, tokenizer: Tokenizer, matched: str | None = None) -> str:
    """The message on a text without a token; `matched` is how it is matched as text, where that may be."""
    advice = 'the empty n-gram is ""'
    if matched is not None and takes_text(tokenizer):
        advice = f"{matched} finds it in the documents' text"
    return f"{show_text(text)} has no token under the corpus's tokenizer; {advice}"
