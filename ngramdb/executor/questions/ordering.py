"""ORDER BY of documents: by any fields, read by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.computed_values import codes_of
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.field_values import DOC_ID, Codes, FieldReader, identity
from ngramdb.planner.plan import FieldKey
from ngramdb.segments.base import Segment


def in_order(
    keys: Sequence[FieldKey], found: Sequence[tuple[Segment, DocSet]]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The documents of all segments by the keys: the place in `found` of each one's segment, and its number.

    Documents that are equal in all keys stay in the order of their segments; those without a value come last,
    ascending or descending.

    Cost: 30 ns a document and key; Python objects for distinct values only.
    """
    numbers = [docs.numbers() for _, docs in found]
    owners = np.repeat(np.arange(len(found)), [len(part) for part in numbers])
    columns = [_ranks(key, found, numbers) for key in keys]
    every = np.concatenate([np.empty(0, dtype=np.uint32), *numbers])
    # The last key decides first; ties are left as they come.
    order = np.lexsort(columns[::-1]) if len(every) else np.empty(0, dtype=np.int64)
    return owners[order], every[order]


def _ranks(
    key: FieldKey, found: Sequence[tuple[Segment, DocSet]], numbers: Sequence[NDArray[np.uint32]]
) -> NDArray[np.int64]:
    """For each document a number that orders it by one key; ids by those of each corpus of a sum."""
    if key.own and key.path == DOC_ID:
        places = np.arange(sum(map(len, numbers)))
        return places[::-1] if key.descending else places
    parts: list[Codes] = []
    for i, ((segment, _), docs) in enumerate(zip(found, numbers, strict=True)):
        interrupts.step(i, len(found))
        chosen = None if len(docs) == segment.n_documents else docs
        parts.append(codes_of(key, FieldReader(segment), chosen))
    distinct: dict[Any, int] = dict.fromkeys(
        sorted({identity(value) for part in parts for value in part.values}), 0
    )
    for rank, value in enumerate(distinct):
        distinct[value] = rank
    n = len(distinct)
    ranks = []
    for part in parts:
        # Entry -1, that of missing values, is the last one.
        table = np.array([*(distinct[identity(value)] for value in part.values), n], dtype=np.int64)
        ranks.append(table[part.codes])
    joined = np.concatenate([np.empty(0, dtype=np.int64), *ranks])
    return np.where(joined < n, n - 1 - joined, n) if key.descending else joined
