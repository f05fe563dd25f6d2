"""Finding documents by their content: the documents of some segments that equal those of others.

Two documents are equal if they have the same tokens, because tokens are counted. Among several equal ones,
one with the same text and metadata is preferred, then one with the same text.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.segments.base import Segment
from ngramdb.types import Docs


@dataclass(frozen=True)
class Listed:
    """Documents `numbers` (ascending) of a segment, and the id of the corpus that has them."""

    segment: Segment
    numbers: Docs
    corpus: str


@dataclass(frozen=True)
class Matches:
    """Documents that equal wanted ones, per segment, and the wanted ones that are left unmatched."""

    found: list[Docs]
    missing: list[Listed]

    @property
    def n_missing(self) -> int:
        return sum(len(one.numbers) for one in self.missing)


def match_documents(rest: Sequence[Listed], wanted: Sequence[Listed]) -> Matches:
    """Match each wanted document with one of the rest that has the same tokens, no document twice.

    If both have the very same document (same id, in two versions of a corpus), it is that one; else one with
    the same text and metadata, else one with the same text, else any: always the first in order that is not
    yet taken. So the result does not depend on the distribution of documents over segments.

    Cost: about 20 µs per wanted document and segment of the rest, whatever the rest's size; if more documents
    have the same tokens than are wanted, another 20 µs for each of those. Much less for the same ids.
    """
    taken = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    kept = [np.zeros(listed.segment.n_documents, dtype=np.bool_) for listed in rest]
    for mask, listed in zip(kept, rest, strict=True):
        mask[listed.numbers] = True
    others = [_same_ids(rest, kept, taken, one) for one in wanted]
    missing = _same_content(rest, kept, taken, others)
    found = [np.flatnonzero(mask).astype(np.uint32) for mask in taken]
    return Matches(found, [one for one in missing if len(one.numbers)])


def equal_documents(segment: Segment, ids: NDArray[np.uint32]) -> Docs:
    """Return the documents of a segment with exactly these tokens: (k,) uint32, ascending."""
    if not len(ids):
        every = np.arange(segment.n_documents, dtype=np.uint32)
        return np.flatnonzero(segment.lengths(every) == 0).astype(np.uint32)
    positions = np.sort(segment.index.positions(*segment.index.find_ends(ids)))
    documents = segment.index.documents_at(positions)
    starts, _ = segment.index.document_bounds(documents)
    equal: Docs = documents[starts == positions]
    return equal


def _same_ids(
    rest: Sequence[Listed], kept: Sequence[NDArray[np.bool_]], taken: Sequence[NDArray[np.bool_]], one: Listed
) -> Listed:
    """Take documents of the same corpus and id; return the wanted ones that are left."""
    left = one.numbers
    for k, listed in enumerate(rest):
        if listed.corpus != one.corpus or not len(left):
            continue
        ids = one.segment.doc_ids(left)
        places = listed.segment.locals_of(ids)
        numbers = left[np.isin(ids, listed.segment.doc_ids(places))]
        here = kept[k][places] & ~taken[k][places]
        if listed.segment.path != one.segment.path:
            here[here] = _have_same_tokens(listed.segment, places[here], one.segment, numbers[here])
        taken[k][places[here]] = True
        left = np.setdiff1d(left, numbers[here], assume_unique=True)
    return Listed(one.segment, left, one.corpus)


def _have_same_tokens(a: Segment, in_a: Docs, b: Segment, in_b: Docs) -> list[bool]:
    found = []
    for i, j in zip(in_a.tolist(), in_b.tolist(), strict=True):
        interrupts.check()
        found.append(np.array_equal(a.document(i), b.document(j)))
    return found


# A document: the index of its segment, and its number there.
_Place = tuple[int, int]
# Digests of its text and of its metadata.
_Content = tuple[bytes, bytes]


def _same_content(
    rest: Sequence[Listed],
    kept: Sequence[NDArray[np.bool_]],
    taken: Sequence[NDArray[np.bool_]],
    wanted: Sequence[Listed],
) -> list[Listed]:
    """Take documents with the same tokens; return the wanted ones without a match."""
    copies: defaultdict[bytes, list[_Place]] = defaultdict(list)
    for k, one in enumerate(wanted):
        for number in one.numbers.tolist():
            copies[_digest(one.segment.document(number).tobytes())].append((k, number))
    missing: list[list[int]] = [[] for _ in wanted]
    for places in copies.values():
        interrupts.check()
        ids = wanted[places[0][0]].segment.document(places[0][1])
        free: list[_Place] = []
        for k, listed in enumerate(rest):
            equal = equal_documents(listed.segment, ids)
            free.extend((k, number) for number in equal[kept[k][equal] & ~taken[k][equal]].tolist())
        if len(free) > len(places):
            free = list(_best(free, rest, places, wanted))
        for k, number in free:
            taken[k][number] = True
        for k, number in places[len(free) :]:
            missing[k].append(number)
    return [
        Listed(one.segment, np.array(sorted(numbers), dtype=np.uint32), one.corpus)
        for one, numbers in zip(wanted, missing, strict=True)
    ]


def _best(
    free: Sequence[_Place], rest: Sequence[Listed], places: Sequence[_Place], wanted: Sequence[Listed]
) -> Iterator[_Place]:
    """Yield as many free documents as are wanted, the most similar ones first."""
    asked = list(_contents(places, wanted))
    offered: Iterable[tuple[_Place, _Content]] = zip(free, _contents(free, rest), strict=True)
    for n_parts in (2, 1, 0):  # text and metadata, the text, only the tokens
        open_asked = Counter(content[:n_parts] for content in asked)
        n_open, left = len(asked), []
        for place, content in offered:
            if open_asked[content[:n_parts]]:
                open_asked[content[:n_parts]] -= 1
                n_open -= 1
                yield place
                if not n_open:  # the remaining ones are not even read
                    return
            else:
                left.append((place, content))
        offered, asked = left, _without_matched(asked, open_asked, n_parts)


def _without_matched(
    asked: Sequence[_Content], n_open: Counter[tuple[bytes, ...]], n_parts: int
) -> list[_Content]:
    """Return the contents that are still unmatched, with their multiplicities."""
    left, n_kept = [], Counter[tuple[bytes, ...]]()
    for content in asked:
        kind = content[:n_parts]
        if n_kept[kind] < n_open[kind]:
            n_kept[kind] += 1
            left.append(content)
    return left


def _contents(places: Sequence[_Place], listed: Sequence[Listed]) -> Iterator[_Content]:
    """Yield digests of the documents' texts and of their metadata; places ascend within a segment."""
    rows: dict[int, Iterator[dict[str, Any]]] = {}
    for k, number in places:
        segment = listed[k].segment
        if k not in rows:
            rows[k] = segment.metadata.rows([i for other, i in places if other == k])
        interrupts.check()
        # A text that is not stored follows from the tokens, which are the same.
        text = segment.stored_text(number)
        metadata = json.dumps(next(rows[k]), sort_keys=True)
        yield b"" if text is None else _digest(text), _digest(metadata.encode("utf-8", "surrogatepass"))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
