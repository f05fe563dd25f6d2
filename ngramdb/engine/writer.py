"""Loading documents into a corpus: tokenized in batches, built into segments on all cores, committed once.

Three things go on at a time: the next batch is read, the present one is tokenized, and full segments are
sorted and written by worker threads. At most one segment a thread is being built besides the one that fills
up, so memory is bounded by the segment size and the number of threads, whatever the input's size.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.construction import MAX_SYMBOLS, Cores
from ngramdb.engine.batches import Batch, batches, read_ahead
from ngramdb.engine.budget import DocumentLimits, bounded, memory_errors
from ngramdb.engine.change import Change
from ngramdb.engine.compaction import segment_entry
from ngramdb.engine.directory import WritableFile
from ngramdb.engine.files import write_content
from ngramdb.engine.manifest import CorpusEntry, SegmentEntry
from ngramdb.engine.transaction import Transaction
from ngramdb.engine.vocabulary import remember, tokenizer_of
from ngramdb.errors import (
    ExecutionError,
    InvalidArgument,
    LoadError,
    QueryCancelled,
    ResourceError,
)
from ngramdb.ingest.documents import Document, ErrorLog, TokenIds
from ngramdb.ingest.streams import Meter
from ngramdb.segments.builder import KIND, SegmentBuilder
from ngramdb.segments.container import SMALL_BLOCK_SIZE, ContainerWriter
from ngramdb.tokenizers.base import Offsets, Tokenizer

# What may end tokenizing, and is no reason to refuse a document: a limit of the load, a request to stop.
NO_FAULT_OF_DOCUMENTS = (ResourceError, QueryCancelled)


@dataclass(frozen=True)
class LoadProgress:
    """How far a load is. `text_bytes` counts the documents' text; `segments` those that are written.

    For a load of files the documents come from the first `read_bytes` of `total_bytes`, counted as they are
    stored (compressed); None for documents from elsewhere, and `total_bytes` also where a size is unknown, as
    that of a pipe. When all is read, the last segments remain to be built.
    """

    documents: int
    tokens: int
    text_bytes: int
    segments: int
    elapsed: float
    read_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True)
class LoadOutcome:
    """What a load did; `version` is the database's version that has the documents."""

    documents: int
    tokens: int
    segments: int
    version: int


def load_documents(
    change: Change,
    documents: Iterator[Document],
    *,
    threads: int = 1,
    progress: Callable[[LoadProgress], None] | None = None,
    in_background: bool = False,
    meter: Meter | None = None,
    skipped: ErrorLog | None = None,
) -> LoadOutcome:
    """Adds the documents to the corpus and commits: one commit, or none at all.

    A segment is closed before it would hold more tokens than it may; a longer document has one for itself.

    Parameters
    ----------
    threads : segments that are built at a time; fewer and smaller ones where the change has a memory limit,
        and larger documents are refused
    in_background : read the next batch in another thread while the present one is tokenized; not for
        iterators that are bound to the caller's thread
    meter : how far the documents' files are read, for `progress`
    skipped : records documents that cannot be tokenized, which are then left out; without it they end
        the load

    Raises
    ------
    LoadError
        a document that cannot be tokenized, or with metadata that cannot be stored; says which
        whatever `documents` raises; then nothing is committed, and the files written so far are removed
    """
    options = change.options
    if change.segment_tokens < 1 or threads < 1:
        raise InvalidArgument(
            f"segment_tokens and threads must be positive, got {change.segment_tokens} and {threads}"
        )
    segment_tokens, threads = bounded(change.segment_tokens, threads, options.memory_limit)
    limits = DocumentLimits.of(options.memory_limit, threads)
    with memory_errors("a load", segment_tokens):
        tokenizer = tokenizer_of(change.store, change.before.tokenizer).fork()
        load = _Load(
            change.transaction,
            change.before,
            tokenizer,
            segment_tokens,
            threads,
            progress,
            meter,
            skipped,
            limits,
        )
        with read_ahead(batches(documents, meter), in_background) as ready:
            entries = load.run(ready)
        if load.documents:
            change.entry = load.changed_entry(entries)
            remember(change.store, change.entry.tokenizer, load.tokenizer)
            change.tidy(segment_tokens)
        change.documents, change.tokens = load.documents, load.tokens
        return LoadOutcome(load.documents, load.tokens, len(entries), change.commit().version)


class _Located:
    """Documents on their way into a segment.

    An InvalidArgument in the block is the fault of the last one whose metadata were taken; it leaves as a
    LoadError that names it.
    """

    def __init__(self, documents: list[Document]) -> None:
        self._documents = documents
        self._last = documents[0]

    def metadata(self) -> Iterator[Mapping[str, Any]]:
        for document in self._documents:
            self._last = document
            yield document.metadata

    def __enter__(self) -> _Located:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InvalidArgument):
            raise LoadError(str(error), source=self._last.source, line=self._last.line) from error


class _Load:
    """The state of one load."""

    def __init__(
        self,
        transaction: Transaction,
        entry: CorpusEntry,
        tokenizer: Tokenizer,
        segment_tokens: int,
        threads: int,
        progress: Callable[[LoadProgress], None] | None,
        meter: Meter | None,
        skipped: ErrorLog | None,
        limits: DocumentLimits,
    ) -> None:
        self.tokenizer = tokenizer
        self.documents = 0
        self.tokens = 0
        self._text_bytes = 0
        self._transaction = transaction
        self._entry = entry
        self._segment_tokens = segment_tokens
        self._threads = threads
        self._progress = progress
        self._meter = meter
        self._skipped = skipped
        self._limits = limits
        self._read_bytes: int | None = None
        self._started = time.perf_counter()
        self._builder = SegmentBuilder(entry.next_doc_id, segment_tokens)
        self._building: deque[Future[SegmentEntry]] = deque()
        self._built: list[SegmentEntry] = []
        self._stop = interrupts.Interrupt()
        self._cores = Cores(threads)

    def run(self, ready: Iterator[Batch]) -> list[SegmentEntry]:
        """Builds all segments; on any error the builds that run are stopped before it is passed on."""
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="ngramdb-build")
        try:
            self._report()
            for batch in ready:
                self._add(batch, pool)
                self._report()
                interrupts.check()
            if self._meter is not None:
                self._read_bytes = self._meter.bytes_read
            self._close_segment(pool)
            self._report()
            while self._building:
                self._built.append(interrupts.result_of(self._building.popleft()))
                self._report()
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return self._built

    def changed_entry(self, entries: list[SegmentEntry]) -> CorpusEntry:
        """The corpus with the new segments, its new words written."""
        before = self._entry.tokenizer
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
        batch = self._small_enough(batch, [0] * len(batch.documents))
        if not batch.documents:
            return
        batch, (ids, offsets, stored) = self._tokenized(batch)
        smaller = self._small_enough(batch, np.diff(offsets).tolist())
        if smaller is not batch:
            batch, (ids, offsets, stored) = smaller, self._tokenize(smaller)
        start = 0
        n = len(batch.documents)
        forms = [document.form for document in batch.documents]
        while start < n:
            stop = self._fitting(offsets, start)
            if stop == start:
                self._close_segment(pool)
                stop = max(self._fitting(offsets, start), start + 1)
            lo, hi = int(offsets[start]), int(offsets[stop])
            with _Located(batch.documents[start:stop]) as documents:
                self._builder.add(
                    ids[lo:hi],
                    offsets[start : stop + 1] - lo,
                    stored[start:stop],
                    documents.metadata(),
                    forms[start:stop],
                )
            start = stop
        self.documents += n
        self.tokens += len(ids)
        self._text_bytes += batch.n_bytes
        self._read_bytes = batch.read_bytes

    def _fitting(self, offsets: Offsets, start: int) -> int:
        """The first document from `start` on that the present segment has no room for."""
        builder = self._builder
        tokens = offsets[start:] - offsets[start]
        room = max(self._segment_tokens - builder.n_tokens, 0)
        # A separator a document: so many short ones fill the kernel's range before the tokens do.
        symbols = tokens + np.arange(len(tokens))
        symbol_room = MAX_SYMBOLS - builder.n_tokens - builder.n_documents
        fitting = min(
            np.searchsorted(tokens, room, side="right"), np.searchsorted(symbols, symbol_room, side="right")
        )
        return start + max(int(fitting), 1) - 1

    def _small_enough(self, batch: Batch, n_tokens: list[int]) -> Batch:
        """The batch without documents that the memory limit has no room for; the same one where it has.

        Raises ResourceError at the first one, unless documents are skipped.
        """
        if self._limits.n_bytes is None:
            return batch
        kept: list[Document] = []
        for document, n in zip(batch.documents, n_tokens, strict=True):
            size = len(document.text or b"")
            why = self._limits.refusal(size, n if document.ids is None else len(document.ids))
            if why is None:
                kept.append(document)
                continue
            refused = LoadError(why, source=document.source, line=document.line)
            if self._skipped is None:
                raise ResourceError(str(refused), limit=self._limits.memory_limit, asked=max(size, n))
            self._skipped.add(refused)
        return batch if len(kept) == len(batch.documents) else replace(batch, documents=kept)

    def _tokenized(self, batch: Batch) -> tuple[Batch, tuple[TokenIds, Offsets, list[bytes | None]]]:
        """The batch, without documents that are skipped, and what `_tokenize` makes of it."""
        try:
            return batch, self._tokenize(batch)
        except NO_FAULT_OF_DOCUMENTS:
            raise
        except ExecutionError:
            sound = replace(batch, documents=list(self._sound(batch)))
        return sound, self._tokenize(sound)

    def _sound(self, batch: Batch) -> Iterator[Document]:
        """The documents that the tokenizer takes. Raises LoadError at the first other one, or skips them."""
        for document in batch.documents:
            try:
                self.tokenizer.encode_batch([document.text or b""])
            except NO_FAULT_OF_DOCUMENTS:
                raise
            except ExecutionError as error:
                refused = LoadError(str(error), source=document.source, line=document.line)
                if self._skipped is None:
                    raise refused from error
                self._skipped.add(refused)
            else:
                yield document

    def _tokenize(self, batch: Batch) -> tuple[TokenIds, Offsets, list[bytes | None]]:
        """Ids and offsets of a batch, and the texts that ids don't give back."""
        if batch.has_ids:
            lengths = [len(document.ids) for document in batch.documents if document.ids is not None]
            offsets: NDArray[np.int64] = np.zeros(len(lengths) + 1, dtype=np.int64)
            np.cumsum(lengths, out=offsets[1:])
            parts = [document.ids for document in batch.documents if document.ids is not None]
            return np.concatenate(parts), offsets, [document.text for document in batch.documents]
        texts = [document.text or b"" for document in batch.documents]
        ids, offsets = self.tokenizer.encode_batch(texts)
        spelled = self.tokenizer.reproduces(texts, ids, offsets)
        return (
            ids,
            offsets,
            [None if same else text for text, same in zip(texts, spelled.tolist(), strict=True)],
        )

    def _close_segment(self, pool: ThreadPoolExecutor) -> None:
        """Hands the present segment to a worker; waits while as many as there are threads are being built."""
        builder = self._builder
        if builder.n_documents == 0:
            return
        while len(self._building) >= self._threads:
            self._built.append(interrupts.result_of(self._building.popleft()))
        name, file = self._transaction.create_file("segments", "segment")
        self._building.append(pool.submit(self._build, builder, name, file))
        self._builder = SegmentBuilder(builder.first_doc_id + builder.n_documents, self._segment_tokens)

    def _build(self, builder: SegmentBuilder, name: str, file: WritableFile) -> SegmentEntry:
        try:
            with self._cores:
                summary = builder.write(
                    ContainerWriter(file, KIND, block_size=SMALL_BLOCK_SIZE), self._stop, self._cores
                )
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
            )
        )
