"""`ngramdb warm DB [CORPUS]`: read indexes into memory before the first question."""

from __future__ import annotations

import argparse
import time

from ngramdb.api import Connection, connect
from ngramdb.cli.common import OK, UsageError, add_common_flags, command_parser, say, utf8
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal import human
from ngramdb.registries import ATTACHED

DESCRIPTION = """\
Read the index of a corpus, or of all of them, into memory, so that the first questions need not wait for
the disk. It stays there, also for other programs that open the database, until the system needs the memory
for something else. Of an index that is larger than half of the memory, the parts that every search reads come
first. With --type, DB is the index of another program, as ATTACH has it.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("warm", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, nargs="?", help="one corpus instead of all")
    parser.add_argument("--type", choices=ATTACHED, help="DB is an index that this program made")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with _opened(options) as connection:
        names = connection.corpora() if options.corpus is None else [options.corpus]
        for name in names:
            started = time.monotonic()
            with Waiting(not options.no_progress) as waiting:
                warmed = connection.corpus(name).warm(progress=waiting)
            read, all_of_it = human.size(warmed.bytes_in_memory), human.size(warmed.bytes)
            say(f"{name}: {read} of {all_of_it} in memory, {human.duration(time.monotonic() - started)}")
    return OK


def _opened(options: argparse.Namespace) -> Connection:
    if options.type is None:
        return connect(options.database, read_only=True)
    if options.corpus is not None:
        raise UsageError(f"{options.type} indexes contain no corpora: omit {options.corpus}")
    connection = connect()
    connection.attach(options.database, options.database, type=options.type)
    return connection
