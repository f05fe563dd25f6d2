"""What audit records note of removed documents: their own ids, where they came from, what matched where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.docset import DocSet
from ngramdb.executor.questions.counting import evaluator_of
from ngramdb.planner.plan import (
    Complement,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsWith,
    Nearby,
    NearTo,
    Node,
    OccurrencesOf,
    Occurring,
)
from ngramdb.planner.source import Corpus
from ngramdb.types import Docs

# Metadata fields with the document's own id, and with where it came from.
OWN_ID_FIELDS = ("id", "doc_id", "uuid", "_id")
SOURCE_FIELDS = ("source", "url", "dataset", "path")


def notes(
    view: Corpus, chosen: Sequence[Docs], where: DocExpr, costs: Costs | None
) -> Iterator[dict[str, Any]]:
    """For each chosen document in order: its own id, source, and the first match of each pattern."""
    patterns = list(_patterns(where))
    for i, docs in enumerate(chosen):
        if not len(docs):
            continue
        segment = view.segments[i]
        places = first_places(view, i, docs, patterns, costs)
        for k, fields in enumerate(segment.metadata.rows(docs.tolist())):
            note = _origin(fields)
            matches = [
                {"ngram": shown, "position": int(at[k])}
                for (shown, _), at in zip(patterns, places, strict=True)
                if at[k] >= 0
            ]
            if matches:
                note["matches"] = matches
            yield note


def first_places(
    view: Corpus, i: int, docs: Docs, patterns: Sequence[tuple[str, Occurring]], costs: Costs | None
) -> list[NDArray[np.int64]]:
    """For each pattern the token of each of these documents where it first stands, -1 where it does not.

    Cost: that of finding the patterns' occurrences in the documents.
    """
    if not patterns:
        return []
    expressions = evaluator_of(view, i, costs, None)[0].expressions
    index = view.segments[i].index
    starts, _ = index.document_bounds(docs)
    among = DocSet(docs, view.segments[i].n_documents)
    found = []
    for _, what in patterns:
        positions = expressions.occurrences(what, among).starts
        owners, first = np.unique(index.documents_at(positions), return_index=True)
        at = np.full(len(docs), -1, dtype=np.int64)
        places = np.searchsorted(docs, owners)
        at[places] = positions[first].astype(np.int64) - starts[places]
        found.append(at)
    return found


def _patterns(where: Node) -> Iterator[tuple[str, Occurring]]:
    """What documents meet the condition by, with no NOT above: as it is written, and its occurrences."""
    if isinstance(where, Complement):
        return
    if isinstance(where, DocsWith):
        if len(where.gram):  # the empty n-gram is everywhere
            yield where.gram.shown, OccurrencesOf(where.gram)
    elif isinstance(where, DocsMatching) or (isinstance(where, CountTest) and not where.holds(0)):
        yield where.pattern.shown, OccurrencesOf(where.pattern)
    elif isinstance(where, Nearby):
        for what in where.operands:
            others = tuple(other for other in where.operands if other is not what)
            for shown, one in _patterns(what):
                yield shown, NearTo(one, others, (), where.tokens)
    elif isinstance(where, NearTo):
        for shown, one in _patterns(where.what):
            yield shown, replace(where, what=one)
    elif isinstance(where, OccurrencesOf):
        yield where.pattern.shown, where
    else:
        for child in where.children():
            yield from _patterns(child)


def _origin(fields: dict[str, Any]) -> dict[str, Any]:
    note: dict[str, Any] = {}
    for key, candidates in (("id", OWN_ID_FIELDS), ("source", SOURCE_FIELDS)):
        for candidate in candidates:
            if isinstance(fields.get(candidate), (str, int, float)):
                note[key] = fields[candidate]
                break
    return note
