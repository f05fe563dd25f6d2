"""Decontamination: finding and removing documents of a corpus that share too much with evaluation sets.

By default a document is contaminated by a set if at least a share `threshold` of its n-grams (with
`strict`: more than that) occur in it, by the rules of OVERLAP (`ngramdb.conditions.overlap_field`): exactly,
without a Bloom filter. A document without an n-gram in common with the set never is, whatever the threshold.
Under the other measures (`ngramdb.curation.measures`) it is contaminated if it has enough of an item.
N-grams are those of the corpus's own tokens; or, if letters' case or white space are ignored, of
words (the tokenizer `words`) of the folded texts.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.api.conversion import as_paths
from ngramdb.api.database import Database
from ngramdb.api.verbs.contamination import Criterion, EvaluationSet, Reading, Shares, evaluation_sets
from ngramdb.api.verbs.exporting import write_lines
from ngramdb.api.verbs.item_contamination import (
    ItemFindings,
    find_items,
    is_item_report,
    item_rows,
    spans_by_document,
    write_report,
)
from ngramdb.engine.changes.audit import origin
from ngramdb.engine.corpus.view import CorpusView, Segment
from ngramdb.errors import InvalidArgument
from ngramdb.formats import written_format
from ngramdb.planner.parameters import listing, nearest
from ngramdb.registries import contamination_measure
from ngramdb.segments.metadata_columns import split_path
from ngramdb.types import Docs

Path = str | os.PathLike[str]

DEFAULT_SOURCE_FIELD = "source"
# Most spans of a document in an audit record.
NOTED_SPANS = 3


@dataclass(frozen=True)
class Contaminated:
    """A document that shares too much with an evaluation set.

    `share` of its n-grams are in the set, or it is the largest value of another measure. `spans` are runs
    of them, in tokens of the document, each with its text in the document and the first item of the set
    that has it (counted from 0, and its own id if any). If case or white space are folded, tokens are words
    of the folded text, and the text is the folded one.
    """

    doc_id: int
    id: Any
    source: Any
    against: str
    share: float
    spans: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class SetOverlap:
    """The overlap of a corpus with one evaluation set, whatever the threshold.

    `items_found` of its `items` have an n-gram that a document of the corpus has; `documents` of the corpus
    have such an n-gram, and `largest_share` is the largest share of any of them (0 if there are none).
    `items_short` have fewer than n tokens, alone or as documents of the corpus contain them, and so lack an
    n-gram: only documents that are as short, which are compared as a whole, can match them; a smaller n
    finds more.
    """

    against: str
    items: int
    items_found: int
    documents: int
    largest_share: float
    items_short: int = 0


@dataclass(frozen=True)
class Where:
    """The documents that are compared: those that meet a condition, or all; `told` is for audit records."""

    choose: Callable[[CorpusView], list[Docs]] | None = None
    told: str = ""

    def of(self, view: CorpusView) -> list[Docs]:
        """Return these documents of each segment of a version, ascending."""
        if self.choose is not None:
            return self.choose(view)
        return [view.kept(i) for i in range(len(view.segments))]


@dataclass
class DecontaminationReport:
    """The contaminated documents found and removed.

    `table` has a row for each evaluation set and source: documents, how many of them are contaminated, their
    share. `overlaps` has an entry for each set: its overlap with the corpus, even below the threshold.
    `version` is the version of the database without the contaminated documents, or the current one after a
    dry run.
    """

    documents: int
    contaminated: int
    removed: int
    version: int
    table: list[tuple[str, Any, int, int, float]] = field(default_factory=list)
    overlaps: list[SetOverlap] = field(default_factory=list)


@dataclass
class _Findings:
    """The contaminated documents of one version of the corpus."""

    documents: int = 0
    contaminated: list[Contaminated] = field(default_factory=list)
    table: list[tuple[str, Any, int, int, float]] = field(default_factory=list)
    overlaps: list[SetOverlap] = field(default_factory=list)

    def reported(self, contaminated: int, removed: int, version: int) -> DecontaminationReport:
        """Return the report, with how many documents were to be removed and how many were removed."""
        return DecontaminationReport(
            self.documents, contaminated, removed, version, self.table, self.overlaps
        )


def decontaminate(
    database: Database,
    name: str,
    against: Path | Sequence[Path],
    criterion: Criterion,
    *,
    reading: Reading,
    where: Where,
    source_field: str | None,
    dry_run: bool,
    report: Path | None,
) -> DecontaminationReport:
    """Remove the contaminated documents of a corpus: `Corpus.decontaminate`."""
    paths = as_paths(against, "an evaluation set must be a file, or several")
    if not paths:
        raise InvalidArgument("no evaluation set is given")
    view = database.snapshot.view(name)
    by_items = report is not None and is_item_report(os.fspath(report))
    if report is not None and not by_items:
        written_format(os.fspath(report), among=("jsonl",))
    source = _source_path(view, source_field)
    sets = evaluation_sets(view, paths, reading, criterion)
    if report is not None:
        _refuse_inputs(os.fspath(report), sets)
    if dry_run:
        found, chosen = _find(view, name, sets, where.of(view), source, report)
        return found.reported(sum(map(len, chosen)), 0, database.snapshot.version)
    names = ", ".join(one.name for one in sets)
    with database.change(name, f"decontaminate {name}") as change:
        found, chosen = _find(change.view, name, sets, where.of(change.view), source, report)
        notes = list(_notes(change.view, chosen, found.contaminated, not criterion.folds))
        statement = f"decontaminate {name} against {names}: {criterion}{reading}{where.told}"
        change.remove(chosen, notes, statement=statement)
        outcome = change.commit()
    return found.reported(outcome.documents, outcome.documents, outcome.version)


def listed_items(
    database: Database,
    name: str,
    path: str,
    criterion: Criterion,
    reading: Reading,
    where: Where,
    statement: str | None,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a row per item of a set of which a document has an n-gram, and the totals: DECONTAMINATE.

    `statement` is None to change nothing; otherwise contaminated documents are removed, and it is recorded.
    The totals are `items`, `items_short`, and `contaminated_documents`, or `removed_documents`,
    `removed_tokens` and `version`.
    """
    view = database.snapshot.view(name)
    sets = evaluation_sets(view, [path], reading, criterion)
    if statement is None:
        rows, _, chosen = _listed(view, name, sets, where)
        found = {"contaminated_documents": sum(map(len, chosen))}
    else:
        with database.change(name, f"decontaminate {name}") as change:
            rows, contaminated, chosen = _listed(change.view, name, sets, where)
            notes = list(_notes(change.view, chosen, contaminated, not criterion.folds))
            change.remove(chosen, notes, statement=statement)
            done = change.commit()
        found = {
            "removed_documents": done.documents,
            "removed_tokens": done.tokens,
            "version": done.version,
        }
    short = sum(one.n_short(view) for one in sets)
    return rows, {"items": sum(one.items.n_documents for one in sets), "items_short": short, **found}


def contaminated(
    view: CorpusView, path: str, criterion: Criterion, reading: Reading, where: Where
) -> list[Docs]:
    """Return the documents that DECONTAMINATE … DELETE would remove from a version, of each segment."""
    sets = evaluation_sets(view, [path], reading, criterion)
    return _find(view, view.entry.name, sets, where.of(view), DEFAULT_SOURCE_FIELD, None)[1]


def _listed(
    view: CorpusView, name: str, sets: Sequence[EvaluationSet], where: Where
) -> tuple[list[dict[str, Any]], list[Contaminated], list[Docs]]:
    """Return the rows of items, and the contaminated documents with those of each segment."""
    findings: list[ItemFindings] = []
    found, chosen = _find(view, name, sets, where.of(view), DEFAULT_SOURCE_FIELD, None, findings)
    return [row for one in findings for row in item_rows(view, one)], found.contaminated, chosen


def _refuse_inputs(report: str, sets: Sequence[EvaluationSet]) -> None:
    """Raise InvalidArgument if the report would overwrite a file of the evaluation sets."""
    for path in (path for one in sets for path in one.files):
        with contextlib.suppress(OSError):
            if os.path.samefile(path, report):
                raise InvalidArgument(f"{report}: is one of the evaluation sets: write the report elsewhere")


def _source_path(view: CorpusView, asked: str | None) -> str:
    """Return the path of the field with the source of documents; any default if none was requested.

    Raises
    ------
    InvalidArgument
        No document has the requested field; the message names the nearest one.
    """
    if asked is None:
        return DEFAULT_SOURCE_FIELD
    known = {path: None for segment in view.segments for path in segment.metadata.fields()}
    if (
        not view.n_documents
        or asked in known
        or any(segment.metadata.rest_has(asked) for segment in view.segments)
    ):
        return asked
    hint = nearest(asked, known)
    more = f"did you mean {hint}?" if hint is not None else f"known: {listing(known) or 'none'}"
    raise InvalidArgument(f"no document has a field {asked!r}; {more}")


def _find(
    view: CorpusView,
    name: str,
    sets: Sequence[EvaluationSet],
    among: Sequence[Docs],
    source_field: str,
    report: Path | None,
    items: list[ItemFindings] | None = None,
) -> tuple[_Findings, list[Docs]]:
    """Return the findings among some documents, and the contaminated ones, of each segment of a version.

    If a report is requested, write it as well. The findings of items are added to `items`, if given.
    """
    found = _Findings(documents=sum(map(len, among)))
    chosen: list[Docs] = [np.empty(0, dtype=np.uint32) for _ in view.segments]
    by_items = report is not None and is_item_report(os.fspath(report))
    by_document = not contamination_measure(sets[0].by.by).of_items
    findings = [] if items is None else items
    for one in sets:
        if by_items or not by_document or items is not None:
            findings.append(find_items(view, one, among))
        if not by_document:
            hits = _found_by_items(view, findings[-1], found, among, source_field)
            chosen = [np.union1d(docs, more) for docs, (more, _) in zip(chosen, hits, strict=True)]
            continue
        overlapping = [one.overlapping(view, i, docs) for i, docs in enumerate(among)]
        found.overlaps.append(_overlap(view, one, overlapping))
        hits = [(docs[one.by.holds(shares)], shares[one.by.holds(shares)]) for docs, shares in overlapping]
        found.table.extend(_table(view, one.name, hits, among, source_field))
        for i, (docs, shares) in enumerate(hits):
            spans = one.spans(view, view.segments[i], docs)
            found.contaminated.extend(_explained(view, i, docs, shares, one, source_field, spans))
            chosen[i] = np.union1d(chosen[i], docs)
    if report is not None and by_items:
        write_report(os.fspath(report), view, name, found.documents, findings, chosen)
    elif report is not None:
        write_lines(os.fspath(report), (_line(one) for one in found.contaminated))
    return found, chosen


def _found_by_items(
    view: CorpusView, items: ItemFindings, found: _Findings, among: Sequence[Docs], source_field: str
) -> list[tuple[Docs, Shares]]:
    """Add what items were found to the findings; return the contaminated documents of each segment."""
    hits = [items.contaminated_docs(i) for i in range(len(view.segments))]
    found.overlaps.append(
        SetOverlap(
            against=items.one.name,
            items=len(items.lengths),
            items_found=len(items.found),
            documents=items.n_documents(),
            largest_share=float(max((shares.max(initial=0.0) for shares in items.shares), default=0.0)),
            items_short=items.n_short,
        )
    )
    found.table.extend(_table(view, items.one.name, hits, among, source_field))
    for i, (docs, shares) in enumerate(hits):
        spans = spans_by_document(items, i, docs)
        found.contaminated.extend(_explained(view, i, docs, shares, items.one, source_field, spans))
    return hits


def _overlap(view: CorpusView, one: EvaluationSet, overlapping: list[tuple[Docs, Shares]]) -> SetOverlap:
    return SetOverlap(
        against=one.name,
        items=one.items.n_documents,
        items_found=one.n_found(view, [docs for docs, _ in overlapping]),
        documents=sum(len(docs) for docs, _ in overlapping),
        largest_share=float(max((shares.max() for _, shares in overlapping if len(shares)), default=0.0)),
        items_short=one.n_short(view),
    )


# ---- the report ----------------------------------------------------------------------------------------


def _explained(
    view: CorpusView,
    i: int,
    docs: Docs,
    shares: Shares,
    against: EvaluationSet,
    source_field: str,
    spans: Iterator[Iterable[dict[str, Any]]],
) -> Iterator[Contaminated]:
    """Yield the details of contaminated documents."""
    segment = view.segments[i]
    for number, share, fields, rows in zip(
        docs.tolist(),
        shares.tolist(),
        segment.metadata.rows(docs.tolist()),
        spans,
        strict=True,
    ):
        interrupts.check()
        own_id = origin(fields).get("id")
        source = _value(fields, source_field)
        yield Contaminated(segment.doc_id(number), own_id, source, against.name, share, tuple(rows))


def _table(
    view: CorpusView,
    against: str,
    hits: Sequence[tuple[Docs, Any]],
    among: Sequence[Docs],
    source_field: str,
) -> Iterator[tuple[str, Any, int, int, float]]:
    """Yield documents that were compared, and contaminated ones, by source."""
    every: Counter[Any] = Counter()
    hit: Counter[Any] = Counter()
    for i, segment in enumerate(view.segments):
        values = _sources(segment, source_field)
        every.update(values[k] for k in among[i].tolist())
        hit.update(values[k] for k in hits[i][0].tolist())
    for source in sorted(every, key=lambda value: (value is None, str(value))):
        yield against, source, every[source], hit[source], hit[source] / every[source]


def _sources(segment: Segment, source_field: str) -> list[Any]:
    if source_field in segment.metadata.fields():
        values: list[Any] = segment.metadata.column(source_field).to_pylist()
    elif segment.metadata.rest_has(source_field):
        values = [_value(row, source_field) for row in segment.metadata.rows(range(segment.n_documents))]
    else:
        return [None] * segment.n_documents
    return [value if isinstance(value, (str, int, float)) else None for value in values]


def _value(fields: Any, path: str) -> Any:
    """Return the value at a path in a document's metadata, or None."""
    for key in split_path(path):
        fields = fields.get(key) if isinstance(fields, dict) else None
    return fields


def _notes(
    view: CorpusView, chosen: Sequence[Docs], found: Iterable[Contaminated], are_tokens: bool
) -> Iterator[dict[str, Any]]:
    """Yield the audit records, document by document; words of folded texts lack a position in the tokens."""
    by_id: dict[int, list[Contaminated]] = {}
    for one in found:
        by_id.setdefault(one.doc_id, []).append(one)
    for i, docs in enumerate(chosen):
        for doc_id in view.segments[i].doc_ids(docs).tolist():
            first = by_id[doc_id][0]
            note: dict[str, Any] = {"source": first.source}
            note["reason"] = "; ".join(f"{one.share:.3f} in {one.against}" for one in by_id[doc_id])
            matches = [
                {"ngram": span["text"], **({"position": span["start"]} if are_tokens else {})}
                for span in first.spans[:NOTED_SPANS]
            ]
            yield {key: value for key, value in {**note, "matches": matches}.items() if value is not None}


def _line(one: Contaminated) -> bytes:
    return json.dumps(vars(one), ensure_ascii=False).encode("utf-8", "surrogatepass")
