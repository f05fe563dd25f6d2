"""Which of the fields that a load is to keep no document has: a name is easily misspelt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngramdb.ingest.documents import Document
from ngramdb.ingest.fields import field_paths, has_field, missing_field, split_path
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.columns import Columns, Row
from ngramdb.ingest.readers.jsonl import parse_object


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
            paths = [split_path(name) for name in metadata.columns.names]
            self._unseen = [name for name in self._unseen if not _is_among(paths, name)]

    def missing(self) -> list[str]:
        """The names that no document has, each with the fields that there are; none without documents."""
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


def _is_among(paths: list[tuple[str, ...]], name: str) -> bool:
    wanted = split_path(name)
    return any(path[: len(wanted)] == wanted or path[0] == name for path in paths)
