"""`ngramdb check DB [CORPUS]`: verify every checksum and invariant, and report what is wrong."""

from __future__ import annotations

import argparse
import sys

from ngramdb.api import connect
from ngramdb.cli.commands.sharing import in_own_words, quoted
from ngramdb.cli.common import OK, PROBLEMS, add_common_flags, command_parser, say, utf8
from ngramdb.cli.terminal.render import MODES, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = """\
Read the database's files in full, compare every checksum and verify what the index promises of itself.
A line per problem goes to standard output; the exit status is 3 when there is one.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("check", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, nargs="?", help="one corpus instead of all")
    parser.add_argument(
        "--format", choices=MODES, help="how problems look; table at a terminal, tsv elsewhere"
    )
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back: 0 sound, 1 unreadable, 2 wrong usage, 3 damaged."""
    with connect(options.database, read_only=True) as connection:
        statement = "CHECK" if options.corpus is None else f"CHECK {quoted(options.corpus)}"
        with in_own_words():
            result = connection.execute(statement)
        n_problems = result.summary["problems"]
        if not n_problems:
            say(f"{options.database}: no problems found")
            return OK
        render(result, detect(sys.stdout), options.format)
        return PROBLEMS
