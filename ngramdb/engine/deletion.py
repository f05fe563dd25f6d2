"""Removing documents: one commit that adds a segment of just these documents, to be subtracted, and an audit
record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ngramdb.engine.audit import Removal, write_audit
from ngramdb.engine.author import author
from ngramdb.engine.compaction import segment_entry, tidy
from ngramdb.engine.manifest import CorpusEntry, SegmentEntry
from ngramdb.engine.store import Store
from ngramdb.engine.transaction import Transaction
from ngramdb.engine.view import CorpusView
from ngramdb.errors import BindError
from ngramdb.segments.merging import Part, write_removed
from ngramdb.types import Docs

# Which documents: per added segment of the view, ascending local numbers.
Choice = Callable[[CorpusView], Sequence[Docs]]
# What an audit record notes of documents: an object each, for those of the choice in order.
Details = Callable[[CorpusView, Sequence[Docs]], Iterable[dict[str, Any]]]


@dataclass(frozen=True)
class DeletionOutcome:
    """What a removal did; `version` is the database's version without the documents."""

    documents: int
    tokens: int
    version: int


def delete_documents(
    store: Store,
    name: str,
    choose: Choice,
    *,
    segment_tokens: int,
    action: str | None = None,
    statement: str = "",
    reason: str = "",
    details: Details | None = None,
    auto_compact: bool = True,
    lock_timeout_s: float = 0.0,
) -> DeletionOutcome:
    """Removes documents from a corpus: one commit, or none when there are none to remove.

    Parameters
    ----------
    choose : called with the writer's lock held, on the newest version, so that nothing can come in
        between
    segment_tokens : most tokens in a segment
    action : what SHOW VERSIONS tells
    statement, reason : what the audit record tells to have been asked, and why
    details : what it notes of each document
    auto_compact : merge small segments as loads do

    Raises
    ------
    BindError
        no such corpus
    LockedError
        another writer is at work
        whatever `choose` and `details` raise; then nothing has happened

    Cost: some 100 ns a token of the removed documents, besides finding them; a file of 6 bytes for each.
    """
    with store.begin(lock_timeout_s) as transaction:
        entry = transaction.manifest.corpora.get(name)
        if entry is None:
            raise BindError(f"no corpus {name!r}; it may have been dropped meanwhile")
        view = CorpusView(store, entry)
        chosen = remaining(view, choose(view))
        notes = None if details is None else list(details(view, chosen))
        changed, outcome = removed_from(
            transaction,
            view,
            chosen,
            segment_tokens,
            action or f"delete from {name}",
            statement,
            notes,
            reason,
        )
        if not outcome.documents:
            return outcome
        if auto_compact:
            changed = tidy(store, transaction, changed, segment_tokens)
        corpora = {**transaction.manifest.corpora, name: changed}
        manifest = transaction.commit(corpora, action or f"delete from {name}")
        return replace(outcome, version=manifest.version)


def remaining(view: CorpusView, chosen: Sequence[Docs]) -> list[Docs]:
    """The chosen documents but for those that were removed before."""
    return [
        np.setdiff1d(docs, view.removed(i), assume_unique=True) if len(view.removed(i)) else docs
        for i, docs in enumerate(chosen)
    ]


def removed_from(
    transaction: Transaction,
    view: CorpusView,
    chosen: Sequence[Docs],
    segment_tokens: int,
    action: str,
    statement: str,
    notes: Sequence[dict[str, Any]] | None,
    reason: str = "",
) -> tuple[CorpusEntry, DeletionOutcome]:
    """The corpus without the chosen documents (none of them removed before), its new files written."""
    entry = view.entry
    version = transaction.manifest.version
    parts = [Part(view.segments[i], docs) for i, docs in enumerate(chosen) if len(docs)]
    if not parts:
        return entry, DeletionOutcome(0, 0, version)
    new: list[SegmentEntry] = []
    for group in _groups(parts, segment_tokens):
        name, file = transaction.create_file("segments", "segment")
        new.append(segment_entry(transaction, name, write_removed(file, group), -1))
    n_documents, n_tokens = sum(one.n_documents for one in new), sum(one.n_tokens for one in new)
    doc_ids = np.concatenate([part.segment.doc_ids(part.numbers) for part in parts])
    removal = Removal(
        version + 1, time.time(), author(), entry.name, action, statement, n_documents, n_tokens, reason
    )
    audit = write_audit(transaction, removal, doc_ids, notes)
    changed = replace(entry, segments=(*entry.added, *entry.subtracted, *new), audits=(*entry.audits, audit))
    return changed, DeletionOutcome(n_documents, n_tokens, version)


def _groups(parts: Sequence[Part], segment_tokens: int) -> Iterator[list[Part]]:
    """The parts, cut so that each group has at most `segment_tokens` symbols, or one document."""
    group: list[Part] = []
    room = segment_tokens
    for part in parts:
        numbers = part.numbers
        while len(numbers):
            symbols = np.cumsum(Part(part.segment, numbers).lengths)
            fitting = int(np.searchsorted(symbols, room, side="right"))
            if not fitting and not group:
                fitting = 1
            if fitting:
                group.append(Part(part.segment, numbers[:fitting]))
                room -= int(symbols[fitting - 1])
            numbers = numbers[fitting:]
            if len(numbers):
                yield group
                group, room = [], segment_tokens
    if group:
        yield group
