"""Documents in batches, and the next batch read while the present one is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ngramdb import interrupts
from ngramdb.ingest.documents import Document
from ngramdb.ingest.streams import Meter

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
