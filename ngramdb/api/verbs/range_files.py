r"""COPY (DELETE …) TO, COPY (CUT …) TO: what a removal takes out of documents, in files of other programs.

    bsade     JSON lines, a document each, with `sa_remove_ranges`, [[start, stop], …]: bytes of UTF-8
    dolma     JSON lines, {"id": …, "attributes": {name: [[start, stop, 1.0], …]}}: characters
    google    "out", then a line `start stop` for each range: bytes of all texts, each after 6 bytes
    tables    a row for each range (CUT), in characters and in bytes, or for each document (DELETE)

The first two have a line for each document of the corpus, in the order of DOCS. Ranges are half-open. The
range of a document that is removed as a whole is its text.

Sources: liujch1998/bsade, README and write_back_to_jsonl_sharded.py (--mode annotate); allenai/dolma,
docs/data-format.md; google-research/deduplicate-text-datasets, README (the output of `collect`), and
scripts/load_dataset.py, which writes each text after b"\xff\xff" and a counter of four bytes. Tables of ids
are as NVIDIA-NeMo/Curator reads them (TextDuplicatesRemovalWorkflow, `duplicate_id_field`, by default "id").
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ngramdb.api.verbs.exporting import export_rows, write_lines
from ngramdb.curation.marks import MarkedText, Marks, marked_texts
from ngramdb.errors import ExecutionError
from ngramdb.executor.result import Result, Row, batched
from ngramdb.formats import OF_RANGES, WRITTEN, written_format
from ngramdb.ingest.readers.lines import plain_line
from ngramdb.planner.plan import AllDocs, FieldKey
from ngramdb.questions.docs import BATCH_DOCUMENTS, Documents, chosen, listed
from ngramdb.questions.document_columns import ReturnedColumns
from ngramdb.questions.plans import Written
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus

# Bytes before each text in a file of load_dataset.py.
_GOOGLE_PREFIX = 6
RANGE_COLUMNS = ("id", "doc_id", "start", "stop", "start_byte", "stop_byte")
DOCUMENT_COLUMNS = ("id", "doc_id")


def export_marks(
    view: Corpus,
    marks: Sequence[Marks],
    key: FieldKey,
    path: str,
    attribute: str,
    format: str | None = None,
    in_ranges: bool = True,
) -> Written:
    """Write what would be removed from the documents of a corpus.

    Parameters
    ----------
    key : the field that identifies documents in the file
    attribute : dolma: the name of the attribute
    format : bsade, dolma, google or that of a table; by default from the file's name
    in_ranges : tables have ranges of texts, not documents

    Raises
    ------
    ExecutionError
        A document has no value of `key`; the file cannot be written, and nothing is left of it.
    InvalidArgument
        A document without a text, in which ranges were wanted; a name without a known suffix.
    """
    kind = written_format(path, format, (*WRITTEN, *OF_RANGES))
    files = _Files(view, marks, key)
    if kind in OF_RANGES:
        lines = {"bsade": files.bsade, "google": files.google}.get(kind, lambda: files.dolma(attribute))()
        n = write_lines(path, lines)
        return Written(n, {"documents": files.n_documents, "ranges": files.n_ranges})
    rows = files.ranges() if in_ranges else files.removed()
    columns = RANGE_COLUMNS if in_ranges else DOCUMENT_COLUMNS
    types = (files.id_type, *[int] * (len(columns) - 1))
    written = export_rows(Result(columns, batched(rows, BATCH_DOCUMENTS), types=types), path, kind)
    summary = {"ranges": files.n_ranges} if in_ranges else {}
    return Written(written.n, {"documents": files.n_documents, **summary})


class _Files:
    """The lines and rows of files; `n_documents` and `n_ranges` count what those made so far remove."""

    def __init__(self, view: Corpus, marks: Sequence[Marks], key: FieldKey) -> None:
        self._view, self._marks, self._key = view, marks, key
        self._columns = ReturnedColumns(view, (key,))
        self.id_type = self._columns.types[0]
        self.n_documents = self.n_ranges = 0

    def dolma(self, attribute: str) -> Iterator[bytes]:
        """Yield the attributes of each document."""
        for one in self._texts():
            spans = [[start, stop, 1.0] for start, stop in one.characters.tolist()]
            source = one.segment.metadata.row(one.number).get("source")
            given = {"source": source} if isinstance(source, str) else {}
            yield _json({"id": str(self._id(one)), **given, "attributes": {attribute: spans}})

    def bsade(self) -> Iterator[bytes]:
        """Yield each document with its ranges."""
        for one in self._texts():
            metadata = {"sa_remove_ranges": one.bytes.tolist(), **one.segment.metadata.row(one.number)}
            yield plain_line(metadata, one.content.decode("utf-8", "surrogatepass"), None)

    def google(self) -> Iterator[bytes]:
        """Yield the line that `collect` writes before its ranges, and these."""
        yield b"out"
        begin = 0
        for one in self._texts():
            begin += _GOOGLE_PREFIX
            for start, stop in one.bytes.tolist():
                yield b"%d %d" % (begin + start, begin + stop)
            begin += len(one.content)

    def ranges(self) -> Iterator[Row]:
        """Yield a row for each range."""
        for one in self._texts():
            if len(one.bytes):
                ids = (self._id(one), one.segment.doc_id(one.number))
                for characters, places in zip(one.characters.tolist(), one.bytes.tolist(), strict=True):
                    yield (*ids, *characters, *places)

    def removed(self) -> Iterator[Row]:
        """Yield a row for each document that is removed as a whole."""
        for segment, one in zip(self._view.segments, self._marks, strict=True):
            for i in one.gone.tolist():
                self.n_documents += 1
                yield self._id_of(segment, i), segment.doc_id(i)

    def _texts(self) -> Iterator[MarkedText]:
        plan = Documents(self._view, AllDocs())
        for one in marked_texts(self._view, self._marks, listed(plan, chosen(plan)[0])):
            self.n_documents += len(one.bytes) > 0
            self.n_ranges += len(one.bytes)
            yield one

    def _id(self, one: MarkedText) -> Any:
        return self._id_of(one.segment, one.number)

    def _id_of(self, segment: Segment, i: int) -> Any:
        (value,) = self._columns.row(segment, i)
        if value is None:
            raise ExecutionError(
                f"document {segment.doc_id(i)} has no {self._key.path}, which identifies documents in the "
                "file; name another field, as in (ID doc_id)"
            )
        return value


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
