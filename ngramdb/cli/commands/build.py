"""`ngramdb build OUT --shard i/n PATH…`: one of n parts of a corpus, on whatever machine this is."""

from __future__ import annotations

import argparse

from ngramdb.api import build
from ngramdb.cli.commands.load import skipped, work_done
from ngramdb.cli.commands.sharing import (
    ABOUT_PATHS,
    add_building_flags,
    add_reading_flags,
    building_settings,
    reading_options,
)
from ngramdb.cli.common import OK, add_common_flags, command_parser, say_notes
from ngramdb.cli.terminal.progress import LoadWatch
from ngramdb.registries import DEFAULT_TOKENIZER

DESCRIPTION = """\
Build one of n parts of a corpus from its share of the files, in the folder OUT. Any machine that sees the
files and OUT builds any part, in any order; `ngramdb missing` lists the parts that are not there yet, and
`ngramdb commit` makes one corpus of them. A part that is there is left as it is, so that a worker may be
killed and run again, or run twice.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("build", DESCRIPTION, ABOUT_PATHS)
    parser.add_argument("out", metavar="OUT", help="the folder of the parts, made when it is missing")
    parser.add_argument(
        "--shard",
        metavar="I/N",
        required=True,
        help="which part, from 0 to N - 1, of how many: 0/16, or $SLURM_ARRAY_TASK_ID/16",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="all files of the corpus, the same for each part"
    )
    add_reading_flags(parser)
    add_building_flags(parser)
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    title = f"building part {options.shard}"
    with LoadWatch(title, wanted=not options.no_progress) as watch:
        report = build(
            options.out,
            options.paths,
            options.shard,
            tokenizer=options.tokenizer or DEFAULT_TOKENIZER,
            on_error=options.on_error,
            progress=watch,
            settings=building_settings(options),
            **reading_options(options),
        )
    print(f"{work_done(report.title, report, report.n_bytes)}{skipped(report)}")
    say_notes(report.notes)
    return OK
