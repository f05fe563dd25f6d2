"""`ngramdb analyze DB CORPUS`: ANALYZE as a command."""

from __future__ import annotations

import argparse
import sys

from ngramdb.cli.commands.sharing import add_lock_timeout, in_own_words, quoted, writing
from ngramdb.cli.common import OK, add_common_flags, command_parser, utf8
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal.render import MODES, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = """\
Count a corpus's n-grams by their frequencies, for the discounts of Kneser-Ney models, and store the
result in one commit. Without it, every session that needs these counts computes them again.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("analyze", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    parser.add_argument(
        "--order",
        type=int,
        metavar="N",
        help="the maximum length of n-grams to count; 10, or 50 if tokens are characters or bytes",
    )
    parser.add_argument(
        "--format",
        choices=MODES,
        help="the output format of the discounts; table at a terminal, tsv elsewhere",
    )
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with writing(options) as connection:
        with in_own_words(), Waiting(not options.no_progress) as waiting:
            clause = "" if options.order is None else f" ORDER {options.order}"
            result = connection.execute(f"ANALYZE {quoted(options.corpus)}{clause}", progress=waiting)
        render(result, detect(sys.stdout), options.format)
    return OK
