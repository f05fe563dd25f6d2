"""The beginning and the progress of a load of files: the record of loads that commit on their way.

The record is part of the same commit as the documents (`engine.manifest.LoadRecord`), so that a resumed load
neither misses a document nor loads one twice, whenever and however it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace

from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.storage.manifest import NAME_DIGITS, LoadRecord
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.reader import Position
from ngramdb.ingest.remote import is_url
from ngramdb.ingest.sources import STDIN, Source
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
                f"the load cannot go on: {found[0]}"
                + (f" and {len(found) - 1:,} more of its files were" if len(found) > 1 else " was")
                + " loaded before, by a load of other paths (were files removed or renamed since, or do new "
                f"ones come before it?); {advice}"
            )

    def _go_on(self, record: LoadRecord) -> None:
        if record.options != self._options:
            raise InvalidArgument(
                f"the load cannot go on: it began with other options ({', '.join(READING)}); "
                "give the same ones, or leave resume out to load the files from their beginning"
            )
        n_needed = record.n_files + (record.n_lines > 0)
        if n_needed > len(self._sources) or record.files != self._files(record.n_files, record.n_lines):
            raise InvalidArgument(
                f"the load cannot go on: the first {n_needed:,} files are not those that it has loaded "
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
            f"the load cannot go on: it has read {n_lines:,} lines of {source.label}, which has fewer now; "
            "load it by another path"
        )
    if line is not None and mark_of(line) != record.mark:
        raise InvalidArgument(
            f"the load cannot go on: line {n_lines:,} of {source.label}, the last one that it has read, has "
            "changed (was a line before it deleted or inserted?); restore the file, or "
            "load it by another path"
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
