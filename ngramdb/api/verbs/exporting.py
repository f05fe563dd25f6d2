"""COPY (DOCS …) TO: original documents as JSON lines or Parquet; and audit records as files.

The conversion of a document to a line is in `document_lines`.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import json
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TextIO, cast

from ngramdb import interrupts
from ngramdb.api.verbs import row_formats
from ngramdb.api.verbs.document_lines import DocumentLines, ShownTexts
from ngramdb.api.verbs.token_files import write_token_files
from ngramdb.api.verbs.whole_files import replacing
from ngramdb.engine.changes.audit import Removal, RemovedDocument
from ngramdb.errors import ExportWarning, InvalidArgument
from ngramdb.executor.dataframes import are_lost, arrow_type, as_came, types_that_came
from ngramdb.executor.result import Result
from ngramdb.formats import OF_DOCUMENTS, OF_IDS, WRITTEN, endings_of, written_format
from ngramdb.ingest.readers.tables import EXPORTED_AS, OF_NO_FIELD, OWN_NAMES
from ngramdb.planner.cautions import Caution
from ngramdb.planner.plan import column_of, columns_in_files
from ngramdb.questions.docs import CORPUS, Documents, chosen, corpora_by_segment, listed, watched_documents
from ngramdb.questions.document_columns import (
    REST_COLUMN,
    Fields,
    arrow_types_of,
    changed_in_columns,
    has_rest,
    has_several_types,
    metadata_fields,
    rest_of,
    type_in_files,
    value_at,
)
from ngramdb.questions.plans import Written
from ngramdb.segments.base import Segment
from ngramdb.segments.metadata_columns import JSON
from ngramdb.source import Corpus

# Documents between two interrupt checks; rows of a Parquet group.
BATCH_DOCUMENTS = 1024
COMPRESSION_LEVEL = 6
# Most fields in a note.
MOST_NAMED = 5
# The column of token ids, in place of the text.
IDS = "ids"


class Sink(Protocol):
    """The destination of bytes."""

    def write(self, data: bytes, /) -> Any: ...


def export_documents(
    plan: Documents,
    path: str | os.PathLike[str],
    format: str | None = None,
    separator: int | None = None,
    dtype: str | None = None,
) -> Written:
    """Write the documents of a DOCS query, in its order, to a file.

    Parameters
    ----------
    path : compressed if the name ends in .gz, .zst, .bz2 or .xz; an existing file is replaced when all
        is written
    format : 'jsonl' or 'parquet', which preserve documents completely; 'csv', 'tsv' or 'arrow' for the rows
        of the query; by default from the file's name. 'megatron' and 'nanogpt' are files of token ids
    separator, dtype : of files of token ids, see `write_token_files`

    Raises
    ------
    ExecutionError
        The file cannot be written; nothing is left of it.
    InvalidArgument
        An unknown format, a name without a known suffix, or options of another format.
    """
    name = os.fspath(path)
    kind = written_format(name, format, (*WRITTEN, *OF_IDS))
    if kind in OF_IDS:
        found, summary = chosen(plan)
        done = write_token_files(plan.corpus, listed(plan, found), name, kind, separator, dtype)
        return Written(done.documents, {**summary, "tokens": done.tokens, "dtype": done.dtype})
    _check_no_ids(separator, dtype)
    texts = ShownTexts(plan.corpus.tokenizer)
    if kind not in OF_DOCUMENTS:
        result = watched_documents(plan, texts.seen, with_corpora=plan.corpus.n_added > 1)
        fields = metadata_fields(plan.corpus)
        renamed = {column_of(name, fields): column for name, column in columns_in_files(fields).items()}
        result.columns = tuple(renamed.get(name, name) for name in result.columns)
        if kind == "arrow":
            types = _types(plan.corpus, fields)
            first = result.columns.index("doc_id") + 1
            mixed = {first + i for i, field in enumerate(fields) if types[field] == JSON}
            result = row_formats.with_json(result, mixed)
        n = _write_rows(result, name, kind)
        return Written(n, result.summary, (*texts.cautions, *_of_columns(plan, kind)))
    found, summary = chosen(plan)
    wanted = listed(plan, found)
    if kind == "parquet":
        n = replacing(name, lambda file: _write_parquet(plan, wanted, texts, file))
        return Written(n, summary, (*texts.cautions, *_of_columns(plan, kind)))
    lines = DocumentLines(plan.corpus.tokenizer)
    return Written(write_lines(name, lines.of(wanted)), summary, lines.cautions)


def _of_columns(plan: Documents, kind: str) -> tuple[Caution, ...]:
    """Note fields that change when documents are loaded from the columns of a file."""
    fields = metadata_fields(plan.corpus)
    changed = changed_in_columns(_types(plan.corpus, fields), kind in row_formats.DELIMITERS)
    if kind == "parquet":  # which records the original names of these
        changed = [name for name in changed if name not in OWN_NAMES]
    retyped = () if kind in row_formats.DELIMITERS else _retyped(plan.corpus, fields)
    if not changed:
        return retyped
    message = (
        f"{_named(changed)}: in columns, nested fields are named by their paths, and values of several types "
        f"are {_mixed(kind)}; documents loaded from such a file keep these changes; JSON lines preserve the "
        "original"
    )
    return (Caution(message, ExportWarning), *retyped)


def _named(fields: Sequence[str]) -> str:
    return ", ".join(fields[:MOST_NAMED]) + (", …" if len(fields) > MOST_NAMED else "")


def _mixed(kind: str) -> str:
    """Return what values become in columns of several types."""
    return "texts, in which 1 and '1' are the same" if kind in row_formats.DELIMITERS else "JSON"


def _retyped(corpus: Corpus, fields: Fields) -> tuple[Caution, ...]:
    """Note fields from tables that are written with other types than they had there."""
    kept = arrow_types_of(corpus, fields)
    came = {name: types_that_came(corpus, name) for name in fields if name not in kept}
    # Wider integers and floats lose nothing.
    changed = {name: types for name, types in came.items() if are_lost(types)}
    if not changed:
        return ()
    shown = [
        f"{name} ({', '.join('as stored' if one is None else str(one) for one in types)})"
        for name, types in list(changed.items())[:MOST_NAMED]
    ]
    more = ", …" if len(changed) > MOST_NAMED else ""
    message = (
        f"{', '.join(shown)}{more}: these fields came with several types, or with one that is stored as a "
        "wider one, and are written as they are stored"
    )
    return (Caution(message, ExportWarning),)


def _check_no_ids(separator: int | None, dtype: str | None) -> None:
    """Raise InvalidArgument for options of files of token ids."""
    for option, value in (("separator", separator), ("dtype", dtype)):
        if value is not None:
            raise InvalidArgument(f"the option {option} is for the formats {' and '.join(OF_IDS)}")


def export_rows(
    result: Result,
    path: str,
    format: str | None = None,
    separator: int | None = None,
    dtype: str | None = None,
) -> Written:
    """Write a result to a file.

    Raises as `export_documents`.
    """
    if format in OF_IDS:
        raise InvalidArgument(f"{format} files have whole documents; write COPY (DOCS …) without RETURNING")
    kind = written_format(path, format)
    _check_no_ids(separator, dtype)
    cautions = result.cautions
    shown = result
    if kind != "jsonl" and result.fields is not None:
        corpus, keys = result.fields
        mixed = {i: key.path for i, key in keys.items() if has_several_types(corpus, key)}
        cautions = (*cautions, *_of_mixed(mixed, kind))
        if kind not in row_formats.DELIMITERS:
            stored = metadata_fields(corpus)
            paths = [key.path for key in keys.values() if not key.is_computed and key.path in stored]
            cautions = (*cautions, *_retyped(corpus, Fields({path: stored[path] for path in paths})))
            shown = row_formats.with_json(result, mixed) if mixed else result
    n = _write_rows(shown, path, kind)
    return Written(n, result.summary, cautions, result.exact, result.found)


def _of_mixed(mixed: dict[int, str], kind: str) -> tuple[Caution, ...]:
    """Note fields of several types in the columns of a file."""
    if not mixed:
        return ()
    named = _named(list(dict.fromkeys(mixed.values())))
    message = (
        f"{named}: in columns, values of several types are {_mixed(kind)}; JSON lines preserve the original"
    )
    return (Caution(message, ExportWarning),)


def export_removals(
    removed: Iterable[RemovedDocument], path: str | os.PathLike[str], format: str | None = None
) -> int:
    """Write audit records, one object per removed document, to a file; return their number."""
    name = os.fspath(path)
    rows = _audit_rows(removed)
    if written_format(name, format, OF_DOCUMENTS) == "parquet":
        return replacing(name, lambda file: _write_audit_table(rows, file))
    return write_lines(name, (_json(row) for row in rows))


def _audit_rows(removed: Iterable[RemovedDocument]) -> Iterator[dict[str, Any]]:
    """Yield an object for each removed document.

    Only the first object of a removal has the statement, which may have thousands of values. The reason of
    the removal is that of its documents, unless these have their own.
    """
    last: Removal | None = None
    for one in removed:
        removal = one.removal.fields()
        reason = None if "reason" in one.details else removal.pop("reason", None)
        if one.removal == last:
            del removal["statement"]
        last = one.removal
        given = {} if reason is None else {"reason": reason}
        yield {"doc_id": one.doc_id, **given, **one.details, "removal": removal}


def write_lines(name: str, lines: Iterable[bytes]) -> int:
    """Write lines to a file, compressed according to its name; return their number. Raises ExecutionError."""
    return replacing(name, lambda file: _write_lines(name, lines, file))


def write_text(name: str, write: Callable[[TextIO], int]) -> int:
    """Write UTF-8 text to a file, compressed by its name; return what `write` does. Raises ExecutionError."""

    def through(file: Any) -> int:
        with _compressed(name, file) as sink:
            return write(cast("TextIO", codecs.getwriter("utf-8")(cast("Any", sink))))

    return replacing(name, through)


def _write_rows(result: Result, name: str, kind: str) -> int:
    """Write the rows of a result; return their number."""
    if kind == "jsonl":
        return write_lines(name, row_formats.json_lines(result))
    if kind in row_formats.DELIMITERS:
        return write_lines(name, row_formats.delimited(result, kind)) - 1  # without the header
    as_stream = endings_of(name)[0] == ".arrows"
    return replacing(name, lambda file: row_formats.write_table(result, file, kind, as_stream))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _write_lines(name: str, lines: Iterable[bytes], file: Any) -> int:
    n = 0
    with _compressed(name, file) as sink:
        for line in lines:
            if n % BATCH_DOCUMENTS == 0:
                interrupts.check()
            sink.write(line + b"\n")
            n += 1
    return n


@contextlib.contextmanager
def _compressed(name: str, file: Any) -> Iterator[Sink]:
    compression = endings_of(name)[1]
    if compression == ".gz":
        # Without a time in its header: the same documents produce the same file.
        with gzip.GzipFile(
            filename="", mode="wb", compresslevel=COMPRESSION_LEVEL, fileobj=file, mtime=0
        ) as sink:
            yield sink
    elif compression == ".bz2":
        with bz2.BZ2File(file, "wb") as sink:
            yield sink
    elif compression == ".xz":
        with lzma.LZMAFile(file, "wb") as sink:
            yield sink
    elif compression in (".zst", ".zstd"):
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as sink:
            yield sink
    elif not compression:
        yield file
    else:
        raise NotImplementedError(f"unsupported compression {compression}")


# ---- Parquet --------------------------------------------------------------------------------------------


def _write_parquet(
    plan: Documents, wanted: Iterator[tuple[Segment, int]], texts: ShownTexts, file: Any
) -> int:
    """Write a column for the text and one for each metadata field, by path; mixed types become JSON.

    If documents consist of ids only, a column `ids` replaces the text.
    """
    import pyarrow
    import pyarrow.parquet

    fields = metadata_fields(plan.corpus)
    types = _types(plan.corpus, fields)
    came = arrow_types_of(plan.corpus, fields)
    of_ids = plan.corpus.tokenizer.kind == "tokens"
    names = columns_in_files(fields)
    if of_ids and IDS in fields:
        names[IDS] = f"metadata.{IDS}"
    content = (IDS, pyarrow.list_(pyarrow.uint32())) if of_ids else ("text", pyarrow.large_string())
    rest = [pyarrow.field(REST_COLUMN, pyarrow.string())] if has_rest(fields) else []
    corpora: dict[int, str] = {}
    if plan.corpus.n_added > 1:
        corpora = corpora_by_segment(plan.corpus)
        names = {name: f"metadata.{column}" if column == CORPUS else column for name, column in names.items()}
    schema = pyarrow.schema(
        [
            *([pyarrow.field(CORPUS, pyarrow.string())] if corpora else []),
            pyarrow.field("doc_id", arrow_type("int64"), metadata={EXPORTED_AS: OF_NO_FIELD}),
            pyarrow.field(*content),
            *(
                pyarrow.field(names[name], came.get(name, arrow_type(kind)), metadata=_exported_as(name))
                for name, kind in types.items()
            ),
            *rest,
        ]
    )
    n = 0
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(wanted):
            interrupts.check()
            columns: dict[str, list[Any]] = {name: [] for name in schema.names}
            for segment, i in batch:
                values = segment.metadata.row(i)
                if corpora:
                    columns[CORPUS].append(corpora[id(segment)])
                columns["doc_id"].append(segment.doc_id(i))
                columns[content[0]].append(segment.document(i) if of_ids else texts.of(segment, i))
                for name in fields:
                    columns[names[name]].append(_stored(value_at(values, name, fields), types[name]))
                if rest:
                    columns[REST_COLUMN].append(_stored(rest_of(values, fields), JSON))
            stored = {names[name]: arrow_type(kind) for name, kind in types.items()}
            arrays = [
                as_came(pyarrow.array(columns[field.name], stored.get(field.name, field.type)), field.type)
                for field in schema
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            n += len(batch)
        texts.end()
    return n


def _exported_as(field: str) -> dict[bytes, str] | None:
    """Return the metadata by which a load restores the name of a renamed field."""
    return {EXPORTED_AS: field} if field in OWN_NAMES else None


def _types(corpus: Corpus, fields: Fields) -> dict[str, str]:
    return {name: type_in_files(corpus, name, found) for name, found in fields.items()}


def _stored(value: Any, type_name: str) -> Any:
    if value is None:
        return None
    if type_name == JSON:
        return row_formats.as_json(value)
    return float(value) if type_name == "float64" else value


def _write_audit_table(rows: Iterable[dict[str, Any]], file: Any) -> int:
    import pyarrow
    import pyarrow.parquet

    numbers = {
        "doc_id": "int64",
        "kept": "int64",
        "contained": "float64",
        "tokens_cut": "int64",
        "pieces": "int64",
    }
    texts = ("id", "source", "reason", "matches", "kept_in", "key", "removal")
    schema = pyarrow.schema([*numbers.items(), *((name, "string") for name in texts)])
    n = 0
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(rows):
            shown = [
                {name: row.get(name) if name in numbers else _text(row.get(name)) for name in schema.names}
                for row in batch
            ]
            writer.write_table(pyarrow.Table.from_pylist(shown, schema=schema))
            n += len(batch)
    return n


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    if batch:
        yield batch
