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
Count a corpus's n-grams by how often they occur, for the discounts of Kneser-Ney models, and keep the
result. One commit. Without it they are counted anew in every session that needs them.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's flags."""
    parser = command_parser("analyze", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    parser.add_argument(
        "--order",
        type=int,
        metavar="N",
        help="the greatest length of n-grams that is counted; 10, or 50 where tokens are characters or bytes",
    )
    parser.add_argument(
        "--format", choices=MODES, help="how the discounts look; table at a terminal, tsv elsewhere"
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
