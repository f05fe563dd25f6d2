"""Equal documents: those of which copies are removed.

Documents are equal if they have the same tokens and breaks, or the same text after normalisation. Each gets a
128-bit hash; those with the same hash are compared in full with the best one before any is removed.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.overlap_field import ids_onto, token_chunks
from ngramdb.curation.document_keys import NO_RANK, Keys, counterparts
from ngramdb.curation.keeping import DocumentOrder, counting, ranks
from ngramdb.engine.corpus.common import equal_documents
from ngramdb.errors import InvalidArgument
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

#: The differences that NORMALIZE may ignore.
NORMALIZATIONS = ("CASE", "SPACE", "NFC", "QUOTES")

# Documents per key of another corpus's segment: the first is enough, unless half of a hash is that of others.
MOST_EQUAL = 4

_SPACE = re.compile(r"\s+")
# Typographic quotes, and what is typed for them.
_QUOTES = str.maketrans(dict.fromkeys("‘’‚‛‹›′ʼ", "'") | dict.fromkeys("“”„‟«»″", '"'))


class Copies(NamedTuple):
    """Documents that have a copy that stays.

    chosen : per segment, their local numbers, ascending
    notes : for each of them, in order, the document that is kept, for the audit record
    """

    chosen: list[Docs]
    notes: list[dict[str, Any]]


class _Group(NamedTuple):
    """Documents of one segment, with the tokenizer that decodes them."""

    segment: Segment
    numbers: Docs
    tokenizer: Tokenizer


def copies(
    corpus: Corpus,
    documents: Sequence[Docs],
    *,
    order: DocumentOrder | None = None,
    keeps_one: bool = True,
    against: Corpus | None = None,
    normalize: Collection[str] = (),
) -> Copies:
    """Return the documents to remove, so that no two equal ones are left.

    Parameters
    ----------
    documents : the documents that count, per segment: ascending local numbers
    order : these documents, the best one first (KEEP BY); by default, ids ascend (KEEP FIRST)
    keeps_one : keep the best copy; False for KEEP NONE
    against : a corpus whose documents count as copies that are kept
    normalize : what is ignored, of NORMALIZATIONS; texts are then compared, not tokens

    Raises
    ------
    InvalidArgument
        a document without a text, if texts are compared

    Cost: about 10 µs per document; 20 µs per distinct document and segment of `against`. If texts are
    compared, those of `against` are read once, and their keys kept (`document_keys`); after that, only equal
    ones are read. Memory: about 60 bytes per document.
    """
    own = [
        _Group(segment, docs, corpus.tokenizer)
        for segment, docs in zip(corpus.segments, documents, strict=True)
    ]
    what = frozenset(normalize)
    hashes = _Contents(own, what).hashes()
    others = [] if against is None or not what else _counterparts(against, hashes, what)
    if others:
        hashes = np.concatenate([hashes, _Contents(others, what).hashes()])
    contents = _Contents((*own, *others), what)
    n_others = sum(len(group.numbers) for group in others)
    of_own = [of[docs] for of, docs in zip(ranks(corpus, documents, order), documents, strict=True)]
    best_first = np.concatenate(
        [
            np.empty(0, dtype=np.int64),
            *(part.astype(np.int64) + n_others for part in of_own),
            np.arange(n_others),
        ]
    )
    index = _Lookup(corpus, against) if against is not None and not normalize else None
    found = _Found(contents, len(own), keeps_one, "" if against is None else against.entry.name)
    for members in _classes(hashes, best_first, 1 if index is not None else 2):
        interrupts.check()
        for equal in _verified(contents, members):
            found.add(equal, None if index is None else index.first(*contents.place(equal[0])))
    return found.copies()


class _Contents:
    """The compared content of documents of several segments; places count from 0 over all of them."""

    def __init__(self, groups: Sequence[_Group], normalize: frozenset[str]) -> None:
        self.groups = groups
        self._normalize = normalize
        self._bounds = np.cumsum([0, *(len(group.numbers) for group in groups)])

    def group_of(self, place: int) -> int:
        return int(np.searchsorted(self._bounds, place, side="right")) - 1

    def place(self, place: int) -> tuple[Segment, int]:
        """Return the segment of a document, and its number there."""
        i = self.group_of(place)
        return self.groups[i].segment, int(self.groups[i].numbers[place - self._bounds[i]])

    def of(self, place: int) -> bytes:
        _, number = self.place(place)
        return next(self._read(self.groups[self.group_of(place)], np.array([number], dtype=np.uint32)))

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hashes of all documents: (n, 2) uint64."""
        found = bytearray()
        for group in self.groups:
            for content in self._read(group, group.numbers):
                found += _hash(content)
        return np.frombuffer(bytes(found), dtype=np.uint64).reshape(-1, 2)

    def _read(self, group: _Group, numbers: Docs) -> Iterator[bytes]:
        return self._texts(group, numbers) if self._normalize else _tokens(group.segment, numbers)

    def _texts(self, group: _Group, numbers: Docs) -> Iterator[bytes]:
        for i in numbers.tolist():
            interrupts.check()
            yield _normalized_text(group.segment, i, group.tokenizer, self._normalize)


def _normalized_text(segment: Segment, i: int, tokenizer: Tokenizer, what: Collection[str]) -> bytes:
    content = segment.text(i, tokenizer)
    if content is None:
        raise InvalidArgument(
            f"document {segment.doc_id(i)} was loaded as token ids, so it has no text; omit NORMALIZE"
        )
    return normalized(content.decode("utf-8", "surrogateescape"), what).encode("utf-8", "surrogatepass")


def normalized(text: str, what: Collection[str]) -> str:
    """Return a text without the differences that NORMALIZE ignores."""
    if "NFC" in what:
        text = unicodedata.normalize("NFC", text)
    if "CASE" in what:
        text = text.casefold()
        # Folding may leave a sequence that is not composed.
        text = unicodedata.normalize("NFC", text) if "NFC" in what else text
    if "QUOTES" in what:
        text = plain_quotes(text)
    return _SPACE.sub(" ", text).strip() if "SPACE" in what else text


def plain_quotes(text: str) -> str:
    """Return a text with plain quotes instead of typographic ones.

    >>> plain_quotes("“so” «oui»")
    '"so" "oui"'
    """
    return text.translate(_QUOTES)


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _counterparts(corpus: Corpus, hashes: NDArray[np.uint64], what: frozenset[str]) -> list[_Group]:
    """Return the documents of a corpus whose hashes begin with the same 64 bits, by their keys."""

    def of(segment: Segment, i: int, tokenizer: Tokenizer) -> NDArray[np.uint64]:
        return np.frombuffer(_hash(_normalized_text(segment, i, tokenizer, what))[:8], dtype="<u8")

    names = sorted(name.lower() for name in what)
    keys = Keys("-".join(["text", *names]), {"keys": "text", "normalize": names}, of)
    wanted, found = np.unique(hashes[:, 0]), []
    for i, (segment, kept) in enumerate(zip(corpus.segments, counting(corpus), strict=True)):
        ranks = np.full(segment.n_documents, NO_RANK, dtype=np.uint32)
        ranks[kept] = kept
        parts = [documents for _, _, documents in counterparts(corpus, i, keys, wanted, ranks, MOST_EQUAL)]
        found.append(_Group(segment, np.unique(np.concatenate([kept[:0], *parts])), corpus.tokenizer))
    return found


def _tokens(segment: Segment, numbers: Docs) -> Iterator[bytes]:
    """Yield the tokens and breaks of documents as bytes."""
    for chunk, _ in token_chunks(segment, numbers):
        interrupts.check()
        flat, offsets = segment.token_ids(chunk)
        for i, (start, stop) in zip(chunk.tolist(), pairwise(offsets.tolist()), strict=True):
            breaks = segment.breaks(i).tobytes() if segment.n_breaks else b""
            yield b"%d:" % (stop - start) + flat[start:stop].tobytes() + breaks


def _classes(
    hashes: NDArray[np.uint64], best_first: NDArray[np.int64], least: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the places of documents with the same hash, the best one first, if there are at least `least`."""
    if not len(hashes):
        return
    order = np.lexsort((best_first, hashes[:, 1], hashes[:, 0]))
    differ = np.flatnonzero((hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)) + 1
    starts, stops = np.append(0, differ), np.append(differ, len(order))
    several = stops - starts >= least
    for start, stop in zip(starts[several].tolist(), stops[several].tolist(), strict=True):
        yield order[start:stop]


def _verified(contents: _Contents, members: NDArray[np.int64]) -> Iterator[list[int]]:
    """Yield the members of a class that are equal indeed: all of them, unless hashes collide."""
    left = members.tolist()
    while left:
        first = contents.of(left[0]) if len(left) > 1 else b""
        same = [True]
        for place in left[1:]:
            interrupts.check()
            same.append(contents.of(place) == first)
        yield [place for place, is_same in zip(left, same, strict=True) if is_same]
        left = [place for place, is_same in zip(left, same, strict=True) if not is_same]


class _Lookup:
    """Finds documents of a corpus in another one, by the other's index."""

    def __init__(self, corpus: Corpus, other: Corpus) -> None:
        self._other = other
        self._ids = ids_onto(corpus.tokenizer, other.tokenizer)
        self._removed = [other.removed(i) for i in range(len(other.segments))]

    def first(self, segment: Segment, number: int) -> int | None:
        """Return the id of the first document of the other corpus that equals this one."""
        ids = segment.document(number)
        if self._ids is not None:
            translated = self._ids[ids]
            if (translated < 0).any():
                return None
            ids = translated.astype(np.uint32)
        breaks = segment.breaks(number)
        for there, removed in zip(self._other.segments, self._removed, strict=True):
            interrupts.check()
            equal = np.setdiff1d(equal_documents(there, ids, breaks), removed)
            if len(equal):
                return there.doc_id(int(equal[0]))
        return None


class _Found:
    """Collects the documents to remove, with the document that is kept of each class."""

    def __init__(self, contents: _Contents, n_own: int, keeps_one: bool, other: str) -> None:
        self._contents = contents
        self._n_own = n_own
        self._keeps_one = keeps_one
        self._other = other
        self._notes: list[dict[int, dict[str, Any]]] = [{} for _ in range(n_own)]

    def add(self, equal: list[int], there: int | None) -> None:
        """Add a class, the best document first; `there` is the other corpus's document that equals it."""
        contents = self._contents
        if there is None and contents.group_of(equal[0]) >= self._n_own:
            segment, number = contents.place(equal[0])
            there = segment.doc_id(number)
        if there is None and len(equal) == 1:
            return
        if there is not None:
            note, gone = {"kept": there, "kept_in": self._other}, equal
        elif self._keeps_one:
            segment, number = contents.place(equal[0])
            note, gone = {"kept": segment.doc_id(number)}, equal[1:]
        else:
            note, gone = {}, equal
        for place in gone:
            i = contents.group_of(place)
            if i < self._n_own:
                self._notes[i][contents.place(place)[1]] = note

    def copies(self) -> Copies:
        chosen = [np.array(sorted(notes), dtype=np.uint32) for notes in self._notes]
        return Copies(chosen, [notes[i] for notes in self._notes for i in sorted(notes)])
