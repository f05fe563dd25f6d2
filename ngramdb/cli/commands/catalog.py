"""What commands ask about corpora beside the questions that users type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngramdb.api import Connection
from ngramdb.errors import QueryError


def quoted(name: str) -> str:
    """A corpus's name as a statement writes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def in_own_words() -> Iterator[None]:
    """Where a command runs a statement that it made: errors do not show it, since no user wrote it."""
    try:
        yield
    except QueryError as error:
        error.place(None, None, None)
        raise


def describe(connection: Connection, name: str) -> dict[str, Any]:
    """The properties of a corpus as DESCRIBE lists them: tokenizer, sizes, a 'field …' each."""
    with in_own_words():
        rows = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
    return {str(name): value for name, value in rows}
