"""What commands that write share: how long they wait for another writer, and which database they open."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from ngramdb.api import Connection, connect
from ngramdb.cli.common import seconds
from ngramdb.errors import LockedError

# How a statement lets a writer wait, as the error advises; a command has a flag.
IN_A_STATEMENT = "SET lock_timeout = seconds"


def add_lock_timeout(parser: argparse.ArgumentParser) -> None:
    """The flag for how long to wait."""
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
    """A connection to the command's database, waiting as long as its flag allows.

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
