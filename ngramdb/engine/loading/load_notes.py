"""The notes of a report on a load of files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading.document_keys import DocumentKeys
from ngramdb.engine.loading.resuming import Course
from ngramdb.formats import named
from ngramdb.ingest.documents import MOST_BYTES, Document, ErrorLog
from ngramdb.ingest.reader import WantedFields
from ngramdb.ingest.readers.token_files import files_beside
from ngramdb.ingest.sources import Source, repeated

# Most files that a note names; beyond that, it has their number.
MOST_NAMED = 3
# Most remarks that are reported: a table may have a thousand columns.
MOST_REMARKS = 5
# Tokens of the documents by which a repeated file is recognized: fewer may be in a corpus by chance.
LEAST_RECOGNIZED = 20
# Tokens at the end of a truncated text: its other tokens do not depend on the rest.
_AT_CUT = 32


def of_sources(sources: Sequence[Source], left_out: Sequence[str]) -> Iterator[str]:
    """Yield notes on files that are not read, and on those that are read twice."""
    tokens = [source.path for source in sources if source.format == "tokens"] if left_out else []
    belonging = set[str]().union(*map(files_beside, tokens))
    left_out = [path for path in left_out if path not in belonging]
    if left_out:
        read = sorted({source.format for source in sources})
        yield (
            f"{_files(len(left_out))} left out, since folders are read as {' and '.join(read)}: "
            f"{_named(left_out)}; named one by one or by a glob they are loaded"
        )
    twice = [source.label for source in repeated(sources)]
    if twice:
        yield f"{_files(len(twice))} given more than once, and loaded as often: {_named(twice)}"


def of_course(course: Course, limit: int | None, where: str, n_loaded: int, n_before: int) -> Iterator[str]:
    """Yield notes on where a load was resumed, `where` (`place_of`), and on one that could not be.

    limit : the requested number of documents, from the load's beginning
    n_loaded : documents that the load has added
    n_before : documents that the corpus had before
    """
    if course.goes_on and n_loaded:
        yield f"the load was resumed after {where}"
    elif course.goes_on and limit is not None and limit <= course.position.n_documents:
        yield (
            f"nothing was loaded: the limit of {_documents(limit)} counts from the load's beginning, and it "
            f"had reached {where}; without a limit, or with a larger one, it continues"
        )
    elif course.goes_on:
        yield f"nothing was left to load after {where}"
    elif course.resumes and n_before and n_loaded:
        yield (
            "the corpus has no record of a load of these paths, so they were loaded from the beginning; "
            "only loads with commit_every or resume leave one"
        )


def of_errors(errors: ErrorLog) -> Iterator[str]:
    """Yield a note on files that were lost, entirely or partly."""
    if errors.files:
        yield (
            f"{_files(errors.files)} not read, or not to the end: how many documents are missing is not known"
        )


def of_keys(keys: DocumentKeys) -> Iterator[str]:
    """Yield notes on documents that were skipped or removed because of their keys."""
    if keys.duplicates:
        yield f"{_documents(keys.duplicates)} left out, whose {keys.field} occurred before"
    if keys.replaced:
        yield f"{_documents(keys.replaced)} replaced by later ones with the same {keys.field}"


def of_twins(keys: DocumentKeys) -> Iterator[str]:
    """Yield a note on keys that differ from earlier ones in their type alone."""
    if keys.twins:
        one, other = ("string", "integer") if isinstance(keys.twin, str) else ("integer", "string")
        named = f'"{keys.twin}"' if one == "string" else str(keys.twin)
        yield (
            f"{_documents(keys.twins)} loaded although only the type of {keys.field} differs from an earlier "
            f"one: {named} is the {one}, the earlier one is the {other}; a column of numbers becomes one of "
            "strings if a single value is not a number"
        )


def of_remarks(errors: ErrorLog) -> Iterator[str]:
    """Yield notes on data that was read differently from what it may seem."""
    remarks = list(errors.remarks)
    yield from remarks[:MOST_REMARKS]
    if len(remarks) > MOST_REMARKS:
        yield f"{len(remarks) - MOST_REMARKS:,} more such notes"


def of_fields(wanted: WantedFields) -> Iterator[str]:
    """Yield notes on requested fields that no document has."""
    missing = wanted.missing()
    for name in missing[:MOST_NAMED]:
        yield f"no loaded document has the metadata field {name}"
    if len(missing) > MOST_NAMED:
        yield f"{len(missing) - MOST_NAMED:,} more metadata fields are in no loaded document"


def of_repetition(before: CorpusView, first: Sequence[Document]) -> Iterator[str]:
    """Note that the first documents of a load are in the corpus already, if all of them are."""
    if not before.n_documents or not first:
        return
    sequences = [_ids_of(document, before) for document in first]
    known = [ids for ids in sequences if len(ids)]
    if sum(map(len, known)) < LEAST_RECOGNIZED or not all(map(before.has, known)):
        return
    those = "document is" if len(first) == 1 else f"{len(first):,} documents are"
    yield (
        f"the first {those} in the corpus already, word for word; if files were loaded twice, "
        "their documents count twice"
    )


def _ids_of(document: Document, view: CorpusView) -> Any:
    if document.ids is not None:
        return document.ids[:MOST_BYTES].astype(np.int64)
    text = document.text or b""
    ids = view.tokenizer.encode(text.decode("utf-8", "ignore"))
    return ids if len(text) < MOST_BYTES else ids[:-_AT_CUT]


def place_of(course: Course) -> str:
    """Describe where a load continues."""
    at, left = course.position, course.sources
    parts = [_documents(at.n_documents)]
    if at.n_files:
        parts.append(f"{at.n_files:,} whole file{'' if at.n_files == 1 else 's'}")
    if at.n_lines and left:
        parts.append(f"{named(left[0].format).unit} {at.n_lines:,} of {left[0].label}")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _documents(n: int) -> str:
    return "1 document" if n == 1 else f"{n:,} documents"


def _files(n: int) -> str:
    return "1 file was" if n == 1 else f"{n:,} files were"


def _named(paths: Sequence[str]) -> str:
    shown = [os.fsencode(path).decode("utf-8", "backslashreplace") for path in paths[:MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(paths) - MOST_NAMED:,} more" if len(paths) > MOST_NAMED else "")
