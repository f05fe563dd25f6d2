"""Compaction: merge small segments and drop removed documents. Answers stay the same, bit for bit.

New segments replace old ones within one commit, and ids of documents stay the same; so readers notice
nothing, and an interruption changes nothing. One segment is written at a time; its suffix array is
merged from the existing ones, or sorted if that is faster and fits in memory (`policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.changes import audit
from ngramdb.engine.changes.sizing import (
    FLOOR,
    Limits,
    is_merged,
    joined_loads,
    next_append_merge,
    next_merge,
    packed,
)
from ngramdb.engine.corpus.caches import remember, tokenizer_of
from ngramdb.engine.corpus.view import CorpusView, Segment, open_segment
from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction, segment_entry, write_content
from ngramdb.segments.base import Numbers, Part
from ngramdb.segments.far_index import SegmentSummary
from ngramdb.segments.merging import Means, write_merged, write_removed
from ngramdb.segments.text import Flags, Marker, pieces_of
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.sentences import sentence_starts


@dataclass(frozen=True)
class CompactionOutcome:
    """The outcome of a compaction; `version` is the version of the database after it."""

    segments_before: int
    segments_after: int
    documents_dropped: int
    tokens_dropped: int
    bytes_before: int
    bytes_after: int
    version: int

    @classmethod
    def of(cls, before: CorpusEntry, after: CorpusEntry, version: int) -> CompactionOutcome:
        """Return the outcome that leads from one entry of a corpus to the other."""
        return cls(
            len(before.segments),
            len(after.segments),
            sum(entry.n_documents for entry in before.subtracted),
            sum(entry.n_tokens for entry in before.subtracted),
            sum(ref.size for ref in before.files()),
            sum(ref.size for ref in after.files()),
            version,
        )


@dataclass(frozen=True)
class Rewrite:
    """Neighbouring segments that become one, `added[group]`; some of their documents may have been removed.

    n_symbols : the remaining symbols of each of them
    n_removed : the number of documents that were removed from them
    finds_sentences : True if some documents lack sentences, which are found on the way
    """

    group: slice
    n_symbols: tuple[int, ...]
    n_removed: int
    limits: Limits
    finds_sentences: bool = False

    def __str__(self) -> str:
        first, last, total = self.group.start + 1, self.group.stop, sum(self.n_symbols)
        which = f"segment {first}" if first == last else f"segments {first} to {last}"
        if first == last:
            how = "its rows are filtered"
        elif is_merged(self.n_symbols, self.limits):
            threads = self.limits.threads
            how = f"suffix arrays are merged on {threads} thread{'s' if threads > 1 else ''}"
        else:
            how = "suffixes are sorted again"
        documents = "document" if self.n_removed == 1 else "documents"
        without = f" without {self.n_removed:,} removed {documents}" if self.n_removed else ""
        sentences = ", sentences are found" if self.finds_sentences else ""
        return f"{which} as one of {total:,} symbols{without}: {how}{sentences}"


def rewrites(view: CorpusView, limits: Limits) -> list[Rewrite]:
    """Return the rewrites of a complete compaction of a corpus."""
    kept = [view.kept(i) for i in range(len(view.segments))]
    removed = [len(view.removed(i)) for i in range(len(kept))]
    sizes = [Part(segment, numbers).n_symbols for segment, numbers in zip(view.segments, kept, strict=True)]
    lacking = [view.entry.wants_sentences and _lacks_sentences(segment) for segment in view.segments]
    if any(lacking) and not view.tokenizer.finds_sentences:
        lacking = [False] * len(lacking)
    changed = [n > 0 or lacks for n, lacks in zip(removed, lacking, strict=True)]
    groups = packed(sizes, changed, limits.most)
    return [
        Rewrite(group, tuple(sizes[group]), sum(removed[group]), limits, any(lacking[group]))
        for group in groups
    ]


@dataclass(frozen=True)
class Rewritten:
    """The result of a rewrite in another process: a finished segment file, to be added."""

    directory: Directory
    name: str
    summary: SegmentSummary


# Runs all rewrites elsewhere and returns their results in order; None for one without remaining documents.
Elsewhere = Callable[[Sequence[Rewrite]], Sequence[Rewritten | None]]


def compacted(
    store: Store,
    transaction: Transaction,
    entry: CorpusEntry,
    limits: Limits,
    elsewhere: Elsewhere | None = None,
) -> CorpusEntry:
    """Return the corpus with as few segments as fit, without removed documents."""
    return _Compaction(store, transaction, entry, limits).complete(elsewhere)


def rewrite(
    store: Store, entry: CorpusEntry, one: Rewrite, directory: Directory, name: str
) -> Rewritten | None:
    """Do one rewrite of a corpus, into a file of another directory. Returns None if no document remains."""
    parts = _parts(CorpusView(store, entry), one.group)
    if not any(len(part.numbers) for part in parts):
        return None
    summary = write_merged(
        directory.create(name), parts, means=_means(parts, one.limits, marker_of(store, entry))
    )
    return Rewritten(directory, name, summary)


def joined(
    store: Store,
    transaction: Transaction,
    entries: Sequence[SegmentEntry],
    limits: Limits,
    on_symbols: Callable[[int, int], None],
) -> list[SegmentEntry]:
    """Return the segments that one load has sorted, merged according to `policy.joined_loads`.

    They may be uncommitted. `on_symbols` is called with the merged symbols and the total of this round.
    """
    left = list(entries)
    while groups := joined_loads([_size(entry) for entry in left], limits.most):
        total, done = sum(_size(entry) for group in groups for entry in left[group]), 0
        for group in reversed(groups):
            parts = [_whole(open_segment(store, entry)) for entry in left[group]]
            on_symbols(done, total)
            merged = merged_segment(transaction, parts, limits, None, _beyond(done, total, on_symbols))
            left[group] = [merged]
            done += _size(merged)
    return left


def tidied(store: Store, transaction: Transaction, entry: CorpusEntry, limits: Limits) -> CorpusEntry:
    """Apply the tiered policy to the corpus, after a commit added segments or removed documents.

    Part of that commit: its files need not be committed yet. Amortized cost: O(log n) times that of writing
    a token.
    """
    return _Compaction(store, transaction, entry, limits).tidy()


class _Compaction:
    """The rewriting of one corpus within a transaction."""

    def __init__(self, store: Store, transaction: Transaction, entry: CorpusEntry, limits: Limits) -> None:
        self._store = store
        self._transaction = transaction
        self._entry = entry
        self._limits = limits

    def complete(self, elsewhere: Elsewhere | None = None) -> CorpusEntry:
        """Rewrite everything that is worth rewriting, and return the corpus."""
        found = rewrites(CorpusView(self._store, self._entry), self._limits)
        made = [None] * len(found) if elsewhere is None else elsewhere(found)
        total, done = sum(sum(one.n_symbols) for one in found), 0
        for one, other in reversed(list(zip(found, made, strict=True))):
            size = sum(one.n_symbols)
            # In units of this group, so that kernels refine the reported progress.
            interrupts.step(done / max(size, 1), total / max(size, 1))
            self._merge_added(one.group, _beyond(done, total, interrupts.step), other)
            done += size
        self._entry = replace(self._entry, tokenizer=self._one_vocabulary(0))
        return self._entry

    def tidy(self) -> CorpusEntry:
        """Apply the policy until it has nothing left to merge, and return the corpus."""
        while True:
            group = next_merge([_size(entry) for entry in self._entry.added], self._limits.most)
            if group is None:
                break
            self._merge_added(group)
        while True:
            # Their documents are in any order, so they are sorted again.
            most = min(self._limits.most, self._limits.most_sorted)
            group = next_merge([_size(entry) for entry in self._entry.subtracted], most)
            if group is None:
                break
            self._merge_subtracted(group)
        first_file = next_append_merge([ref.size for ref in self._entry.tokenizer.vocabulary])
        if first_file is not None:
            self._entry = replace(self._entry, tokenizer=self._one_vocabulary(first_file))
        audits = audit.joined(self._store, self._transaction, self._entry.audits)
        return replace(self._entry, audits=audits)

    def _merge_added(
        self,
        group: slice,
        on_rows: Callable[[int], None] | None = None,
        made: Rewritten | None = None,
    ) -> None:
        """Replace neighbouring segments by one, without the documents that were removed from them."""
        added = self._entry.added
        view = CorpusView(self._store, self._entry)
        parts = _parts(view, group)
        numbers = range(*group.indices(len(added)))
        dropped = np.concatenate([view.segments[i].doc_ids(view.removed(i)) for i in numbers])
        merged = []
        if made is not None:
            file = FileRef(made.name, *made.summary.file)
            taken = self._transaction.take_in("segments", made.directory, file)
            merged.append(segment_entry(self._transaction, taken.name, made.summary, 1))
        elif any(len(part.numbers) for part in parts):
            marker = marker_of(self._store, self._entry)
            merged.append(merged_segment(self._transaction, parts, self._limits, marker, on_rows))
        subtracted = self._entry.subtracted
        if len(dropped):
            subtracted = tuple(self._without(subtracted, dropped))
        self._entry = replace(
            self._entry, segments=(*added[: group.start], *merged, *added[group.stop :], *subtracted)
        )

    def _without(self, entries: Sequence[SegmentEntry], dropped: NDArray[np.int64]) -> list[SegmentEntry]:
        """Return the subtracted segments without documents that are no longer present in added ones."""
        left = []
        for entry in entries:
            segment = open_segment(self._store, entry)
            gone = segment.locals_of(dropped)
            if not len(gone):
                left.append(entry)
                continue
            numbers = np.delete(np.arange(segment.n_documents, dtype=np.uint32), gone)
            if len(numbers):
                name, file = self._transaction.create_file("segments", "segment")
                summary = write_merged(file, [Part(segment, numbers)], with_content=False)
                left.append(segment_entry(self._transaction, name, summary, -1))
        return left

    def _merge_subtracted(self, group: slice) -> None:
        subtracted = self._entry.subtracted
        segments = [open_segment(self._store, entry) for entry in subtracted[group]]
        parts = [_whole(segment) for segment in segments]
        name, file = self._transaction.create_file("segments", "segment")
        merged = segment_entry(self._transaction, name, write_removed(file, parts), -1)
        left = (*subtracted[: group.start], merged, *subtracted[group.stop :])
        self._entry = replace(self._entry, segments=(*self._entry.added, *left))

    def _one_vocabulary(self, first_file: int) -> TokenizerEntry:
        """Return the tokenizer with its vocabulary files from `first_file` on joined into one."""
        before = self._entry.tokenizer
        if len(before.vocabulary) - first_file < 2:
            return before
        tokenizer = tokenizer_of(self._store, before)
        first_id = self._store.read(before.vocabulary[first_file], "VOCB").properties["first_id"]
        content = tokenizer.vocabulary_since(first_id)
        if content is None:
            return before
        joined_file = write_content(self._transaction, "vocabularies", "vocabulary", content)
        after = replace(before, vocabulary=(*before.vocabulary[:first_file], joined_file))
        remember(self._store, after, tokenizer)
        return after


def merged_segment(
    transaction: Transaction,
    parts: Sequence[Part],
    limits: Limits,
    marker: Marker | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> SegmentEntry:
    """Merge segments into a new one; `on_rows` is called with the number of rows merged so far.

    `marker` finds the sentences that segments lack.
    """
    merged = 0

    def count(n: int) -> None:
        nonlocal merged
        merged += n
        if on_rows is not None:
            on_rows(merged)

    means = _means(parts, limits, marker, count)
    name, file = transaction.create_file("segments", "segment")
    return segment_entry(transaction, name, write_merged(file, parts, means=means), 1)


def marker_of(store: Store, entry: CorpusEntry) -> Marker | None:
    """Return the marker that finds sentences in documents' texts; None if the corpus does not store them."""
    if not entry.wants_sentences:
        return None

    def starts(segment: Segment, numbers: Numbers) -> Flags | None:
        tokenizer = tokenizer_of(store, entry.tokenizer)
        texts = list(chain.from_iterable(_piece_texts(segment, i, tokenizer) for i in numbers.tolist()))
        return sentence_starts(tokenizer, texts, segment.token_ids(numbers)[0], pieces_of(segment, numbers))

    return starts


def _piece_texts(segment: Segment, i: int, tokenizer: Tokenizer) -> list[bytes | None]:
    """Return the text of each piece of document i, None if it has no text."""
    content = segment.text(i, tokenizer)
    if content is None:
        return [None] * (1 + len(segment.breaks(i)))
    return [piece.content for piece in segment.text_pieces(i, content)]


def _lacks_sentences(segment: Segment) -> bool:
    return segment.n_documents > 0 and segment.sentences is None


def _means(
    parts: Sequence[Part],
    limits: Limits,
    marker: Marker | None,
    on_rows: Callable[[int], None] | None = None,
) -> Means:
    sizes = [part.n_symbols for part in parts]
    threads = limits.threads if sum(sizes) > FLOOR else 1  # fewer take no longer than starting a thread
    return Means(is_merged(sizes, limits), threads, on_rows, marker, limits.most_held)


def _parts(view: CorpusView, group: slice) -> list[Part]:
    """Return the remaining documents of neighbouring segments."""
    return [Part(view.segments[i], view.kept(i)) for i in range(*group.indices(len(view.segments)))]


def _beyond(done: int, total: int, report: Callable[[int, int], None]) -> Callable[[int], None]:
    """Return a callback that reports progress on top of `done`."""
    return lambda n: report(done + n, total)


def _whole(segment: Segment) -> Part:
    return Part(segment, np.arange(segment.n_documents, dtype=np.uint32))


def _size(entry: SegmentEntry) -> int:
    return entry.n_tokens + entry.n_documents
