"""Metadata fields that were added, changed or dropped after loading: a file beside a segment.

The segment's own file stays as it is. The new file has the columns of all fields that ever changed, so that a
segment has one such file at most, and merging segments writes its columns into the new segment's metadata.
FORMAT.md, "Changed fields", has the layout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import CorruptionError
from ngramdb.segments.base import CHUNK_DOCUMENTS, Segment
from ngramdb.segments.container import Container, ContainerWriter, FileInfo, Sink
from ngramdb.segments.metadata import MetadataReader, Overlay, is_within
from ngramdb.segments.metadata_builder import MAX_COLUMNS, MetadataBuilder
from ngramdb.segments.metadata_columns import JSON, TYPE_KEY, flatten, pyarrow, storage_type

#: The letters of these files.
KIND = "FLDS"
_METADATA = "metadata"
_FORMLESS = "formless"
# Documents whose values are taken at a time.
_TAKEN_DOCUMENTS = 1 << 16
# Rows that show whether strings repeat.
_SAMPLED_ROWS = 1 << 13

Places = NDArray[np.int64]


def read_fields(container: Container, path: str, n_documents: int) -> Overlay:
    """Return the content of a file. Raises CorruptionError."""
    found = container.properties.get("n_documents")
    hidden = container.properties.get("hidden")
    is_list = isinstance(hidden, list) and all(isinstance(one, str) for one in hidden)
    if found != n_documents or not (hidden is None or is_list):
        raise CorruptionError(
            f"{path} is damaged: it has fields of {found!r} documents (expected {n_documents:,}) in place of "
            f"{hidden!r}; restore the file from a backup",
            path=path,
            expected=n_documents,
            found=found,
        )
    bits = container.array(_FORMLESS)
    if bits.dtype != np.uint8 or len(bits) != (n_documents + 7) // 8:
        raise CorruptionError(
            f"{path} is damaged: its section {_FORMLESS} does not have a bit for each document; restore the "
            "file from a backup",
            path=path,
        )
    replaced = None if hidden is None else tuple(hidden)
    formless = np.unpackbits(bits, count=n_documents, bitorder="little").astype(np.bool_)
    return Overlay(container.section(_METADATA), replaced, formless, container.verify)


class Changed(NamedTuple):
    """The content of a file, as `Overlay` describes it."""

    content: memoryview
    hidden: tuple[str, ...] | None
    formless: NDArray[np.bool_]

    def equals(self, before: Overlay | None) -> bool:
        """Return True if a file has this content already."""
        return (
            before is not None
            and before.hidden == self.hidden
            and bytes(before.buffer) == self.content
            and np.array_equal(before.formless, self.formless)
        )

    def write(self, file: Sink) -> FileInfo:
        """Write the file."""
        writer = ContainerWriter(file, KIND)
        writer.add(_FORMLESS, np.packbits(self.formless, bitorder="little"))
        writer.add(_METADATA, self.content)
        hidden = None if self.hidden is None else list(self.hidden)
        return writer.finish({"n_documents": len(self.formless), "hidden": hidden})


class Labels:
    """New values of fields, a row for each; any document may have any row.

    They come in several parts, whose columns may have different types.
    """

    def __init__(self, parts: Sequence[MetadataReader], sizes: Sequence[int]) -> None:
        """`sizes` are the numbers of rows of the parts."""
        self._parts = parts
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        self._columns: dict[str, Any] = {}

    def __len__(self) -> int:
        return int(self._starts[-1])

    def fields(self, roots: Collection[str]) -> dict[str, str]:
        """Return the fields at or below `roots` and their types; `json` for a field of several types."""
        found: dict[str, str] = {}
        for part in self._parts:
            for path, name in part.fields().items():
                if is_within(path, roots):
                    found[path] = name if found.get(path, name) == name else JSON
        return found

    def tags(self, roots: Collection[str]) -> list[tuple[dict[str, str], dict[str, bytes]]]:
        """Return the types and the Arrow types of the parts' columns, for `MetadataBuilder.declare`."""
        return [
            ({p: name for p, name in part.fields().items() if is_within(p, roots)}, part.arrow_tags())
            for part in self._parts
        ]

    def is_plain(self, roots: Collection[str]) -> bool:
        """Return True if each field has one type in all parts, and its column all values as they are."""
        return JSON not in self.fields(roots).values() and all(part.is_plain(roots) for part in self._parts)

    def column(self, path: str, type_name: str) -> Any:
        """Return a column of all rows, of a field that `is_plain`: an array of its storage type.

        Strings that repeat are dictionary-encoded: Arrow takes rows of strings in ten times as long.
        """
        if path not in self._columns:
            arrow = pyarrow()
            kind = storage_type(arrow, type_name)
            chunks: list[Any] = []
            for part, n_rows in zip(self._parts, np.diff(self._starts).tolist(), strict=True):
                if path in part.fields():
                    chunks += part.column(path).cast(kind).chunks
                else:
                    chunks.append(arrow.nulls(n_rows, kind))
            column = arrow.chunked_array(chunks, kind).combine_chunks()
            first = column.slice(0, _SAMPLED_ROWS)
            if arrow.types.is_string(kind) and 2 * len(first.unique()) < len(first):
                column = column.dictionary_encode()
            self._columns[path] = column
        return self._columns[path]

    def rows(self, numbers: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
        """Yield the values of rows (ascending), nested."""
        bounds = np.searchsorted(numbers, self._starts)
        for part, start, first, last in zip(
            self._parts, self._starts.tolist(), bounds.tolist(), bounds.tolist()[1:], strict=False
        ):
            yield from part.rows((numbers[first:last] - start).tolist())


def changed_fields(segment: Segment, roots: Sequence[str], labels: Labels | None, places: Places) -> Changed:
    """Return the content of the file that follows a change of a segment's fields.

    Parameters
    ----------
    roots : the changed fields, with all fields below them
    labels : the new values; None drops the fields
    places : per document its row in `labels`, or -1 if it keeps its values

    Notes
    -----
    Cost: about 20 ns per value as columns, 5 µs per document if types differ or values are of several types.
    """
    reader, before = segment.metadata, segment.changes
    is_whole = reader.rest() is not None or (before is not None and before.hidden is None)
    hidden = None if is_whole else _outermost((*(before.hidden or () if before else ()), *roots))
    change = _Change(segment, hidden, roots, labels, places)
    builder = MetadataBuilder()
    change.declare(builder)
    types = change.types_in_common()
    if types is None:
        change.add_rows(builder)
    elif types:
        change.add_columns(builder, types)
    formless = places >= 0 if labels is not None else _documents_with(segment, roots)
    return Changed(builder.finish(), hidden, formless if before is None else formless | before.formless)


def _documents_with(segment: Segment, roots: Sequence[str]) -> NDArray[np.bool_]:
    """Return True for documents that have one of the fields: (n,) bool; all if columns do not show it."""
    reader = segment.metadata
    if reader.rest() is not None or not reader.is_plain(roots):
        return np.ones(segment.n_documents, dtype=np.bool_)
    found = np.zeros(segment.n_documents, dtype=np.bool_)
    for path in reader.fields():
        if is_within(path, roots):
            found |= reader.column(path).is_valid().to_numpy()
    return found


def _outermost(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that are not below another one."""
    distinct = tuple(dict.fromkeys(paths))
    return tuple(path for path in distinct if not is_within(path, [one for one in distinct if one != path]))


class _Change:
    """One segment's fields, before and after: those in the `hidden` ones, all if that is None."""

    def __init__(
        self,
        segment: Segment,
        hidden: tuple[str, ...] | None,
        roots: Sequence[str],
        labels: Labels | None,
        places: Places,
    ) -> None:
        self._reader = segment.metadata
        self._n_documents = segment.n_documents
        self._hidden = hidden
        self._roots = roots
        self._labels = labels
        self._places = places
        #: True if some documents keep their values of the changed fields.
        self._keeps_some = labels is not None and bool((places < 0).any())

    def _is_kept(self, path: str) -> bool:
        """Return True if the file has this field of the segment, in some document at least."""
        if self._hidden is not None and not is_within(path, self._hidden):
            return False
        return self._keeps_some or not is_within(path, self._roots)

    def declare(self, builder: MetadataBuilder) -> None:
        """Make columns of the fields even if no document has a value, so that queries may name them."""
        kept = {path: name for path, name in self._reader.fields().items() if self._is_kept(path)}
        builder.declare(kept, self._reader.arrow_tags())
        if self._labels is not None:
            for types, tags in self._labels.tags(self._roots):
                builder.declare(types, tags)

    def types_in_common(self) -> dict[str, str] | None:
        """Return the type of each field of the file; None if columns do not express all values."""
        if not self._reader.is_plain(self._hidden):
            return None
        types = {path: name for path, name in self._reader.fields().items() if self._is_kept(path)}
        if self._labels is not None:
            if not self._labels.is_plain(self._roots):
                return None
            for path, name in self._labels.fields(self._roots).items():
                if types.setdefault(path, name) != name:
                    return None
        # Types of lists and of fields beyond the limit depend on the values.
        has_lists = any(name.startswith("list<") for name in types.values())
        return None if has_lists or len(types) > MAX_COLUMNS else types

    def add_columns(self, builder: MetadataBuilder, types: dict[str, str]) -> None:
        """Add all documents as columns of these types."""
        arrow = pyarrow()
        schema = arrow.schema(
            [arrow.field(p, storage_type(arrow, t), metadata={TYPE_KEY: t}) for p, t in types.items()]
        )
        own = {path for path in self._reader.fields() if self._is_kept(path)}
        old = {path: self._reader.column(path) for path in own}
        new: dict[str, Any] = {}
        if self._labels is not None:
            new = {p: self._labels.column(p, t) for p, t in self._labels.fields(self._roots).items()}
        for start in range(0, self._n_documents, _TAKEN_DOCUMENTS):
            interrupts.check()
            places = self._places[start : start + _TAKEN_DOCUMENTS]
            has_row = places >= 0
            rows = arrow.array(places, mask=~has_row)
            keeps_some = not has_row.all()
            arrays = []
            for path, kind in zip(schema.names, schema.types, strict=True):
                nothing = arrow.nulls(len(places), kind)
                array = old[path].slice(start, len(places)).cast(kind) if path in old else nothing
                if is_within(path, self._roots):
                    taken = new[path].take(rows).cast(kind) if path in new else nothing
                    array = arrow.compute.if_else(arrow.array(has_row), taken, array) if keeps_some else taken
                arrays.append(array)
            for batch in arrow.table(arrays, schema=schema).to_batches():
                builder.add_columns(batch)

    def add_rows(self, builder: MetadataBuilder) -> None:
        """Add all documents one by one."""
        for start in range(0, self._n_documents, CHUNK_DOCUMENTS):
            interrupts.check()
            places = self._places[start : start + CHUNK_DOCUMENTS]
            wanted = np.unique(places[places >= 0])
            new: dict[int, list[tuple[str, Any]]] = {}
            if self._labels is not None:
                for place, row in zip(wanted.tolist(), self._labels.rows(wanted), strict=True):
                    new[place] = [leaf for leaf in flatten(row) if is_within(leaf[0], self._roots)]
            records = self._reader.rows(range(start, start + len(places)))
            for record, place in zip(records, places.tolist(), strict=True):
                added = new.get(place, [])
                leaves = [
                    (path, value)
                    for path, value in flatten(record)
                    if self._is_kept(path)
                    and (place < 0 or not is_within(path, self._roots))
                    # An empty object that gets a field is no longer empty.
                    and not (value == {} and any(is_within(one, (path,)) for one, _ in added))
                ]
                builder.add_leaves(leaves + added)
