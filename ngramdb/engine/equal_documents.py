"""Finding documents by their content: which documents of some segments are those of others, token by
token.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.segments.base import Segment
from ngramdb.types import Docs

# Rows that are looked at first; four times as many in each further step.
FIRST_ROWS = 64


@dataclass(frozen=True)
class Listed:
    """Documents `numbers` (ascending) of a segment."""

    segment: Segment
    numbers: Docs


@dataclass(frozen=True)
class Matches:
    """Which documents equal wanted ones: per segment looked at, and those wanted that nothing was left
    for.
    """

    found: list[Docs]
    missing: list[Listed]

    @property
    def n_missing(self) -> int:
        return sum(len(one.numbers) for one in self.missing)


def match_documents(rest: Sequence[Listed], wanted: Sequence[Listed]) -> Matches:
    """For each wanted document one of the rest with the same tokens, no document twice.

    Where both have the very document (the same file, as in two versions of a corpus), it is that one; else
    the first in order that is not yet taken.

    Cost: some 20 µs a wanted document and segment of the rest, whatever the rest's size.
    """
    taken = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    kept = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    for mask, listed in zip(kept, rest, strict=True):
        mask[listed.numbers] = True
    others = [_same_file(rest, kept, taken, one) for one in wanted]
    missing = [Listed(one.segment, _same_content(rest, kept, taken, one)) for one in others]
    found = [np.flatnonzero(mask).astype(np.uint32) for mask in taken]
    return Matches(found, [one for one in missing if len(one.numbers)])


def equal_documents(segment: Segment, ids: NDArray[np.uint32]) -> Docs:
    """The documents of a segment with exactly these tokens: (k,) uint32, ascending.

    Suffixes that are the whole n-gram and end there come first among those that begin with it, by position.
    """
    if not len(ids):
        every = np.arange(segment.n_documents, dtype=np.uint32)
        return np.flatnonzero(segment.lengths(every) == 0).astype(np.uint32)
    lo, hi = segment.index.find(ids)
    n_rows = FIRST_ROWS
    found = [np.empty(0, dtype=segment.index.position_type)]
    while lo < hi:
        positions = segment.index.positions(lo, min(hi, lo + n_rows))
        at_end = segment.index.tokens_at(positions, len(ids)) < 0
        n_ending = len(positions) if at_end.all() else int(np.argmin(at_end))
        found.append(positions[:n_ending])
        if n_ending < len(positions):
            break
        lo += n_ending
        n_rows *= 4
    positions = np.concatenate(found)
    documents = segment.index.documents_at(positions)
    starts, _ = segment.index.document_bounds(documents)
    equal: Docs = documents[starts == positions]
    return equal


def _same_file(
    rest: Sequence[Listed], kept: Sequence[NDArray[np.bool_]], taken: Sequence[NDArray[np.bool_]], one: Listed
) -> Listed:
    """Takes documents of the same file; returns the wanted ones that are left."""
    left = one.numbers
    for k, listed in enumerate(rest):
        if listed.segment.path == one.segment.path and len(left):
            here = kept[k][left] & ~taken[k][left]
            taken[k][left[here]] = True
            left = left[~here]
    return Listed(one.segment, left)


def _same_content(
    rest: Sequence[Listed], kept: Sequence[NDArray[np.bool_]], taken: Sequence[NDArray[np.bool_]], one: Listed
) -> Docs:
    """Takes documents with the same tokens; returns the wanted ones that there is nothing left for."""
    copies: dict[bytes, list[int]] = {}
    for number in one.numbers.tolist():
        content = one.segment.document(number)
        copies.setdefault(hashlib.blake2b(content.tobytes(), digest_size=16).digest(), []).append(number)
    missing: list[int] = []
    for numbers in copies.values():
        interrupts.check()
        ids = one.segment.document(numbers[0])
        left = list(numbers)
        for k, listed in enumerate(rest):
            if not left:
                break
            equal = equal_documents(listed.segment, ids)
            free = equal[kept[k][equal] & ~taken[k][equal]][: len(left)]
            taken[k][free] = True
            del left[: len(free)]
        missing.extend(left)
    return np.array(sorted(missing), dtype=np.uint32)
