"""Audit records: what was removed from a corpus, when, by whom, by which statement, and why.

Each removal writes its own file (kind AUDT; FORMAT.md, "Audit"); small files are joined now and then, so
that a thousand removals leave about ten. Records outlive compaction: they belong to the corpus, not to its
segments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.engine.changes.sizing import next_append_merge
from ngramdb.engine.storage.manifest import MAX_TIME, FileRef
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.errors import CorruptionError
from ngramdb.segments.container import Container, ContainerWriter
from ngramdb.segments.text import TextBuilder, TextReader
from ngramdb.strict_reading import JsonObject, parse_json

KIND = "AUDT"
# Metadata fields with the own id and the source of a document; the first one that has a value counts.
_ORIGIN_FIELDS = {"id": ("id", "doc_id", "uuid", "_id"), "source": ("source", "url", "dataset", "path")}


@dataclass(frozen=True, repr=False)
class Removal:
    """One removal.

    In which version, when (seconds since 1970, UTC), by whom (user@host), how, how much, and the reason,
    if one was given. The first `n_cut` of its documents were not removed, but lost some of their tokens.
    """

    version: int
    created: float
    by: str
    corpus: str
    action: str
    statement: str
    n_documents: int
    n_tokens: int
    reason: str = ""
    n_cut: int = 0

    def __repr__(self) -> str:
        statement = self.statement if len(self.statement) <= 60 else self.statement[:59] + "…"
        return (
            f"Removal(version={self.version}, corpus={self.corpus!r}, n_documents={self.n_documents:,}, "
            f"by={self.by!r}, statement={statement!r})"
        )

    def fields(self) -> dict[str, Any]:
        """Return the fields that are stored and exported, without an empty reason and a `n_cut` of 0."""
        found = asdict(self)
        for name in ("reason", "n_cut"):
            if not found[name]:
                del found[name]
        return found


@dataclass(frozen=True)
class RemovedDocument:
    """One removed document.

    `details` holds the document's own id and source, and what the statement recorded: a reason, the value
    of the key, what matched and where.
    """

    removal: Removal
    doc_id: int
    details: dict[str, Any]


def origin(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the own `id` and the `source` of a document with these metadata, as far as it has them."""
    found = {
        key: next((value for name in names if (value := fields.get(name)) is not None), None)
        for key, names in _ORIGIN_FIELDS.items()
    }
    return {key: value for key, value in found.items() if value is not None}


def write_audit(
    transaction: Transaction,
    removal: Removal,
    doc_ids: NDArray[np.int64],
    details: Iterable[dict[str, Any]],
) -> FileRef:
    """Write one removal to a new file. `details` has one object of JSON values per document."""
    notes = (_encoded(one) if one else None for one in details)
    return _write(transaction, [removal.fields()], doc_ids.astype(np.uint64), notes)


def joined(store: Store, transaction: Transaction, audits: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
    """Return the same records, in fewer files if enough small ones have accumulated."""
    start = next_append_merge([ref.size for ref in audits])
    if start is None:
        return audits
    files = [_AuditFile(store.read(ref, KIND)) for ref in audits[start:]]
    events = [event for file in files for event in file.events]
    doc_ids = np.concatenate([file.doc_ids for file in files])
    notes = [file.note(i) for file in files for i in range(len(file.doc_ids))]
    return (*audits[:start], _write(transaction, events, doc_ids, notes))


def removals(store: Store, audits: Sequence[FileRef]) -> Iterator[Removal]:
    """Yield all removals, oldest first. Raises CorruptionError."""
    for ref in audits:
        yield from _AuditFile(store.read(ref, KIND)).removals()


def removals_restored(
    store: Store, audits: Sequence[FileRef], n_kept_of: Callable[[NDArray[np.int64]], int]
) -> Iterator[tuple[Removal, int]]:
    """Yield all removals, oldest first, each with how many of its documents are part of the corpus again.

    n_kept_of : counts how many of the given documents (ascending ids) are part of the corpus

    Raises CorruptionError. Cost: the ids of all documents that were ever removed, looked up in each segment.
    """
    for ref in audits:
        file = _AuditFile(store.read(ref, KIND))
        start = 0
        for removal in file.removals():
            ids = file.doc_ids[start + removal.n_cut : start + removal.n_documents].astype(np.int64)
            yield removal, n_kept_of(np.unique(ids))
            start += removal.n_documents


def removed_documents(store: Store, audits: Sequence[FileRef]) -> Iterator[RemovedDocument]:
    """Yield every removed document, oldest removal first. Raises CorruptionError."""
    for ref in audits:
        yield from _AuditFile(store.read(ref, KIND)).documents()


def check_audits(store: Store, audits: Sequence[FileRef]) -> None:
    """Read every record. Raises CorruptionError."""
    for _ in removed_documents(store, audits):
        pass


class _AuditFile:
    """An opened audit file."""

    def __init__(self, container: Container) -> None:
        self._path = container.path
        self.doc_ids: NDArray[np.uint64] = container.array("doc_ids")
        if self.doc_ids.dtype != np.uint64:
            raise self._damaged(f"its ids are of type {self.doc_ids.dtype}")
        self._notes = TextReader(container, len(self.doc_ids), container.path)
        try:
            self.events = parse_json(bytes(container.section("events")))
        except ValueError as error:
            raise self._damaged(str(error)) from error
        if not isinstance(self.events, list):
            raise self._damaged(f"its events are {self.events!r:.80}, not an array")
        n = sum(removal.n_documents for removal in self.removals())
        if n != len(self.doc_ids):
            raise self._damaged(f"{n} documents in its removals, and {len(self.doc_ids)} ids")

    def removals(self) -> Iterator[Removal]:
        for i, event in enumerate(self.events):
            yield _read_removal(JsonObject(event, self._path, f"invalid audit record: events[{i}]"))

    def documents(self) -> Iterator[RemovedDocument]:
        i = 0
        for removal in self.removals():
            for doc_id in self.doc_ids[i : i + removal.n_documents].tolist():
                note = self.note(i)
                yield RemovedDocument(removal, doc_id, self._details(note))
                i += 1

    def note(self, i: int) -> bytes | None:
        return self._notes.text(i)

    def _details(self, note: bytes | None) -> dict[str, Any]:
        try:
            details = {} if note is None else parse_json(note)
        except ValueError as error:
            raise self._damaged(str(error)) from error
        if not isinstance(details, dict):
            raise self._damaged(f"a document's details are {details!r:.80}")
        return details

    def _damaged(self, why: str) -> CorruptionError:
        return CorruptionError(f"{self._path}: invalid audit record: {why}", path=self._path)


def _read_removal(reader: JsonObject) -> Removal:
    reader.only(field.name for field in fields(Removal))
    return Removal(
        version=reader.integer("version"),
        created=reader.number("created", MAX_TIME),
        by=reader.text("by", empty=True),
        corpus=reader.text("corpus"),
        action=reader.text("action", empty=True),
        statement=reader.text("statement", empty=True),
        n_documents=reader.integer("n_documents"),
        n_tokens=reader.integer("n_tokens"),
        reason=reader.text("reason", empty=True) if reader.has("reason") else "",
        n_cut=reader.integer("n_cut") if reader.has("n_cut") else 0,
    )


def _write(
    transaction: Transaction,
    events: Sequence[dict[str, Any]],
    doc_ids: NDArray[np.uint64],
    notes: Iterable[bytes | None],
) -> FileRef:
    name, file = transaction.create_file("audits", "audit")
    writer = ContainerWriter(file, KIND)
    writer.add("events", _encoded(list(events)))
    writer.add("doc_ids", doc_ids)
    builder = TextBuilder()
    for note in notes:
        builder.add(note)
    for section, (data, dtype) in builder.sections().items():
        writer.add(section, data, dtype)
    info = writer.finish({"n_events": len(events), "n_documents": len(doc_ids)})
    return FileRef(name, info.size, info.crc)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )
