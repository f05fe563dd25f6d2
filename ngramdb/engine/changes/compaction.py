"""Compaction: small segments merged, removed documents dropped. Answers stay the same, bit for bit.

New segments take the place of old ones within one commit, and ids of documents stay; so readers notice
nothing, and an interruption leaves things as they were. One segment is written at a time: memory is bounded
by the largest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.changes.audit import joined
from ngramdb.engine.changes.policy import next_append_merge, next_merge, packed
from ngramdb.engine.corpus.tokenizer_cache import remember, tokenizer_of
from ngramdb.engine.corpus.view import CorpusView, open_segment
from ngramdb.engine.storage.files import write_content
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.segments.builder import SegmentSummary
from ngramdb.segments.merging import write_merged, write_removed
from ngramdb.segments.parts import Part


@dataclass(frozen=True)
class CompactionOutcome:
    """What a compaction did; `version` is the database's version that has it."""

    segments_before: int
    segments_after: int
    documents_dropped: int
    tokens_dropped: int
    bytes_before: int
    bytes_after: int
    version: int

    @classmethod
    def of(cls, before: CorpusEntry, after: CorpusEntry, version: int) -> CompactionOutcome:
        """What led from one entry of a corpus to the other."""
        return cls(
            len(before.segments),
            len(after.segments),
            sum(entry.n_documents for entry in before.subtracted),
            sum(entry.n_tokens for entry in before.subtracted),
            sum(ref.size for ref in before.files()),
            sum(ref.size for ref in after.files()),
            version,
        )


def compacted(store: Store, transaction: Transaction, entry: CorpusEntry, segment_tokens: int) -> CorpusEntry:
    """The corpus with all that fits merged into segments of `segment_tokens`, without removed documents."""
    return _Compaction(store, transaction, entry, segment_tokens).complete()


def tidied(store: Store, transaction: Transaction, entry: CorpusEntry, segment_tokens: int) -> CorpusEntry:
    """The corpus as the tiered policy would have it, after a commit's worth of new segments or removals.

    Part of that commit: its files need not be committed yet. Amortized cost: O(log n) times that of writing a
    token.
    """
    return _Compaction(store, transaction, entry, segment_tokens).tidy()


class _Compaction:
    """The rewriting of one corpus within a transaction."""

    def __init__(
        self, store: Store, transaction: Transaction, entry: CorpusEntry, segment_tokens: int
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._entry = entry
        self._most = segment_tokens

    def complete(self) -> CorpusEntry:
        """Everything rewritten that is worth it."""
        view = CorpusView(self._store, self._entry)
        kept = [view.kept(i) for i in range(len(view.segments))]
        sizes = [
            Part(segment, numbers).n_symbols for segment, numbers in zip(view.segments, kept, strict=True)
        ]
        shrunk = [len(view.removed(i)) > 0 for i in range(len(kept))]
        groups = packed(sizes, shrunk, self._most)
        for k, group in enumerate(reversed(groups)):
            interrupts.step(k, len(groups))
            self._merge_added(group)
        self._entry = replace(self._entry, tokenizer=self._one_vocabulary(0))
        return self._entry

    def tidy(self) -> CorpusEntry:
        """What the policy asks for, until it asks for nothing."""
        while True:
            group = next_merge([_size(entry) for entry in self._entry.added], self._most)
            if group is None:
                break
            self._merge_added(group)
        while True:
            group = next_merge([_size(entry) for entry in self._entry.subtracted], self._most)
            if group is None:
                break
            self._merge_subtracted(group)
        first_file = next_append_merge([ref.size for ref in self._entry.tokenizer.vocabulary])
        if first_file is not None:
            self._entry = replace(self._entry, tokenizer=self._one_vocabulary(first_file))
        audits = joined(self._store, self._transaction, self._entry.audits)
        return replace(self._entry, audits=audits)

    def _merge_added(self, group: slice) -> None:
        """Put one segment in the place of neighbours, without the documents that were removed from them."""
        added = self._entry.added
        view = CorpusView(self._store, self._entry)
        numbers = range(*group.indices(len(added)))
        parts = [Part(view.segments[i], view.kept(i)) for i in numbers]
        dropped = np.concatenate([view.segments[i].doc_ids(view.removed(i)) for i in numbers])
        merged = [self._write_merged(parts)] if any(len(part.numbers) for part in parts) else []
        subtracted = self._entry.subtracted
        if len(dropped):
            subtracted = tuple(self._without(subtracted, dropped))
        self._entry = replace(
            self._entry, segments=(*added[: group.start], *merged, *added[group.stop :], *subtracted)
        )

    def _without(self, entries: Sequence[SegmentEntry], dropped: NDArray[np.int64]) -> list[SegmentEntry]:
        """The subtracted segments without documents that are no longer there to be subtracted from."""
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
        parts = [Part(segment, np.arange(segment.n_documents, dtype=np.uint32)) for segment in segments]
        name, file = self._transaction.create_file("segments", "segment")
        merged = segment_entry(self._transaction, name, write_removed(file, parts), -1)
        left = (*subtracted[: group.start], merged, *subtracted[group.stop :])
        self._entry = replace(self._entry, segments=(*self._entry.added, *left))

    def _write_merged(self, parts: Sequence[Part]) -> SegmentEntry:
        name, file = self._transaction.create_file("segments", "segment")
        return segment_entry(self._transaction, name, write_merged(file, parts), 1)

    def _one_vocabulary(self, first_file: int) -> TokenizerEntry:
        """The tokenizer with its vocabulary files from that one on joined."""
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


def segment_entry(transaction: Transaction, name: str, summary: SegmentSummary, sign: int) -> SegmentEntry:
    """The catalog's entry of a segment that was just written to the file `name`."""
    return SegmentEntry(
        file=FileRef(name, summary.file.size, summary.file.crc),
        sign=sign,
        n_tokens=summary.n_tokens,
        n_documents=summary.n_documents,
        first_doc_id=summary.first_doc_id,
        created_version=transaction.manifest.version + 1,
    )


def _size(entry: SegmentEntry) -> int:
    return entry.n_tokens + entry.n_documents
