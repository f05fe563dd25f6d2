"""ALTER CORPUS a ADD | SUBTRACT CORPUS b, and CREATE CORPUS … AS (DOCS …)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.changes.change import Change, ChangeOutcome, WriteOptions
from ngramdb.engine.changes.compaction import marker_of, merged_segment
from ngramdb.engine.changes.sizing import memory_errors
from ngramdb.engine.corpus.caches import remember
from ngramdb.engine.corpus.common import IdMap, Listed, id_map_onto, match_documents, translated
from ngramdb.engine.corpus.view import CorpusView, open_segment
from ngramdb.engine.storage.manifest import CorpusEntry, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction, segment_entry, write_content
from ngramdb.errors import ExecutionError
from ngramdb.segments.base import Part, Segment
from ngramdb.segments.merging import write_merged
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

# Tokens of a document that an error quotes.
SHOWN_TOKENS = 12


def add_corpus(change: Change, other: str, version: int | None = None) -> ChangeOutcome:
    """Add all documents of the corpus `other`, after the corpus's own, and commit; `other` stays as it is.

    Segment files are shared, not copied; but if vocabularies of words differ, segments are
    translated and rewritten. Documents get new ids: their own plus the corpus's next id.

    With a `version`, `other` is read as of that version.

    Raises
    ------
    BindError
        no such corpus or version, or the two do not share a tokenizer
    Interrupted
        the work was interrupted; nothing has changed

    Cost: one manifest; with different vocabularies about 100 ns per token of `other`.
    """
    store, transaction = change.store, change.transaction
    into, source = change.before, change.other(other, version)
    tokenizer, new_ids = id_map_onto((into.name, change.view), (other, CorpusView(store, source)))
    moved = [shifted(one, into.next_doc_id, transaction) for one in source.segments]
    if new_ids is None:
        wider = max(into.tokenizer, source.tokenizer, key=lambda entry: entry.n_vocabulary)
        changed = replace(into, tokenizer=wider)
    else:
        moved = rewritten(store, transaction, source, moved, new_ids)
        changed = with_words(transaction, into, tokenizer)
        remember(store, changed.tokenizer, tokenizer)
    more = [one for one in moved if one.sign > 0], [one for one in moved if one.sign < 0]
    change.entry = replace(
        changed,
        segments=(*into.added, *more[0], *into.subtracted, *more[1]),
        next_doc_id=into.next_doc_id + source.next_doc_id,
    )
    change.documents, change.tokens = source.n_documents, source.n_tokens
    change.tidy()
    return change.commit()


def subtract_corpus(
    change: Change, other: str, version: int | None = None, statement: str = ""
) -> ChangeOutcome:
    """Remove, for each document of the corpus `other`, one with the same tokens, and commit.

    `other` stays as it is.

    Raises
    ------
    ExecutionError
        `other` has a document that the corpus lacks, so that counts could fall below zero; the message
        names the document, and nothing has changed
    BindError
        no such corpus, or the two do not share a tokenizer

    Cost: 20 µs per document of `other` and segment of the corpus, plus removing the documents.
    """
    view, gone = change.view, CorpusView(change.store, change.other(other, version))
    tokenizer, new_ids = id_map_onto((change.before.name, view), (other, gone))
    rest = [Listed(segment, view.kept(i), view.entry.id) for i, segment in enumerate(view.segments)]
    wanted = [
        Listed(segment, gone.kept(i), gone.entry.id)
        for i, segment in enumerate(translated(gone.segments, new_ids))
    ]
    matches = match_documents(rest, wanted)
    if matches.missing:
        raise _missing(matches.missing, matches.n_missing, tokenizer, change.before.name, other)
    change.remove(matches.found, statement=statement)
    return change.commit()


def shifted(entry: SegmentEntry, by: int, transaction: Transaction) -> SegmentEntry:
    """Return the segment with `by` added to the ids of its documents."""
    return replace(
        entry,
        first_doc_id=entry.first_doc_id + by,
        doc_id_offset=entry.doc_id_offset + by,
        created_version=transaction.manifest.version + 1,
    )


def rewritten(
    store: Store,
    transaction: Transaction,
    source: CorpusEntry,
    moved: Sequence[SegmentEntry],
    new_ids: IdMap,
) -> list[SegmentEntry]:
    """Return the added segments of `source`, as in `moved`, with new token ids and without removed documents.

    `store` holds their files.
    """
    view = CorpusView(store, replace(source, segments=tuple(moved)))
    written = []
    for i, entry in enumerate(view.entry.added):
        interrupts.step(i, len(view.entry.added))
        kept: NDArray[np.uint32] = view.kept(i)
        if len(kept):
            file_name, file = transaction.create_file("segments", "segment")
            summary = write_merged(file, [Part(open_segment(store, entry), kept, new_ids)])
            written.append(segment_entry(transaction, file_name, summary, 1))
    return written


def with_words(transaction: Transaction, entry: CorpusEntry, tokenizer: Tokenizer) -> CorpusEntry:
    """Write the words that the tokenizer has learned, and return the corpus with them."""
    before = entry.tokenizer
    content = tokenizer.vocabulary_since(before.n_vocabulary)
    files: tuple[Any, ...] = before.vocabulary
    if content is not None:
        files = (*files, write_content(transaction, "vocabularies", "vocabulary", content))
    return replace(entry, tokenizer=replace(before, vocabulary=files, n_vocabulary=tokenizer.n_vocabulary))


def _missing(
    missing: Sequence[Listed], n: int, tokenizer: Tokenizer, name: str, other: str
) -> ExecutionError:
    segment, number = missing[0].segment, int(missing[0].numbers[0])
    ids = segment.document(number)
    text = tokenizer.decode(ids[:SHOWN_TOKENS]) + ("…" if len(ids) > SHOWN_TOKENS else "")
    more = "" if n == 1 else f" (1 of {n:,} such documents)"
    return ExecutionError(
        f'{other} is not part of {name}: its document {segment.doc_id(number)} ("{text}") has no equal '
        f"there{more}; nothing was removed"
    )


def copy_documents(
    store: Store,
    transaction: Transaction,
    name: str,
    source: CorpusEntry,
    documents: Sequence[tuple[Segment, Docs]],
    options: WriteOptions,
) -> ChangeOutcome:
    """Commit a corpus `name` with documents of `source`, those with these local numbers in each segment.

    Tokens, texts, metadata and ids of documents stay the same; tokenizer and vocabulary are shared. No
    segment is larger than the one that its documents came from, or than the policy makes it.

    Raises
    ------
    Interrupted
        the work was interrupted; nothing has changed
    CorruptionError
        a file that would have been copied is damaged; nothing has changed

    Cost: as for compacting these documents: 5 ns per token of a segment of which most are copied, up to
    80 ns per copied token, plus texts and metadata. Memory: the same.
    """
    made = replace(source, name=name, id=uuid.uuid4().hex, segments=(), audits=(), statistics=None, loads=())
    change = Change(store, transaction, made, f"create corpus {name} of {source.name}", options)
    parts = [Part(segment, docs) for segment, docs in documents if len(docs)]
    with memory_errors("a copy", change.limits.most_sorted):
        segments, marker = [], marker_of(store, source)
        for i, part in enumerate(parts):
            interrupts.step(i, len(parts))
            segments.append(merged_segment(transaction, [part], change.limits, marker))
        change.entry = replace(made, segments=tuple(segments))
        change.tidy()
    transaction.commit({**transaction.manifest.corpora, name: change.entry}, change.action)
    return ChangeOutcome(change.entry.n_documents, change.entry.n_tokens, transaction.manifest.version)
