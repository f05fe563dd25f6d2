"""n-grams over a smaller vocabulary, for the n-gram tables of neural models: which of them deserve a row.

Such models (Engram, n-gram embeddings) map token ids to classes, for instance all spellings of a word, and
look up the last two or three classes in a table of rows. Counted here are all n-grams of classes: the
occurrences of the n-grams of tokens are added up. Also measured are the share of all occurrences that the
most frequent n-grams cover, and collisions if a hash selects the row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, StorageError
from ngramdb.lm.levels import levels_of
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.values import Integers

# A class per token id; ids without a class are left out.
Classes: TypeAlias = (
    "str | os.PathLike[str] | Mapping[int, int] | Integers | list[int] | Callable[[str], str] | None"
)

# Multipliers of the hash: MurmurHash3's finalizer over the classes, combined as a polynomial.
MULTIPLIER, BASE = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class NgramRows:
    """The n-grams of one length.

    occurrences : of all n-grams of this length whose tokens have a class
    distinct : different n-grams of classes
    written : those with the least count
    written_share : their share of the occurrences
    coverage : the share of the occurrences that the m most frequent n-grams have, for m = 1000, 10000, … and
        for all n-grams
    collisions : written n-grams whose row of a table is that of a more frequent one; None without a table
    collided_share : their share of the occurrences of all that were written
    """

    n: int
    occurrences: int
    distinct: int
    written: int
    written_share: float
    coverage: Mapping[int, float]
    collisions: int | None
    collided_share: float | None


@dataclass(frozen=True)
class Rows:
    """n-grams of classes, the most frequent first: classes (k, n) int64, and counts (k,) int64."""

    classes: Integers
    counts: Integers
    about: NgramRows


def ngram_rows(
    model: LanguageModel, lengths: range, classes: Integers, *, min_count: int = 1, slots: int | None = None
) -> Iterator[Rows]:
    """Count the n-grams of classes of several lengths, and yield those that are frequent enough.

    Parameters
    ----------
    model : of the corpus
    classes : (t,) int64, the class of each of `model.index.types()`, or -1
    min_count : of n-grams of classes
    slots : rows of a table whose collisions are counted

    Notes
    -----
    Cost: a microsecond and 50 bytes per n-gram of tokens.
    """
    n_classes = int(classes.max(initial=0)) + 1
    of_place = np.append(classes, [-1, -1])  # ends and beginnings of documents have none
    levels = levels_of(model, lengths[-1], adjusted=False)
    numbers, table = of_place, np.empty((0, 1), dtype=np.int64)
    for n, level in enumerate(levels, start=1):
        interrupts.check()
        if n == 1:
            is_used = of_place >= 0
            keys, counts = of_place[is_used], np.append(model.index.types()[1], [0, 0])[is_used]
        else:
            is_used = (numbers[level.prefix] >= 0) & (of_place[level.last] >= 0)
            keys = numbers[level.prefix[is_used]] * n_classes + of_place[level.last[is_used]]
            counts = level.counts[is_used]
        found, inverse = np.unique(keys, return_inverse=True)
        numbers = np.full(len(level), -1, dtype=np.int64)
        numbers[is_used] = inverse
        sums = np.zeros(len(found), dtype=np.int64)
        np.add.at(sums, inverse, counts)
        table = np.column_stack([table[found // n_classes], found % n_classes]) if n > 1 else found[:, None]
        if n in lengths:
            yield _rows(n, table, sums, min_count, slots)


def _rows(n: int, table: Integers, counts: Integers, min_count: int, slots: int | None) -> Rows:
    order = np.argsort(-counts, kind="stable")
    table, counts = table[order], counts[order]
    total = max(1, int(counts.sum()))
    sums = np.cumsum(counts)
    steps = [10**k for k in range(3, 20) if 10**k < len(counts)] + [len(counts)]
    coverage = {m: float(sums[m - 1]) / total for m in steps if m > 0}
    written = int(np.searchsorted(-counts, -min_count, side="right"))
    kept, table = counts[:written], table[:written]
    share = float(kept.sum()) / total
    collided = None if slots is None else _collided(table, slots)
    about = NgramRows(
        n,
        int(counts.sum()),
        len(counts),
        written,
        share,
        coverage,
        None if collided is None else len(collided),
        None if collided is None else float(kept[collided].sum()) / max(1, int(kept.sum())),
    )
    return Rows(table, kept, about)


def _collided(table: Integers, slots: int) -> Integers:
    """Return the places of n-grams whose slot is that of an earlier one."""
    hashes = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        mixed = (column.astype(np.uint64) + np.uint64(1)) * MULTIPLIER
        hashes = hashes * BASE + (mixed ^ (mixed >> np.uint64(33)))
    hashes ^= hashes >> np.uint64(33)
    _, first = np.unique(hashes % np.uint64(slots), return_index=True)
    is_later = np.ones(len(table), dtype=np.bool_)
    is_later[first] = False
    return np.flatnonzero(is_later)


def classes_of(types: Integers, given: Classes, texts: Callable[[Integers], list[str]]) -> Integers:
    """Return the class of each token id, -1 for none: (t,) int64.

    Parameters
    ----------
    given : None (each token is its class); a class for each id, in an array or list; a mapping from ids; the
        path of a JSON file with either; or a function of a token's text: tokens with equal results are a
        class, whose number is the least of their ids
    texts : returns the texts of ids

    Raises
    ------
    InvalidArgument
        Anything else, or classes that are not whole numbers from 0 to 2**31 - 1.
    """
    if given is None:
        return types
    if callable(given):
        first: dict[str, int] = {}
        return np.array(
            [
                first.setdefault(given(text), token)
                for text, token in zip(texts(types), types.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
    if isinstance(given, (str, os.PathLike)):
        given = _read(os.fspath(given))
    if isinstance(given, Mapping):
        found = [given.get(token, given.get(str(token), -1)) for token in types.tolist()]  # type: ignore[call-overload]
    elif isinstance(given, (list, np.ndarray)):
        found = [given[token] if token < len(given) else -1 for token in types.tolist()]
    else:
        raise InvalidArgument(
            "a map of classes must be an array, a mapping, a JSON file or a function of a token's text"
        )
    try:
        classes = np.array([-1 if one is None else one for one in found])
    except ValueError:
        classes = np.empty(0, dtype=np.object_)
    if len(types) and (classes.dtype.kind not in "iu" or classes.min() < -1 or classes.max() >= 2**31):
        raise InvalidArgument("classes of a map must be whole numbers from 0 to 2147483647, or null")
    return classes.astype(np.int64)


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}", path=path) from error
    except ValueError as error:
        raise InvalidArgument(f"{path} is not a JSON file of classes by token id: {error}") from error
