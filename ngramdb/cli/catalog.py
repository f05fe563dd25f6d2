"""What commands ask about corpora beside the questions that users type."""

from __future__ import annotations

from typing import Any

from ngramdb.api import Connection


def quoted(name: str) -> str:
    """A corpus's name as a statement writes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def describe(connection: Connection, name: str) -> dict[str, Any]:
    """The properties of a corpus as DESCRIBE lists them: tokenizer, sizes, a 'field …' each."""
    rows = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
    return {str(name): value for name, value in rows}
