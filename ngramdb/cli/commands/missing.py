"""`ngramdb missing OUT N`: which of n parts of a build are not there yet, for scripts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ngramdb.api import missing
from ngramdb.cli.common import OK, PROBLEMS, add_common_flags, command_parser, positive

DESCRIPTION = """\
Print the parts of a build that are not there yet, on one line as `sbatch --array` takes them: 0,4-7. When all
N are there, nothing is printed, and the exit status is 0; when some are missing, it is 3.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("missing", DESCRIPTION)
    parser.add_argument("out", metavar="OUT", nargs="+", help="the folder of the parts, or several")
    parser.add_argument("n", metavar="N", type=positive, help="how many parts there are to be")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back: 0 all there, 1 unreadable, 2 wrong usage, 3 some missing."""
    absent = missing(options.out, options.n)
    if not absent:
        return OK
    print(ranges(absent))
    return PROBLEMS


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as ranges.

    >>> ranges([0, 4, 5, 6, 9])
    '0,4-6,9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
