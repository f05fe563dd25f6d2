"""`ngramdb compact DB [CORPUS]`: merge segments and drop what was deleted: COMPACT as a command."""

from __future__ import annotations

import argparse
import sys

from ngramdb.cli.commands.sharing import add_lock_timeout, in_own_words, quoted, writing
from ngramdb.cli.common import OK, add_common_flags, command_parser, utf8
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal.render import MODES, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = """\
Merge the segments of a corpus, or of all of them, and drop what was deleted. Answers stay the same; questions
get faster and the database smaller. One commit a corpus; whoever reads meanwhile is not disturbed.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("compact", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, nargs="?", help="one corpus instead of all")
    parser.add_argument(
        "--format", choices=MODES, help="how the outcome looks; table at a terminal, tsv elsewhere"
    )
    parser.add_argument(
        "--far-index",
        action="store_true",
        help="prepare the segments for an object store: a cold count of up to 15 tokens then takes at most 4 "
        "requests for each, of any size; 1 byte per token",
    )
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with writing(options) as connection:
        connection.settings["far_index"] = options.far_index
        statement = "COMPACT" if options.corpus is None else f"COMPACT {quoted(options.corpus)}"
        with in_own_words(), Waiting(not options.no_progress) as waiting:
            result = connection.execute(statement, progress=waiting)
        render(result, detect(sys.stdout), options.format)
    return OK
