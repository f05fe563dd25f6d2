"""Metadata fields that change after loading: labels joined by a key, computed values, dropped fields.

A change writes a file of fields beside each segment that it concerns (`ngramdb.segments.fields_file`); no
segment is rewritten. The functions return the changed entry of the corpus, for the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ngramdb import interrupts
from ngramdb.engine.changes.joining import AddedFields, Join, Places, check_place, rounds
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.ingest.documents import Document
from ngramdb.segments.base import Segment
from ngramdb.segments.fields_file import Labels, changed_fields
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_columns import import_pandas
from ngramdb.types import Docs


def add_fields(
    view: CorpusView,
    transaction: Transaction,
    rows: Iterator[Document],
    key: tuple[str, bool],
    column: str,
    fields: Sequence[str] | None,
    replaces: bool,
    threads: int = 1,
) -> tuple[CorpusEntry, AddedFields]:
    """Add the fields of a table to the documents whose key is that of a row.

    Parameters
    ----------
    view : the corpus before
    rows : the table's rows, as `ngramdb.ingest.labels` reads them
    key : the path of the documents' key, and True for their `doc_id`
    column : the path of the key in the table
    fields : paths of the fields to add; None for all but the key
    replaces : replace values of existing fields; documents without a row keep theirs
    threads : the number of threads that look up keys

    Raises
    ------
    InvalidArgument
        A field that exists already, one inside a field that is not an object, or two rows of a document
        with different values.
    LoadError
        The table cannot be read.

    Notes
    -----
    Cost: about 1 µs per row and field. Memory: 8 bytes per document, its key, its new values, and up to
    ROUND_ROWS rows.
    """
    import_pandas()
    join = Join(view, key, column, fields, replaces, threads)
    for part in rounds(rows):
        join.add(part)
    join.check_fields_found()
    entry = _written(view, transaction, join.roots, join.labels, join.places_by_segment())
    return entry, join.outcome()


def set_fields(
    view: CorpusView,
    transaction: Transaction,
    chosen: Sequence[Docs],
    values: Sequence[MetadataReader],
    paths: Sequence[str],
) -> CorpusEntry:
    """Set fields of the chosen documents.

    Parameters
    ----------
    view : the corpus before
    chosen : per segment of `view`, ascending local numbers of documents
    values : per segment the new values, a row per chosen document
    paths : the fields that are set; one without a value is removed from the document

    Raises
    ------
    InvalidArgument
        A field inside a field that is not an object.
    """
    for path in paths:
        check_place(view, path)
    labels = Labels(values, [len(docs) for docs in chosen])
    places, n_before = [], 0
    for segment, docs in zip(view.segments, chosen, strict=True):
        found = np.full(segment.n_documents, -1, dtype=np.int64)
        found[docs] = np.arange(n_before, n_before + len(docs))
        n_before += len(docs)
        places.append(found)
    return _written(view, transaction, paths, labels, places)


def drop_fields(view: CorpusView, transaction: Transaction, paths: Sequence[str]) -> CorpusEntry:
    """Drop fields, with all fields below them."""
    places = [np.full(segment.n_documents, -1, dtype=np.int64) for segment in view.segments]
    return _written(view, transaction, paths, None, places)


# ---- Writing the files


def _written(
    view: CorpusView,
    transaction: Transaction,
    roots: Sequence[str],
    labels: Labels | None,
    places: Sequence[Places],
) -> CorpusEntry:
    """Return the entry with new files of fields beside the segments that change."""
    segments = []
    for i, (entry, segment) in enumerate(zip(view.entry.added, view.segments, strict=True)):
        interrupts.step(i, len(view.segments))
        concerned = any(map(segment.metadata.has_within, roots)) if labels is None else (places[i] >= 0).any()
        if concerned:
            entry = _with_fields(entry, segment, transaction, roots, labels, places[i])
        segments.append(entry)
    return replace(view.entry, segments=(*segments, *view.entry.subtracted))


def _with_fields(
    entry: SegmentEntry,
    segment: Segment,
    transaction: Transaction,
    roots: Sequence[str],
    labels: Labels | None,
    places: Places,
) -> SegmentEntry:
    segment.verify_metadata()
    changed = changed_fields(segment, roots, labels, places)
    if changed.equals(segment.changes):
        return entry
    name, file = transaction.create_file("fields", "fields")
    info = changed.write(file)
    created = transaction.manifest.version + 1
    return replace(entry, fields=FileRef(name, info.size, info.crc), created_version=created)
