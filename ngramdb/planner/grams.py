"""Binding n-grams: text or token ids, from a statement or from Python, to the ids of one corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.planner.plan import Gram, show_text, takes_text
from ngramdb.planner.source import IntArray, Tokenizer

# Token ids are unsigned 32-bit numbers; -1 stands for a word that the vocabulary doesn't have.
MAX_TOKEN_ID = 2**32 - 1


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
    if are_ids(value):
        return Gram(tuple(value))
    return Gram(id_array(value))


def no_token(text: str, tokenizer: Tokenizer, matched: str | None = None) -> str:
    """What is said of a text without a token; `matched` is how it is matched as text, where that may be."""
    advice = 'the empty n-gram is ""'
    if matched is not None and takes_text(tokenizer):
        advice = f"{matched} finds it in the documents' text"
    return f"{show_text(text)} has no token under the corpus's tokenizer; {advice}"


def are_ids(value: Any) -> bool:
    """Whether it is a list or tuple of token ids, told without making an array of it."""
    if type(value) is not list and type(value) is not tuple:
        return False
    for item in value:  # noqa: SIM110 - a third faster than a generator
        if type(item) is not int or not -1 <= item <= MAX_TOKEN_ID:
            return False
    return True


def id_array(value: Any) -> IntArray:
    """Token ids of any sequence of integers as an int64 array, checked."""
    if type(value) in (list, tuple):
        kinds = set(map(type, value))
        if kinds == {int} and min(value) >= -1 and max(value) <= MAX_TOKEN_ID:
            return np.array(value, dtype=np.int64)
        if bool in kinds:  # among integers an array would make it one
            raise InvalidArgument(_not_an_id(value))
    if isinstance(value, (bytes, bytearray)) or not isinstance(value, (Sequence, np.ndarray)):
        raise InvalidArgument(f"an n-gram is text or a sequence of token ids, not {_kind(value)}")
    try:
        array = np.asarray(value)
    except ValueError:  # ragged nesting
        raise InvalidArgument("token ids are a flat sequence, not a nested one") from None
    if array.ndim != 1:
        raise InvalidArgument(f"token ids are a flat sequence, not {array.ndim}-dimensional")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InvalidArgument(_not_an_id(value))
    low, high = int(array.min()), int(array.max())
    if low < -1 or high > MAX_TOKEN_ID:
        raise InvalidArgument(f"token id {low if low < -1 else high} is outside 0 … {MAX_TOKEN_ID}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _not_an_id(value: Any) -> str:
    for item in value:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            return f"a token id is an integer, not {_kind(item)}"
        if not -1 <= item <= MAX_TOKEN_ID:
            return f"token id {item} is outside 0 … {MAX_TOKEN_ID}"
    return "token ids are integers"


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:80]
