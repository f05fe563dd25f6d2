"""`ngramdb commit DB CORPUS OUT…`: the parts of a build, put together as a corpus in one version."""

from __future__ import annotations

import argparse

from ngramdb.api import collected
from ngramdb.cli.commands.load import committed
from ngramdb.cli.commands.sharing import add_lock_timeout, writing
from ngramdb.cli.common import OK, add_common_flags, command_parser, say_notes, utf8
from ngramdb.cli.shell.progress_wait import Waiting

DESCRIPTION = """\
Check that every part of a build is present exactly once, and make one corpus of them, in one version: the
documents are in the order of the files, as after one `ngramdb load` of all. Database and corpus are created
if they are missing. Files are linked if they are on the same file system, else copied; OUT may be
removed afterwards.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("commit", DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    parser.add_argument("out", metavar="OUT", nargs="+", help="the folder of the parts, or several")
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    collected(options.out)  # before a database is made for parts that are not there
    with writing(options, create=True) as connection, Waiting(not options.no_progress) as waiting:
        report = connection.commit_parts(options.corpus, options.out, progress=waiting)
    print(committed(options.corpus, report))
    say_notes(report.notes)
    return OK
