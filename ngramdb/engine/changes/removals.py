"""Removing documents, restoring a corpus, and keeping versions by name.

A removal writes segments of just the removed documents, to be subtracted, and an audit record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from ngramdb.engine.changes.audit import Removal, origin, write_audit
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.files import author, now
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, Manifest, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction, segment_entry
from ngramdb.errors import BindError, InvalidArgument
from ngramdb.segments.base import Part, Segment
from ngramdb.segments.merging import write_merged, write_removed
from ngramdb.types import Docs

#: Most characters in the name of a version.
MAX_NAME_LENGTH = 100


@dataclass(frozen=True)
class WrittenRemoval:
    """The files of a removal: segments to be subtracted, and the audit record."""

    segments: tuple[SegmentEntry, ...]
    audit: FileRef

    @property
    def n_documents(self) -> int:
        """Number of removed documents."""
        return sum(one.n_documents for one in self.segments)

    @property
    def n_tokens(self) -> int:
        """Number of their tokens."""
        return sum(one.n_tokens for one in self.segments)


def write_removal(
    transaction: Transaction,
    view: CorpusView,
    chosen: Sequence[Docs],
    segment_tokens: int,
    action: str,
    statement: str,
    notes: Sequence[dict[str, Any]] | None,
    reason: str,
) -> WrittenRemoval:
    """Write segments of the chosen documents (at least one, none of them removed before), and the record.

    The record of a document has its own id and source, and its entry in `notes`, which may override them.
    """
    parts = [Part(view.segments[i], docs) for i, docs in enumerate(chosen) if len(docs)]
    new: list[SegmentEntry] = []
    for group in groups_of(parts, segment_tokens):
        name, file = transaction.create_file("segments", "segment")
        new.append(segment_entry(transaction, name, write_removed(file, group), -1))
    doc_ids = np.concatenate([part.segment.doc_ids(part.numbers) for part in parts])
    removal = Removal(
        version=transaction.manifest.version + 1,
        created=now(),
        by=author(),
        corpus=view.entry.name,
        action=action,
        statement=statement,
        n_documents=sum(one.n_documents for one in new),
        n_tokens=sum(one.n_tokens for one in new),
        reason=reason,
    )
    origins = (
        origin(fields) for part in parts for fields in part.segment.metadata.rows(part.numbers.tolist())
    )
    given = repeat({}, len(doc_ids)) if notes is None else notes
    details = ({**own, **note} for own, note in zip(origins, given, strict=True))
    return WrittenRemoval(tuple(new), write_audit(transaction, removal, doc_ids, details))


def groups_of(parts: Sequence[Part], segment_tokens: int) -> Iterator[list[Part]]:
    """Yield the parts, split into groups of at most `segment_tokens` symbols, or of one document."""
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


# ---- Cutting: segments that replace those of which they are made.


class WrittenCut(NamedTuple):
    """The segments of a corpus after a cut, the audit record, and how much was cut."""

    added: tuple[SegmentEntry, ...]
    audit: FileRef
    n_documents: int
    n_tokens: int


def write_cut(
    transaction: Transaction,
    view: CorpusView,
    sources: Sequence[Any],
    segment_tokens: int,
    action: str,
    statement: str,
    reason: str,
) -> WrittenCut:
    """Write segments in place of those with a cut (at least one), and the audit record."""
    added: list[SegmentEntry] = []
    n_before = n_after = n_inserted = 0
    cut: list[tuple[Segment, int, dict[str, Any]]] = []
    gone: list[tuple[Segment, int, dict[str, Any]]] = []
    for entry, source in zip(view.entry.added, sources, strict=True):
        if source is None:
            added.append(entry)
            continue
        numbers = np.delete(np.arange(source.n_documents, dtype=np.uint32), source.gone)
        for group in groups_of([Part(source, numbers)], segment_tokens):
            name, file = transaction.create_file("segments", "segment")
            added.append(segment_entry(transaction, name, write_merged(file, group), 1))
            n_after += added[-1].n_tokens
        n_before += entry.n_tokens
        n_inserted += source.n_inserted
        cut += [(source, i, note) for i, note in source.notes()]
        gone += [
            (source, i, {"tokens_cut": source.document_length(i), "pieces": 0}) for i in source.gone.tolist()
        ]
    every = [*cut, *gone]
    n_cut = n_before - n_after + n_inserted
    removal = Removal(
        version=transaction.manifest.version + 1,
        created=now(),
        by=author(),
        corpus=view.entry.name,
        action=action,
        statement=statement,
        n_documents=len(every),
        n_tokens=n_cut,
        reason=reason,
        n_cut=len(cut),
    )
    details = ({**origin(next(source.metadata.rows([i]))), **note} for source, i, note in every)
    doc_ids = np.array([source.doc_id(i) for source, i, _ in every], dtype=np.int64)
    record = write_audit(transaction, removal, doc_ids, details)
    return WrittenCut(tuple(added), record, len(every), n_cut)


# ---- Keeping versions by name, and dropping those names.


def keep_version(store: Store, name: str, number: int | None, lock_timeout_s: float = 0.0) -> tuple[int, int]:
    """Keep a version, the newest one if `number` is None, under a name, until the name is dropped.

    The next version's manifest repeats that of the kept one, and so does each later one: its files belong
    to all of them. If the version already has that name, nothing is committed.

    Returns
    -------
    The number of the kept version, and that of the first version that keeps it.

    Raises
    ------
    BindError
        the version is no longer kept, or another one has the name
    InvalidArgument
        the name is empty, too long, or a number
    LockedError
        another writer holds the lock

    Cost: one manifest. Each later manifest grows by the size of the kept one: a few kilobytes.
    """
    check_version_name(name)
    with store.begin(lock_timeout_s) as transaction:
        newest = transaction.manifest
        version = newest if number is None else store.version(number)
        before = newest.kept.get(name)
        if before is not None and before.version != version.version:
            raise BindError(
                f"version {before.version} is kept as {name!r} already: choose another name, or DROP VERSION "
                f"{name!r} first"
            )
        if before is not None:
            return version.version, newest.version
        kept = {**newest.kept, name: _alone(version)}
        action = f"keep version {version.version} as {name}"
        done = transaction.commit(newest.corpora, action, kept, _dropped(store, version, newest))
        return version.version, done.version


def _dropped(store: Store, version: Manifest, newest: Manifest) -> dict[str, CorpusEntry]:
    """Return the last entries, by id, of the corpora of a version that are not in the newest one."""
    present = {corpus.id for corpus in newest.corpora.values()}
    gone = [corpus for corpus in version.corpora.values() if corpus.id not in present]
    return {corpus.id: last_seen(store, corpus).without_documents() for corpus in gone}


def last_seen(store: Store, then: CorpusEntry) -> CorpusEntry:
    """Return the newest entry of a corpus that is still known: with the ids and records of what came after.

    Cost: the manifests since a drop, unless a version with the corpus is kept by name.
    """
    newest = store.manifest
    earlier = (version.corpora for version in reversed(store.versions()))
    entries = (corpora.values() for corpora in chain((newest.corpora, newest.dropped), earlier))
    return next((entry for entry in chain.from_iterable(entries) if entry.id == then.id), then)


def drop_version(store: Store, name: str, lock_timeout_s: float = 0.0) -> tuple[int, int]:
    """Drop a version's name: the version itself is removed unless `keep_versions` still keeps it.

    Returns the number of the version that had the name, and that of the first version without it.
    Raises BindError if no version has that name, LockedError if another writer holds the lock.
    """
    with store.begin(lock_timeout_s) as transaction:
        newest = transaction.manifest
        number = newest.number_of(name)
        kept = {other: version for other, version in newest.kept.items() if other != name}
        done = transaction.commit(newest.corpora, f"drop the name {name} of version {number}", kept)
        return number, done.version


def check_version_name(name: str) -> None:
    """Raise InvalidArgument unless this is a valid name for a version."""
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidArgument(
            f"the name of a version must have 1 to {MAX_NAME_LENGTH} printable characters, not {name!r:.120}"
        )
    if name.isdecimal():
        raise InvalidArgument(f"{name!r} would be read as a version number; choose another name")


def _alone(version: Manifest) -> Manifest:
    """Return the version without the versions that it keeps by name."""
    return Manifest(version.version, version.created, version.action, version.corpora, version.by)


# ---- Restoring an earlier version of a corpus: a new version whose corpus is as it was then.


@dataclass(frozen=True)
class RestoreOutcome:
    """The outcome of a restoration: documents before; documents and tokens after, and the new version."""

    documents_before: int
    documents: int
    tokens: int
    version: int


def restore_corpus(store: Store, name: str, version: int, lock_timeout_s: float = 0.0) -> RestoreOutcome:
    """Restore a corpus to an earlier version, even if it has been dropped since.

    Other corpora stay unchanged.

    Ids of documents and tokens are never assigned twice: `next_doc_id` and the vocabulary stay as they are,
    or were before a drop. Audit records stay, too.

    Raises
    ------
    BindError
        the version is not kept, it lacks the corpus, or another corpus has the name now
    LockedError
        another writer holds the lock

    Cost: one manifest, and those since a drop; no file of the corpus is touched.
    """
    with store.begin(lock_timeout_s) as transaction:
        then = store.version(version).corpora.get(name)
        if then is None:
            raise BindError(f"no corpus {name!r} in version {version}")
        now = transaction.manifest.corpora.get(name)
        if now is not None and now.id != then.id:
            raise BindError(
                f"the corpus {name} of version {version} was dropped, and {name} is a new corpus now: drop "
                "that one, too, then restore the earlier one"
            )
        last = last_seen(store, then) if now is None else now
        # The newest vocabulary extends all earlier ones: the tokens of `then` have the same ids in it.
        then = replace(then, next_doc_id=last.next_doc_id, tokenizer=last.tokenizer, audits=last.audits)
        n_before = 0 if now is None else now.n_documents
        if then == now:
            return RestoreOutcome(n_before, then.n_documents, then.n_tokens, transaction.manifest.version)
        corpora = {**transaction.manifest.corpora, name: then}
        manifest = transaction.commit(corpora, f"restore {name} to version {version}")
        return RestoreOutcome(n_before, then.n_documents, then.n_tokens, manifest.version)
