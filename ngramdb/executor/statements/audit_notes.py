"""What audit records note of removed documents: their own ids, where they came from, what matched where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.planner.plan import Complement, DocExpr, DocsWith, Gram
from ngramdb.planner.source import Corpus, Segment
from ngramdb.types import Docs

# Metadata fields with the document's own id, and with where it came from.
OWN_ID_FIELDS = ("id", "doc_id", "uuid", "_id")
SOURCE_FIELDS = ("source", "url", "dataset", "path")


def notes(view: Corpus, chosen: Sequence[Docs], where: DocExpr) -> Iterator[dict[str, Any]]:
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
    """Where in each of these documents the n-gram first stands, -1 where it does not.

    None when it is nowhere.

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
