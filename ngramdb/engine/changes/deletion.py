"""Writing a removal: segments of just the removed documents, to be subtracted, and an audit record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from ngramdb.engine.changes.audit import Removal, origin, write_audit
from ngramdb.engine.changes.compaction import segment_entry
from ngramdb.engine.changes.keeping import last_seen
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import FileRef, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.engine.storage.versions import author, now
from ngramdb.errors import BindError
from ngramdb.segments.merging import write_removed
from ngramdb.segments.parts import Part
from ngramdb.types import Docs


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
    for group in _groups(parts, segment_tokens):
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


def _groups(parts: Sequence[Part], segment_tokens: int) -> Iterator[list[Part]]:
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
