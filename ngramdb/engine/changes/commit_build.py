"""Committing a build: corpora that other machines have built become one corpus of this database.

Segments are linked or copied as they are; documents get new ids by an offset in their entries. If a
vocabulary of words grows with its corpus, each part has different ids: from the second part on, segments
are rewritten with ids of the joined vocabulary. These are the ids that a single load of all documents would
have assigned, because words come in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ngramdb import interrupts
from ngramdb.engine.changes.change import Change
from ngramdb.engine.changes.combining import rewritten, shifted, with_words
from ngramdb.engine.corpus.common_vocabulary import IdMap, id_map, require_same_kind
from ngramdb.engine.corpus.key_cache import remember, tokenizer_of
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import CorpusEntry, LoadRecord, SegmentEntry
from ngramdb.engine.storage.store import Store, Transaction
from ngramdb.errors import InvalidArgument
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.tokenizers.base import Tokenizer


@dataclass(frozen=True)
class BuiltPart:
    """A corpus in a separate database, without removed documents. `name` is for messages."""

    name: str
    store: Store
    entry: CorpusEntry


def with_tokenizer_of(part: BuiltPart, transaction: Transaction, name: str, corpus_id: str) -> CorpusEntry:
    """Return a new, empty corpus that tokenizes as the part does, with a copy of the tokenizer's file."""
    tokenizer = part.entry.tokenizer
    file = tokenizer.file
    if file is not None:
        file = transaction.take_in("tokenizers", part.store.directory, file)
    empty = replace(tokenizer, file=file, vocabulary=())
    if tokenizer.kind in GROWING_TOKENIZERS:
        empty = replace(empty, n_vocabulary=0)
    return CorpusEntry(name, corpus_id, empty, (), 0, {})


def join_parts(change: Change, parts: Iterable[BuiltPart], n_parts: int, record: LoadRecord) -> int:
    """Add the parts' documents after the corpus's own, in order, without committing.

    `record` is stored with the corpus and identifies these parts if they are committed again. Returns the
    number of tokens that were rewritten because their ids changed.

    Raises
    ------
    InvalidArgument
        these parts are in the corpus already
    BindError
        a part's tokenizer differs from the corpus's
    CorruptionError
        a file of a part is damaged
    """
    if any(known.paths == record.paths for known in change.entry.loads):
        raise InvalidArgument(
            f"these parts are in the corpus {change.entry.name} already; nothing was committed again"
        )
    grows = change.before.tokenizer.kind in GROWING_TOKENIZERS
    # Other kinds are not even opened: opening a large tokenizer.json takes longer than all the rest.
    tokenizer = tokenizer_of(change.store, change.before.tokenizer).fork() if grows else None
    n_rewritten = 0
    for i, part in enumerate(parts):
        interrupts.step(i, n_parts)
        n_rewritten += _add(change, part, tokenizer)
    if tokenizer is not None:
        change.entry = with_words(change.transaction, change.entry, tokenizer)
        remember(change.store, change.entry.tokenizer, tokenizer)
    change.entry = replace(change.entry, loads=(*change.entry.loads, record))
    return n_rewritten


def _add(change: Change, part: BuiltPart, tokenizer: Tokenizer | None) -> int:
    """Add one part; `tokenizer`, if it grows, learns its words. Returns the number of rewritten tokens."""
    entry, transaction = change.entry, change.transaction
    view = CorpusView(part.store, part.entry)
    require_same_kind(entry.name, CorpusView(change.store, change.before), part.name, view)
    moved = [shifted(one, entry.next_doc_id, transaction) for one in part.entry.added]
    new_ids = None if tokenizer is None else _new_ids(view, tokenizer)
    if new_ids is None:
        added = [_taken_in(transaction, part, one) for one in moved]
    else:
        added = rewritten(part.store, transaction, part.entry, moved, new_ids)
    change.entry = replace(
        entry,
        segments=(*entry.added, *added, *entry.subtracted),
        next_doc_id=entry.next_doc_id + part.entry.next_doc_id,
    )
    change.documents += part.entry.n_documents
    change.tokens += part.entry.n_tokens
    return 0 if new_ids is None else part.entry.n_tokens


def _new_ids(view: CorpusView, tokenizer: Tokenizer) -> IdMap | None:
    """Return the ids of the part's words in the joined vocabulary; None if they are unchanged."""
    ids = id_map(view.tokenizer, tokenizer)
    return None if np.array_equal(ids, np.arange(len(ids))) else ids


def _taken_in(transaction: Transaction, part: BuiltPart, entry: SegmentEntry) -> SegmentEntry:
    return replace(entry, file=transaction.take_in("segments", part.store.directory, entry.file))
