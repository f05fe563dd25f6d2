"""Occurrences of a pattern in one segment: their number, their documents, and their positions.

Positions are those of the segment's text, in which every document is followed by a separator; an occurrence
is the half-open range of tokens [start, stop). Every query can be answered in two ways: locating all
occurrences by the index and sorting them, or reading the parts of the text that can hold any. Exact counts
show which is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import (
    intersect,
    least_ends,
    sentences_at,
    sort_positions,
    unite,
    values_within,
)
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.interruptible_sort import counted, each_once, numbered, order_of
from ngramdb.conditions.stored_text import Cuts, TextMatches, spelled_cuts
from ngramdb.conditions.text_expressions import ExpressionMatches
from ngramdb.conditions.token_matches import TokenMatches
from ngramdb.patterns import (
    Gapped,
    Gram,
    Pattern,
    Simple,
    StoredExpression,
    StoredText,
    StoredWords,
    TokenPattern,
    Variants,
)
from ngramdb.planner import choices
from ngramdb.planner.plan import Costs
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

Positions = NDArray[np.uint32]

# Positions that are worked on between two interrupt checks: some ten milliseconds.
CHUNK = 1 << 19

NO_POSITIONS: Positions = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True)
class Occurrences:
    """Occurrences by ascending start. Under MATCH TEXT two may start in one token: their starts are equal.

    starts, stops : (n,) uint32, the tokens that the occurrence takes up, half-open
    cuts : (n, 2) int64, how much of the first and of the last token is not the occurrence's; below zero, how
        much white space before and after them is. None: the tokens are all of it, or it was not asked for
    """

    starts: Positions
    stops: Positions
    cuts: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Occurrences:
        """Return some of them, selected by a mask, ascending indices or a slice."""
        cuts = None if self.cuts is None else self.cuts[chosen]
        return Occurrences(self.starts[chosen], self.stops[chosen], cuts)

    @classmethod
    def none(cls) -> Occurrences:
        """No occurrence."""
        return cls(NO_POSITIONS, NO_POSITIONS)

    @classmethod
    def of_length(cls, starts: Positions, length: int) -> Occurrences:
        """Make occurrences that all have this many tokens."""
        return cls(starts, starts + np.uint32(length))


@dataclass(frozen=True)
class Windows:
    """Parts of a segment's text: [lo[i], hi[i]), ascending, apart from each other; (n,) uint32 each."""

    lo: Positions
    hi: Positions

    @classmethod
    def around(cls, lo: NDArray[np.integer], hi: NDArray[np.integer]) -> Windows:
        """Return the union of windows, which may overlap; empty ones are dropped."""
        interrupts.check()
        some = lo < hi
        if not some.all():
            lo, hi = lo[some], hi[some]
        if len(lo) > 1 and (lo[1:] < lo[:-1]).any():
            order = order_of(lo)
            lo, hi = lo[order], hi[order]
        hi = np.maximum.accumulate(hi) if len(hi) else hi
        apart = np.ones(len(lo), dtype=np.bool_)
        apart[1:] = lo[1:] > hi[:-1]
        last = np.append(apart[1:], True) if len(lo) else apart
        return cls(lo[apart].astype(np.uint32), hi[last].astype(np.uint32))

    @property
    def n_tokens(self) -> int:
        """Tokens in them."""
        return int((self.hi.astype(np.int64) - self.lo).sum())


class Finder:
    """Finds occurrences in one segment; ranges of the index are looked up once.

    `costs` None means that text is never scanned if the index can answer. `probed` is called for every
    search in the index.
    """

    def __init__(
        self,
        segment: Segment,
        tokenizer: Tokenizer,
        costs: Costs | None = None,
        probed: Callable[[], None] | None = None,
    ) -> None:
        self._segment = segment
        self._index: SegmentIndex = segment.index
        self._costs = costs
        self._probed = probed
        self._ranges: dict[Gram, tuple[int, int]] = {}
        self._texts = TextMatches(segment, tokenizer)
        self._expressions = ExpressionMatches(segment, tokenizer)
        self._programs = TokenMatches(segment, tokenizer)
        self._tokenizer = tokenizer
        # True if occurrences record which part of their tokens they cover.
        self.cutting = False
        self.n_documents = self._index.n_documents
        self.n_tokens = self._index.n_tokens

    # ---- how often --------------------------------------------------------------------------------------

    def range(self, gram: Gram) -> tuple[int, int]:
        """Return the suffix range of an n-gram, half-open. Cost: a search at the first call."""
        found = self._ranges.get(gram)
        if found is None:
            found = self._ranges[gram] = self._index.find(gram.ids) if gram.known else (0, 0)
            if self._probed is not None:
                self._probed()
        return found

    def bound(self, pattern: Pattern) -> int:
        """Return an upper bound of the occurrences, exact for n-grams. Cost: one search per n-gram."""
        if isinstance(pattern, Gram):
            return self._count(pattern)
        return choices.pattern_bound(pattern, self._count, self.n_tokens + self.n_documents)

    def _count(self, gram: Gram) -> int:
        lo, hi = self.range(gram)
        return hi - lo

    def count(self, pattern: Pattern) -> int:
        """Return the number of occurrences."""
        if isinstance(pattern, (Gram, Variants)):
            return self.bound(pattern)
        if isinstance(pattern, StoredText):
            return self._texts.count(pattern, self._candidates(pattern))
        if isinstance(pattern, StoredWords):
            return self._texts.count(pattern, self._texts.candidates(pattern))
        if isinstance(pattern, StoredExpression):
            return self._expressions.count(pattern, self._candidates(pattern))
        if isinstance(pattern, TokenPattern) and pattern.length is not None:
            return self._programs.count(pattern)
        return len(self.occurrences(pattern))

    # ---- in which documents -----------------------------------------------------------------------------

    def documents(self, pattern: Pattern) -> Docs:
        """Return the documents with an occurrence: (k,) uint32, ascending. The empty n-gram is in all."""
        if isinstance(pattern, Gram):
            if not len(pattern):
                return np.arange(self.n_documents, dtype=np.uint32)
            lo, hi = self.range(pattern)
            return self._index.docs_of(lo, hi) if lo < hi else NO_POSITIONS
        if isinstance(pattern, Variants):
            return reduce(unite, map(self.documents, pattern.grams), NO_POSITIONS)
        if isinstance(pattern, StoredExpression):
            return self._expressions.documents(pattern, self._candidates(pattern))
        return self._documents_of(self.occurrences(pattern))

    def filter(self, pattern: Pattern, candidates: Docs) -> Docs:
        """Those of the documents that have an occurrence."""
        if isinstance(pattern, Gram):
            if not len(pattern):
                return candidates
            return self.among(pattern, candidates, self.path(pattern, len(candidates)))
        if isinstance(pattern, StoredExpression):
            return self._expressions.documents(pattern, self._candidates(pattern, candidates))
        return self._documents_of(self.occurrences(pattern, self.windows_of(candidates)))

    def path(self, gram: Gram, n_candidates: int) -> str:
        """Return the access path that finds an n-gram among this many candidates."""
        return choices.gram_path(self._costs, self._count(gram), n_candidates, self)

    def among(self, gram: Gram, candidates: Docs, path: str) -> Docs:
        """Those of the documents that have the n-gram, by an access path."""
        if path == choices.SCAN:
            return self._index.filter_docs(candidates, gram.ids)
        lo, hi = self.range(gram)
        return self._index.docs_among(lo, hi, candidates, choices.are_few(len(candidates), self.n_documents))

    def counts(self, pattern: Pattern, within: DocSet | None = None) -> tuple[Docs, NDArray[np.int64]]:
        """Documents with occurrences, ascending, and how many: (k,) uint32 and (k,) int64.

        `within` limits them to some documents.
        """
        if within is not None and not len(within):
            return NO_POSITIONS, np.empty(0, dtype=np.int64)
        windows = None if within is None or within.negated else self.windows_of(within.docs)
        if isinstance(pattern, Gram) and (windows is None or not self._reads(windows, self.bound(pattern))):
            lo, hi = self.range(pattern)
            docs, counts = self._index.count_by_document(lo, hi)
            return limited(docs, counts.astype(np.int64), within)
        if isinstance(pattern, Variants):
            parts = [self.counts(gram, within) for gram in pattern.grams]
            return summed(
                [docs for docs, _ in parts],
                [n * weight for (_, n), weight in zip(parts, pattern.weights, strict=True)],
            )
        places = self._index.documents_at(self.occurrences(pattern, windows).starts)
        return limited(*counted(places), within)

    def _documents_of(self, occurrences: Occurrences) -> Docs:
        return each_once(self.documents_at(occurrences))

    def documents_at(self, occurrences: Occurrences) -> Docs:
        """Return the document of each occurrence: (n,) uint32."""
        return self._index.documents_at(occurrences.starts)

    def pieces_at(self, positions: Positions) -> tuple[Docs, Docs]:
        """Return the document at each position, and the number of its piece: (n,) uint32 each.

        The pieces of all documents are numbered in their order.
        """
        documents = self._index.documents_at(positions)
        breaks = np.searchsorted(self._index.break_positions(), positions)
        return documents, documents + breaks.astype(np.uint32)

    # ---- where ------------------------------------------------------------------------------------------

    def occurrences(self, pattern: Pattern, windows: Windows | None = None) -> Occurrences:
        """All occurrences, or those that start in a window.

        Cost: 15 ns per occurrence of a part, or, if that is cheaper, 0.25 ns per token of the windows.
        """
        if isinstance(pattern, Gram):
            return Occurrences.of_length(self._starts(pattern, windows), len(pattern))
        if isinstance(pattern, Variants):
            return self._variants(pattern, windows)
        if isinstance(pattern, TokenPattern):
            return self._tokens(pattern, windows)
        # A match may reach beyond its window: whole documents are searched, only those of the windows.
        within = None if windows is None else self._documents_in(windows)
        if isinstance(pattern, StoredWords):
            docs = self._texts.candidates(pattern)
            found = Occurrences(
                *self._texts.find(pattern, docs if within is None else intersect(docs, within))
            )
        elif isinstance(pattern, Gapped):
            found = self._gapped(pattern, within)
        else:
            found = self._stored(pattern, within)
        return found if windows is None else found[values_within(found.starts, windows.lo, windows.hi)]

    def within(self, pattern: Pattern, documents: DocSet | None) -> Occurrences:
        """Return the occurrences in a set of documents; None means all."""
        if documents is not None and not documents.negated:
            return self.occurrences(pattern, self.windows_of(documents.docs))
        return self.limited(self.occurrences(pattern), documents)

    def limited(self, found: Occurrences, documents: DocSet | None) -> Occurrences:
        """Return the occurrences that are in a set of documents; None means all."""
        if documents is None or (documents.negated and not len(documents.docs)):
            return found
        windows = self.windows_of(documents.docs)
        inside = values_within(found.starts, windows.lo, windows.hi)
        return found[~inside if documents.negated else inside]

    def windows_of(self, docs: Docs) -> Windows:
        """Return the texts of documents, given in ascending order, with the separators after them.

        A match that holds no token, in a document without any, is at the separator.
        """
        starts, stops = self._index.document_bounds(docs)
        return Windows(starts, stops + np.uint32(1))

    def _documents_in(self, windows: Windows) -> Docs:
        """Return the documents that overlap windows: (k,) uint32, ascending."""
        first = self._index.documents_at(windows.lo).astype(np.int64)
        n = self._index.documents_at(windows.hi - np.uint32(1)) - first + 1
        ends = np.cumsum(n)
        every = np.repeat(first - (ends - n), n) + np.arange(n.sum())
        return each_once(every.astype(np.uint32))

    def windows_around(self, starts: Positions, before: int, after: int) -> tuple[Positions, Positions]:
        """For each position p the window [p - before, p + after], cut to its piece of the document.

        Returns two (n,) uint32 arrays, `lo` and `hi`, half-open; windows of neighbours may overlap.
        """
        lo, hi = np.empty_like(starts), np.empty_like(starts)
        for start in range(0, len(starts), CHUNK):
            interrupts.check()
            chunk = slice(start, start + CHUNK)
            first, last = self._index.piece_bounds(starts[chunk])
            places = starts[chunk].astype(np.int64)
            lo[chunk] = np.maximum(places - before, first)
            hi[chunk] = np.minimum(places + after + 1, last)
        return lo, hi

    def sentences_of(self, found: Occurrences) -> tuple[Positions, Positions]:
        """Return the sentences in which occurrences start: `lo` and `hi`, two (n,) uint32 arrays."""
        bits = self._segment.sentences
        assert bits is not None, "plans must query corpora with known sentences"
        return sentences_at(bits, found.starts)

    def _starts(self, gram: Gram, windows: Windows | None) -> Positions:
        lo, hi = self.range(gram)
        if lo == hi:
            return NO_POSITIONS
        if windows is not None and len(gram) and self._reads(windows, hi - lo):
            return self._index.scan(windows.lo, windows.hi, gram.ids)
        positions = self._index.positions(lo, hi)
        sort_positions(positions)
        return positions if windows is None else positions[values_within(positions, windows.lo, windows.hi)]

    def _reads(self, windows: Windows, n_occurrences: int) -> bool:
        if self._costs is None or not n_occurrences:
            return False
        reading = self._costs.scan_ns * windows.n_tokens + self._costs.window_ns * len(windows.lo)
        return reading < (self._costs.locate_ns + self._costs.sort_ns) * n_occurrences

    def _variants(self, pattern: Variants, windows: Windows | None) -> Occurrences:
        found = []
        for i, (gram, weight) in enumerate(zip(pattern.grams, pattern.weights, strict=True)):
            starts = self._starts(gram, windows)
            repeated = starts if weight == 1 else np.repeat(starts, weight)
            part = Occurrences.of_length(repeated, len(gram))
            if self.cutting and len(starts):
                cuts = np.array(self._cuts(pattern, i), dtype=np.int64)
                part = Occurrences(part.starts, part.stops, np.tile(cuts, (len(starts), 1)))
            found.append(part)
        # With the same start, the shorter one comes first, independent of the order of the variants.
        return merged(sorted(found, key=lambda part: int(part.stops[0] - part.starts[0]) if len(part) else 0))

    def _cuts(self, pattern: Variants, i: int) -> Cuts:
        """Return the parts of the text of variant i that are occurrences, one per counted occurrence."""
        if pattern.cuts is not None:
            return pattern.cuts[i]
        cuts = spelled_cuts(pattern.grams[i], pattern.sought, self._tokenizer)
        return cuts if len(cuts) == pattern.weights[i] else ((0, 0),) * pattern.weights[i]

    def _tokens(self, pattern: TokenPattern, windows: Windows | None) -> Occurrences:
        ranges = None if windows is None else (windows.lo, windows.hi)
        if pattern.by_word:
            return Occurrences(*self._programs.words(pattern, ranges))
        return Occurrences(*self._programs.find(pattern, ranges))

    def _gapped(self, pattern: Gapped, within: Docs | None) -> Occurrences:
        parts = self._parts(pattern, within)
        found = parts[-1]
        for (low, high), before in zip(reversed(pattern.gaps), reversed(parts[:-1]), strict=True):
            if not len(found) or not len(before):
                return Occurrences.none()
            _, last = self._index.piece_bounds(before.starts)
            stops = before.stops.astype(np.int64)
            lo = np.minimum(stops + low, last).astype(np.uint32)
            hi = np.minimum(stops + high + 1, last).astype(np.uint32)
            ends = least_ends(found.starts, found.stops, lo, hi)
            matching = ends > 0
            found = Occurrences(before.starts[matching], ends[matching])
        return found

    def _parts(self, pattern: Gapped, within: Docs | None) -> list[Occurrences]:
        """Return the occurrences of the parts; except for the rarest, only those near one of its own."""
        reach = None if within is None else self.windows_of(within)
        bounds = [self.bound(part) for part in pattern.parts]
        seed = bounds.index(min(bounds))
        parts: dict[int, Occurrences] = {seed: self.occurrences(pattern.parts[seed], reach)}
        # Each part limits its neighbour.
        for i in range(seed + 1, len(bounds)):
            low, high = pattern.gaps[i - 1]
            stops = parts[i - 1].stops.astype(np.int64)
            parts[i] = self._near(pattern.parts[i], parts[i - 1], stops + low, stops + high + 1)
        for i in range(seed - 1, -1, -1):
            low, high = pattern.gaps[i]
            shortest, longest = self._lengths(pattern.parts[i])
            starts = parts[i + 1].starts.astype(np.int64)
            parts[i] = self._near(
                pattern.parts[i], parts[i + 1], starts - high - longest, starts - low - shortest + 1
            )
        return [parts[i] for i in range(len(bounds))]

    def _near(
        self, part: Simple, neighbour: Occurrences, lo: NDArray[np.int64], hi: NDArray[np.int64]
    ) -> Occurrences:
        if not len(neighbour):
            return Occurrences.none()
        first, last = self._index.piece_bounds(neighbour.starts)
        return self.occurrences(part, Windows.around(np.maximum(lo, first), np.minimum(hi, last)))

    def _lengths(self, part: Simple) -> tuple[int, int]:
        """Return the minimum and the maximum number of tokens of an occurrence of a part."""
        if isinstance(part, Gram):
            return len(part), len(part)
        if isinstance(part, Variants):
            lengths = [len(gram) for gram in part.grams]
            return min(lengths), max(lengths)
        # A token of a text has at least one of its bytes; a match may fall between two tokens.
        return 1, 2 + len(part.text.encode())

    def _stored(self, pattern: StoredText | StoredExpression, within: Docs | None) -> Occurrences:
        docs = self._candidates(pattern, within)
        if isinstance(pattern, StoredExpression):
            # No other search for the match in its tokens would find it again.
            return Occurrences(*self._expressions.find(pattern, docs))
        starts, stops, cuts = self._texts.find(pattern, docs)
        return Occurrences(starts, stops, cuts if self.cutting else None)

    def _candidates(self, pattern: StoredText | StoredExpression, within: Docs | None = None) -> Docs:
        """Return the documents that can have a match, among all or among these."""
        candidates = within
        for clause in sorted(pattern.needs, key=lambda clause: sum(map(self.bound, clause))):
            if isinstance(pattern, StoredExpression) and not self._narrows(clause, candidates):
                break
            if candidates is None:
                candidates = reduce(unite, map(self.documents, clause), NO_POSITIONS)
            else:
                left = candidates
                candidates = reduce(unite, (self.filter(gram, left) for gram in clause), NO_POSITIONS)
        return self._every() if candidates is None else candidates

    def _narrows(self, clause: Sequence[Gram], candidates: Docs | None) -> bool:
        """Return True if looking up n-grams is cheaper than reading the texts of documents without them."""
        if candidates is None:
            return sum(map(self.bound, clause)) * choices.READ_AT_ONCE <= self.n_tokens
        return len(clause) <= choices.FEW_GRAMS and len(clause) < len(candidates)

    def _every(self) -> Docs:
        return np.arange(self.n_documents, dtype=np.uint32)


def merged(parts: list[Occurrences]) -> Occurrences:
    """Merge the occurrences of several lists by ascending start."""
    parts = [part for part in parts if len(part)]
    if len(parts) <= 1:
        return parts[0] if parts else Occurrences.none()
    every = _joined(parts)
    return every[order_of(every.starts)]


def _joined(parts: list[Occurrences]) -> Occurrences:
    """Concatenate lists of occurrences."""
    cuts = None
    if any(part.cuts is not None for part in parts):
        none = np.zeros((max(map(len, parts)), 2), dtype=np.int64)
        cuts = np.concatenate([none[: len(part)] if part.cuts is None else part.cuts for part in parts])
    return Occurrences(
        np.concatenate([part.starts for part in parts]), np.concatenate([part.stops for part in parts]), cuts
    )


def distinct(parts: list[Occurrences]) -> Occurrences:
    """Merge the occurrences of several lists by ascending start, without duplicates.

    If a list has one repeatedly (a pattern with gaps whose first part begins several times in one token),
    it is kept as often as in the list that has it most often.
    """
    parts = [part for part in parts if len(part)]
    if len(parts) <= 1:
        return parts[0] if parts else Occurrences.none()
    every = _joined(parts)
    owners = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    cuts = np.zeros((len(every), 2), dtype=np.int64) if every.cuts is None else every.cuts
    columns: list[NDArray[Any]] = [every.starts, every.stops, cuts[:, 0], cuts[:, 1]]
    interrupts.check()
    order = np.lexsort((owners, *reversed(columns)))
    places = np.arange(len(order))
    # The number of equal ones of its own list before it.
    begins = np.maximum.accumulate(np.where(_changes([*columns, owners], order), places, 0))
    nths = np.empty(len(order), dtype=np.int64)
    nths[order] = places - begins
    interrupts.check()
    order = np.lexsort((nths, *reversed(columns)))
    return every[order[_changes([*columns, nths], order)]]


def _changes(columns: Sequence[NDArray[Any]], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the rows that differ from the row before, in the given order."""
    changed = np.zeros(len(order), dtype=np.bool_)
    changed[:1] = True
    for column in columns:
        ordered = column[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    return changed


def limited(docs: Docs, counts: NDArray[np.int64], within: DocSet | None) -> tuple[Docs, NDArray[np.int64]]:
    """Documents and their counts, as far as the documents are in a set; None means all."""
    if within is None or (within.negated and not len(within.docs)):
        return docs, counts
    chosen = np.isin(docs, within.docs, assume_unique=True, invert=within.negated)
    return docs[chosen], counts[chosen]


def summed(docs: list[Docs], counts: list[NDArray[np.int64]]) -> tuple[Docs, NDArray[np.int64]]:
    """Add up the counts of equal documents."""
    if not docs:
        return NO_POSITIONS, np.empty(0, dtype=np.int64)
    every = np.concatenate(docs)
    first, where = numbered(every)
    total = np.zeros(len(first), dtype=np.int64)
    np.add.at(total, where, np.concatenate(counts))
    return every[first], total
