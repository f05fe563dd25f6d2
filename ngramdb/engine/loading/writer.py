"""Loading documents into a corpus: tokenized in batches, built into segments on all cores, committed once.

Three tasks run at the same time: the next batch is read, the current one is tokenized, and worker threads
sort and write full segments. At most one segment per thread is being built besides the one that fills
up, so memory is bounded by the segment size and the number of threads, whatever the input's size.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from types import TracebackType
from typing import cast

import numpy as np

from ngramdb import interrupts
from ngramdb._cext.sort.construction import MAX_SYMBOLS, CoreBudget
from ngramdb.engine.changes.change import Change
from ngramdb.engine.changes.compaction import joined
from ngramdb.engine.changes.sizing import FLOOR, DocumentLimits, Limits, bounded, memory_errors
from ngramdb.engine.corpus.caches import remember, tokenizer_of
from ngramdb.engine.corpus.view import open_segment
from ngramdb.engine.loading.encoding import Batch, BatchEncoder, Encoded, batches, documents_of, read_ahead
from ngramdb.engine.loading.request import DocumentKeys
from ngramdb.engine.storage.directory import WritableFile
from ngramdb.engine.storage.manifest import CorpusEntry, LoadRecord, SegmentEntry
from ngramdb.engine.storage.transaction import segment_entry, write_content
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.readers.columns import Columns, Row
from ngramdb.ingest.streams import Meter
from ngramdb.segments.builder import Metadata, SegmentBuilder
from ngramdb.tokenizers.base import Offsets, Tokenizer


@dataclass(frozen=True)
class LoadProgress:
    """The progress of a load. `text_bytes` counts the documents' text; `segments` the segments written.

    For a load of files, the documents come from the first `read_bytes` of `total_bytes`, counted as
    stored (compressed); None for documents from elsewhere, and `total_bytes` also if a size is unknown, such
    as that of a pipe. After reading, the last segments remain to be built, and then those of a large load to
    be merged: `merged` is the fraction of that work, from 0 to 1, None before.
    """

    documents: int
    tokens: int
    text_bytes: int
    segments: int
    elapsed: float
    read_bytes: int | None = None
    total_bytes: int | None = None
    merged: float | None = None


LoadCallback = Callable[[LoadProgress], None]


@dataclass(frozen=True)
class LoadOutcome:
    """The result of a load.

    `version` is the version of the database with the documents, `notes` what the user should know about
    the load.
    """

    documents: int
    tokens: int
    segments: int
    version: int
    notes: tuple[str, ...] = ()


def load_documents(
    change: Change,
    documents: Iterator[Document],
    *,
    progress: LoadCallback | None = None,
    in_background: bool = False,
    meter: Meter | None = None,
    skipped: ErrorLog | None = None,
    record: Callable[[], LoadRecord] | None = None,
    keys: DocumentKeys | None = None,
) -> LoadOutcome:
    """Add the documents to the corpus and commit: one commit, or none at all.

    A segment is closed before it would hold more tokens than are sorted at a time; a longer document gets one
    of its own. At the end they are merged into as few as possible. With a memory limit fewer and smaller
    segments are built at a time, and larger documents are rejected.

    Parameters
    ----------
    in_background : read the next batch in another thread while the present one is tokenized; not for
        iterators that are bound to the caller's thread
    meter : the read position in the documents' files, for `progress`
    skipped : records documents that cannot be tokenized, which are then skipped; without it they end
        the load
    record : called before the commit of documents; returns the position of the load in its files
    keys : skips documents, or removes earlier ones, by the values of a field

    Raises
    ------
    LoadError
        a document that cannot be tokenized, or with metadata that cannot be stored; the message names it
        whatever `documents` raises; then nothing is committed, and the files written so far are removed
    """
    options = change.options
    if change.segment_tokens < 1 or options.threads < 1:
        raise InvalidArgument(
            f"segment_tokens and threads must be positive, got {change.segment_tokens} and {options.threads}"
        )
    if keys is not None:
        documents = keys.through(documents, change.view, skipped)
    tokenizer = tokenizer_of(change.store, change.before.tokenizer).fork()
    others = tokenizer.memory_bytes
    sort_tokens, threads = bounded(change.sort_tokens, options.threads, options.memory_limit, others)
    limits = DocumentLimits.of(options.memory_limit, threads, others)
    with memory_errors("a load", sort_tokens):
        encoding = BatchEncoder(
            tokenizer, limits, skipped, options.fast_tokenizer, change.before.wants_sentences
        )
        load = _Load(change, tokenizer, encoding, sort_tokens, threads, progress, meter)
        with read_ahead(batches(documents, meter), in_background) as ready:
            entries = load.run(ready)
        if sort_tokens < change.segment_tokens:
            entries = load.joined(entries, change.limits)
        if load.documents:
            change.entry = load.changed_entry(entries)
            if record is not None:
                change.entry = _recorded(change.entry, record())
            remember(change.store, change.entry.tokenizer, load.tokenizer)
            if keys is not None:
                keys.drop_replaced(change)
            change.tidy()
        change.documents, change.tokens = load.documents, load.tokens
        notes = () if encoding.note is None else (encoding.note,)
        return LoadOutcome(load.documents, load.tokens, len(entries), change.commit().version, notes)


def _recorded(entry: CorpusEntry, record: LoadRecord) -> CorpusEntry:
    """Return the corpus with the record, which replaces an older one of the same paths."""
    others = (other for other in entry.loads if other.paths != record.paths)
    return replace(entry, loads=(*others, record))


class _Located:
    """Documents on their way into a segment.

    An InvalidArgument in the block is attributed to the last document whose metadata were taken, and becomes
    a LoadError that names it.
    """

    def __init__(self, documents: list[Document]) -> None:
        self._documents = documents
        self._last = documents[0]

    def metadata(self) -> Iterator[Metadata]:
        """Yield the documents' metadata.

        Consecutive rows with the same columns come together; so do documents without any, as their number.
        """
        for columns, documents in groupby(self._documents, key=_columns_of):
            if columns is not None:
                if columns is _NONE:
                    yield sum(1 for _ in documents)
                    continue
                yield columns.taken([document.metadata.number for document in documents])  # type: ignore[attr-defined]
                continue
            for document in documents:
                self._last = document
                yield document.metadata

    def __enter__(self) -> _Located:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InvalidArgument):
            raise self._last.error(str(error)) from error


# In place of columns: no metadata.
_NONE = cast("Columns", object())


def _columns_of(document: Document) -> Columns | None:
    metadata = document.metadata
    if type(metadata) is Row:
        return metadata.columns
    return None if metadata else _NONE


class _Load:
    """The state of one load."""

    def __init__(
        self,
        change: Change,
        tokenizer: Tokenizer,
        encoding: BatchEncoder,
        sort_tokens: int,
        threads: int,
        progress: LoadCallback | None,
        meter: Meter | None,
    ) -> None:
        self.tokenizer = tokenizer
        self.documents = 0
        self.tokens = 0
        self._text_bytes = 0
        self._store = change.store
        self._transaction = change.transaction
        self._entry = entry = change.before
        self._encoding = encoding
        self._sort_tokens = sort_tokens
        self._merged: float | None = None
        self._threads = threads
        self._progress = progress
        self._meter = meter
        self._read_bytes: int | None = None
        # Ranges of ids of the documents that came as token ids: those are not encoded again.
        self._came_as_ids: list[tuple[int, int]] = []
        self._started = time.perf_counter()
        self._builder = SegmentBuilder(entry.next_doc_id, sort_tokens)
        self._building: deque[Future[SegmentEntry]] = deque()
        self._built: list[SegmentEntry] = []
        self._stop = interrupts.Interrupt()
        self._cores = CoreBudget(threads)

    def run(self, ready: Iterator[Batch]) -> list[SegmentEntry]:
        """Build all segments; on an error, stop the running builds before raising it."""
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="ngramdb-build")
        try:
            self._report()
            for batch in ready:
                self._add(batch, pool)
                self._report()
                interrupts.check()
            if self._meter is not None:
                self._read_bytes = self._meter.bytes_read
            self._encoding.end()
            self._close_last_segment(pool)
            self._report()
            self._await_segments()
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return self._built

    def joined(self, entries: list[SegmentEntry], limits: Limits) -> list[SegmentEntry]:
        """Return the sorted segments, merged."""

        def report(done: int, total: int) -> None:
            self._merged = done / max(total, 1)
            self._report()

        return joined(self._store, self._transaction, entries, limits, report)

    def changed_entry(self, entries: list[SegmentEntry]) -> CorpusEntry:
        """Return the corpus with the new segments, and write its new words."""
        before = self._entry.tokenizer
        separator = self._entry.sentence_separator
        if separator is not None and self.tokenizer.kind != "tokens":
            # Models need its id to find it in their contexts, even if no document contains it.
            # A word that the vocabulary already has keeps its id.
            self.tokenizer.encode_batch([separator.encode()])
        content = self.tokenizer.vocabulary_since(before.n_vocabulary)
        vocabulary = before.vocabulary
        if content is not None:
            vocabulary = (
                *vocabulary,
                write_content(self._transaction, "vocabularies", "vocabulary", content),
            )
        return replace(
            self._entry,
            tokenizer=replace(before, vocabulary=vocabulary, n_vocabulary=self.tokenizer.n_vocabulary),
            segments=(*self._entry.added, *entries, *self._entry.subtracted),
            next_doc_id=self._entry.next_doc_id + self.documents,
        )

    def _add(self, batch: Batch, pool: ThreadPoolExecutor) -> None:
        encoded = self._encoding.encode(batch)
        if self._encoding.in_doubt:
            self._encode_anew(pool)
        if encoded is None:
            return
        if batch.has_ids:
            first = self._entry.next_doc_id + self.documents
            self._came_as_ids.append((first, first + len(encoded.documents)))
        self._store_batch(encoded, pool)
        self._read_bytes = batch.read_bytes

    def _store_batch(self, encoded: Encoded, pool: ThreadPoolExecutor) -> None:
        """Add documents to the current segment, and to the next ones when it is full."""
        ids, offsets, stored, sentences = encoded.ids, encoded.offsets, encoded.stored, encoded.sentences
        forms = [document.form for document in encoded.documents]
        start, n = 0, len(encoded.documents)
        while start < n:
            stop = self._fitting(offsets, start)
            if stop == start:
                self._close_segment(pool)
                stop = max(self._fitting(offsets, start), start + 1)
            lo, hi = int(offsets[start]), int(offsets[stop])
            with _Located(encoded.documents[start:stop]) as documents:
                self._builder.add(
                    ids[lo:hi],
                    offsets[start : stop + 1] - lo,
                    stored[start:stop],
                    documents.metadata(),
                    forms[start:stop],
                    None if sentences is None else sentences[lo:hi],
                )
            start = stop
        self.documents += n
        self.tokens += len(ids)
        self._text_bytes += encoded.n_bytes

    def _fitting(self, offsets: Offsets, start: int) -> int:
        """Return the first document from `start` on that does not fit the current segment."""
        builder = self._builder
        tokens = offsets[start:] - offsets[start]
        room = max(self._sort_tokens - builder.n_tokens, 0)
        # One separator per document: many short ones fill the kernel's range before the tokens do.
        symbols = tokens + np.arange(len(tokens))
        symbol_room = MAX_SYMBOLS - builder.n_tokens - builder.n_documents
        fitting = min(
            np.searchsorted(tokens, room, side="right"), np.searchsorted(symbols, symbol_room, side="right")
        )
        return start + max(int(fitting), 1) - 1

    def _encode_anew(self, pool: ThreadPoolExecutor) -> None:
        """Encode the documents of this load again with the tokenizer's own encoder, from their segments.

        Rare, so it need not be fast: the segments are finished first. Their files are not committed,
        and are removed.
        """
        self._encoding.make_certain()
        self._close_segment(pool)
        self._await_segments()
        doubted, self._built = self._built, []
        came_as_ids, self._came_as_ids = self._came_as_ids, []
        read_bytes = self._read_bytes
        self.documents = self.tokens = self._text_bytes = 0
        self._builder = SegmentBuilder(self._entry.next_doc_id, self._sort_tokens)
        for entry in doubted:
            documents = documents_of(open_segment(self._store, entry), self.tokenizer, came_as_ids)
            for batch in batches(documents):
                self._add(replace(batch, read_bytes=read_bytes), pool)
                self._report()

    def _await_segments(self) -> None:
        """Wait for the segments that are being built."""
        while self._building:
            self._built.append(interrupts.result_of(self._building.popleft()))
            self._report()

    def _close_segment(self, pool: ThreadPoolExecutor) -> None:
        """Hand the current segment to a worker; wait while one segment per thread is being built."""
        builder = self._builder
        if builder.n_documents == 0:
            return
        while len(self._building) >= self._threads:
            self._built.append(interrupts.result_of(self._building.popleft()))
        name, file = self._transaction.create_file("segments", "segment")
        self._building.append(pool.submit(self._build, builder, name, file, self._stop))
        self._builder = SegmentBuilder(builder.first_doc_id + builder.n_documents, self._sort_tokens)

    def _close_last_segment(self, pool: ThreadPoolExecutor) -> None:
        """As `_close_segment`; a single small one is built here, faster than starting a worker."""
        builder = self._builder
        if self._building or not 0 < builder.n_documents + builder.n_tokens <= FLOOR:
            self._close_segment(pool)
            return
        name, file = self._transaction.create_file("segments", "segment")
        self._built.append(self._build(builder, name, file, None))

    def _build(
        self, builder: SegmentBuilder, name: str, file: WritableFile, stop: interrupts.Interrupt | None
    ) -> SegmentEntry:
        """Write a segment; `stop` is for kernels in another thread than the load's."""
        try:
            with self._cores:
                summary = builder.write(file, stop, self._cores)
        finally:
            file.close()
        return segment_entry(self._transaction, name, summary, 1)

    def _report(self) -> None:
        total_bytes = None if self._meter is None else self._meter.total_bytes
        if self._read_bytes is not None and total_bytes:
            interrupts.step(self._read_bytes, total_bytes)
        if self._progress is None:
            return
        self._progress(
            LoadProgress(
                documents=self.documents,
                tokens=self.tokens,
                text_bytes=self._text_bytes,
                segments=len(self._built),
                elapsed=time.perf_counter() - self._started,
                read_bytes=self._read_bytes,
                total_bytes=total_bytes,
                merged=self._merged,
            )
        )
