"""Files whose content is no stream of text, opened so that any place of them can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ngramdb.errors import LoadError
from ngramdb.formats import format_of_beginning, named
from ngramdb.ingest import remote
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import MAGIC_BYTES, compression_of
from ngramdb.opening import open_named


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The file of a source, at its beginning.

    Raises LoadError when it cannot be opened, is standard input or a pipe, is compressed as a whole, or is of
    another format that shows in its first bytes.
    """
    wanted = named(source.format)
    if source.is_stdin or not source.can_be_read_again:
        raise LoadError(
            f"{wanted.title} are not read from their beginning to their end, as a pipe is; save it as a file "
            "and load that",
            source=source.label,
        )
    try:
        path = source.path
        file = remote.opened(path) if source.is_remote else open(open_named(path), "rb")  # noqa: SIM115
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=source.label) from error
    with file:
        first = file.read(MAGIC_BYTES)
        file.seek(0)
        _check_beginning(first, source)
        yield file


def _check_beginning(first: bytes, source: Source) -> None:
    wanted = named(source.format)
    if not first:
        raise LoadError(f"is empty, which {wanted.kind} never is: it was cut short", source=source.label)
    if (compression := compression_of(first)) is not None:
        raise LoadError(
            f"is compressed by {compression}, and {wanted.kind} is read in place: unpack it first",
            source=source.label,
        )
    found = format_of_beginning(first)
    if found is not None and found.name != wanted.name:
        raise LoadError(
            f"is {found.kind}, not {wanted.kind}; give the format {found.name} to read it as such",
            source=source.label,
        )
