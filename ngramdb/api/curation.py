"""Removing, restoring, compacting, adding and subtracting: what statements and verbs of Python share.

Each function is one commit, made under the writer's lock: a condition is bound and evaluated on the very
version that its documents are removed from, so nothing can come in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.api.catalog import SnapshotCatalog
from ngramdb.api.snapshot import Snapshot
from ngramdb.engine import combining, compaction, deletion, restoring
from ngramdb.engine.compaction import CompactionOutcome
from ngramdb.engine.restoring import RestoreOutcome
from ngramdb.engine.view import CorpusView, Segment
from ngramdb.executor.documents import matching
from ngramdb.planner.plan import Complement, CountDocuments, DocExpr, DocsWith, Gram
from ngramdb.planner.planner import optimize
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection

# A condition on documents, bound to a corpus at one version.
Bind = Callable[[SnapshotCatalog, CorpusView], DocExpr]

# Metadata fields that audit records take down: the document's own id, and where it came from.
OWN_ID_FIELDS = ("id", "doc_id", "uuid", "_id")
SOURCE_FIELDS = ("source", "url", "dataset", "path")


@dataclass(frozen=True)
class DeletionReport:
    """What DELETE did, or would have done.

    `documents` with so many `tokens` are no longer part of the corpus from `version` on. `view` is the corpus
    before, and `chosen` the documents per segment of it, so that RETURNING can show them.
    """

    documents: int
    tokens: int
    version: int
    view: CorpusView
    chosen: tuple[Docs, ...]

    def found(self) -> Iterator[tuple[Segment, Docs]]:
        """The removed documents: a segment and local numbers in it, in order."""
        yield from zip(self.view.segments, self.chosen, strict=True)


def delete(
    connection: Connection, name: str, bind: Bind, statement: str = "", reason: str = ""
) -> DeletionReport:
    """Runs DELETE DOCS. The audit record has the statement and the reason once, and of each document its own
    id, its source, and where which n-gram matched.
    """
    seen: dict[str, Any] = {}

    def choose(view: CorpusView) -> Sequence[Docs]:
        seen["view"], seen["where"], seen["chosen"] = _chosen(connection, view, bind)
        chosen: Sequence[Docs] = seen["chosen"]
        return chosen

    def details(view: CorpusView, chosen: Sequence[Docs]) -> Iterator[dict[str, Any]]:
        return notes(view, chosen, seen["where"])

    with connection._writing() as timeout_s:
        outcome = deletion.delete_documents(
            connection._store,
            name,
            choose,
            segment_tokens=segment_tokens(connection, name),
            statement=statement,
            reason=reason,
            details=details,
            auto_compact=connection.settings.auto_compact,
            lock_timeout_s=timeout_s,
        )
    return DeletionReport(
        outcome.documents, outcome.tokens, outcome.version, seen["view"], tuple(seen["chosen"])
    )


def restore(connection: Connection, name: str, version: int) -> RestoreOutcome:
    """Runs RESTORE CORPUS."""
    with connection._writing() as timeout_s:
        return restoring.restore_corpus(connection._store, name, version, timeout_s)


def compact(connection: Connection, name: str) -> CompactionOutcome:
    """Runs COMPACT for one corpus."""
    with connection._writing() as timeout_s:
        return compaction.compact(
            connection._store,
            name,
            segment_tokens=segment_tokens(connection, name),
            memory_limit=connection.settings.memory_limit,
            lock_timeout_s=timeout_s,
        )


def alter(
    connection: Connection, name: str, other: str, sign: int, version: int | None = None, statement: str = ""
) -> combining.CombiningOutcome:
    """Runs ALTER CORPUS … ADD (sign 1) or SUBTRACT (-1) CORPUS other, as of a version where one is given."""
    # Only what is removed is recorded with its statement.
    change = combining.add_corpus if sign > 0 else partial(combining.subtract_corpus, statement=statement)
    with connection._writing() as timeout_s:
        return change(
            connection._store,
            name,
            other,
            version=version,
            segment_tokens=segment_tokens(connection, name),
            auto_compact=connection.settings.auto_compact,
            lock_timeout_s=timeout_s,
        )


def segment_tokens(connection: Connection, name: str) -> int:
    """Most tokens in a segment of this corpus: its own option, else the setting."""
    entry = connection.snapshot.manifest.corpora.get(name)
    given: Any = None if entry is None else entry.options.get("segment_tokens")
    return connection.settings.segment_tokens if given is None else int(given)


def _chosen(connection: Connection, view: CorpusView, bind: Bind) -> tuple[CorpusView, DocExpr, list[Docs]]:
    """The documents of the view that meet the condition, per segment."""
    store = connection._store
    catalog = SnapshotCatalog(connection, Snapshot(store, store.snapshot().manifest))
    plan, _ = optimize(CountDocuments(view, bind(catalog, view)), connection.settings.disabled_rules)
    assert isinstance(plan, CountDocuments)
    return view, plan.where, [docs.numbers() for _, docs in matching(view, plan.where, plan.costs, None)]


# ---- what audit records tell of documents ---------------------------------------------------------------


def notes(view: CorpusView, chosen: Sequence[Docs], where: DocExpr) -> Iterator[dict[str, Any]]:
    """For each chosen document in order: its own id, source, and the first match of each n-gram."""
    grams = list(_grams(where))
    for i, docs in enumerate(chosen):
        if not len(docs):
            continue
        segment = view.segments[i]
        places = [(gram, first_positions(segment, gram, docs)) for gram in grams]
        for k, fields in enumerate(segment.metadata.rows(docs.tolist())):
            note = _origin(fields)
            matches = [
                {"ngram": gram.shown, "position": int(at[k])}
                for gram, at in places
                if at is not None and at[k] >= 0
            ]
            if matches:
                note["matches"] = matches
            yield note


def first_positions(segment: Segment, gram: Gram, docs: Docs) -> NDArray[np.int64] | None:
    """Where in each of these documents the n-gram first stands, -1 where it does not; None when it is
    nowhere.

    Cost: a pass over the n-gram's occurrences in the segment.
    """
    lo, hi = segment.index.find(gram.ids) if gram.known and len(gram) else (0, 0)
    if lo == hi:
        return None
    positions = segment.index.positions(lo, hi)
    owners = segment.index.documents_at(positions)
    starts, _ = segment.index.document_bounds(owners)
    places = np.searchsorted(docs, owners)
    inside = (places < len(docs)) & (docs[np.minimum(places, len(docs) - 1)] == owners)
    first = np.full(len(docs), np.iinfo(np.int64).max)
    np.minimum.at(first, places[inside], (positions - starts).astype(np.int64)[inside])
    first[first == np.iinfo(np.int64).max] = -1
    return first


def _grams(where: Any) -> Iterator[Gram]:
    """The n-grams that documents meet the condition by: those that no NOT stands above."""
    if isinstance(where, Complement):
        return
    if isinstance(where, DocsWith) and isinstance(where.gram, Gram):
        yield where.gram
    for child in where.children():
        yield from _grams(child)


def _origin(fields: dict[str, Any]) -> dict[str, Any]:
    note: dict[str, Any] = {}
    for key, candidates in (("id", OWN_ID_FIELDS), ("source", SOURCE_FIELDS)):
        for candidate in candidates:
            if isinstance(fields.get(candidate), (str, int, float)):
                note[key] = fields[candidate]
                break
    return note
