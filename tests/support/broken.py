"""Corpora with broken documents, and twins of them in which each piece is a document."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.changes.change import with_words
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import segment_entry
from ngramdb.segments.base import Breaks
from ngramdb.segments.builder import SegmentBuilder
from ngramdb.tokenizers.base import to_utf8
from ngramdb.tokenizers.sentences import sentence_starts
from support.changes import begin


@contextmanager
def connected(tokenizer, **options):
    """A connection to a new database in memory with a corpus `c`; nothing is merged by itself."""
    with Connection(Database(Store.open(MemoryDirectory()))) as db:
        db.settings["auto_compact"] = False
        db.create_corpus("c", tokenizer=tokenizer, **options)
        yield db


def append_broken(db, documents, name="c"):
    """Append one segment of documents: their pieces, each a text or token ids, and their metadata."""
    with begin(db._database.store, name, f"load {name}", auto_compact=False) as change:
        tokenizer = change.view.tokenizer.fork()
        builder = SegmentBuilder(change.entry.next_doc_id)
        for pieces, fields in documents:
            add_broken(builder, tokenizer, pieces, fields, change.entry.wants_sentences)
        file_name, file = change.transaction.create_file("segments", "segment")
        summary = builder.write(file)
        file.close()
        entry = segment_entry(change.transaction, file_name, summary, 1)
        changed = with_words(change.transaction, change.entry, tokenizer)
        change.entry = replace(
            changed,
            segments=(*changed.added, entry, *changed.subtracted),
            next_doc_id=changed.next_doc_id + len(documents),
        )
        change.commit()


def add_broken(builder, tokenizer, pieces, fields, with_sentences=True):
    """Add a document, given as its pieces, to a segment."""
    texts = None if pieces and isinstance(pieces[0], list) else [to_utf8(piece) for piece in pieces]
    if texts is None:
        ids = np.array([token for piece in pieces for token in piece], dtype=np.uint32)
        ends = np.cumsum([0, *map(len, pieces)])
    else:
        ids, ends = tokenizer.encode_batch(texts)
    places = np.cumsum(list(map(len, texts or pieces)))[:-1] * (texts is not None)
    text = None if texts is None else b"".join(texts)
    stored = None if text is None or tokenizer.decode_exact(ids) == text else text
    starts = None
    if with_sentences:
        starts = sentence_starts(tokenizer, texts or [None] * len(pieces), ids, ends)
    offsets = np.array([0, len(ids)], dtype=np.int64)
    breaks = Breaks(ends[1:-1].astype(np.int64), places.astype(np.int64))
    builder.add(ids, offsets, [stored], [fields], sentences=starts, breaks=breaks)
