"""Documents in batches, read ahead, and their token ids."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.changes.sizing import DocumentLimits
from ngramdb.errors import ExecutionError, ResourceError
from ngramdb.ingest.documents import Document, ErrorLog, TokenIds
from ngramdb.ingest.streams import Meter
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Encoder, Flags, Ids, Offsets, Tokenizer, as_ids
from ngramdb.tokenizers.sentences import sentence_starts

# A batch is closed at this many bytes of text or ids, or this many documents. For text: enough to keep
# all cores of a tokenizer busy, small compared to a segment. Ids are only copied: as many as fit in caches.
BATCH_TEXT_BYTES = 4 << 20
BATCH_ID_BYTES = 1 << 20
BATCH_DOCUMENTS = 8192


@dataclass(frozen=True)
class Batch:
    """Some documents that follow each other: all with token ids, or all with text to be tokenized.

    `read_bytes` is the position in the files when the batch was complete, None without files.
    """

    documents: list[Document]
    n_bytes: int
    has_ids: bool
    read_bytes: int | None = None


def batches(documents: Iterator[Document], meter: Meter | None = None) -> Iterator[Batch]:
    """Cut a stream of documents into batches, order kept.

    Raises LoadError for a document without text and ids.
    """

    def batch() -> Batch:
        return Batch(pending, n_bytes, has_ids, None if meter is None else meter.bytes_read)

    pending: list[Document] = []
    n_bytes = 0
    has_ids = False
    for document in documents:
        if document.ids is None and document.text is None:
            raise document.error("a document has neither text nor token ids")
        if pending and has_ids != (document.ids is not None):
            yield batch()
            pending, n_bytes = [], 0
        has_ids = document.ids is not None
        pending.append(document)
        n_bytes += len(document.text or b"") + (document.ids.nbytes if document.ids is not None else 0)
        if n_bytes >= (BATCH_ID_BYTES if has_ids else BATCH_TEXT_BYTES) or len(pending) >= BATCH_DOCUMENTS:
            yield batch()
            pending, n_bytes = [], 0
    if pending:
        yield batch()


@contextmanager
def read_ahead(stream: Iterator[Batch], in_background: bool) -> Iterator[Iterator[Batch]]:
    """Yield the same batches; with `in_background`, a separate thread reads one batch ahead.

    Leaving the block does not wait for that thread: a read that never ends (a terminal, a pipe
    without a writer) may block it. It is ignored from then on.
    """
    if not in_background:
        yield stream
        return
    ahead = _ReadAhead(stream)
    try:
        yield iter(ahead)
    finally:
        ahead.close()


class _ReadAhead:
    """A thread that keeps one batch ready. An error of the stream is raised in place of its batch."""

    # Interval at which a waiting thread checks for interruption, in seconds.
    _PATIENCE_S = 0.1

    def __init__(self, stream: Iterator[Batch]) -> None:
        self._ready: queue.Queue[Batch | BaseException | None] = queue.Queue(maxsize=1)
        self._closed = threading.Event()
        threading.Thread(target=self._read, args=(stream,), name="ngramdb-read", daemon=True).start()

    def __iter__(self) -> Iterator[Batch]:
        while (item := self._next()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def _next(self) -> Batch | BaseException | None:
        """Wait for the next item, until the current work is interrupted."""
        while True:
            try:
                return self._ready.get(timeout=interrupts.PATIENCE_S)
            except queue.Empty:
                interrupts.check()

    def close(self) -> None:
        self._closed.set()

    def _read(self, stream: Iterator[Batch]) -> None:
        try:
            for batch in stream:
                if not self._hand_over(batch):
                    return
        except BaseException as error:
            self._hand_over(error)
        else:
            self._hand_over(None)

    def _hand_over(self, item: Batch | BaseException | None) -> bool:
        """Wait until the item is taken; return False if it is no longer wanted."""
        while not self._closed.is_set():
            try:
                self._ready.put(item, timeout=self._PATIENCE_S)
            except queue.Full:
                continue
            return True
        return False


# ---- Encoding the documents of a load as token ids, batch by batch, before they enter a segment.
#
# Documents come with text, or with ids already. Text may be encoded by a faster way than the tokenizer's own
# (`tokenizers.base.Encoder`); if that turns out to have produced wrong ids, documents that are in segments
# already are read back from them (`documents_of`) and encoded again: their texts are all there, stored or
# spelled by their ids.


# Documents that are read back from a segment at a time.
CHUNK_DOCUMENTS = 1024


@dataclass(frozen=True)
class Encoded:
    """A batch as a segment takes it: document k has ids[offsets[k]:offsets[k + 1]].

    `stored` is each text that its ids do not spell; `sentences` marks the tokens that begin a sentence, (m,)
    bool, None if unknown.
    """

    documents: list[Document]
    n_bytes: int
    ids: TokenIds
    offsets: Offsets
    stored: list[bytes | None]
    sentences: Flags | None


class BatchEncoder:
    """Encodes the batches of one load.

    Parameters
    ----------
    limits : larger documents are rejected
    skipped : records documents that cannot be loaded; without it the first one ends the load
    fast : allow a faster encoder than the tokenizer's own
    sentences : find where sentences begin
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        limits: DocumentLimits,
        skipped: ErrorLog | None,
        fast: bool = True,
        sentences: bool = True,
    ) -> None:
        self._tokenizer = tokenizer
        self._limits = limits
        self._skipped = skipped
        self._encoder: Encoder = tokenizer.encoder(fast)
        self._sentences = sentences
        self._note: str | None = None

    @property
    def note(self) -> str | None:
        """A note for the user on how ids were made."""
        return self._note or self._encoder.note

    @property
    def in_doubt(self) -> bool:
        """True if batches before the last one may have wrong ids, and must be encoded again."""
        return self._encoder.in_doubt

    def make_certain(self) -> None:
        """Use no faster encoder from here on; nothing is in doubt any more."""
        self._note = self.note
        self._encoder = self._tokenizer.encoder(fast=False)

    def end(self) -> None:
        """Note that no batch is left to encode, as far as is known."""
        self._encoder.end()

    def encode(self, batch: Batch) -> Encoded | None:
        """Encode the batch without skipped documents; None if none remains.

        Raises LoadError, or ResourceError for one beyond the limits, naming the document, unless it is
        skipped.
        """
        batch = self._small_enough(batch, [0] * len(batch.documents))
        if not batch.documents:
            return None
        encoded = self._tokenized(batch)
        if batch.has_ids:
            return encoded
        kept = replace(batch, documents=encoded.documents)
        smaller = self._small_enough(kept, np.diff(encoded.offsets).tolist())
        return encoded if smaller is kept else self._encoded(smaller)

    def _small_enough(self, batch: Batch, n_tokens: list[int]) -> Batch:
        """Return the batch without documents too large for the memory limit; the same object if all fit.

        Raises ResourceError at the first one, unless documents are skipped.
        """
        limits = self._limits
        if limits.n_bytes is None or limits.n_tokens is None:
            return batch
        # Usually all fit together: each token of a document with ids takes at least one byte.
        given = batch.n_bytes if batch.has_ids else sum(n_tokens)
        if batch.n_bytes <= limits.n_bytes and given <= limits.n_tokens:
            return batch
        kept: list[Document] = []
        for document, n in zip(batch.documents, n_tokens, strict=True):
            size = len(document.text or b"")
            why = limits.refusal(size, n if document.ids is None else len(document.ids))
            if why is None:
                kept.append(document)
                continue
            refused = document.error(why)
            if self._skipped is None:
                raise ResourceError(str(refused), limit=limits.memory_limit, asked=max(size, n))
            self._skipped.add(refused)
        return batch if len(kept) == len(batch.documents) else replace(batch, documents=kept)

    def _tokenized(self, batch: Batch) -> Encoded:
        """Encode the batch, skipping documents that cannot be tokenized."""
        try:
            return self._encoded(batch)
        except ResourceError:
            raise
        except ExecutionError:
            sound = replace(batch, documents=list(self._sound(batch)))
        return self._encoded(sound)

    def _sound(self, batch: Batch) -> Iterator[Document]:
        """Yield the documents that the tokenizer accepts. Others are skipped or raise LoadError."""
        for document in batch.documents:
            try:
                self._tokenizer.encode_batch([document.text or b""])
            except ResourceError:
                raise
            except ExecutionError as error:
                refused = document.error(str(error))
                if self._skipped is None:
                    raise refused from error
                self._skipped.add(refused)
            else:
                yield document

    def _encoded(self, batch: Batch) -> Encoded:
        documents = batch.documents
        if batch.has_ids:
            parts = [document.ids for document in documents if document.ids is not None]
            offsets: NDArray[np.int64] = np.zeros(len(parts) + 1, dtype=np.int64)
            np.cumsum([len(ids) for ids in parts], out=offsets[1:])
            texts = [document.text for document in documents]
            ids = np.concatenate(parts)
            starts = self._sentence_starts(texts, ids, offsets)
            return Encoded(documents, batch.n_bytes, ids, offsets, texts, starts)
        given = [document.text or b"" for document in documents]
        ids, offsets = self._encoder.encode_batch(given)
        spelled = self._tokenizer.reproduces(given, ids, offsets)
        stored = [None if same else text for text, same in zip(given, spelled.tolist(), strict=True)]
        starts = self._sentence_starts(given, ids, offsets, spelled)
        return Encoded(documents, batch.n_bytes, ids, offsets, stored, starts)

    def _sentence_starts(
        self, texts: Sequence[bytes | None], ids: Ids, offsets: Offsets, spelled: Flags | None = None
    ) -> Flags | None:
        if not self._sentences:
            return None
        return sentence_starts(self._tokenizer, texts, as_ids(ids), offsets, spelled)


def documents_of(
    segment: Segment, tokenizer: Tokenizer, came_as_ids: Sequence[tuple[int, int]]
) -> Iterator[Document]:
    """Yield the documents of a segment as they were before they were encoded.

    A document with an id in one of the half-open ranges `came_as_ids` keeps its token ids.

    Raises CorruptionError if the segment's file is damaged.
    """
    segment.verify_metadata()
    for start in range(0, segment.n_documents, CHUNK_DOCUMENTS):
        interrupts.check()
        numbers = np.arange(start, min(start + CHUNK_DOCUMENTS, segment.n_documents), dtype=np.uint32)
        ids, offsets = segment.token_ids(numbers)
        rows = segment.metadata.rows(numbers.tolist())
        for k, (i, fields) in enumerate(zip(numbers.tolist(), rows, strict=True)):
            own = ids[offsets[k] : offsets[k + 1]]
            text = segment.stored_text(i)
            if any(first <= segment.doc_id(i) < last for first, last in came_as_ids):
                yield Document(text, own, fields, segment.path, form=segment.form(i))
            else:
                if text is None:
                    text = tokenizer.decode_exact(own)
                yield Document(text, None, fields, segment.path, form=segment.form(i))
