"""What rows are grouped and ordered by: fields, what is computed from them, and text around occurrences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from ngramdb.late_dataclasses import dataclass

# The columns that documents have without their metadata.
OWN_COLUMNS = frozenset(("doc_id", "length", "text"))
# In front of a metadata field that is called as one of these: in columns, and where the language names it.
PREFIX = "metadata"
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True)
class FieldKey:
    """A field that rows are grouped or ordered by, or have as a column; or what is computed from its values.

    `path` is that of metadata; with `own` it is `doc_id`, `length` or `text`. From left to right: `unnested`
    takes the elements of lists one by one, `part` ('year', 'month' or 'day') that part of dates, `divisor`
    how many whole times it is in a number, times `factor`.
    """

    path: str
    own: bool = False
    descending: bool = False
    part: str = ""
    divisor: int | float | None = None
    factor: int | float | None = None
    unnested: bool = False

    @property
    def is_computed(self) -> bool:
        """Whether it is not the field's values themselves."""
        return bool(self.part) or self.divisor is not None or self.unnested

    @property
    def name(self) -> str:
        """As the language writes it."""
        shown = f"UNNEST({self.path})" if self.unnested else part_of(self.part, self.path)
        if self.divisor is not None:
            shown += f" / {self.divisor}" + ("" if self.factor is None else f" * {self.factor}")
        return shown

    def label(self) -> str:
        return self.name + (" descending" if self.descending else "")


@dataclass(frozen=True)
class PlaceKey:
    """The text 'left' or 'right' of an occurrence, of `n_tokens` tokens, or its own, the 'form'."""

    name: str
    n_tokens: int = 0

    def label(self) -> str:
        return f"{self.name} {self.n_tokens:,}" if self.n_tokens else self.name


def part_of(part: str, path: str) -> str:
    """A part of the date in a field, or the field, as the language writes it."""
    return f"{part.upper()}({path})" if part else path


def plain_name(path: str) -> str:
    r"""A field's path without what tells a dot in a key from one between keys.

    >>> plain_name(r"meta\.lang"), plain_name("meta.lang")
    ('meta.lang', 'meta.lang')
    """
    return _ESCAPED.sub(r"\1", path) if "\\" in path else path


def column_of(field: str, fields: Collection[str]) -> str:
    """The column of a metadata field among others: its path, behind `metadata` where that is taken.

    >>> column_of("length", ["length"]), column_of("metadata.length", ["metadata.length"])
    ('metadata.length', 'metadata.length')
    >>> column_of("metadata.length", ["length", "metadata.length"])
    'metadata.metadata.length'
    """
    inner = field.removeprefix(f"{PREFIX}.")
    is_taken = field in OWN_COLUMNS or (
        inner != field and inner in fields and column_of(inner, fields) == field
    )
    return f"{PREFIX}.{field}" if is_taken else field


def columns_in_files(fields: Collection[str]) -> dict[str, str]:
    r"""The columns of fields in files: keys with a dot keep their names where no other column has them.

    >>> columns_in_files([r"m\.k", "n"]), columns_in_files([r"m\.k", "m.k"])
    ({'m\\.k': 'm.k', 'n': 'n'}, {'m\\.k': 'm\\.k', 'm.k': 'm.k'})
    """
    columns = {field: column_of(field, fields) for field in fields}
    plain = {field: plain_name(column) for field, column in columns.items()}
    n_of = Counter((*plain.values(), *OWN_COLUMNS))
    return {field: name if n_of[name] == 1 else columns[field] for field, name in plain.items()}
