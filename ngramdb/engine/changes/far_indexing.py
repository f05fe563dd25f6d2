"""Far indexes for the segments of a corpus, so that they can be asked in an object store.

Each segment that has none is copied with one added; documents, ids and answers stay.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb import interrupts
from ngramdb.engine.corpus.view import open_segment
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.segments.segment import NativeSegment


def with_far_indexes(store: Store, transaction: Transaction, entry: CorpusEntry, threads: int) -> CorpusEntry:
    """The corpus with a far index in each of its segments that are in our own format."""
    segments = []
    for i, one in enumerate(entry.segments):
        interrupts.step(i, len(entry.segments))
        segments.append(_with_far_index(store, transaction, one, threads))
    return replace(entry, segments=tuple(segments))


def _with_far_index(store: Store, transaction: Transaction, one: SegmentEntry, threads: int) -> SegmentEntry:
    segment = open_segment(store, one)
    if not isinstance(segment, NativeSegment) or segment.has_far_index:
        return one
    name, file = transaction.create_file("segments", "segment")
    summary = segment.write_with_far_index(file, threads)
    return replace(
        one,
        file=FileRef(name, summary.file.size, summary.file.crc),
        created_version=transaction.manifest.version + 1,
    )
