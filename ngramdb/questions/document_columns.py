"""The columns of documents: their names, their types, and a document's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ngramdb.conditions.document_functions import values_of
from ngramdb.errors import InvalidArgument
from ngramdb.executor.dataframes import type_that_came
from ngramdb.executor.result import ColumnType, Result, Row, batched
from ngramdb.fork_safety import cached_property
from ngramdb.planner.plan import OWN_COLUMNS, FieldKey, PlaceKey, column_of
from ngramdb.questions.results import StoredDocument
from ngramdb.registries import DOCUMENT_FUNCTIONS
from ngramdb.segments.base import Segment
from ngramdb.segments.metadata_builder import MAX_COLUMNS
from ngramdb.segments.metadata_columns import (
    EMPTY_LISTS,
    JSON,
    common_type,
    flatten,
    split_path,
    types_of_integers,
)
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer

# Objects whose keys are data have thousands of fields. Fields beyond the first MAX_FIELDS share one column,
# as an object {path: value}, whatever segments they are in.
MAX_FIELDS = MAX_COLUMNS
REST_COLUMN = "metadata.rest"
# Documents whose functions are computed together.
COMPUTED_DOCUMENTS = 256

# The Python types of metadata columns; columns of integers and floats are of floats.
_PYTHON_TYPES: dict[str, type] = {"int64": int, "float64": float, "bool": bool, "string": str}


def column_type(stored: Sequence[str]) -> type:
    """Return the type of a metadata column from the types stored in its segments; `dict` for any values."""
    found = {list if name.startswith("list<") else _PYTHON_TYPES.get(name, dict) for name in stored}
    if len(found) == 1:
        return found.pop()
    return float if found == {int, float} else dict


class Fields(dict[str, list[str]]):
    """Metadata fields in the order of the documents, each with the types of its columns."""

    @cached_property
    def of_objects(self) -> frozenset[str]:
        """Fields whose values may be objects, because these are too deep, or not meant, to be fields."""
        json = (path for path, types in self.items() if JSON in types)
        return frozenset(path for path in json if not any(name.startswith(path + ".") for name in self))


def metadata_fields(corpus: Corpus) -> Fields:
    """Return the first MAX_FIELDS metadata fields, with their types."""
    fields = Fields()
    for segment in corpus.segments:
        for name, type_name in segment.metadata.fields().items():
            if name not in fields and len(fields) == MAX_FIELDS:
                continue
            types = fields.setdefault(name, [])
            if type_name not in types:
                types.append(type_name)
    return fields


def has_rest(fields: dict[str, list[str]]) -> bool:
    """Return True if documents may have other fields than these of `metadata_fields`."""
    return len(fields) == MAX_FIELDS


def type_in_files(corpus: Corpus, path: str, types: Sequence[str]) -> str:
    """Return the type that a column of one segment with a field's values of all segments would have."""
    found = set(types) - {JSON}
    for segment in corpus.segments:
        name = segment.metadata.fields().get(path)
        if name == JSON:  # its values may be of one type after documents were removed
            found |= segment.metadata.parsed_types(path)[0]
        elif name == "int64" and len(types) > 1:
            found |= types_of_integers(segment.metadata.column(path))
    return common_type(found) if found else JSON


def arrow_types_of(corpus: Corpus, fields: Fields) -> dict[str, Any]:
    """Return the Arrow types of the fields that all documents got from columns of tables."""
    stored = {name: set(types) - {EMPTY_LISTS} or {EMPTY_LISTS} for name, types in fields.items()}
    found = {
        name: type_that_came(corpus, name, *types)
        for name, types in stored.items()
        if len(types) == 1 and types != {JSON}
    }
    return {name: kind for name, kind in found.items() if kind is not None}


def arrow_types_of_keys(corpus: Corpus, keys: Sequence[FieldKey | PlaceKey]) -> tuple[Any, ...]:
    """Return the Arrow types that the keys' fields were loaded with; None for others and computed values."""
    fields = metadata_fields(corpus)
    paths = [key.path for key in keys if isinstance(key, FieldKey) and not key.own]
    every = arrow_types_of(corpus, Fields({path: fields[path] for path in paths if path in fields}))
    return tuple(
        _type_of_key(key, every.get(key.path)) if isinstance(key, FieldKey) and not key.own else None
        for key in keys
    )


def describe_fields(
    result: Result, corpus: Corpus, keys: Sequence[FieldKey | PlaceKey], first: int = 0
) -> None:
    """Record, for tables and files, that columns of a result from number `first` on are these keys."""
    n_after = len(result.columns) - first - len(keys)
    result.arrow_types = (*[None] * first, *arrow_types_of_keys(corpus, keys), *[None] * n_after)
    fields = {first + i: key for i, key in enumerate(keys) if isinstance(key, FieldKey) and not key.own}
    result.fields = corpus, fields


def has_several_types(corpus: Corpus, key: FieldKey) -> bool:
    """Return True if no type of a column holds all values of a metadata field, or all elements if unnested.

    Cost: as `type_in_files`.
    """
    if key.part or key.divisor is not None:
        return False
    every = [segment.metadata.fields() for segment in corpus.segments]
    stored = list(dict.fromkeys(fields[key.path] for fields in every if key.path in fields))
    if not key.unnested:
        return bool(stored) and type_in_files(corpus, key.path, stored) == JSON
    found = set(stored) - {JSON}
    if JSON in stored:
        columns = [one.metadata for one in corpus.segments if one.metadata.fields().get(key.path) == JSON]
        found = found.union(*(column.parsed_types(key.path)[0] for column in columns))
    elements = {name.removeprefix("list<").removesuffix(">") for name in found} - {"null", "wide"}
    return bool(elements) and common_type(elements) == JSON


def _type_of_key(key: FieldKey, kind: Any) -> Any:
    if kind is None or not key.is_computed:
        return kind
    is_elements = key.unnested and not key.part and key.divisor is None
    return kind.value_type if is_elements and hasattr(kind, "value_type") else None


def changed_in_columns(types: Mapping[str, str], as_text: bool) -> list[str]:
    """Return the fields that change if documents are loaded from columns of these `type_in_files`.

    `as_text` : True if lists are stored as JSON
    """
    return [
        path
        for path, name in types.items()
        if len(split_path(path)) > 1
        or path in OWN_COLUMNS
        or name == JSON
        or (as_text and name.startswith("list<"))
    ]


def document_row(segment: Segment, i: int, fields: Fields, tokenizer: Tokenizer) -> Row:
    """Return a document's row: id, metadata by field, length in tokens, text."""
    values = segment.metadata.row(i) if fields else {}
    return (
        segment.doc_id(i),
        *(value_at(values, name, fields) for name in fields),
        *((rest_of(values, fields),) if has_rest(fields) else ()),
        segment.document_length(i),
        document_text(segment, i, tokenizer),
    )


def rest_of(values: dict[str, Any], fields: dict[str, list[str]]) -> dict[str, Any] | None:
    """Return the values of nested metadata in none of these fields, by path, or None."""
    rest = {path: value for path, value in flatten(values) if path not in fields and value != {}}
    return rest or None


def document_text(segment: Segment, i: int, tokenizer: Tokenizer) -> str:
    """Return a document's text, decoded from its tokens if it was loaded as token ids."""
    text = segment.text(i, tokenizer)
    if text is None:
        return tokenizer.decode(segment.document(i))
    # Bytes that are not UTF-8 (in a corpus of bytes) are escaped.
    return text.decode("utf-8", "backslashreplace")


def value_at(values: dict[str, Any], path: str, fields: Fields) -> Any:
    """Return the value at a path such as `meta.year` of nested metadata, or None.

    An object is a value only if it has values that are in no fields of their own.
    """
    found: Any = values
    for key in split_path(path):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    is_value = not isinstance(found, dict) or (found and path in fields.of_objects)
    return found if is_value else None


_OWN_TYPES: dict[str, type] = {"doc_id": int, "length": int, "text": str}


def _type_of_own(key: FieldKey) -> type:
    if key.function is None:
        return _OWN_TYPES[key.path]
    return int if DOCUMENT_FUNCTIONS[key.function.name].is_whole else float


def type_of_group(key: FieldKey | PlaceKey) -> ColumnType:
    """Return the type of a column of groups if its values are of one, else None."""
    if isinstance(key, PlaceKey):
        return str
    return None if key.function is None or key.is_computed else _type_of_own(key)


class ReturnedColumns:
    """RETURNING: the values of some fields of documents. Texts are read only for the field `text`.

    Attributes
    ----------
    names, types : of the columns
    """

    def __init__(self, corpus: Corpus, keys: Sequence[FieldKey]) -> None:
        self._corpus = corpus
        self._keys = tuple(keys)
        # Values of functions, by segment, document and column.
        self._computed: dict[tuple[int, int, str], float] = {}
        self._stored = metadata_fields(corpus)
        self._of_metadata = any(not key.own for key in keys)
        self.names = tuple(key.path if key.own else column_of(key.path, self._stored) for key in keys)
        self.types: tuple[ColumnType, ...] = tuple(
            _type_of_own(key) if key.own else column_type(self._stored.get(key.path, ())) for key in keys
        )

    def describe(self, result: Result, first: int = 0) -> None:
        """Record what these columns are, from number `first` on, in a result."""
        describe_fields(result, self._corpus, self._keys, first)

    def ahead(self, documents: Iterator[tuple[Segment, int]]) -> Iterator[tuple[Segment, int]]:
        """Yield documents, after computing the functions of many at a time."""
        functions = {key.path: key.function for key in self._keys if key.function is not None}
        if not functions:
            yield from documents
            return
        for batch in batched(documents, COMPUTED_DOCUMENTS):
            self._computed.clear()
            segments = {id(segment): segment for segment, _ in batch}
            for number, segment in segments.items():
                docs = np.unique(np.array([i for one, i in batch if one is segment], dtype=np.uint32))
                for path, function in functions.items():
                    values = values_of(function, segment, docs).tolist()
                    pairs = zip(docs.tolist(), values, strict=True)
                    self._computed.update({(number, i, path): value for i, value in pairs})
            yield from batch

    def row(self, segment: Segment, i: int) -> Row:
        """Return the values of document i of a segment."""
        metadata = segment.metadata.row(i) if self._of_metadata else {}
        return tuple(self._value(segment, i, key, metadata) for key in self._keys)

    def _value(self, segment: Segment, i: int, key: FieldKey, metadata: dict[str, Any]) -> Any:
        if not key.own:
            return value_at(metadata, key.path, self._stored)
        if key.function is not None:
            found = self._computed.get((id(segment), i, key.path))
            if found is None:
                found = values_of(key.function, segment, np.array([i], dtype=np.uint32)).tolist()[0]
            return None if found != found else found
        if key.path == "doc_id":
            return segment.doc_id(i)
        if key.path == "length":
            return segment.document_length(i)
        return document_text(segment, i, self._corpus.tokenizer)


def document(view: Any, doc_id: int) -> StoredDocument:
    """Return the document with this id. Raises InvalidArgument if the corpus lacks it."""
    if isinstance(doc_id, bool) or not isinstance(doc_id, (int, np.integer)):
        raise InvalidArgument(f"a document's id must be a whole number, not {doc_id!r}")
    for i, segment in enumerate(view.segments):
        number = segment.local_of(int(doc_id))
        if number is None or np.isin(number, view.removed(i)):
            continue
        return StoredDocument(
            int(doc_id),
            document_text(segment, number, view.tokenizer),
            segment.metadata.row(number),
            segment.document(number).astype(np.int64),
        )
    raise InvalidArgument(f"{view.entry.name} has no document with the id {doc_id}")
