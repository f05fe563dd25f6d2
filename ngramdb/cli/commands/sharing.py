"""Code shared by commands that write: the time to wait for another writer, and the database to open."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngramdb.api import Connection, connect
from ngramdb.cli.common import positive, seconds
from ngramdb.errors import LockedError, QueryError
from ngramdb.formats import ID_TYPES, READ, endings_and_titles

# The statement for the waiting time, as the error suggests it; commands have a flag instead.
IN_A_STATEMENT = "SET lock_timeout = seconds"


def add_lock_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the time to wait."""
    parser.add_argument(
        "--lock-timeout",
        metavar="SECONDS",
        type=seconds,
        help="how long to wait for another writer before giving up; not at all when not given",
    )


@contextmanager
def writing(
    options: argparse.Namespace, *, create: bool = False, read_only: bool = False
) -> Iterator[Connection]:
    """Open a connection to the command's database, waiting as long as its flag allows.

    Without `create` the database must be there: what works on documents has nothing to do in one made for it.
    """
    if not create:
        connect(options.database, read_only=True).close()
    with connect(options.database, read_only=read_only) as connection:
        if options.lock_timeout is not None:
            connection.settings["lock_timeout"] = options.lock_timeout
        try:
            yield connection
        except LockedError as error:
            said = str(error).replace(IN_A_STATEMENT, "--lock-timeout SECONDS")
            raise LockedError(said, path=error.path, holder=error.holder) from error


# ---- What `ngramdb load` and `ngramdb build` share: flags of how files are read, and segments built.


ABOUT_PATHS = f"""\
A PATH is a file, a folder (read recursively), a glob, a URL of any of these (with ngramdb[remote]), or - for
standard input; files compressed by gzip, Zstandard, bzip2 or xz are unpacked. The
format of a file follows from its name unless --format is given:

{"".join(f"  {endings:38}{title}{chr(10)}" for endings, title in endings_and_titles())}
Other files are recognized by their first bytes, or are text, one document per file. In JSON lines and tables
every field or column besides the text becomes metadata.
"""


def add_reading_flags(parser: argparse.ArgumentParser, of_corpora: str = "") -> None:
    """Add the flags of the tokenizer and of reading files; `of_corpora` ends the help on tokenizers."""
    add = parser.add_argument
    add(
        "--tokenizer",
        metavar="T",
        help="words (the default), 'words(lower)', 'words(nfc)', 'words(lower, nfc)', chars, bytes, tokens, "
        f"or the path of a Hugging Face tokenizer.json{of_corpora}",
    )
    add(
        "--text",
        metavar="FIELD",
        help="the JSON field (or column) with the text, a.b for one inside another; text when not given",
    )
    add(
        "--format",
        choices=READ,
        help="how the files are read, whatever their names; lines: a document a line",
    )
    add(
        "--separator",
        metavar="LINE",
        help="the line between two documents of a text file, the id between two of token ids",
    )
    add("--dtype", choices=ID_TYPES, help="the type of ids in files of token ids that do not declare it")
    add(
        "--no-quotes",
        action="store_true",
        help="double quotes in CSV and TSV are characters like others, never around a field",
    )
    add("--metadata", metavar="A,B", help="the fields (or columns) to keep; all when not given, '' for none")
    add(
        "--on-error",
        choices=("fail", "skip"),
        default="fail",
        help="what a document that cannot be read does",
    )


def add_building_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of building segments."""
    add = parser.add_argument
    add("--segment-tokens", metavar="N", type=positive, help="most tokens in a segment")
    add("--sort-tokens", metavar="N", type=positive, help="most tokens to sort at a time; bounds the memory")
    add(
        "--threads",
        metavar="N",
        type=positive,
        help="cores that build segments; all of them when not given",
    )
    add(
        "--no-fast-tokenizer",
        action="store_true",
        help="take ids from the library tokenizers alone, even where fastokens gives the same ones",
    )


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Corpus.load` for the given flags of reading; None for missing ones."""
    # argparse takes "--" out even as the value of a flag, and leaves an empty list.
    separator = "--" if options.separator == [] else options.separator
    given = {"text": options.text, "format": options.format, "separator": separator, "dtype": options.dtype}
    if options.no_quotes:
        given["quotes"] = False
    if options.metadata is not None:
        given["metadata"] = tuple(name.strip() for name in options.metadata.split(",") if name.strip())
    return given


def building_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings given by the flags of building."""
    given = {name: getattr(options, name) for name in ("threads", "segment_tokens", "sort_tokens")}
    chosen = {name: value for name, value in given.items() if value is not None}
    return {**chosen, "fast_tokenizer": not options.no_fast_tokenizer}


# ---- Information on corpora that commands need besides the users' queries.


def quoted(name: str) -> str:
    """Return a corpus's name as written in a statement, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def in_own_words() -> Iterator[None]:
    """Run a statement that the command made: errors do not show it, since no user wrote it."""
    try:
        yield
    except QueryError as error:
        error.place(None, None, None)
        raise


def describe(connection: Connection, name: str) -> dict[str, Any]:
    """Return the properties of a corpus as DESCRIBE lists them: tokenizer, sizes, and each 'field …'."""
    with in_own_words():
        rows = connection.execute(f"DESCRIBE {quoted(name)}").fetchall()
    return {str(name): value for name, value in rows}
