"""The front door of this package: sources and options in, a stream of documents out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ngramdb.errors import LoadError
from ngramdb.ingest.documents import Document, ErrorLog, field_paths, has_field, missing_field
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.arrow_data import read_arrow, read_parquet
from ngramdb.ingest.readers.columns import Columns, Row
from ngramdb.ingest.readers.delimited import read_delimited
from ngramdb.ingest.readers.jsonl import parse_object, read_jsonl
from ngramdb.ingest.readers.lines import read_lines, read_text
from ngramdb.ingest.readers.token_files import read_tokens
from ngramdb.ingest.readers.vertical import read_vertical
from ngramdb.ingest.readers.warc import read_warc
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter
from ngramdb.limits import MAX_INTEGER
from ngramdb.segments.metadata_columns import split_path


@dataclass(slots=True)
class Position:
    """A position in files: after `n_files` files, and the first `n_lines` lines (or rows) of the next one.

    `n_documents` is the number of documents up to there. The position is that of the document yielded last,
    until the next one is requested. `line` is the last of those lines, in formats that have lines.
    """

    n_files: int = 0
    n_lines: int = 0
    n_documents: int = 0
    line: bytes | None = None


#: The reader of each format.
READERS = {
    "jsonl": read_jsonl,
    "text": read_text,
    "lines": read_lines,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "csv": read_delimited,
    "tsv": read_delimited,
    "tokens": read_tokens,
    "vrt": read_vertical,
    "warc": read_warc,
}


def read_documents(
    sources: Iterable[Source],
    options: ReadOptions | None = None,
    errors: ErrorLog | None = None,
    meter: Meter | None = None,
    position: Position | None = None,
    wanted: WantedFields | None = None,
) -> Iterator[Document]:
    """Yield the documents of all sources, in order, each by its format.

    Parameters
    ----------
    sources : from `expand`
    options : of reading
    errors : records the lines and files that are skipped
    meter : counts the bytes read, for a progress display against the sources' `n_bytes`
    position : is kept up to date
    wanted : receives all documents

    With `on_error` "skip", a file that cannot be read is recorded and left out, unless it is the only one.

    Raises LoadError, ResourceError: see `read_jsonl` and `read_text`.
    Memory: that of the longest document, whatever the size of the input.
    """
    options = options or ReadOptions()
    documents = _chained(
        list(sources),
        options,
        ErrorLog() if errors is None else errors,
        Meter() if meter is None else meter,
        Position() if position is None else position,
        WantedFields(options) if wanted is None else wanted,
    )
    # Not one document beyond the limit is read, so a bad line after it does no harm.
    return documents if options.limit is None else islice(documents, min(options.limit, MAX_INTEGER))


def _chained(
    sources: list[Source],
    options: ReadOptions,
    errors: ErrorLog,
    meter: Meter,
    position: Position,
    wanted: WantedFields,
) -> Iterator[Document]:
    for source in sources:
        n_files = position.n_files + 1
        meter.line = None
        try:
            for document in READERS[source.format](source, options, errors, meter):
                if document.line is None:  # a file that is one document
                    position.n_files = n_files
                else:
                    if document.line <= position.n_lines:
                        raise _out_of_order(document, position.n_lines)
                    position.n_lines, position.line = document.line, meter.line
                position.n_documents += 1
                wanted.see(document, meter.line if source.format == "jsonl" else None)
                yield document
        except LoadError as error:
            is_only_one = len(sources) == 1 and not options.of_many
            if options.on_error != "skip" or is_only_one:
                raise
            errors.add_file(error)
        position.n_files, position.n_lines, position.line = n_files, 0, None


def _out_of_order(document: Document, before: int) -> RuntimeError:
    """Return the error for a bug in a reader: a resumed load would lose documents, or load them twice."""
    place = f"{document.source}, {document.unit} {document.line}"
    return RuntimeError(f"{place}: the document before is of {document.unit} {before}; these must ascend")


# ---- Which of the fields that a load is to keep no document has: a name is easily misspelt.


class WantedFields:
    """The fields that METADATA names and no document has had so far."""

    def __init__(self, options: ReadOptions) -> None:
        contents = {options.text_field, options.ids_field, options.ids_instead}
        self._unseen = [name for name in options.metadata or () if name not in contents]
        self._columns: Columns | None = None
        self._any = False
        self._line: bytes | None = None

    def see(self, document: Document, line: bytes | None) -> None:
        """Take note of a document's fields; `line` is its line of JSON, if it came from one."""
        if not self._unseen:
            return
        if not self._any:
            self._any, self._line = True, line
        metadata = document.metadata
        if not isinstance(metadata, Row):
            self._unseen = [name for name in self._unseen if not _is_in(metadata, name)]
        elif metadata.columns is not self._columns:
            # Those of many rows at once; each of them has a value in one row at least.
            self._columns = metadata.columns
            self._unseen = [name for name in self._unseen if not _is_among(metadata.columns, name)]

    def through(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Yield the documents, and take note of their fields."""
        for document in documents:
            self.see(document, None)
            yield document

    def missing(self) -> list[str]:
        """Return the names that no document has, each with the existing fields; [] without documents."""
        if not (self._any and self._unseen):
            return []
        present = () if self._line is None else tuple(field_paths(parse_object(self._line)))
        return [_missing(name, present) for name in self._unseen]


def _missing(name: str, present: tuple[str, ...]) -> str:
    if not present:
        return repr(name)
    said = missing_field(name, present).removeprefix("no field ")
    return said.replace("; the fields are", "; the fields of the first are")


def _is_in(metadata: Mapping[str, Any], name: str) -> bool:
    return name in metadata or (isinstance(metadata, dict) and has_field(metadata, split_path(name)))


def _is_among(columns: Columns, name: str) -> bool:
    return columns.has(split_path(name)) or columns.has((name,))
