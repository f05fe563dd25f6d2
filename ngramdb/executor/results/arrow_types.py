"""Types of metadata fields as Arrow has them, for tables that leave the database."""

from __future__ import annotations

from typing import Any

from ngramdb.segments.metadata_columns import import_pandas, pyarrow, storage_type


def arrow_type(type_name: str) -> Any:
    """The Arrow type of values of a metadata type such as `int64` or `list<string>`; `json` is text."""
    import_pandas()
    return storage_type(pyarrow(), type_name)
