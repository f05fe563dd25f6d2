"""The rows of a table, joined by a key with documents, for `ngramdb.engine.changes.fields`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.key_table import KeyTable
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import Document
from ngramdb.ingest.readers.tables import Labels as RowsOfTable
from ngramdb.interrupts import Interrupt
from ngramdb.segments.base import CHUNK_DOCUMENTS
from ngramdb.segments.fields_file import Labels
from ngramdb.segments.merged_arrays import in_order
from ngramdb.segments.metadata import MetadataReader, is_within
from ngramdb.segments.metadata_builder import MetadataBuilder
from ngramdb.segments.metadata_columns import MAX_OBJECT_DEPTH, flatten, path_of, pyarrow, split_path

# Rows of labels that are joined at a time, and the bytes of their values.
ROUND_ROWS = 1 << 22
ROUND_BYTES = 1 << 28
# Keys that are looked up at a time.
_FOUND_ROWS = 1 << 18
# Keys of each kind that a report lists.
SHOWN = 5
# Rows that no document needs are dropped if there are this many times as many as needed.
MOST_SPARE = 8
# Columns of documents that are not metadata.
OWN = ("doc_id", "length", "text")

Key = str | int
Places = NDArray[np.int64]


@dataclass(frozen=True)
class AddedFields:
    """The outcome of adding fields.

    Attributes
    ----------
    fields : the paths of the fields
    rows : the number of rows of the table
    documents : the number of documents that have a row, and so new values
    without_row : the number of documents that have none; `first_without_row` are the first few ids
    unmatched : the number of rows whose key no document has; `first_unmatched` are the first few keys
    without_key : the number of rows without a key
    repeated : the number of rows that repeat an earlier one, and were ignored
    shared : the number of documents that have their key, and so their row, in common with others
    version : the version of the database with the fields
    notes : remarks on the values of the table
    """

    fields: tuple[str, ...]
    rows: int
    documents: int
    without_row: int
    first_without_row: tuple[int, ...]
    unmatched: int
    first_unmatched: tuple[Key, ...]
    without_key: int
    repeated: int
    shared: int
    version: int = 0
    notes: tuple[str, ...] = ()


def check_place(view: CorpusView, path: str) -> None:
    """Raise InvalidArgument if a field would be inside a field that is not an object."""
    keys = split_path(path)
    if len(keys) > MAX_OBJECT_DEPTH:
        raise InvalidArgument(f"the field {path} is nested more than {MAX_OBJECT_DEPTH} levels deep")
    outer = [path_of(keys[:n]) for n in range(1, len(keys))]
    for segment in view.segments:
        for one in outer:
            if one in segment.metadata.fields() or segment.metadata.rest_has(one):
                raise InvalidArgument(
                    f"the field {path} cannot be set: {one} has values that are not objects; drop {one} "
                    "first, or choose another name"
                )


# ---- Reading the table in rounds


class Round(NamedTuple):
    """Rows of a table; `columns` are paths of its columns, with or without values here."""

    values: MetadataReader
    n_rows: int
    columns: tuple[str, ...]


def rounds(rows: Iterator[Document]) -> Iterator[Round]:
    """Yield the rows of a table in parts that fit in memory."""
    builder, n_rows, n_bytes = MetadataBuilder(is_kept=False), 0, 0
    columns: dict[str, None] = {}
    for row in rows:
        if isinstance(row, RowsOfTable):
            columns.update(dict.fromkeys(row.paths))
            if row.columns is None:
                builder.add_empty(row.n_rows)
            else:
                builder.add_columns(row.columns.batch)
                n_bytes += row.columns.batch.nbytes
            n_rows += row.n_rows
        else:
            try:
                leaves = flatten(row.metadata)
            except InvalidArgument as error:
                raise row.error(str(error)) from error
            builder.add_leaves(leaves)
            n_rows += 1
            n_bytes += 16 * len(leaves) + sum(len(value) for _, value in leaves if type(value) is str)
            if n_rows % CHUNK_DOCUMENTS == 0:
                interrupts.check()
        if n_rows >= ROUND_ROWS or n_bytes >= ROUND_BYTES:
            yield Round(MetadataReader(builder.finish(), n_rows, "the table"), n_rows, tuple(columns))
            builder, n_rows, n_bytes = MetadataBuilder(is_kept=False), 0, 0
    if n_rows:
        yield Round(MetadataReader(builder.finish(), n_rows, "the table"), n_rows, tuple(columns))


# ---- Joining the rows with documents


@dataclass(frozen=True)
class Keys:
    """The keys of documents or rows: two Arrow arrays of the same length; of each key one is not null."""

    strings: Any
    integers: Any

    def found_in(self, others: Keys, threads: int = 1) -> Places:
        """Return, for each key, the place of the first equal one among others, or -1."""
        found = np.full(len(self.strings), -1, dtype=np.int64)
        for own, other in ((self.strings, others.strings), (self.integers, others.integers)):
            if own.null_count < len(own) and other.null_count < len(other):
                np.maximum(found, _places(own, other, threads), out=found)
        return found

    def shown(self, number: int) -> Key:
        """Return one of the keys."""
        text: str | None = self.strings[number].as_py()
        found: Key = self.integers[number].as_py() if text is None else text
        return found

    def are_there(self) -> NDArray[np.bool_]:
        """Return a (n,) bool array: whether each document or row has a key."""
        there: NDArray[np.bool_] = (
            pyarrow()
            .compute.or_(self.strings.is_valid(), self.integers.is_valid())
            .to_numpy(zero_copy_only=False)
        )
        return there


def _places(keys: Any, others: Any, threads: int = 1) -> Places:
    table = KeyTable(*_bytes_of(others))
    chunks = keys.chunks if isinstance(keys, pyarrow().ChunkedArray) else [keys]
    pieces = [chunk.slice(i, _FOUND_ROWS) for chunk in chunks for i in range(0, len(chunk), _FOUND_ROWS)]

    def find(i: int, token: Interrupt | None) -> Places:
        with nullcontext() if token is None else token:
            return table.find(*_bytes_of(pieces[i]))

    return np.concatenate([np.empty(0, dtype=np.int64), *in_order(find, len(pieces), threads, None)])


def _bytes_of(array: Any) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Return strings or integers as `KeyTable` takes them."""
    n, arrow = len(array), pyarrow()
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
    _, values, *more = array.buffers()
    if n == 0 or values is None:
        return np.zeros(n + 1, dtype=np.int32), np.empty(0, dtype=np.uint8), valid
    if arrow.types.is_integer(array.type):
        integers = np.frombuffer(values, dtype=np.int64, count=n, offset=8 * array.offset)
        return np.arange(n + 1, dtype=np.int32) * np.int32(8), integers.view(np.uint8), valid
    offsets = np.frombuffer(values, dtype=np.int32, count=n + 1, offset=4 * array.offset)
    data = np.empty(0, dtype=np.uint8) if more[0] is None else np.frombuffer(more[0], dtype=np.uint8)
    return offsets, data, valid


def keys_of(metadata: MetadataReader, field: str, n: int) -> Keys:
    """Return the values of a field that are strings or integers; numbers such as 7.0 are the integer 7."""
    arrow = pyarrow()
    no_strings, no_integers = arrow.nulls(n, arrow.string()), arrow.nulls(n, arrow.int64())
    path = split_path(field)
    # The path, and the name that reads like it: columns of tables may have dots in their names.
    names = tuple(dict.fromkeys((field, path_of((".".join(path),)))))
    found = {name: kind for name, kind in metadata.fields().items() if name in names}
    if not any(metadata.rest_has(name) for name in names):
        if not found:
            return Keys(no_strings, no_integers)
        if len(found) == 1:
            ((name, kind),) = found.items()
            column = metadata.column(name)
            if kind == "string":
                return Keys(column.cast(arrow.string()).combine_chunks(), no_integers)
            if kind == "int64":
                return Keys(no_strings, column.combine_chunks())
            if kind == "float64":
                return Keys(no_strings, _whole(column.combine_chunks()))
    strings: list[str | None] = []
    integers: list[int | None] = []
    for start in range(0, n, CHUNK_DOCUMENTS):
        interrupts.check()
        for row in metadata.rows(range(start, min(start + CHUNK_DOCUMENTS, n))):
            value = next((value for name, value in flatten(row) if name in names), None)
            strings.append(value if isinstance(value, str) else None)
            integers.append(_integer(value))
    return Keys(arrow.array(strings, arrow.string()), arrow.array(integers, arrow.int64()))


def _whole(numbers: Any) -> Any:
    """Return the integers among floats, null for all others."""
    arrow = pyarrow()
    values = numbers.fill_null(0.5).to_numpy(zero_copy_only=False)
    whole = (values == np.floor(values)) & (np.abs(values) <= 2**53)
    return arrow.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)


def _integer(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        return None
    return value


class Join:
    """The rows of a table, matched with documents part by part."""

    def __init__(
        self,
        view: CorpusView,
        key: tuple[str, bool],
        column: str,
        fields: Sequence[str] | None,
        replaces: bool,
        threads: int = 1,
    ) -> None:
        self._view = view
        self._threads = threads
        self._column = column
        self._fields = fields
        self._replaces = replaces
        self._key = key
        self._keys = _document_keys(view, *key)
        #: The row of each document among those kept in `_parts`, or -1.
        self._places = np.full(view_size(view), -1, dtype=np.int64)
        self._parts: list[MetadataReader] = []
        self._sizes: list[int] = []
        self._roots: dict[str, None] = {}
        self._n_rows = self._n_unmatched = self._n_without_key = self._n_repeated = 0
        self._first_unmatched: list[Key] = []
        self._has_column = False

    def add(self, given: Round) -> None:
        """Match the next rows."""
        part, n_rows = given.values, given.n_rows
        self._note_fields((*given.columns, *part.fields()))
        keys = keys_of(part, self._column, n_rows)
        places = self._keys.found_in(keys, self._threads)
        is_hit = np.zeros(n_rows, dtype=np.bool_)
        is_hit[places[places >= 0]] = True
        self._count_others(part, keys, is_hit)
        # Documents that have a row from an earlier part already.
        again = (places >= 0) & (self._places >= 0)
        if again.any():
            numbers = np.unique(places[again], return_index=True)
            first = self._places[again][numbers[1]]
            self._check_equal(keys, (self.labels, first), (Labels([part], [n_rows]), numbers[0]), numbers[0])
            self._n_repeated += len(numbers[0])
            places[again] = -1
        is_new = places >= 0
        is_used = np.zeros(n_rows, dtype=np.bool_)
        is_used[places[is_new]] = True
        rows = np.flatnonzero(is_used)
        if not len(rows):
            return
        n_before = sum(self._sizes)
        if len(rows) * MOST_SPARE < n_rows:
            part, places[is_new] = _taken(part, rows), np.searchsorted(rows, places[is_new])
            n_rows = len(rows)
        self._places[is_new] = places[is_new] + n_before
        self._parts.append(part)
        self._sizes.append(n_rows)

    @property
    def labels(self) -> Labels:
        """The rows that documents have."""
        return Labels(self._parts, self._sizes)

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths of the fields that are added."""
        return tuple(self._roots)

    def check_fields_found(self) -> None:
        """Raise InvalidArgument if the key or a requested field is in no row."""
        if self._n_rows and self._n_without_key == self._n_rows and not self._has_column:
            raise InvalidArgument(
                f"the table has no column {self._column!r}; the key has the same name in the documents and "
                "in the table"
            )
        for field in self._fields or ():
            if self._n_rows and not any(root in _spellings(field) for root in self._roots):
                raise InvalidArgument(f"no row of the table has the field {field!r}")

    def places_by_segment(self) -> list[Places]:
        """Return the row of each document, per segment."""
        stops = np.cumsum([segment.n_documents for segment in self._view.segments], dtype=np.int64)
        return np.split(self._places, stops)[:-1]

    def outcome(self) -> AddedFields:
        """Return what was matched."""
        places = self._places[self._places >= 0]
        counts = np.bincount(places)
        lacking: list[int] = []
        n_lacking = 0
        for i, found in enumerate(self.places_by_segment()):
            kept = self._view.kept(i)
            left = kept[found[kept] < 0]
            n_lacking += len(left)
            lacking += self._view.segments[i].doc_ids(left[: SHOWN - len(lacking)]).tolist()
        return AddedFields(
            fields=self.roots,
            rows=self._n_rows,
            documents=len(places),
            without_row=n_lacking,
            first_without_row=tuple(lacking),
            unmatched=self._n_unmatched,
            first_unmatched=tuple(self._first_unmatched),
            without_key=self._n_without_key,
            repeated=self._n_repeated,
            shared=int(counts[counts > 1].sum()),
        )

    def _note_fields(self, paths: Sequence[str]) -> None:
        """Find those of a part's fields that are to be added, and check each."""
        wanted = None if self._fields is None else [one for f in self._fields for one in _spellings(f)]
        for path in paths:
            if path in _spellings(self._column):
                self._has_column = True
                continue
            if is_within(path, self._roots):
                continue
            root = path if wanted is None else next((one for one in wanted if is_within(path, (one,))), None)
            if root is not None:
                self._check_field(root)
                self._roots[root] = None

    def _check_field(self, root: str) -> None:
        if self._fields is None and root in OWN:
            raise InvalidArgument(
                f"the table has a column {root}, which documents have besides their metadata; list the "
                "fields to add"
            )
        if not self._replaces and any(segment.metadata.has_within(root) for segment in self._view.segments):
            raise InvalidArgument(
                f"the field {root} exists already; REPLACE (replace=True) replaces the values of documents "
                "that have a row"
            )
        check_place(self._view, root)

    def _count_others(self, part: MetadataReader, keys: Keys, is_hit: NDArray[np.bool_]) -> None:
        """Count the rows that are not the first one with the key of a document."""
        self._n_rows += len(is_hit)
        there = keys.are_there()
        self._n_without_key += len(there) - int(there.sum())
        others = np.flatnonzero(there & ~is_hit)
        if not len(others):
            return
        chosen = pyarrow().array(others)
        first = Keys(keys.strings.take(chosen), keys.integers.take(chosen)).found_in(keys)
        repeated = is_hit[first]
        labels = Labels([part], [len(is_hit)])
        numbers = others[repeated]
        self._check_equal(keys, (labels, first[repeated]), (labels, numbers), numbers)
        self._n_repeated += len(numbers)
        unmatched = others[~repeated]
        self._n_unmatched += len(unmatched)
        n_left = SHOWN - len(self._first_unmatched)
        self._first_unmatched += [keys.shown(number) for number in unmatched[:n_left].tolist()]

    def _check_equal(
        self,
        keys: Keys,
        one: tuple[Labels, Places],
        other: tuple[Labels, Places],
        numbers: Places,
    ) -> None:
        """Raise InvalidArgument unless the rows of both are equal; `numbers` are those of their keys."""
        for start in range(0, len(numbers), CHUNK_DOCUMENTS):
            interrupts.check()
            stop = start + CHUNK_DOCUMENTS
            pairs = zip(*(_written_rows(labels, n[start:stop]) for labels, n in (one, other)), strict=True)
            for k, (first, second) in enumerate(pairs, start=start):
                if first != second:
                    raise InvalidArgument(
                        f"two rows of the table have the key {keys.shown(int(numbers[k]))!r} and different "
                        f"values: {first:.200} and {second:.200}; leave one of them out"
                    )


def _written_rows(labels: Labels, numbers: Places) -> list[str]:
    """Return rows, in any order, as texts that are equal if the rows are."""
    distinct, which = np.unique(numbers, return_inverse=True)
    rows = [json.dumps(row, sort_keys=True, ensure_ascii=False) for row in labels.rows(distinct)]
    return [rows[i] for i in which.tolist()]


def _taken(part: MetadataReader, rows: Places) -> MetadataReader:
    """Return some rows (ascending) of a part."""
    builder = MetadataBuilder()
    builder.declare(part.fields(), part.arrow_tags())
    for row in part.rows(rows.tolist()):
        builder.add(row)
    return MetadataReader(builder.finish(), len(rows), "the table")


def _spellings(field: str) -> tuple[str, ...]:
    """Return the paths that a name means: of nested objects, and of a column with dots in its name."""
    return tuple(dict.fromkeys((field, path_of((".".join(split_path(field)),)))))


def view_size(view: CorpusView) -> int:
    """Return the number of documents of all segments, removed ones included."""
    return sum(segment.n_documents for segment in view.segments)


def _document_keys(view: CorpusView, path: str, own: bool) -> Keys:
    """Return the keys of the documents of all segments, none for removed ones."""
    arrow = pyarrow()
    found = []
    for i, segment in enumerate(view.segments):
        n = segment.n_documents
        if own:
            keys = Keys(arrow.nulls(n, arrow.string()), arrow.array(segment.doc_ids()))
        else:
            keys = keys_of(segment.metadata, path, n)
        removed = view.removed(i)
        if len(removed):
            kept = np.ones(n, dtype=np.bool_)
            kept[removed] = False
            keys = Keys(*(arrow.compute.if_else(kept, one, None) for one in (keys.strings, keys.integers)))
        found.append(keys)
    return Keys(
        arrow.chunked_array([keys.strings for keys in found], arrow.string()),
        arrow.chunked_array([keys.integers for keys in found], arrow.int64()),
    )
