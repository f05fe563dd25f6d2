"""Corpora added to and taken from others for good: ALTER CORPUS a ADD | SUBTRACT CORPUS b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.engine.compaction import segment_entry, tidy
from ngramdb.engine.deletion import removed_from
from ngramdb.engine.equal_documents import Listed, match_documents
from ngramdb.engine.files import write_content
from ngramdb.engine.manifest import CorpusEntry, SegmentEntry
from ngramdb.engine.store import Store
from ngramdb.engine.transaction import Transaction
from ngramdb.engine.view import CorpusView, open_segment
from ngramdb.engine.vocabularies import IdMap, id_map_onto, translated
from ngramdb.engine.vocabulary import remember
from ngramdb.errors import BindError, ExecutionError
from ngramdb.segments.merging import Part, write_merged
from ngramdb.tokenizers.base import Tokenizer

# Tokens of a document that an error shows.
SHOWN_TOKENS = 12


@dataclass(frozen=True)
class CombiningOutcome:
    """What was added or taken away; `version` is the database's version that has it."""

    documents: int
    tokens: int
    version: int


def add_corpus(
    store: Store,
    name: str,
    other: str,
    *,
    segment_tokens: int,
    version: int | None = None,
    auto_compact: bool = True,
    lock_timeout_s: float = 0.0,
) -> CombiningOutcome:
    """Adds all documents of the corpus `other` to the corpus `name`, behind its own; `other` stays as it is.

    Segment files are shared, nothing is copied; but where vocabularies of words differ, segments are
    translated and written anew. Documents get new ids: their own plus the corpus's next id.

    With a `version`, `other` is taken as it was then.

    Raises
    ------
    BindError
        no such corpus or version, or the two do not share a tokenizer
    LockedError
        another writer is at work
    Interrupted
        asked to stop; nothing has happened

    Cost: a manifest; with different vocabularies some 100 ns a token of `other`.
    """
    with store.begin(lock_timeout_s) as transaction:
        into, source = _entry(transaction, name), _entry_then(store, transaction, other, version)
        view, added = CorpusView(store, into), CorpusView(store, source)
        tokenizer, new_ids = id_map_onto((name, view), (other, added))
        shifted = [_shifted(one, into.next_doc_id, transaction) for one in source.segments]
        if new_ids is None:
            wider = max(into.tokenizer, source.tokenizer, key=lambda entry: entry.n_vocabulary)
            changed = replace(into, tokenizer=wider)
        else:
            shifted = _rewritten(store, transaction, source, shifted, new_ids)
            changed = _with_words(transaction, into, tokenizer)
            remember(store, changed.tokenizer, tokenizer)
        more = [one for one in shifted if one.sign > 0], [one for one in shifted if one.sign < 0]
        changed = replace(
            changed,
            segments=(*into.added, *more[0], *into.subtracted, *more[1]),
            next_doc_id=into.next_doc_id + source.next_doc_id,
        )
        if auto_compact:
            changed = tidy(store, transaction, changed, segment_tokens)
        corpora = {**transaction.manifest.corpora, name: changed}
        manifest = transaction.commit(corpora, f"add {other} to {name}")
        return CombiningOutcome(source.n_documents, source.n_tokens, manifest.version)


def subtract_corpus(
    store: Store,
    name: str,
    other: str,
    *,
    segment_tokens: int,
    version: int | None = None,
    statement: str = "",
    auto_compact: bool = True,
    lock_timeout_s: float = 0.0,
) -> CombiningOutcome:
    """Removes from the corpus `name`, for each document of `other`, one with the same tokens; `other` stays
    as it is.

    Raises
    ------
    ExecutionError
        `other` has a document that `name` lacks, so that counts could fall below zero; names
        it, and nothing has happened
    BindError
        no such corpus, or the two do not share a tokenizer
    LockedError
        another writer is at work

    Cost: 20 µs a document of `other` and segment of `name`, and that of removing the documents.
    """
    with store.begin(lock_timeout_s) as transaction:
        view = CorpusView(store, _entry(transaction, name))
        gone = CorpusView(store, _entry_then(store, transaction, other, version))
        tokenizer, new_ids = id_map_onto((name, view), (other, gone))
        rest = [Listed(segment, view.kept(i)) for i, segment in enumerate(view.segments)]
        wanted = [
            Listed(segment, gone.kept(i)) for i, segment in enumerate(translated(gone.segments, new_ids))
        ]
        matches = match_documents(rest, wanted)
        if matches.missing:
            raise _missing(matches.missing, matches.n_missing, tokenizer, name, other)
        action = f"subtract {other} from {name}"
        changed, outcome = removed_from(
            transaction, view, matches.found, segment_tokens, action, statement, None
        )
        if outcome.documents:
            if auto_compact:
                changed = tidy(store, transaction, changed, segment_tokens)
            transaction.commit({**transaction.manifest.corpora, name: changed}, action)
        return CombiningOutcome(outcome.documents, outcome.tokens, transaction.manifest.version)


def _entry(transaction: Transaction, name: str) -> CorpusEntry:
    entry = transaction.manifest.corpora.get(name)
    if entry is None:
        raise BindError(f"no corpus {name!r}; it may have been dropped meanwhile")
    return entry


def _entry_then(store: Store, transaction: Transaction, name: str, version: int | None) -> CorpusEntry:
    if version is None:
        return _entry(transaction, name)
    entry = store.version(version).corpora.get(name)
    if entry is None:
        raise BindError(f"there was no corpus {name!r} in version {version}")
    return entry


def _shifted(entry: SegmentEntry, by: int, transaction: Transaction) -> SegmentEntry:
    """The segment with all its documents' ids moved up."""
    return replace(
        entry,
        first_doc_id=entry.first_doc_id + by,
        doc_id_offset=entry.doc_id_offset + by,
        created_version=transaction.manifest.version + 1,
    )


def _rewritten(
    store: Store,
    transaction: Transaction,
    source: CorpusEntry,
    shifted: Sequence[SegmentEntry],
    new_ids: IdMap,
) -> list[SegmentEntry]:
    """The added segments in other token ids, without the documents that were removed."""
    view = CorpusView(store, replace(source, segments=tuple(shifted)))
    written = []
    for i, entry in enumerate(view.entry.added):
        interrupts.step(i, len(view.entry.added))
        kept: NDArray[np.uint32] = view.kept(i)
        if len(kept):
            file_name, file = transaction.create_file("segments", "segment")
            summary = write_merged(file, [Part(open_segment(store, entry), kept, new_ids)])
            written.append(segment_entry(transaction, file_name, summary, 1))
    return written


def _with_words(transaction: Transaction, entry: CorpusEntry, tokenizer: Tokenizer) -> CorpusEntry:
    """The corpus with the words that its tokenizer has learned, written."""
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
    more = "" if n == 1 else f", and {n - 1:,} more have none"
    return ExecutionError(
        f'{other} is no part of {name}: its document {segment.doc_id(number)} ("{text}") has no equal one '
        f"there{more}; nothing was removed"
    )
