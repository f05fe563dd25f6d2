"""NGRAMS with conditions on the n-grams, of several lengths, ignoring case, or with numbers of documents.

Each length takes one pass over the rows; n-grams that start with an n-gram take a pass over its rows only. If
every n-gram contains a rare part, the n-grams around its occurrences are read instead. Case is ignored token
by token: n-grams whose tokens differ in nothing else are one, shown in their most frequent form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.joins import unite
from ngramdb._cext.corpus.top_ngrams import NegativeCount, NgramScan
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files
from ngramdb.conditions.interruptible_sort import each_once, numbered, numbered_sequences
from ngramdb.conditions.stored_text import SoughtWords
from ngramdb.conditions.token_matches import matcher_of
from ngramdb.diacritics import Spelling
from ngramdb.errors import InvalidArgument
from ngramdb.executor.per_segment import (
    Ids,
    Side,
    batches_of,
    matching,
    negative_counts_named,
    require_table,
    side_of,
)
from ngramdb.executor.result import Result, Row
from ngramdb.interrupts import check, require_memory, waited_for
from ngramdb.lazy import dataclass
from ngramdb.patterns import Gram, StoredWords, TokenPattern, one_case, same_letters
from ngramdb.planner.plan import AllDocs, Costs, DocExpr, PlanMeter
from ngramdb.questions.plans import Query
from ngramdb.segments.base import Segment
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

COLUMNS = ("ngram", "token_ids", "count")

# N-grams that are checked together, and the greatest number of their tokens: a few megabytes.
CHUNK_NGRAMS = 1 << 17
CHUNK_TOKENS = 1 << 18
# N-grams whose texts are made and searched together: about ten milliseconds.
DECODED = 1 << 12
# Memory per n-gram: its place, count and order; if case is ignored, also its numbering.
BYTES_PER_NGRAM = 40
BYTES_PER_FOLDED = 160
# Separates texts of tokens while they are folded together.
BORDER = "\0"
# The greatest number of n-grams that are read around a part, and the rows of a pass that take as long as one.
MOST_READ = 1 << 21
ROWS_PER_READ = 6

Found = list[tuple[Segment, DocSet]]
# A segment's index, the rows of a pass, their sign with a bitmap of documents, and nothing.
Source = tuple[Any, Any, Side, None]

_CLASSES: WeakKeyDictionary[Tokenizer, Ids] = WeakKeyDictionary()


@dataclass(frozen=True)
class NgramSelection(Query):
    """NGRAMS of several lengths, with conditions on them, ignoring case, or with numbers of documents."""

    shortest: int
    longest: int
    where: DocExpr
    min_count: int = 1
    containing: Gram | StoredWords | TokenPattern | None = None
    starting: Gram | None = None
    ending: Gram | None = None
    ignore_case: bool = False
    with_docs: bool = False
    top: int | None = None
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        lengths = f"{self.shortest}" if self.shortest == self.longest else f"{self.shortest}..{self.longest}"
        parts = [f"{lengths}-grams by count"]
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        for name in ("containing", "starting", "ending"):
            gram = getattr(self, name)
            if gram is not None:
                parts.append(f"{name} {'' if name == 'containing' else 'with '}{gram.shown}")
        if self.ignore_case:
            parts.append("ignore case")
        if self.with_docs:
            parts.append("with docs")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return ", ".join(parts)

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per n-gram, the most frequent first; equal ones by length, then by token ids.

        In the summary, `total` is the number of n-grams without regard to TOP.
        """
        self.corpus.check_difference()
        selection = _Selection(self, matching(self.corpus, self.where, self.costs, meter))
        lengths = range(self.shortest, min(self.longest, selection.most) + 1)
        tokenizer = self.corpus.tokenizer
        with negative_counts_named(tokenizer), from_files(tokenizer, self.corpus.segments):
            lists = [selection.listed(n) for n in lengths]
        none = np.empty(0, dtype=np.int64)
        counts = np.concatenate((none, *(one.counts for one in lists)))
        owners = np.concatenate((none, *(np.full(len(one.counts), i) for i, one in enumerate(lists))))
        places = np.concatenate((none, *(np.arange(len(one.counts)) for one in lists)))
        order = np.lexsort((places, owners, -counts))[: self.top]
        n_tokens = np.array([one.scan.n for one in lists], dtype=np.int64)[owners[order]]
        require_table(n_tokens)

        def batches() -> Iterator[list[Row]]:
            for some in batches_of(n_tokens):
                chosen = order[some]
                yield [selection.row(lists[owners[i]], int(places[i])) for i in chosen.tolist()]

        return Result(
            (*COLUMNS, "docs") if self.with_docs else COLUMNS,
            batches(),
            summary={"total": sum(one.total for one in lists)},
            n_rows=len(order),
            types=(str, list, int, int) if self.with_docs else (str, list, int),
        )


@dataclasses.dataclass
class Listed:
    """N-grams of one length in order, as places of a scan: (m, 2) int64, and (m,) counts.

    `total` is their number before TOP. `forms[i]` are the places of the forms of n-gram i.
    """

    scan: NgramScan
    places: IntArray
    counts: IntArray
    total: int
    forms: list[IntArray] = dataclasses.field(default_factory=list)


class _Selection:
    """The n-grams of a plan, one length at a time."""

    def __init__(self, plan: NgramSelection, found: Found) -> None:
        self._plan = plan
        self._found = found
        self._classes = classes_of(plan.corpus.tokenizer) if plan.ignore_case else None
        self._sought: dict[Gram, IntArray] = {}
        self._is_restricted = any(one is not None for one in (plan.containing, plan.starting, plan.ending))
        # Memory of the lists so far.
        self._n_bytes = 0
        lengths = (segment.n_tokens for segment, docs in found if len(docs))
        #: The greatest length of an n-gram.
        self.most = max(lengths, default=0)

    def listed(self, n: int) -> Listed:
        """Return the n-grams of one length."""
        scan = NgramScan(list(self._sources()), n)
        places, counts = self._met(scan)
        if self._classes is not None:
            listed = _folded(scan, places, counts, self._classes, self._plan)
        else:
            # Sorting millions of counts takes tenths of a second, and cannot be stopped.
            order = waited_for(lambda: np.argsort(-counts, kind="stable"))[: self._plan.top]
            listed = Listed(scan, places[order], counts[order], len(counts))
        self._n_bytes += BYTES_PER_NGRAM * len(listed.counts)
        return listed

    def _met(self, scan: NgramScan) -> tuple[IntArray, IntArray]:
        """Return places and counts of the n-grams that meet the conditions, ascending by token ids."""
        parts, counts = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        # Forms of one n-gram may be rare by themselves.
        is_folded = self._classes is not None
        least, n_kept = 1 if is_folded else self._plan.min_count, 0
        for places, found in self._batches(scan, least):
            if (found < 0).any():
                at = int(np.argmin(found))
                raise NegativeCount(tuple(scan.ids(places[at : at + 1])[0].tolist()))
            kept = found >= least
            if self._is_restricted:
                kept &= self._meets(scan.ids(places))
            n_kept += int(np.count_nonzero(kept))
            n_bytes = n_kept * (BYTES_PER_FOLDED if is_folded else BYTES_PER_NGRAM)
            require_memory(self._n_bytes + n_bytes, f"the n-grams of up to {scan.n:,} tokens")
            parts.append(places[kept])
            counts.append(found[kept])
        return np.concatenate(parts), np.concatenate(counts)

    def _batches(self, scan: NgramScan, least: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield places, ascending by token ids, among them all wanted ones, and their counts."""
        sources, chunk = list(scan.sources), min(CHUNK_NGRAMS, max(1, CHUNK_TOKENS // scan.n))
        parts = [(part.n_read(sources), i, part) for i, part in enumerate(self._parts(scan.n))]
        if parts and is_faster(min(parts)[0], sources):
            every, counts = ngrams_around(min(parts)[2], scan)
            for start in range(0, len(counts), chunk):
                yield every[start : start + chunk], counts[start : start + chunk]
            return
        while True:
            places, both = scan.next(chunk, least)
            if not len(places):
                return
            yield places, both[:, 0]

    def _parts(self, n: int) -> Iterator[Part]:
        """Yield parts that every wanted n-gram contains; nothing if a pass over the rows is needed."""
        plan = self._plan
        pattern = plan.containing if isinstance(plan.containing, TokenPattern) else None
        if pattern is not None and pattern.anchor is not None and not pattern.words:
            flat, offsets = pattern.anchor.flat, pattern.anchor.offsets
            yield Part(flat, offsets, range(max(0, n + 1 - int(np.diff(offsets).min(initial=n)))))
        containing = plan.containing if isinstance(plan.containing, Gram) else None
        for gram, is_first, is_last in (
            (plan.starting, True, False),
            (plan.ending, False, True),
            (containing, True, True),
        ):
            if gram is None or not len(gram) or (gram is plan.starting and self._classes is None):
                continue
            last = n - len(gram)
            places = range(0 if is_first else max(last, 0), last + 1 if is_last else min(last + 1, 1))
            if self._classes is None:
                yield Part(gram.ids, np.array([0, len(gram)]), places)
                continue
            for i, one in enumerate(self._in_any_case(gram).tolist()):
                tokens = np.flatnonzero(self._classes == one)
                yield Part.of_tokens(tokens, range(places.start + i, places.stop + i))

    def _sources(self) -> Iterator[Source]:
        """Yield the segments with the rows that are read, and how they count."""
        if isinstance(self._plan.where, AllDocs):  # removed documents are subtracted by their counts
            index = self._plan.corpus.index
            for segment, sign in zip(index.segments, index.signs, strict=True):
                yield segment, self._rows(segment), (sign, None), None
            return
        for one, docs in self._found:
            side = side_of(docs)
            if side is not None:
                yield one.index, self._rows(one.index), side, None

    def _rows(self, index: SegmentIndex) -> tuple[int, int] | None:
        starting = self._plan.starting
        if starting is None or self._classes is not None:
            return None
        return index.find(starting.ids) if starting.known else (0, 0)

    def _meets(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which n-grams contain, start and end with what the statement requires."""
        plan, n = self._plan, ids.shape[1]
        meets = np.ones(len(ids), dtype=np.bool_)
        folded = ids
        if self._classes is not None:
            folded = _in_classes(ids, self._classes)

        def equals_at(sought: IntArray, at: int) -> NDArray[np.bool_]:
            equal: NDArray[np.bool_] = (folded[:, at : at + len(sought)] == sought).all(axis=1)
            return equal

        if isinstance(plan.containing, TokenPattern):
            meets = matcher_of(plan.containing, plan.corpus.tokenizer).within(ids)
        elif isinstance(plan.containing, StoredWords):
            meets = self._have_words(plan.containing, ids)
        for gram, places in (
            (plan.starting, lambda m: (0,)),
            (plan.ending, lambda m: (n - m,)),
            (plan.containing if isinstance(plan.containing, Gram) else None, lambda m: range(n - m + 1)),
        ):
            if gram is None:
                continue
            sought = gram.ids if self._classes is None else self._in_any_case(gram)
            if len(gram) > n or (sought < 0).any():
                return np.zeros(len(ids), dtype=np.bool_)
            meets &= reduce(np.logical_or, (equals_at(sought, at) for at in places(len(gram))))
        return meets

    def _in_any_case(self, gram: Gram) -> IntArray:
        """Return the classes of an n-gram's tokens; -1 for those that the vocabulary has in no case."""
        found = self._sought.get(gram)
        if found is None:
            assert self._classes is not None
            if gram.known or gram.text is None:
                found = np.full(len(gram), -1, dtype=np.int64)
                there = (gram.ids >= 0) & (gram.ids < len(self._classes))
                found[there] = self._classes[gram.ids[there]]
            else:
                tokenizer = self._plan.corpus.tokenizer
                spellings = (Spelling(tuple(map(same_letters, one))) for one in tokenizer.split(gram.text))
                ids = [tokenizer.matching(spelling, False, False) for spelling in spellings]
                found = np.array(
                    [self._classes[some[0]] if len(some) else -1 for some in ids], dtype=np.int64
                )
            self._sought[gram] = found
        return found

    def _have_words(self, pattern: StoredWords, ids: Ids) -> NDArray[np.bool_]:
        """Return which n-grams have a match in their own text, as rows show it. Cost: a few µs each."""
        tokenizer, sought = self._plan.corpus.tokenizer, SoughtWords(pattern)
        meets = np.zeros(len(ids), dtype=np.bool_)
        with from_files(tokenizer, self._plan.corpus.segments):
            for start in range(0, len(ids), DECODED):
                check()
                texts = tokenizer.decode_rows(ids[start : start + DECODED])
                found = [len(sought.spans(text.encode("utf-8", "surrogateescape"))[0]) > 0 for text in texts]
                meets[start : start + DECODED] = found
        return meets

    # ---- rows

    def row(self, listed: Listed, i: int) -> Row:
        """Return the row of n-gram i of a list."""
        check()
        tokenizer = self._plan.corpus.tokenizer
        places = listed.places[i : i + 1]
        (ids,) = listed.scan.ids(places)
        with from_files(tokenizer, self._plan.corpus.segments):
            text = tokenizer.decode(ids)
        row = text, ids.tolist(), int(listed.counts[i])
        if not self._plan.with_docs:
            return row
        forms = listed.scan.ids(listed.forms[i]) if listed.forms else ids[None]
        return (*row, sum(self._documents(segment, docs, forms) for segment, docs in self._found))

    def _documents(self, segment: Segment, docs: DocSet, forms: Ids) -> int:
        """Return the number of a segment's documents that have any of the forms."""
        none: Docs = np.empty(0, dtype=np.uint32)
        every = reduce(unite, (segment.index.docs_containing(ids) for ids in forms.astype(np.int64)), none)
        return len(DocSet(every, segment.n_documents) & docs)


def classes_of(tokenizer: Tokenizer) -> Ids:
    """Return for each token id the least id whose text differs only in case.

    Kept with the tokenizer, since a million characters take half a second.
    """
    kept = _CLASSES.get(tokenizer)
    if kept is not None and len(kept) == tokenizer.n_vocabulary:
        return kept
    first: dict[str, int] = {}
    folded = _folded_texts(tokenizer)
    classes = np.array([first.setdefault(text, i) for i, text in enumerate(folded)], dtype=np.uint32)
    _CLASSES[tokenizer] = classes
    return classes


def _in_classes(ids: NDArray[np.integer], classes: Ids) -> Ids:
    if ids.size and ids.max() >= len(classes):
        raise InvalidArgument(f"the vocabulary has no token id {ids.max()}")
    found: Ids = classes[ids]
    return found


def _folded_texts(tokenizer: Tokenizer) -> list[str]:
    """Return the texts of all tokens in one case."""
    texts = tokenizer.all_texts()
    check()
    with_border = {i: one_case(text) for i, text in enumerate(texts) if BORDER in text}
    for i in with_border:
        texts[i] = ""
    folded = one_case(BORDER.join(texts)).split(BORDER)
    check()
    for i, text in with_border.items():
        folded[i] = text
    return folded


def _folded(
    scan: NgramScan, places: IntArray, counts: IntArray, classes: Ids, plan: NgramSelection
) -> Listed:
    """Return the n-grams with their forms added up, each shown in its most frequent form."""

    def class_at(some: IntArray, depth: int) -> Ids:
        return _in_classes(scan.column(places[some], depth), classes)

    if len(classes) ** scan.n < 2**62:  # one number holds an n-gram
        every = np.arange(len(places))
        packed = np.zeros(len(places), dtype=np.int64)
        for depth in range(scan.n):
            check()
            packed *= len(classes)
            packed += class_at(every, depth)
        codes = numbered(packed)[1]
    else:
        codes = numbered_sequences(np.full(len(places), scan.n), class_at)[1]
    # Forms of one n-gram become neighbours: the most frequent first, then in scan order, by token ids.
    order = np.lexsort((-counts, codes))
    counts, codes = counts[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    totals = np.add.reduceat(counts, starts) if len(starts) else counts
    kept = np.flatnonzero(totals >= plan.min_count)
    best = kept[np.lexsort((order[starts[kept]], -totals[kept]))][: plan.top]
    ends = np.append(starts[1:], len(order))
    forms = [places[order[starts[i] : ends[i]]] for i in best.tolist()]
    return Listed(scan, places[order[starts[best]]], totals[best], len(kept), forms)


# ---- n-grams around the occurrences of a part


class Part(NamedTuple):
    """N-grams flat[offsets[i]:offsets[i + 1]]; wanted n-grams contain one, after `before` tokens."""

    flat: IntArray
    offsets: IntArray
    before: range

    @classmethod
    def of_tokens(cls, tokens: IntArray, before: range) -> Part:
        """Return the part that is any one of some tokens."""
        return cls(tokens.astype(np.int64), np.arange(len(tokens) + 1, dtype=np.int64), before)

    def n_read(self, sources: Sequence[Source]) -> int:
        """Return an upper bound of the number of n-grams that are read."""
        ranges = (index.ranges(self.flat, self.offsets).astype(np.int64) for index, *_ in sources)
        return len(self.before) * sum(int((hi - lo).sum()) for lo, hi in ranges)


def is_faster(n_read: int, sources: Sequence[Source]) -> bool:
    """Return True if reading n-grams one by one takes less time than a pass over all rows."""
    n_rows = sum(index.n_tokens for index, *_ in sources)
    return n_read <= MOST_READ and ROWS_PER_READ * n_read < n_rows


def ngrams_around(part: Part, scan: NgramScan) -> tuple[IntArray, IntArray]:
    """Return places of n-grams that contain a part, (m, 2) ascending by token ids, and their net counts."""
    places, signs = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for source, (index, _, (sign, documents), _) in enumerate(scan.sources):
        check()
        starts = _starts(index, part, scan.n, documents).astype(np.int64)
        places.append(np.stack([np.full_like(starts, source), starts], axis=1))
        signs.append(np.full(len(starts), sign, dtype=np.int64))
    every, weights = np.concatenate(places), np.concatenate(signs)
    lengths = np.full(len(every), scan.n)
    first, numbers = numbered_sequences(lengths, lambda some, depth: scan.column(every[some], depth))
    counts = np.bincount(numbers, weights=weights, minlength=len(first)).astype(np.int64)
    return every[first[counts != 0]], counts[counts != 0]


def _starts(
    index: SegmentIndex, part: Part, n: int, documents: NDArray[np.uint8] | None
) -> NDArray[np.unsignedinteger[Any]]:
    """Return the beginnings of n-grams with the part, ascending, in documents of a bitmap or in all."""
    places = index.places(part.flat, part.offsets)
    if documents is not None:
        docs = index.documents_at(places)
        places = places[(documents[docs >> 3] >> (docs & 7).astype(np.uint8)) & 1 == 1]
    lo, hi = index.piece_bounds(places)
    begun, left = (places - lo).astype(np.int64), (hi - places).astype(np.int64)
    fits = ((begun >= before) & (left >= n - before) for before in part.before)
    starts = [places[fit] - places.dtype.type(k) for fit, k in zip(fits, part.before, strict=True)]
    every = np.concatenate([places[:0], *starts])
    return each_once(every) if every.dtype == np.uint32 else np.unique(every)
