"""The progress of a load of files: the record of loads that commit on their way, and notes in the report.

The record is part of the same commit as the documents (`engine.manifest.LoadRecord`), so that a resumed load
neither misses a document nor loads one twice, whenever and however it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading.request import DocumentKeys, LoadRequest
from ngramdb.engine.storage.manifest import NAME_DIGITS, LoadRecord
from ngramdb.errors import InvalidArgument
from ngramdb.formats import named
from ngramdb.ingest.documents import MOST_BYTES, Document, ErrorLog
from ngramdb.ingest.reader import Position, WantedFields
from ngramdb.ingest.readers.token_files import files_beside
from ngramdb.ingest.remote import is_url
from ngramdb.ingest.sources import STDIN, Source, repeated
from ngramdb.ingest.work_splitting import beginning, has_lines, line_of, mark_of

# The options that determine the documents. Others may change in a resumed load: it may skip the document that
# stopped it, or continue to another limit.
READING = ("format", "text", "ids", "metadata", "separator")
LATER_READING = ("dtype", "quotes")


class Course:
    """The files that a load has yet to read, and the record of those that it has read."""

    def __init__(
        self, request: LoadRequest, sources: Sequence[Source], records: Iterable[LoadRecord]
    ) -> None:
        """Begin or resume a load of `sources`, the files of the request's paths; `records` are the corpus's.

        Raises
        ------
        InvalidArgument
            the load is resumed, but its files or options differ from those that it began with, or some files
            were loaded by another load; or standard input or a pipe is among them
        """
        resume = bool(request.resume)
        once = next((source for source in sources if not source.can_be_read_again), None)
        if resume and once is not None:
            raise InvalidArgument(f"{once.label} cannot be read again, so a load of it cannot be resumed")
        self.position = Position()
        self._held: Position | None = None
        #: True if the load is to be resumed, if it has begun.
        self.resumes = resume
        #: True if the load's commits include a record of it.
        self.is_recorded = once is None and (resume or request.commit_every is not None)
        self._paths = _sha256(_absolute(path) for path in request.paths)
        self._options = _sha256([json.dumps(_reading(request))])
        self._sources = sources
        self._hashed = hashlib.sha256()
        self._n_hashed = 0
        self._names: list[str] = []
        record = self._begun(list(records)) if resume else None
        #: True if this continues a load that has documents in the corpus.
        self.goes_on = record is not None
        if record is not None:
            self._go_on(record)

    @property
    def sources(self) -> list[Source]:
        """The files that are left to read."""
        left = list(self._sources[self.position.n_files :])
        if left and self.position.n_lines:
            left[0] = replace(left[0], after_line=self.position.n_lines)
        return left

    def limit(self, limit: int | None) -> int | None:
        """Return how many of `limit` documents are left to read."""
        return None if limit is None else max(limit - self.position.n_documents, 0)

    def record(self) -> LoadRecord:
        """Return the record of the load's progress."""
        at = self._held or self.position
        files = self._files(at.n_files, at.n_lines)
        mark = None if at.line is None else mark_of(at.line)
        for source in self._sources[len(self._names) : at.n_files + (at.n_lines > 0)]:
            self._names.append(_name(source))
        names = "".join(self._names[: at.n_files + (at.n_lines > 0)])
        return LoadRecord(
            self._paths, self._options, files, at.n_files, at.n_lines, at.n_documents, mark, names
        )

    def hold(self) -> None:
        """Record the following documents as of this place, while reading continues, until `release`."""
        self._held = copy(self.position)

    def release(self) -> None:
        """Record the current place of reading."""
        self._held = None

    def _begun(self, records: Sequence[LoadRecord]) -> LoadRecord | None:
        """Return the record of the load to be resumed, if it has begun.

        It is that of the same paths, or of files that the given ones begin with: a shell expands a glob
        file by file, and the next time there may be more.
        """
        known = next((one for one in records if one.paths == self._paths), None)
        if known is None:
            largest_first = sorted(records, key=lambda record: record.n_documents, reverse=True)
            known = next((one for one in largest_first if _has_read(one, self._sources)), None)
            if known is not None:
                self._paths = known.paths
        n_begun = 0 if known is None else known.n_files + (known.n_lines > 0)
        advice = (
            "load what is new by its own path" if known is None else "take that out of what is to be loaded"
        )
        self._refuse_loaded([one for one in records if one is not known], self._sources[n_begun:], advice)
        return known

    def _refuse_loaded(self, records: Iterable[LoadRecord], sources: Iterable[Source], advice: str) -> None:
        """Raise InvalidArgument if files were loaded by other recorded loads."""
        loaded = {
            one.names[start : start + NAME_DIGITS]
            for one in records
            if one.names
            for start in range(0, len(one.names), NAME_DIGITS)
        }
        found = [source.label for source in sources if loaded and _name(source) in loaded]
        if found:
            raise InvalidArgument(
                f"the load cannot be resumed: {found[0]}"
                + (f" and {len(found) - 1:,} more of its files were" if len(found) > 1 else " was")
                + " loaded before, by a load of other paths (were files removed or renamed since, or do new "
                f"ones come before it?); {advice}"
            )

    def _go_on(self, record: LoadRecord) -> None:
        if record.options != self._options:
            raise InvalidArgument(
                f"the load cannot be resumed: it began with other options ({', '.join(READING)}); "
                "give the same ones, or leave resume out to load the files from their beginning"
            )
        n_needed = record.n_files + (record.n_lines > 0)
        if n_needed > len(self._sources) or record.files != self._files(record.n_files, record.n_lines):
            raise InvalidArgument(
                f"the load cannot be resumed: the first {n_needed:,} files are not those that it has loaded "
                "(another path, order, size or first line); load what is new by its own path"
            )
        line = _begun_at(record, self._sources[record.n_files]) if record.n_lines else None
        self.position = Position(record.n_files, record.n_lines, record.n_documents, line)

    def _files(self, n_files: int, n_lines: int) -> str:
        """Return the digest of the first files and of the partly read one; each file is hashed once."""
        self._hashed.update(_read_lines(self._sources[self._n_hashed : n_files]))
        self._n_hashed = max(self._n_hashed, n_files)
        hashed = self._hashed.copy()
        if n_lines:
            hashed.update(_begun_line(self._sources[n_files]))
        return hashed.hexdigest()


def _read_lines(sources: Iterable[Source]) -> bytes:
    """Return the lines of completely read files in the digest of a record's files (FORMAT.md)."""
    return b"".join(_line(f"{source.n_bytes}:{_absolute(source.path)}") for source in sources)


def _begun_line(source: Source) -> bytes:
    """Return the line of the partly read file in that digest."""
    return _line(f":{_absolute(source.path)}") + beginning(source)


def _has_read(record: LoadRecord, sources: Sequence[Source]) -> bool:
    """Return True if the files of a record, at least one, are the first of these."""
    if not 0 < record.n_files + (record.n_lines > 0) <= len(sources):
        return False
    hashed = hashlib.sha256(_read_lines(sources[: record.n_files]))
    if record.n_lines:
        hashed.update(_begun_line(sources[record.n_files]))
    return record.files == hashed.hexdigest()


def _begun_at(record: LoadRecord, source: Source) -> bytes | None:
    """Return the last line that was read of the partly read file; None if the record does not know it."""
    n_lines = record.n_lines
    line = None if record.mark is None else line_of(source, n_lines)
    if line is None and (record.mark is not None or not has_lines(source, n_lines)):
        raise InvalidArgument(
            f"the load cannot be resumed: it has read {n_lines:,} lines of {source.label}, which has fewer "
            "now; load it by another path"
        )
    if line is not None and mark_of(line) != record.mark:
        raise InvalidArgument(
            f"the load cannot be resumed: line {n_lines:,} of {source.label}, the last one that it has read, "
            "has changed (was a line before it deleted or inserted?); restore the file, or load it "
            "by another path"
        )
    return line


def _reading(request: LoadRequest) -> list[object]:
    """Return the options of reading; newer ones only if given, so that old records stay valid."""
    given = request.given
    later = {name: given[name] for name in LATER_READING if name in given}
    return [*(given.get(name) for name in READING), *([later] if later else [])]


def _absolute(path: str) -> str:
    return path if path == STDIN or is_url(path) else os.path.abspath(os.path.expanduser(path))


def _name(source: Source) -> str:
    return _sha256([_absolute(source.path)])[:NAME_DIGITS]


def _sha256(lines: Iterable[str]) -> str:
    hashed = hashlib.sha256()
    for line in lines:
        hashed.update(_line(line))
    return hashed.hexdigest()


def _line(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\n"


# ---- The notes of a report on a load of files.


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
