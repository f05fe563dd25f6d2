"""Documents out of tables: a row is a document, one column its text or token ids, all others metadata.

Tables come as Arrow's record batches, whatever they were before. Metadata stay columns
(`ngramdb.ingest.readers.columns`); NULL is a missing value: the document lacks the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, LoadError, ResourceError
from ngramdb.ingest.documents import (
    Document,
    ErrorLog,
    TokenIds,
    invalid_utf8,
    missing_field,
    token_ids,
    unknown_id,
)
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.columns import Columns, MetadataColumns, Row, array_at, is_list, is_string
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_TOKEN_ID
from ngramdb.segments.metadata_columns import Path, path_of, split_path

pyarrow = lazy_module("pyarrow")

# Names that queries use for properties of documents; a field of that name has to be written differently.
OWN_NAMES = ("doc_id", "length")
# In the metadata of a column that an export renamed: the field's own name. The column with the ids that
# documents had in the exported corpus is not a field of theirs.
EXPORTED_AS = b"ngramdb.field"
OF_NO_FIELD = "__ngramdb_doc_id__"
# The column of a pandas index without a name. Integers are what a selection leaves of row numbers; all else
# is labels, which are data.
UNNAMED_INDEX = re.compile(r"__index_level_(\d+)__")
_NUMBERS_LEFT_OUT = (
    "the integers of the table's pandas index are not loaded, since the index is unnamed; name it "
    "(`frame.index.name = 'id'`) to load them as a field"
)
# Separators of columns in files of other programs.
_SEPARATOR = re.compile(r"[;|\t,]")
# Rows that are converted at a time: frames come in one batch, whatever their size.
BATCH_ROWS = 1024
# The same for rows of labels, of which no Python objects are made.
BATCH_LABELS = 1 << 16


class Labels(Document):
    """Rows of a table without texts: `columns` has those of all `n_rows`, None if no row has a value.

    `paths` are the fields of the table, even without values here.
    """

    __slots__ = ("columns", "n_rows", "paths")

    def __init__(
        self, columns: Columns | None, n_rows: int, paths: Sequence[str], place: tuple[str, int, str]
    ) -> None:
        source, first, unit = place
        super().__init__(None, None, {}, source, first, None, unit)
        self.columns = columns
        self.n_rows = n_rows
        self.paths = paths


class TableReader:
    """Turns the record batches of one table into documents, or into `Labels`."""

    def __init__(
        self, schema: Any, options: ReadOptions, label: str | None, unit: str = "row", null: str = "NULL"
    ) -> None:
        """`label` is the table as errors name it, None for one from Python; `unit` is what its rows are.

        `null` is what errors call a text that is not there.

        Raises
        ------
        LoadError
            no column for the text, one of another type, or one that metadata cannot hold
        """
        self._options = options
        self._unit = unit
        self._null = null
        self._skip = options.on_error == "skip"
        names = schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise LoadError(f"the table has several columns {twice[0]!r}", source=label)
        self._labels = {**_labels(schema, options), **_fields_exported(schema, options)}
        schema = _renamed(schema, self._labels)
        self._content = None if options.text_field is None else _content(schema, options, label)
        self._has_ids = options.ids_field is not None
        if self._content is not None:
            _check_content(schema, self._content, self._has_ids, label)
        left_out = [name for name in schema.names if _is_numbers(schema, name)]
        self._leaves_numbers_out = bool(left_out) and options.metadata is None
        kept: list[Path] | None = None
        if left_out or OF_NO_FIELD in schema.names:
            kept = [(name,) for name in schema.names if name not in (*left_out, OF_NO_FIELD)]
        if options.metadata is not None:
            kept = [_found_path(schema, name) for name in options.metadata]
        if not options.of_many:  # of several tables another may have what this one lacks
            _check_kept(schema, kept or (), label)
        self._chosen = options.metadata is not None
        try:
            self._metadata = MetadataColumns(schema, self._content, kept)
        except InvalidArgument as error:
            raise LoadError(f"{error}: name the columns to keep by METADATA", source=label) from error

    @property
    def names(self) -> list[str]:
        """The columns of the table that are needed."""
        content = () if self._content is None else self._content[:1]
        return self._original((*content, *self._metadata.names))

    @property
    def metadata_names(self) -> list[str]:
        """The columns of the table that become metadata."""
        return self._original(self._metadata.names)

    def _original(self, names: Iterable[str]) -> list[str]:
        original = {new: old for old, new in self._labels.items()}
        return [original.get(name, name) for name in dict.fromkeys(names)]

    @property
    def has_content(self) -> bool:
        """True if rows are documents; False if they only have fields."""
        return self._content is not None

    def documents(self, batch: Any, first: int, source: str, errors: ErrorLog) -> Iterator[Document]:
        """Yield the rows of a record batch, numbered from `first`.

        Raises LoadError at a row that is not a document, unless rows are skipped: then `errors` counts it.
        """
        if self._leaves_numbers_out:
            errors.remark(_NUMBERS_LEFT_OUT)
        if self._labels:
            batch = batch.rename_columns(_renamed(batch.schema, self._labels).names)
        n_rows = BATCH_ROWS if self._content is not None else BATCH_LABELS
        for start in range(0, batch.num_rows, n_rows):
            interrupts.check()
            piece = batch.slice(start, n_rows)
            if self._content is None:
                yield self._rows_of_labels(piece, first + start, source, errors)
            else:
                yield from self._rows(piece, self._content, first + start, source, errors)

    def _rows_of_labels(self, batch: Any, first: int, source: str, errors: ErrorLog) -> Labels:
        """Return the rows of a batch. Raises LoadError at one that metadata cannot hold."""
        wrong = _invalid_rows(batch, source)
        columns, unfit = (None, {}) if wrong else self._metadata.of(batch)
        errors.remark_gaps(self._metadata.gaps)
        for i, message in sorted({**wrong, **unfit}.items()):
            raise LoadError(message, source=source, line=first + i, unit=self._unit)
        return Labels(columns, batch.num_rows, self._metadata.paths, (source, first, self._unit))

    def _rows(
        self, batch: Any, content: Path, first: int, source: str, errors: ErrorLog
    ) -> Iterator[Document]:
        batch = _with_strings(batch, content)
        n_rows = batch.num_rows
        numbers: Sequence[int] = range(n_rows)
        damaged = _invalid_rows(batch, source)
        if damaged:
            numbers = [i for i in numbers if i not in damaged]
            batch = batch.take(pyarrow.array(numbers, pyarrow.int64()))
        contents, wrong = self._contents(batch, content)
        columns, unfit = self._metadata.of(batch)
        errors.remark_gaps(self._metadata.gaps)
        if columns is not None:
            self._remark_own_names(columns, errors)
        wrong = {numbers[k]: message for k, message in {**unfit, **wrong}.items()} | damaged
        place = {i: k for k, i in enumerate(numbers)} if damaged else numbers
        for i in range(n_rows):
            if i in wrong:
                self._refuse(LoadError(wrong[i], source=source, line=first + i, unit=self._unit), errors)
                continue
            k = place[i]
            yield self._document(contents[k], columns, k, source, first + i)

    def _remark_own_names(self, columns: Columns, errors: ErrorLog) -> None:
        """Remark on fields with the name of a document's own property in queries."""
        for name in OWN_NAMES:
            if name in columns.names and not self._chosen:
                errors.remark(
                    f"the column {name} is a metadata field, metadata.{name} in conditions; {name} alone "
                    "is the corpus's own. If it comes from an exported result, list the other columns in "
                    "METADATA"
                )

    def _document(self, content: Any, columns: Columns | None, k: int, source: str, row: int) -> Document:
        metadata = {} if columns is None else Row(columns, k)
        text, ids = (None, content) if self._has_ids else (content, None)
        return Document(text, ids, metadata, source, row, None, self._unit)

    def _contents(self, batch: Any, content: Path) -> tuple[Sequence[Any], dict[int, str]]:
        """Return the text or token ids of each row, and the errors of rows."""
        array = array_at(batch, content)
        field = path_of(content)
        if self._has_ids:
            return _id_lists(array, field, self._options.n_ids)
        texts, n_bytes = _texts(array)
        what = f"the text in column {field!r} is {self._null}"
        wrong = {} if array.null_count == 0 else {i: what for i, text in enumerate(texts) if text is None}
        limit = self._options.limits
        if len(n_bytes) and n_bytes.max() > limit.document_bytes:
            long = np.flatnonzero(n_bytes > limit.document_bytes).tolist()
            wrong |= dict.fromkeys(long, f"longer than {limit.most}")
        return texts, wrong

    def _refuse(self, error: LoadError, errors: ErrorLog) -> None:
        if self._skip:
            errors.add(error)
        elif error.message.startswith("longer than"):
            raise ResourceError(str(error), limit=self._options.limits.document_bytes)
        else:
            raise error


def _content(schema: Any, options: ReadOptions, label: str | None) -> Path:
    """Return the path of the column with the text or the token ids."""
    wanted = (options.text_field if options.ids_field is None else options.ids_field) or ""
    for name in filter(None, (wanted, options.ids_instead)):
        path = _found_path(schema, name)
        if _field_at(schema, path) is not None:
            return path
    raise _missing_column(schema, wanted, label)


def _labels(schema: Any, options: ReadOptions) -> dict[str, str]:
    """Return field names for the labels of an index without a name: those of pandas' `reset_index`.

    A level keeps its own name if the options name it by that, or if another column has the new one.
    """
    levels = [level for name in schema.names if (level := UNNAMED_INDEX.fullmatch(name))]
    asked = {*(options.metadata or ()), options.text_field, options.ids_field}
    labels: dict[str, str] = {}
    for level in levels:
        if level[0] in asked or _is_numbers(schema, level[0]):
            continue
        names = [f"level_{level[1]}"] if len(levels) > 1 else ["index", "level_0"]
        labels[level[0]] = next((name for name in names if name not in schema.names), level[0])
    return labels


def _fields_exported(schema: Any, options: ReadOptions) -> dict[str, str]:
    """Return the names that the fields of an exported table had; none if the options name columns."""
    if options.metadata is not None:
        return {}
    tags = {field.name: (field.metadata or {}).get(EXPORTED_AS) for field in schema}
    asked = (options.text_field, options.ids_field)
    labels = {name: tag.decode() for name, tag in tags.items() if tag is not None and name not in asked}
    names = [labels.get(name, name) for name in schema.names]
    return labels if len(set(names)) == len(names) else {}


def _renamed(schema: Any, labels: Mapping[str, str]) -> Any:
    if not labels:
        return schema
    return pyarrow.schema([field.with_name(labels.get(field.name, field.name)) for field in schema])


def _is_numbers(schema: Any, name: str) -> bool:
    is_unnamed = UNNAMED_INDEX.fullmatch(name) is not None
    return is_unnamed and bool(pyarrow.types.is_integer(schema.field(name).type))


def _check_kept(schema: Any, kept: Iterable[Path], label: str | None) -> None:
    """Raise LoadError if the table lacks a column that is to be kept."""
    for path in kept:
        if _field_at(schema, path) is None and not _is_in_map(schema, path):
            raise _missing_column(schema, path_of(path), label)


def _missing_column(schema: Any, wanted: str, label: str | None) -> LoadError:
    message = missing_field(wanted, tuple(_paths(schema)))
    message = message.replace("no field", "no column").replace("fields are", "columns are")
    if len(schema.names) == 1 and (mark := _SEPARATOR.search(schema.names[0])):
        message += (
            f"; {mark[0]!r} separates no columns here: save the table with commas between them (CSV), or "
            "tabs (TSV)"
        )
    return LoadError(message, source=label)


def _found_path(schema: Any, name: str) -> Path:
    """Return the path that a name means; a column's whole name, including dots, if there is no such path."""
    path = split_path(name)
    return (name,) if _field_at(schema, path) is None and name in schema.names else path


def _field_at(schema: Any, path: Path) -> Any:
    """Return the field at a path, or None."""
    if path[0] not in schema.names:
        return None
    field = schema.field(path[0])
    for key in path[1:]:
        if not pyarrow.types.is_struct(field.type) or field.type.get_field_index(key) < 0:
            return None
        field = field.type.field(field.type.get_field_index(key))
    return field


def _is_in_map(schema: Any, path: Path) -> bool:
    """Return True if a path leads into a map, whose keys only its rows have."""
    fields = (_field_at(schema, path[:n]) for n in range(1, len(path)))
    return any(field is not None and pyarrow.types.is_map(field.type) for field in fields)


def _paths(fields: Iterable[Any], before: Path = ()) -> Iterator[str]:
    """Yield the paths of all columns; those within structs in place of the structs."""
    for field in fields:
        keys = (*before, field.name)
        if pyarrow.types.is_struct(field.type):
            yield from _paths(field.type, keys)
        else:
            yield path_of(keys)


def _check_content(schema: Any, path: Path, has_ids: bool, label: str | None) -> None:
    """Raise LoadError if the column's type is not that of a text, or of token ids."""
    kind = _field_at(schema, path).type
    inner = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    name = path_of(path)
    if has_ids:
        if not (is_list(inner) and pyarrow.types.is_integer(inner.value_type)):
            raise LoadError(
                f"the column {name!r} is {kind}, but a document's ids must be a list of integers",
                source=label,
            )
        return
    types = pyarrow.types
    is_bytes = len(path) == 1 and (types.is_binary(kind) or types.is_large_binary(kind))
    if not (is_string(inner) or types.is_null(inner) or is_bytes):
        raise LoadError(f"the column {name!r} is {kind}, but a text must be a string", source=label)


def _with_strings(batch: Any, content: Path) -> Any:
    """Return the batch with a column of texts given as bytes cast to strings, yet to be checked."""
    index = batch.schema.get_field_index(content[0])
    column = batch.column(index)
    if not (pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type)):
        return batch
    arrays = list(batch.columns)
    arrays[index] = column.cast(pyarrow.large_string(), safe=False)
    return pyarrow.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _invalid_rows(batch: Any, source: str) -> dict[int, str]:
    """Return the errors that Arrow finds in rows: most often strings that are not UTF-8."""
    try:
        batch.validate(full=True)
    except pyarrow.ArrowInvalid as error:
        found = {}
        for i in range(batch.num_rows):
            try:
                batch.slice(i, 1).validate(full=True)
            except pyarrow.ArrowInvalid as fault:
                found[i] = _invalid_text(batch.slice(i, 1)) or f"damaged: {fault}"
        if not found:
            raise LoadError(f"damaged: {error}", source=source) from error
        return found
    return {}


def _invalid_text(row: Any) -> str | None:
    """Return the message for a row whose first fault is a string that is not UTF-8, else None.

    Arrow checks offsets before strings: where these are at fault, the bytes can be read.
    """
    for field, array in zip(row.schema, row.columns, strict=True):
        try:
            array.validate(full=True)
        except pyarrow.ArrowInvalid as fault:
            if not is_string(field.type) or "UTF8" not in str(fault):
                return None
            try:
                (array.cast(pyarrow.large_binary(), safe=False)[0].as_py() or b"").decode()
            except UnicodeDecodeError as error:
                return invalid_utf8(error, error.start, f" of the column {field.name!r}")
    return None


def _texts(array: Any) -> tuple[list[bytes | None], NDArray[np.int64]]:
    """Return the bytes of each string, None for NULL, and their total number."""
    array = array.cast(pyarrow.large_string())
    n = len(array)
    if not n:
        return [], np.zeros(0, np.int64)
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + n + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    whole = b"" if data is None else data.slice(first, last - first).to_pybytes()
    ends = (bounds - first).tolist()
    texts: list[bytes | None] = [whole[start:stop] for start, stop in pairwise(ends)]
    if array.null_count:
        for i in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
            texts[i] = None
    return texts, np.diff(bounds)


def _id_lists(array: Any, field: str, n_ids: int) -> tuple[Sequence[TokenIds | None], dict[int, str]]:
    """Return the token ids of each list, as views of one array, and the errors of lists."""
    array = array.cast(pyarrow.large_list(array.type.value_type))
    bounds = array.offsets.to_numpy()
    first, last = (int(bounds[0]), int(bounds[-1])) if len(bounds) else (0, 0)
    inner = array.values.slice(first, last - first)
    bounds = (bounds - first).tolist()
    if array.null_count or inner.null_count:
        return _checked_lists(array, field, n_ids)
    values = inner.to_numpy(zero_copy_only=False)
    if len(values) and (int(values.min()) < 0 or int(values.max()) >= min(n_ids, MAX_TOKEN_ID + 1)):
        return _checked_lists(array, field, n_ids)
    ids = values if values.dtype.kind == "u" and values.dtype.itemsize <= 4 else values.astype(np.uint32)
    return [ids[start:stop] for start, stop in pairwise(bounds)], {}


def _checked_lists(array: Any, field: str, n_ids: int) -> tuple[Sequence[TokenIds | None], dict[int, str]]:
    """Check the same lists one by one, if some of them are invalid."""
    lists: list[TokenIds | None] = []
    wrong: dict[int, str] = {}
    for i, given in enumerate(array.to_pylist()):
        ids = None
        if given is None:
            wrong[i] = f"the list of ids in column {field!r} is NULL"
        else:
            try:
                ids = token_ids(given, field)
                if len(ids) and int(ids.max()) >= n_ids:
                    wrong[i] = unknown_id(field, int(ids.max()), n_ids)
            except LoadError as error:
                wrong[i] = error.message
        lists.append(ids)
    return lists, wrong
