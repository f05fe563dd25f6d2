"""NGRAMS with conditions on the n-grams, of several lengths, of one case, or with their documents.

One pass over the rows for each length; of those that start with an n-gram only over its rows. Letters' case
is ignored token by token: n-grams whose tokens differ in nothing else are one, and the most frequent form is
shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.docsets import unite
from ngramdb._cext.corpus.top_ngrams import NegativeCount, NgramScan
from ngramdb.errors import InvalidArgument
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.executor.conditions.known_tokens import from_files
from ngramdb.executor.conditions.stored_text import SoughtWords
from ngramdb.executor.conditions.token_matches import matcher_of
from ngramdb.executor.distinct import numbered_rows
from ngramdb.executor.lexical.around import Part, Source, is_faster, ngrams_around
from ngramdb.executor.measuring import PlanMeter
from ngramdb.executor.questions.documents import matching
from ngramdb.executor.questions.ngrams import bitmap_of, negative_named
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.interrupts import check, require_memory
from ngramdb.marks import Spelling
from ngramdb.planner.plan import (
    NGRAM_COLUMNS,
    AllDocs,
    Gram,
    NgramSelection,
    StoredWords,
    TokenPattern,
    one_case,
    same_letters,
)
from ngramdb.planner.source import IntArray, Segment, SegmentIndex, Tokenizer
from ngramdb.types import Docs

# N-grams that are looked at together: some megabytes.
CHUNK_NGRAMS = 1 << 17
# … and at most so many tokens.
CHUNK_TOKENS = 1 << 22
# N-grams whose texts are made and searched together: some ten milliseconds.
DECODED = 1 << 12
# Tokens that are kept, in order, and in one case: four bytes each.
BYTES_PER_TOKEN = 12
# Stands between texts of tokens while they are folded together.
BORDER = "\0"

Ids = NDArray[np.uint32]
# How often a segment's rows count, and a bitmap of the documents in which they do.
Side = tuple[int, NDArray[np.uint8] | None]
Found = list[tuple[Segment, DocSet]]


_CLASSES: WeakKeyDictionary[Tokenizer, Ids] = WeakKeyDictionary()


@dataclass
class Listed:
    """N-grams of one length in order: (m, n) ids, (m,) counts; `forms[i]` are those that are one."""

    ids: Ids
    counts: IntArray
    total: int
    forms: list[Ids] = field(default_factory=list)


def selected_ngrams(plan: NgramSelection, meter: PlanMeter | None = None) -> Result:
    """A row per n-gram, the most frequent first; of equal ones the shorter first, then by token ids.

    `total` in the summary is how many there are, whatever TOP is, if it is known.
    """
    plan.corpus.check_difference()
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    selection = _Selection(plan, found)
    lengths = range(plan.shortest, min(plan.longest, selection.most) + 1)
    tokenizer = plan.corpus.tokenizer
    with negative_named(tokenizer), from_files(tokenizer, plan.corpus.segments):
        lists = [selection.listed(n) for n in lengths]
    none = np.empty(0, dtype=np.int64)
    counts = np.concatenate((none, *(one.counts for one in lists)))
    owners = np.concatenate((none, *(np.full(len(one.counts), i) for i, one in enumerate(lists))))
    places = np.concatenate((none, *(np.arange(len(one.counts)) for one in lists)))
    order = np.lexsort((places, owners, -counts))[: plan.top]

    def batches() -> Iterator[list[Row]]:
        for start in range(0, len(order), BATCH_ROWS):
            some = order[start : start + BATCH_ROWS].tolist()
            yield [selection.row(lists[owners[i]], int(places[i])) for i in some]

    return Result(
        (*NGRAM_COLUMNS, "docs") if plan.with_docs else NGRAM_COLUMNS,
        batches(),
        summary={"total": sum(one.total for one in lists)},
        n_rows=len(order),
        types=(str, list, int, int) if plan.with_docs else (str, list, int),
    )


class _Selection:
    """The n-grams of a plan, a length at a time."""

    def __init__(self, plan: NgramSelection, found: Found) -> None:
        self._plan = plan
        self._found = found
        self._classes = classes_of(plan.corpus.tokenizer) if plan.ignore_case else None
        self._sought: dict[Gram, IntArray] = {}
        lengths = (segment.n_tokens for segment, docs in found if len(docs))
        #: No n-gram is longer.
        self.most = max(lengths, default=0)

    def listed(self, n: int) -> Listed:
        """Those of one length."""
        parts, counts = [np.empty((0, n), dtype=np.uint32)], [np.empty(0, dtype=np.int64)]
        # Forms that are one may be rare by themselves.
        least = 1 if self._classes is not None else self._plan.min_count
        n_kept = 0
        for ids, found in self._batches(n, least):
            if (found < 0).any():
                raise NegativeCount(tuple(ids[int(np.argmin(found))].tolist()))
            kept = (found >= least) & self._meets(ids)
            n_kept += int(np.count_nonzero(kept))
            require_memory(n_kept * n * BYTES_PER_TOKEN, f"{n_kept:,} n-grams of {n:,} tokens")
            parts.append(ids[kept])
            counts.append(found[kept])
        every, numbers = np.concatenate(parts), np.concatenate(counts)
        if self._classes is not None:
            return _folded(every, numbers, self._classes, self._plan.min_count)
        order = np.argsort(-numbers, kind="stable")
        return Listed(every[order], numbers[order], len(order))

    def _batches(self, n: int, least: int) -> Iterator[tuple[Ids, IntArray]]:
        """Yield n-grams ascending by token ids, among them all that are wanted, and their counts."""
        sources = list(self._sources())
        parts = [(part.n_read(sources), i, part) for i, part in enumerate(self._parts(n))]
        if parts and is_faster(min(parts)[0], sources):
            yield ngrams_around(min(parts)[2], sources, n)
            return
        scan, chunk = NgramScan(sources, n), min(CHUNK_NGRAMS, max(1, CHUNK_TOKENS // n))
        while True:
            ids, both = scan.next(chunk, least)
            if not len(ids):
                return
            yield ids, both[:, 0]

    def _parts(self, n: int) -> Iterator[Part]:
        """Yield parts that every wanted n-gram has; none if a pass over the rows is needed to see."""
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
        """The segments with the rows that are read, and how they count."""
        if isinstance(self._plan.where, AllDocs):  # what was removed is taken off by its counts
            index = self._plan.corpus.index
            for segment, sign in zip(index.segments, index.signs, strict=True):
                yield segment, self._rows(segment), (sign, None), None
            return
        for one, docs in self._found:
            if len(docs):
                side = (1, None) if len(docs) == docs.n_documents else (1, bitmap_of(docs))
                yield one.index, self._rows(one.index), side, None

    def _rows(self, index: SegmentIndex) -> tuple[int, int] | None:
        starting = self._plan.starting
        if starting is None or self._classes is not None:
            return None
        return index.find(starting.ids) if starting.known else (0, 0)

    def _meets(self, ids: Ids) -> NDArray[np.bool_]:
        """Which n-grams contain, start and end with what is asked for."""
        plan, n = self._plan, ids.shape[1]
        meets = np.ones(len(ids), dtype=np.bool_)
        folded = ids
        if self._classes is not None:
            if ids.size and ids.max() >= len(self._classes):
                raise InvalidArgument(f"the vocabulary has no token id {ids.max()}")
            folded = self._classes[ids]

        def stands(sought: IntArray, at: int) -> NDArray[np.bool_]:
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
            meets &= reduce(np.logical_or, (stands(sought, at) for at in places(len(gram))))
        return meets

    def _in_any_case(self, gram: Gram) -> IntArray:
        """The classes of an n-gram's tokens, -1 where the vocabulary has one in no case of its letters."""
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
        """Which n-grams have a match in their own text, as rows show it. Cost: some microseconds each."""
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
        """The row of n-gram i of a list."""
        tokenizer = self._plan.corpus.tokenizer
        with from_files(tokenizer, self._plan.corpus.segments):
            text = tokenizer.decode(listed.ids[i])
        row = text, listed.ids[i].tolist(), int(listed.counts[i])
        if not self._plan.with_docs:
            return row
        forms = listed.forms[i] if listed.forms else listed.ids[i : i + 1]
        return (*row, sum(self._documents(segment, docs, forms) for segment, docs in self._found))

    def _documents(self, segment: Segment, docs: DocSet, forms: Ids) -> int:
        """How many of a segment's documents have any of the forms."""
        none: Docs = np.empty(0, dtype=np.uint32)
        every = reduce(unite, (segment.index.docs_containing(ids) for ids in forms.astype(np.int64)), none)
        return len(DocSet(every, segment.n_documents) & docs)


def classes_of(tokenizer: Tokenizer) -> Ids:
    """For each token id the least one whose text is the same but for its letters' case.

    Kept with the tokenizer: of a million characters it takes half a second.
    """
    kept = _CLASSES.get(tokenizer)
    if kept is not None and len(kept) == tokenizer.n_vocabulary:
        return kept
    first: dict[str, int] = {}
    folded = _folded_texts(tokenizer)
    classes = np.array([first.setdefault(text, i) for i, text in enumerate(folded)], dtype=np.uint32)
    _CLASSES[tokenizer] = classes
    return classes


def _folded_texts(tokenizer: Tokenizer) -> list[str]:
    """The texts of all tokens in one case."""
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


def _folded(ids: Ids, counts: IntArray, classes: Ids, min_count: int) -> Listed:
    """The n-grams with their forms added up; each is shown in its most frequent form."""
    n = ids.shape[1]
    codes = np.zeros(len(ids), dtype=np.int64)
    if n:
        _, codes = numbered_rows(classes[ids])
    # Forms that are one stand together, the most frequent first, then by token ids.
    order = np.lexsort((*ids.T[::-1], -counts, codes))
    ids, counts, codes = ids[order], counts[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    totals = np.add.reduceat(counts, starts) if len(starts) else counts
    shown = ids[starts].reshape(-1, n)
    kept = np.flatnonzero(totals >= min_count)
    best = kept[np.lexsort((*shown[kept].T[::-1], -totals[kept]))]
    ends = np.append(starts[1:], len(ids))
    forms = [ids[starts[i] : ends[i]] for i in best.tolist()]
    return Listed(shown[best], totals[best], len(best), forms)
