"""The items of evaluation sets that a corpus contains: how much of each, in which documents; the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.api.verbs.contamination import FOLDS, Criterion, EvaluationSet
from ngramdb.api.verbs.exporting import write_text
from ngramdb.api.verbs.item_page import page_of
from ngramdb.api.verbs.item_parts import ItemParts
from ngramdb.curation.items import Pairs, evidence_of, item_lengths, n_least, pairs_of
from ngramdb.curation.measures import VALUES, Shares
from ngramdb.engine.changes.audit import origin
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.formats import endings_of
from ngramdb.types import Docs

Ints = NDArray[np.int64]

# Endings of a report by items; other names are of JSON lines by document.
REPORTS = (".json", ".html")
# Documents that the report lists of an item, those with most of it.
LISTED = 10


def is_item_report(path: str) -> bool:
    """Return whether a report of this name is by items."""
    return endings_of(path)[0] in REPORTS


@dataclass
class ItemFindings:
    """The parts of a set's items that a corpus has.

    shares : the largest value of the measure of each document, per segment
    pairs : of each item the documents with most of it, and a pair for each contaminated document; per
        segment, with the value of each pair
    documents, contaminated : of each item, how many documents have any and enough of it
    covered, longest, values : of each item, tokens in n-grams that occur anywhere; the longest piece in one
        document; the measure's value over the whole corpus (of `decon`, the largest value of a document)
    """

    one: EvaluationSet
    lengths: Ints
    shares: list[Shares] = field(default_factory=list)
    pairs: list[tuple[Pairs, Shares]] = field(default_factory=list)
    documents: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    contaminated: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    covered: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    longest: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: Shares = field(default_factory=lambda: np.empty(0))

    @property
    def found(self) -> Ints:
        """The items of which anything occurs, those with most first."""
        some = np.flatnonzero(self.covered)
        order = np.lexsort((some, -self.covered[some] / self.lengths[some], -self.values[some]))
        return some[order]

    @property
    def n_short(self) -> int:
        """Items too short to be compared."""
        return int((self.lengths < n_least(self.one.by.n)).sum())

    def contaminated_docs(self, i: int) -> tuple[Docs, Shares]:
        """Return the documents of segment `i` with too much of an item, and the largest value of each."""
        shares = self.shares[i]
        docs = np.flatnonzero(self.one.by.holds(shares))
        return docs.astype(np.uint32), shares[docs]

    def n_documents(self) -> int:
        """Return how many documents have any n-gram of an item."""
        return sum(int((shares > 0).sum()) for shares in self.shares)


def find_items(view: CorpusView, one: EvaluationSet, among: Sequence[Docs]) -> ItemFindings:
    """Search the items of a set in some documents of each segment.

    Under a measure of documents, values are shares of items' tokens.
    """
    lengths = item_lengths(one.items)
    k, n = len(lengths), one.by.n
    value = VALUES[one.by.by]
    parts = ItemParts(view, one) if one.by.by == "decon" else None
    best = np.zeros(k)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = ItemFindings(one, lengths)
    found.documents, found.contaminated, found.longest = np.zeros((3, k), dtype=np.int64)
    edges = np.zeros(int(offsets[-1]) + 1, dtype=np.int64)
    tokens = np.zeros(int(offsets[-1]) + 1, dtype=np.int64)
    for i, segment in enumerate(view.segments):
        shares = np.zeros(segment.n_documents)
        kept: list[tuple[Pairs, Shares]] = []
        for matches in one.matches(view, i, among[i]):
            interrupts.check()
            begins = offsets[matches.items] + matches.starts
            ends = np.maximum(matches.stops - n + 1, matches.starts + 1) + offsets[matches.items]
            _count(edges, begins, ends)
            _count(tokens, begins, offsets[matches.items] + matches.stops)
            pairs = pairs_of(matches, n)
            if parts is None:
                values = value(pairs.evidence(lengths, n))
            else:
                values = parts.values(segment, matches, pairs)
                np.maximum.at(best, pairs.items, values)
            holds = one.by.holds(values)
            found.documents += np.bincount(pairs.items, minlength=k)
            found.contaminated += np.bincount(pairs.items[holds], minlength=k)
            np.maximum.at(found.longest, pairs.items, pairs.longest)
            fresh = holds & ~one.by.holds(shares[pairs.docs])
            np.maximum.at(shares, pairs.docs, values)
            chosen = _most(pairs, values) | _first(pairs.docs, fresh)
            kept.append((pairs.chosen(chosen), values[chosen]))
        found.shares.append(shares)
        every = Pairs.joined([pairs for pairs, _ in kept])
        found.pairs.append((every, np.concatenate([np.empty(0), *(values for _, values in kept)])))
    _whole(found, offsets, np.cumsum(edges[:-1]) > 0, np.cumsum(tokens[:-1]) > 0)
    seen = evidence_of(lengths, found.covered, found.values.astype(np.int64), found.longest, n)
    found.values = value(seen) if parts is None else best
    return found


def _whole(found: ItemFindings, offsets: Ints, begins: NDArray[np.bool_], tokens: NDArray[np.bool_]) -> None:
    """Sum up, for each item, what all documents have, and what is too frequent to be listed."""
    n = found.one.by.n
    frequent = found.one.marked() & ~begins
    if frequent.any():
        starts = np.flatnonzero(frequent)
        owners = np.searchsorted(offsets, starts, side="right") - 1
        more = np.zeros(len(tokens) + 1, dtype=np.int64)
        _count(more, starts, np.minimum(starts + n, offsets[owners + 1]))
        tokens = tokens | (np.cumsum(more[:-1]) > 0)
        begins = begins | frequent
        sizes = np.minimum(n, found.lengths[owners])
        np.maximum.at(found.longest, owners, sizes)
    found.covered = _sums(tokens, offsets)
    found.values = _sums(begins, offsets).astype(np.float64)


def _sums(marks: NDArray[np.bool_], offsets: Ints) -> Ints:
    sums = np.concatenate([[0], np.cumsum(marks)]).astype(np.int64)
    per_item: Ints = sums[offsets[1:]] - sums[offsets[:-1]]
    return per_item


def _count(edges: Ints, starts: Ints, stops: Ints) -> None:
    """Add ranges to an array whose cumulative sum is the number of ranges around each place."""
    np.add.at(edges, starts, 1)
    np.add.at(edges, stops, -1)


def _most(pairs: Pairs, values: Shares) -> NDArray[np.bool_]:
    """Choose, of each item, the LISTED pairs with the largest values."""
    order = np.lexsort((pairs.docs, -values, pairs.items))
    items = pairs.items[order]
    ranks = np.arange(len(items)) - np.searchsorted(items, items)
    chosen = np.zeros(len(items), dtype=np.bool_)
    chosen[order[ranks < LISTED]] = True
    return chosen


def _first(docs: Ints, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Choose a pair of each document that has one among these."""
    places = np.flatnonzero(among)
    chosen = np.zeros(len(docs), dtype=np.bool_)
    chosen[places[np.unique(docs[places], return_index=True)[1]]] = True
    return chosen


def spans_by_document(found: ItemFindings, i: int, docs: Docs) -> Iterator[list[dict[str, Any]]]:
    """Yield, for each of these documents of segment `i`, the longest piece of each item that is listed."""
    pairs, values = found.pairs[i]
    order = np.lexsort((pairs.items, -values, pairs.docs))
    bounds = np.searchsorted(pairs.docs[order], np.stack([docs, docs + 1]).astype(np.int64))
    for first, last in bounds.T.tolist():
        yield [_span(found.one, pairs, k) for k in order[first:last].tolist()]


def _span(one: EvaluationSet, pairs: Pairs, k: int) -> dict[str, Any]:
    item, start, place = int(pairs.items[k]), int(pairs.starts[k]), int(pairs.places[k])
    size = int(pairs.longest[k])
    return {
        "start": place,
        "stop": place + size,
        "text": one.text(item, start, start + size),
        "item": item,
        "item_id": one.item_id(item),
    }


# ---- the report


def write_report(
    path: str,
    view: CorpusView,
    name: str,
    n_documents: int,
    findings: Sequence[ItemFindings],
    chosen: Sequence[Docs],
) -> None:
    """Write the report, as JSON or as a page of HTML that needs no other file.

    `n_documents` were compared; those in `chosen` of each segment are contaminated.

    Raises
    ------
    ExecutionError
        The file cannot be written.
    """
    report: dict[str, Any] = {
        "corpus": name,
        "corpus_documents": n_documents,
        "contaminated_documents": sum(map(len, chosen)),
        "criterion": _criterion(findings[0].one.by),
        "sets": [_set(one) for one in findings],
        "items": [row for one in findings for row in item_rows(view, one)],
    }
    report["documents"] = _documents(view, findings, chosen)
    if endings_of(path)[0] == ".json":
        text = json.dumps(report, ensure_ascii=False, indent=1) + "\n"
    else:
        text = page_of(report)
    write_text(path, lambda file: file.write(text.encode("utf-8", "replace").decode()))


def _criterion(by: Criterion) -> dict[str, Any]:
    return {
        "by": by.by,
        "n": by.n,
        "threshold": by.threshold,
        "strict": by.strict,
        **{name: getattr(by, name) for name in FOLDS},
    }


def _set(found: ItemFindings) -> dict[str, Any]:
    return {
        "against": found.one.name,
        "items": len(found.lengths),
        "items_found": len(found.found),
        "items_contaminated": int((found.contaminated > 0).sum()),
        "items_too_short": found.n_short,
        "items_with_frequent_ngrams": len(found.one.frequent),
        "documents": found.n_documents(),
    }


def item_rows(view: CorpusView, found: ItemFindings) -> Iterator[dict[str, Any]]:
    """Yield a row for each item of which anything occurs."""
    listed = [np.argsort(pairs.items, kind="stable") for pairs, _ in found.pairs]
    for item in found.found.tolist():
        interrupts.check()
        rows = []
        for segment, (pairs, values), order in zip(view.segments, found.pairs, listed, strict=True):
            first, last = np.searchsorted(pairs.items[order], [item, item + 1]).tolist()
            for k in order[first:last].tolist():
                doc_id = segment.doc_id(int(pairs.docs[k]))
                rows.append((-float(values[k]), doc_id, int(pairs.longest[k]), int(pairs.starts[k])))
        rows.sort()
        best = max(rows, key=lambda row: (row[2], -row[1]), default=None)
        yield {
            "against": found.one.name,
            "item": item,
            "item_id": found.one.item_id(item),
            "tokens": int(found.lengths[item]),
            "covered": round(float(found.covered[item] / found.lengths[item]), 6),
            "value": round(float(found.values[item]), 6),
            "longest": int(found.longest[item]),
            **_longest_text(found, item, best),
            "documents": int(found.documents[item]),
            "contaminated_documents": int(found.contaminated[item]),
            "frequent": item in found.one.frequent,
            "first_documents": [
                {"doc_id": doc_id, "value": round(-value, 6), "longest": longest}
                for value, doc_id, longest, _ in rows[:LISTED]
            ],
        }


def _longest_text(
    found: ItemFindings, item: int, best: tuple[float, int, int, int] | None
) -> dict[str, str | None]:
    """Return the text of an item, divided by its longest piece; without one, all is before it."""
    length = int(found.lengths[item])
    start, stop = (length, length) if best is None else (best[3], best[3] + best[2])
    return {
        "text_before": found.one.text(item, 0, start),
        "longest_text": None if best is None else found.one.text(item, start, stop),
        "text_after": found.one.text(item, stop, length),
    }


def _documents(
    view: CorpusView, findings: Sequence[ItemFindings], chosen: Sequence[Docs]
) -> list[dict[str, Any]]:
    """Return a row for each document that an item lists, with its items: by id."""
    rows: dict[int, dict[str, Any]] = {}
    contaminated = [set(docs.tolist()) for docs in chosen]
    for found in findings:
        for i, segment in enumerate(view.segments):
            pairs, values = found.pairs[i]
            for k in range(len(values)):
                interrupts.check()
                number = int(pairs.docs[k])
                doc_id = segment.doc_id(number)
                row = rows.setdefault(doc_id, {"doc_id": doc_id, "items": []})
                if not row["items"]:
                    row |= origin(segment.metadata.row(number))
                    row["contaminated"] = number in contaminated[i]
                item = int(pairs.items[k])
                row["items"].append(
                    {
                        "against": found.one.name,
                        "item": item,
                        "item_id": found.one.item_id(item),
                        "value": round(float(values[k]), 6),
                        "contaminates": bool(found.one.by.holds(values[k])),
                    }
                )
    return [rows[doc_id] for doc_id in sorted(rows)]
