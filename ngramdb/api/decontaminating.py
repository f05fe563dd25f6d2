"""Decontamination: which documents of a corpus share too much with evaluation sets, where, and their removal.

A document is contaminated by a set when at least a share `threshold` of its n-grams (with `strict`: more than
that) stand in it: the rules of OVERLAP (`ngramdb.executor.overlap`), exactly and not by a Bloom filter.
N-grams are those of the corpus's own tokens; or, where letters' case or white space shall not matter, of
words (the tokenizer `words`) of the folded texts.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.api import curation
from ngramdb.api.exporting import write_lines
from ngramdb.api.loading import read_options
from ngramdb.engine import deletion
from ngramdb.engine.directory import MemoryDirectory
from ngramdb.engine.scratch import scratch_corpus
from ngramdb.engine.view import CorpusView, Segment
from ngramdb.errors import InvalidArgument
from ngramdb.executor.overlap import (
    Span,
    marked_places,
    n_windows,
    overlap_shares,
    overlap_spans,
    spans_of,
)
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Meter
from ngramdb.planner.plan import Load
from ngramdb.tokenizers import Tokenizer

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection

Docs = NDArray[np.uint32]
Path = str | os.PathLike[str]
Fold = Callable[[str], str]

DEFAULT_N = 13
DEFAULT_THRESHOLD = 0.8
# Documents whose texts are folded and tokenized together.
BATCH_DOCUMENTS = 512
# Spans of a document that an audit record takes down.
NOTED_SPANS = 3


@dataclass(frozen=True)
class Contaminated:
    """A document that shares too much with an evaluation set.

    `share` of its n-grams are in the set. `spans` are runs of them, in tokens of the document, each with its
    text and the first item of the set that has it (counted from 0, and the id that it has itself).
    """

    doc_id: int
    id: Any
    source: Any
    against: str
    share: float
    spans: tuple[dict[str, Any], ...]


@dataclass
class DecontaminationReport:
    """What was found, and what was removed.

    `table` has a row for each evaluation set and source: documents, how many of them are contaminated, their
    share. `version` is the database's version without them, or the present one after a dry run.
    """

    documents: int
    contaminated: int
    removed: int
    version: int
    table: list[tuple[str, Any, int, int, float]] = field(default_factory=list)


@dataclass(frozen=True)
class _Criterion:
    n: int
    threshold: float
    strict: bool
    fold: Fold | None

    def holds(self, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        return shares > self.threshold if self.strict else shares >= self.threshold


def decontaminate(
    connection: Connection,
    name: str,
    against: Path | Sequence[Path],
    *,
    n: int = DEFAULT_N,
    threshold: float = DEFAULT_THRESHOLD,
    strict: bool = False,
    lower: bool = False,
    fold_space: bool = False,
    text: str | None = None,
    source_field: str = "source",
    dry_run: bool = False,
    report: Path | None = None,
) -> DecontaminationReport:
    """Removes the documents of a corpus that share too much with any of the evaluation sets: one commit.

    Parameters
    ----------
    against : files of JSON lines or text, each an evaluation set of its own; `text` is the field that is
        compared
    n, threshold, strict : see the module
    lower, fold_space : letters' case does not matter; nor does white space. N-grams are then of words
    source_field : the metadata field that the table is by
    dry_run : only find and report
    report : a file of JSON lines for what is found, a line a document and set

    Raises
    ------
    InvalidArgument
        A number out of range, or no file.
    LoadError, ExecutionError
        An evaluation set that can't be read, a report that can't be written; then nothing is removed.
    """
    criterion = _Criterion(n, threshold, strict, _fold(lower, fold_space))
    _check(criterion)
    paths = [against] if isinstance(against, (str, os.PathLike)) else list(against)
    if not paths:
        raise InvalidArgument("no evaluation set is given")
    view = connection.snapshot.view(name)
    sets = [(os.fspath(path), _opened_set(view, path, text, criterion)) for path in paths]
    found: list[Contaminated] = []
    table: list[tuple[str, Any, int, int, float]] = []

    def choose(now: CorpusView) -> list[Docs]:
        found.clear()
        table.clear()
        chosen = [np.empty(0, dtype=np.uint32) for _ in now.segments]
        for set_name, other in sets:
            hits = [_contaminated(now, i, other, criterion) for i in range(len(now.segments))]
            table.extend(_table(now, set_name, hits, source_field))
            for i, (docs, shares) in enumerate(hits):
                found.extend(_explained(now, i, docs, shares, set_name, other, criterion, source_field))
                chosen[i] = np.union1d(chosen[i], docs)
        if report is not None:
            write_lines(os.fspath(report), (_line(one) for one in found))
        return chosen

    if dry_run:
        n_contaminated = sum(len(docs) for docs in choose(view))
        return DecontaminationReport(view.n_documents, n_contaminated, 0, connection.version, table)
    return _removed(connection, name, choose, found, table, sets, criterion)


def _removed(
    connection: Connection,
    name: str,
    choose: Callable[[CorpusView], list[Docs]],
    found: list[Contaminated],
    table: list[tuple[str, Any, int, int, float]],
    sets: Sequence[tuple[str, CorpusView]],
    criterion: _Criterion,
) -> DecontaminationReport:
    seen: dict[str, CorpusView] = {}

    def chosen(view: CorpusView) -> list[Docs]:
        seen["view"] = view
        return choose(view)

    def details(view: CorpusView, docs: Sequence[Docs]) -> Iterator[dict[str, Any]]:
        return _notes(view, docs, found)

    statement = (
        f"decontaminate {name} against {', '.join(set_name for set_name, _ in sets)}: n = {criterion.n}, "
        f"share {'>' if criterion.strict else '>='} {criterion.threshold:g}"
    )
    with connection._writing() as timeout_s:
        outcome = deletion.delete_documents(
            connection._store,
            name,
            chosen,
            segment_tokens=curation.segment_tokens(connection, name),
            action=f"decontaminate {name}",
            statement=statement,
            details=details,
            auto_compact=connection.settings.auto_compact,
            lock_timeout_s=timeout_s,
        )
    n_documents = seen["view"].n_documents
    return DecontaminationReport(n_documents, outcome.documents, outcome.documents, outcome.version, table)


# ---- finding --------------------------------------------------------------------------------------------


def _contaminated(
    view: CorpusView, i: int, other: CorpusView, criterion: _Criterion
) -> tuple[Docs, NDArray[np.float64]]:
    """The documents of a segment that share too much, and how much that is."""
    segment, kept = view.segments[i], view.kept(i)
    if criterion.fold is None:
        shares = overlap_shares(view, segment, kept, other, criterion.n)
    else:
        shares = np.concatenate([np.empty(0), *_folded_shares(view, segment, kept, other, criterion)])
    holds = criterion.holds(shares)
    return kept[holds], shares[holds]


def _folded_shares(
    view: CorpusView, segment: Segment, docs: Docs, other: CorpusView, criterion: _Criterion
) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(docs), BATCH_DOCUMENTS):
        interrupts.check()
        flat, offsets = _folded_ids(view, segment, docs[start : start + BATCH_DOCUMENTS], other, criterion)
        sums = np.concatenate([[0], np.cumsum(marked_places(flat, offsets, other, criterion.n))])
        windows = n_windows(np.diff(offsets), criterion.n)
        counts = sums[offsets[1:]] - sums[offsets[:-1]]
        yield np.divide(counts, windows, out=np.zeros(len(windows)), where=windows > 0)


def _folded_ids(
    view: CorpusView, segment: Segment, docs: Docs, other: CorpusView, criterion: _Criterion
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The folded texts as words of the evaluation set; words that it does not have get ids that it does not
    have."""
    assert criterion.fold is not None
    texts = [_shown(view, segment, i) for i in docs.tolist()]
    # A fork a batch: what it learns is forgotten with it.
    ids, offsets = other.tokenizer.fork().encode_batch([criterion.fold(text).encode() for text in texts])
    return ids.astype(np.int64), offsets


def _explained(
    view: CorpusView,
    i: int,
    docs: Docs,
    shares: NDArray[np.float64],
    against: str,
    other: CorpusView,
    criterion: _Criterion,
    source_field: str,
) -> Iterator[Contaminated]:
    """What is to be told of contaminated documents."""
    segment = view.segments[i]
    for number, share, fields, rows in zip(
        docs.tolist(),
        shares.tolist(),
        segment.metadata.rows(docs.tolist()),
        _span_rows(view, segment, docs, other, criterion),
        strict=True,
    ):
        interrupts.check()
        own_id = next((fields[key] for key in curation.OWN_ID_FIELDS if key in fields), None)
        spans = tuple(rows)
        yield Contaminated(segment.doc_id(number), own_id, fields.get(source_field), against, share, spans)


def _span_rows(
    view: CorpusView, segment: Segment, docs: Docs, other: CorpusView, criterion: _Criterion
) -> Iterator[Iterator[dict[str, Any]]]:
    """For each document its spans as they are told."""
    if criterion.fold is None:
        found = overlap_spans(view, segment, docs, other, criterion.n)
        for number, spans in zip(docs.tolist(), found, strict=True):
            yield _told(spans, segment.document(number), view.tokenizer, other)
        return
    for number in docs.tolist():
        one = np.array([number], dtype=np.uint32)
        known, offsets = _folded_ids(view, segment, one, other, criterion)
        spans = spans_of(marked_places(known, offsets, other, criterion.n), known, other, criterion.n)
        yield _told(spans, known.astype(np.uint32), other.tokenizer, other)


def _told(
    spans: Sequence[Span], ids: NDArray[np.uint32], tokenizer: Tokenizer, other: CorpusView
) -> Iterator[dict[str, Any]]:
    """ids: of the whole document, by the tokenizer."""
    for span in spans:
        item = next(
            (
                one.metadata.row(i)
                for one in other.segments
                if (i := one.local_of(span.other_doc_id)) is not None
            ),
            {},
        )
        item_id = next((item[key] for key in curation.OWN_ID_FIELDS if key in item), None)
        text = tokenizer.decode(ids[span.start : span.stop])
        yield {
            "start": span.start,
            "stop": span.stop,
            "text": text,
            "item": span.other_doc_id,
            "item_id": item_id,
        }


def _table(
    view: CorpusView, against: str, hits: Sequence[tuple[Docs, Any]], source_field: str
) -> Iterator[tuple[str, Any, int, int, float]]:
    """Documents and contaminated ones by source."""
    every: Counter[Any] = Counter()
    hit: Counter[Any] = Counter()
    for i, segment in enumerate(view.segments):
        values = _sources(segment, source_field)
        every.update(values[k] for k in view.kept(i).tolist())
        hit.update(values[k] for k in hits[i][0].tolist())
    for source in sorted(every, key=lambda value: (value is None, str(value))):
        yield against, source, every[source], hit[source], hit[source] / every[source]


def _sources(segment: Segment, source_field: str) -> list[Any]:
    if source_field not in segment.metadata.fields():
        return [None] * segment.n_documents
    values: list[Any] = segment.metadata.column(source_field).to_pylist()
    return [value if isinstance(value, (str, int, float)) else None for value in values]


def _notes(
    view: CorpusView, chosen: Sequence[Docs], found: Iterable[Contaminated]
) -> Iterator[dict[str, Any]]:
    """What the audit record takes down, a document after the other."""
    by_id: dict[int, list[Contaminated]] = {}
    for one in found:
        by_id.setdefault(one.doc_id, []).append(one)
    for i, docs in enumerate(chosen):
        for doc_id in view.segments[i].doc_ids(docs).tolist():
            first = by_id[doc_id][0]
            note = {"id": first.id, "source": first.source}
            note["reason"] = "; ".join(f"{one.share:.3f} in {one.against}" for one in by_id[doc_id])
            matches = [
                {"ngram": span["text"], "position": span["start"]} for span in first.spans[:NOTED_SPANS]
            ]
            yield {key: value for key, value in {**note, "matches": matches}.items() if value is not None}


def _line(one: Contaminated) -> bytes:
    return json.dumps(vars(one), ensure_ascii=False).encode("utf-8", "surrogatepass")


# ---- evaluation sets ------------------------------------------------------------------------------------


def _opened_set(view: CorpusView, path: Path, text: str | None, criterion: _Criterion) -> CorpusView:
    """The documents of a file as a corpus in memory, under the corpus's tokenizer or as folded words."""
    options = {} if text is None else {"text": text}
    load = Load(view.entry.name, (os.fspath(path),), options)
    sources = expand([os.fspath(path)], None)
    documents = read_documents(sources, read_options(load, view.entry.tokenizer), ErrorLog(), Meter())
    if criterion.fold is None:
        return scratch_corpus(MemoryDirectory(), documents, view)
    return scratch_corpus(MemoryDirectory(), map(_folding(criterion.fold), documents))


def _folding(fold: Fold) -> Callable[[Document], Document]:
    def folded(document: Document) -> Document:
        if document.text is None:
            raise InvalidArgument("token ids have no letters or white space to fold")
        return Document(
            fold(document.text.decode()).encode(), None, document.metadata, document.source, document.line
        )

    return folded


def _fold(lower: bool, fold_space: bool) -> Fold | None:
    if not lower and not fold_space:
        return None

    def fold(text: str) -> str:
        folded = text.lower() if lower else text
        return " ".join(folded.split()) if fold_space else folded

    return fold


def _shown(view: CorpusView, segment: Segment, i: int) -> str:
    text = segment.text(i, view.tokenizer)
    return view.tokenizer.decode(segment.document(i)) if text is None else text.decode("utf-8", "replace")


def _check(criterion: _Criterion) -> None:
    if isinstance(criterion.n, bool) or not isinstance(criterion.n, int) or criterion.n < 1:
        raise InvalidArgument(f"n is a whole number of at least 1, not {criterion.n!r}")
    if not isinstance(criterion.threshold, (int, float)) or not 0 <= criterion.threshold <= 1:
        raise InvalidArgument(f"a threshold is a share from 0 to 1, not {criterion.threshold!r}")
