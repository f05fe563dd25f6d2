"""Many n-grams as two flat arrays, which is what batches are asked in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.api.arguments.tables import is_iterable, iterates_over_names
from ngramdb.errors import InvalidArgument
from ngramdb.planner.grams import bind_gram
from ngramdb.planner.source import IntArray, Tokenizer
from ngramdb.types import integers, many_token_ids, token_ids

Encode = Callable[[str], Any]

# N-grams that are read between two looks whether the work shall stop.
CHECKED_EVERY = 256


def pack(
    ngrams: Any, encode: Encode, read: Callable[[Any], IntArray] = token_ids
) -> tuple[IntArray, IntArray]:
    """Flat ids int64[m] and offsets int64[n + 1] of n-grams.

    Parameters
    ----------
    ngrams : a pair of arrays (flat ids, offsets), taken as it is; else an iterable of n-grams, each text or a
        sequence of token ids
    encode : tokenizes text
    read : reads the ids of a pair of arrays: `unchecked_ids` where the kernel checks them

    Raises
    ------
    InvalidArgument
        Offsets that do not rise from 0 to the number of ids, or an invalid n-gram, with its position. A
        tuple of two lists that could be either.
    """
    if isinstance(ngrams, tuple) and len(ngrams) == 2 and all(isinstance(x, np.ndarray) for x in ngrams):
        return _packed(*ngrams, read)
    if isinstance(ngrams, (str, bytes)) or not is_iterable(ngrams) or iterates_over_names(ngrams):
        raise InvalidArgument(f"many n-grams are a list of n-grams, not {type(ngrams).__name__}")
    every = list(ngrams)
    if isinstance(ngrams, tuple) and _could_be_packed(every):
        raise InvalidArgument(
            "a tuple of two lists can be two n-grams, or ids and offsets: give n-grams as a list of lists, "
            "ids and offsets as a pair of arrays"
        )
    try:
        found = many_token_ids(every)
    except TypeError:  # one of them is none, and will be named
        found = None
    if found is not None:
        return found
    arrays = []
    for i, ngram in enumerate(every):
        if i % CHECKED_EVERY == 0:
            interrupts.check()
        arrays.append(_one(i, ngram, encode))
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    return (np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)), offsets


def encoder(tokenizer: Tokenizer) -> Encode:
    """Tokenizes n-grams, as `pack` takes it: a text without a token, save for the empty one, is refused."""

    def encoded(text: str) -> Any:
        ids = tokenizer.encode(text)
        return ids if len(ids) else bind_gram(text, tokenizer).ids

    return encoded


def _could_be_packed(pair: list[Any]) -> bool:
    """Whether the second of two lists has offsets into the first."""
    if len(pair) != 2 or not all(isinstance(item, (list, tuple)) for item in pair):
        return False
    ids, offsets = pair
    return len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(ids)


def _one(i: int, ngram: Any, encode: Encode) -> IntArray:
    try:
        return np.asarray(encode(ngram), dtype=np.int64) if isinstance(ngram, str) else token_ids(ngram)
    except (InvalidArgument, TypeError) as error:
        raise InvalidArgument(f"n-gram {i} (counted from 0): {error}") from error


def unchecked_ids(flat: Any) -> IntArray:
    """Integers that may be no token ids."""
    return integers(flat, "token ids")


def _packed(flat: Any, offsets: Any, read: Callable[[Any], IntArray]) -> tuple[IntArray, IntArray]:
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not len(offsets):
        raise InvalidArgument(
            "offsets are a one-dimensional array of integers, one more than there are n-grams"
        )
    ids = read(flat)
    offsets = integers(offsets, "offsets")
    if offsets[0] != 0 or offsets[-1] != len(ids) or (np.diff(offsets) < 0).any():
        raise InvalidArgument(f"offsets rise from 0 to the number of ids, {len(ids)}")
    return ids, offsets
