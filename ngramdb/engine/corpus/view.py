"""One corpus at one version: its segments, its tokenizer, and one index over all segments.

Everything is opened on first use, so that opening a database costs the same whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.engine.corpus.caches import SegmentCache, tokenizer_of
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.errors import CorruptionError
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import lazy_module
from ngramdb.segments.base import Segment
from ngramdb.segments.container import NATIVE
from ngramdb.segments.fields_file import KIND as FIELDS_KIND
from ngramdb.segments.fields_file import read_fields
from ngramdb.segments.metadata import Overlay
from ngramdb.segments.segment import kind_named
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import title_of
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.engine.changes import audit
    from ngramdb.engine.corpus import grouped
    from ngramdb.engine.corpus import slice as slices
else:
    grouped = lazy_module("ngramdb.engine.corpus.grouped")
    audit = lazy_module("ngramdb.engine.changes.audit")
    slices = lazy_module("ngramdb.engine.corpus.slice")

One = TypeVar("One")
Value = TypeVar("Value")

__all__ = ["CorpusView", "Segment", "last_id", "open_segment"]


def together(store: Store, opened: Callable[[One], Value], items: Sequence[One]) -> list[Value]:
    """Return `opened` of all items, in parallel if files are remote."""
    if not store.directory.is_remote or len(items) < 2:
        return [opened(item) for item in items]
    return list(interrupts.at_once(opened, items))


def open_segment(store: Store, entry: SegmentEntry) -> Segment:
    """Open the segment that an entry names, according to its kind.

    Raises CorruptionError if its file contradicts the entry, FormatVersionError for a kind that
    this program does not know.
    """
    path = store.directory.path_of(entry.file.name)
    kind = kind_named(entry.kind, path)
    segment = kind.open(store.read(entry.file, kind.container), path, entry.doc_id_offset)
    if entry.kind == NATIVE:
        segment.cache = SegmentCache(store, entry.file)
    if entry.fields is not None:
        segment.overlay = partial(open_fields, store, entry.fields, entry.n_documents)
    numbers = (segment.n_tokens, segment.n_documents, segment.first_doc_id)
    expected = (entry.n_tokens, entry.n_documents, entry.first_doc_id)
    if numbers != expected:
        raise CorruptionError(
            f"segment {path} has (tokens, documents, first id) {numbers}, "
            f"but the manifest {expected}; restore the file from a backup",
            path=path,
            expected=expected,
            found=numbers,
        )
    return segment


def open_fields(store: Store, ref: FileRef, n_documents: int) -> Overlay:
    """Open the file of a segment's changed fields. Raises CorruptionError."""
    return read_fields(store.read(ref, FIELDS_KIND), store.directory.path_of(ref.name), n_documents)


class CorpusView:
    """A corpus as its catalog entry describes it. Immutable; safe to share between threads."""

    n_added = 1

    def __init__(self, store: Store, entry: CorpusEntry, hold: object | None = None) -> None:
        self._store = store
        self.entry = entry
        #: Keeps the files from being removed before they are opened (`Store.hold`).
        self.hold = store.current_hold() if hold is None else hold

    def keep(self, version: int, hold: object | None) -> None:
        """Switch to a later version with the same entry, and to the hold that keeps its files."""
        self.hold = hold

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return tokenizer_of(self._store, self.entry.tokenizer)

    @cached_property
    def tokenizer_title(self) -> str:
        """The tokenizer's display name, which distinguishes two files of the kind `json`."""
        return title_of(self.entry.tokenizer.kind, self.definition())

    def definition(self) -> bytes | None:
        """Return the tokenizer.json of the corpus, byte for byte; None for other kinds of tokenizers."""
        file = self.entry.tokenizer.file
        return None if file is None else bytes(self._store.read(file, "TOKZ").section("tokenizer"))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The added segments, in the order of their documents' ids."""
        return tuple(together(self._store, partial(open_segment, self._store), self.entry.added))

    @cached_property
    def subtracted(self) -> tuple[Segment, ...]:
        """The segments of removed documents, under their ids."""
        return tuple(together(self._store, partial(open_segment, self._store), self.entry.subtracted))

    @cached_property
    def index(self) -> Index:
        """Counts over all segments, each with its sign."""
        segments = [*self.segments, *self.subtracted]
        signs = [1] * len(self.segments) + [-1] * len(self.subtracted)
        grouped.prepare(segments, self._store.prewarm())
        indexes = together(self._store, attrgetter("index"), segments)
        return grouped.WaitingIndex(indexes, signs) if self.waits_for_segments else Index(indexes, signs)

    def has(self, ids: NDArray[np.int64]) -> bool:
        """Return True if the tokens occur in this order; reads only what this needs, unlike `index`."""
        segments = [*self.segments, *self.subtracted]
        signs = [1] * len(self.segments) + [-1] * len(self.subtracted)
        return bool(ids.min() >= 0 and Index([segment.index for segment in segments], signs).count(ids) > 0)

    @property
    def waits_for_segments(self) -> bool:
        """True if segments are remote, so that several are better queried at the same time."""
        return self._store.directory.is_remote and len(self.entry.segments) > 1

    def warm(self) -> grouped.WarmedIndex:
        """Read the segments into memory, as far as they fit (`grouped.warm`)."""
        return grouped.warm([*self.segments, *self.subtracted])

    @property
    def n_documents(self) -> int:
        return self.entry.n_documents

    @property
    def n_tokens(self) -> int:
        """Net number of tokens, separators not counted."""
        return self.entry.n_tokens

    def removed(self, i: int) -> Docs:
        """Return local numbers of the documents of segment i that were removed: (k,) uint32, ascending."""
        return self._removed[i]

    def kept(self, i: int) -> Docs:
        """Return local numbers of the documents of segment i that count: (k,) uint32, ascending."""
        every = np.arange(self.segments[i].n_documents, dtype=np.uint32)
        return np.delete(every, self.removed(i))

    def n_kept_of(self, doc_ids: NDArray[np.int64]) -> int:
        """Return how many of these documents count; ids ascend without duplicates."""
        found = (segment.locals_of(doc_ids) for segment in self.segments)
        return sum(int((~np.isin(docs, self.removed(i))).sum()) for i, docs in enumerate(found))

    def sliced(self, chosen: Sequence[Docs], shown: str, /) -> slices.SliceView:
        """Return some of the documents as a corpus (`SliceView`)."""
        return slices.slice_of(self, chosen, shown)

    def prefers_slice(self, chosen: Sequence[Docs], work: int, worth: int, /) -> bool:
        """Return True if the slice of these documents should answer (`Slices.prefers`)."""
        return slices.prefers_slice(self, chosen, work, worth)

    def in_sentences(self) -> slices.SentenceView:
        """Return the sentences as a corpus, one document per sentence (`SentenceView`)."""
        return slices.in_sentences(self)

    def forget_slices(self) -> None:
        """Release the cached slices, which refer to this view."""
        if "_slices" in self.__dict__:
            slices.forget_slices(self)

    def lacking(self) -> None:
        """Return None: removed documents always belonged to the corpus."""

    def check_difference(self) -> None:
        """Do nothing, as `lacking`."""

    def corpus_of(self, i: int) -> str:
        """Return the corpus that segment i belongs to."""
        return self.entry.name

    @cached_property
    def _removed(self) -> tuple[Docs, ...]:
        if not self.subtracted:
            return (np.empty(0, dtype=np.uint32),) * len(self.segments)
        ids = np.unique(np.concatenate([segment.doc_ids() for segment in self.subtracted]))
        return tuple(segment.locals_of(ids) for segment in self.segments)

    def check(self) -> None:
        """Verify every segment, the tokenizer, and that removed documents are documents of the corpus.

        Raises CorruptionError at the first problem.
        """
        for segment in (*self.segments, *self.subtracted):
            segment.check()
        self.check_documents()
        self.check_tokens()
        self.check_audits()
        self.tokenizer.check()

    def check_documents(self) -> None:
        """Verify the order of ids over segments, and every removed document, token by token."""
        for before, segment in zip(self.segments, self.segments[1:], strict=False):
            if last_id(before) >= segment.first_doc_id:
                self._contradiction(segment, f"its documents' ids begin before those of {before.path} end")
        n_removed = sum(len(removed) for removed in self._removed)
        if n_removed != sum(segment.n_documents for segment in self.subtracted):
            at_fault = self.subtracted[-1]
            self._contradiction(at_fault, "it removes documents that are not there, or were removed before")
        for segment in self.subtracted:
            for other in self.segments:
                if not _same_documents(segment, other):
                    self._contradiction(
                        segment, f"a document is not the one that it removes from {other.path}"
                    )

    def check_tokens(self) -> None:
        """Verify that the vocabulary covers every token. Cost: a pass over the symbols."""
        n_vocabulary = self.tokenizer.n_vocabulary
        for segment in (*self.segments, *self.subtracted):
            largest = segment.largest_id()
            if largest >= n_vocabulary:
                self._contradiction(
                    segment, f"it has the token id {largest}, and the vocabulary {n_vocabulary} ids"
                )

    def check_audits(self) -> None:
        """Read every audit record. Raises CorruptionError."""
        audit.check_audits(self._store, self.entry.audits)

    def _contradiction(self, segment: Segment, what: str) -> NoReturn:
        raise CorruptionError(
            f"segment {segment.path} of corpus {self.entry.name}: {what}", path=segment.path
        )


def last_id(segment: Segment) -> int:
    """Return the largest document id of a segment; one below the first if it has no documents."""
    n = segment.n_documents
    return segment.doc_id(n - 1) if n else segment.first_doc_id - 1


def _same_documents(removed: Segment, segment: Segment) -> bool:
    """Return True if documents of both with the same id have the same tokens and breaks."""
    numbers = segment.locals_of(removed.doc_ids())
    same = removed.locals_of(segment.doc_ids(numbers))
    ids, offsets = segment.token_ids(numbers)
    expected_ids, expected_offsets = removed.token_ids(same)
    return (
        np.array_equal(ids, expected_ids)
        and np.array_equal(offsets, expected_offsets)
        and np.array_equal(segment.breaks_of(numbers).tokens, removed.breaks_of(same).tokens)
    )
