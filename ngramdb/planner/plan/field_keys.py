"""Fields of documents, as questions name them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FieldKey:
    """A field that rows are grouped or ordered by, or have as a column.

    `path` is that of metadata; with `own` it is `doc_id`, `length` or `text`.
    """

    path: str
    own: bool = False
    descending: bool = False

    def label(self) -> str:
        return self.path + (" descending" if self.descending else "")
