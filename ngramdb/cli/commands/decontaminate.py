"""`ngramdb decontaminate DB CORPUS --against FILE…`: remove what shares too much with evaluation sets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ngramdb.api import Result
from ngramdb.api.verbs.decontaminating import (
    DEFAULT_N,
    DEFAULT_THRESHOLD,
    DecontaminationReport,
    SetOverlap,
)
from ngramdb.cli.commands.sharing import add_lock_timeout, writing
from ngramdb.cli.common import OK, add_common_flags, command_parser, positive, say, utf8
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.render import MODES, render
from ngramdb.cli.terminal.screen import detect
from ngramdb.formats import READ

DESCRIPTION = """\
Remove the documents of a corpus that share too many n-grams with an evaluation set. One
commit; the table on standard output has a row for each set and source.
"""
EPILOG = """\
Each file is an evaluation set of its own, in any format that ngramdb load reads. A line of a text file is an
item; --input text takes the whole file for one. N-grams are those of the corpus's tokens; with --lower or
--fold-space they are of words. --report writes what was found as JSON lines: which documents, how much of
each, which spans, and which item of the set has them.
"""
COLUMNS = ("against", "source", "documents", "contaminated", "share")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("decontaminate", DESCRIPTION, EPILOG)
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    add("--against", metavar="FILE", nargs="+", action="extend", required=True, help="the evaluation sets")
    add("--text", metavar="FIELD", help="the JSON field of an item that is compared; text when not given")
    add("--input", choices=READ, help="how the files are read, whatever their names")
    add("--separator", metavar="LINE", help="the line between two items of a text file")
    add("--ngram", metavar="N", type=positive, default=DEFAULT_N, help=f"tokens of an n-gram, {DEFAULT_N}")
    add("--threshold", metavar="X", type=_share, default=DEFAULT_THRESHOLD, help="the share, 0.8; 0: any")
    add("--strict", action="store_true", help="remove only what is above the share, not what equals it")
    add("--lower", action="store_true", help="letters' case does not matter")
    add("--fold-space", action="store_true", help="white space does not matter")
    add("--source-field", metavar="FIELD", help="the metadata field that the table is by; source otherwise")
    add("--dry-run", action="store_true", help="only find and report")
    add("--report", metavar="OUT", help="a file of JSON lines for what is found")
    add("--format", choices=MODES, help="how the table looks; table at a terminal, tsv elsewhere")
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    with writing(options, read_only=options.dry_run) as connection, Waiting(not options.no_progress):
        report = connection.corpus(options.corpus).decontaminate(
            options.against,
            n=options.ngram,
            threshold=options.threshold,
            strict=options.strict,
            lower=options.lower,
            fold_space=options.fold_space,
            text=options.text,
            format=options.input,
            separator=options.separator,
            source_field=options.source_field,
            dry_run=options.dry_run,
            report=options.report,
        )
    rows: Sequence[tuple[object, ...]] = report.table
    render(Result.of_rows(COLUMNS, rows), detect(sys.stdout), options.format)
    say(summary(options.corpus, report, options.dry_run))
    for overlap in report.overlaps:
        say(f"  {in_common(overlap)}")
        kept = overlap.documents - sum(row[3] for row in report.table if row[0] == overlap.against)
        if kept:
            say(f"  {below(kept, options.threshold)}")
        if overlap.items_short:
            say(f"  {too_short(overlap, options.ngram)}")
    return OK


def summary(name: str, report: DecontaminationReport, dry_run: bool) -> str:
    """Return the outcome, on one line."""
    of_all = f"{report.contaminated:,} of {human.count(report.documents, 'document')}"
    if dry_run:
        return f"{name}: {of_all} would be removed"
    return f"{name}: {of_all} removed, version {report.version:,}"


def in_common(overlap: SetOverlap) -> str:
    """Return the overlap of a set with the corpus, on one line."""
    if not overlap.documents:
        return f"{overlap.against}: no document has an n-gram of any of {human.count(overlap.items, 'item')}"
    has = "has" if overlap.documents == 1 else "have"
    return (
        f"{overlap.against}: {human.count(overlap.documents, 'document')} {has} n-grams of "
        f"{overlap.items_found:,} of {human.count(overlap.items, 'item')}, "
        f"the largest share is {overlap.largest_share:.3g}"
    )


def below(kept: int, threshold: float) -> str:
    """Say on one line that documents with n-grams of a set are kept, and which option removes them."""
    are = "document with such n-grams is" if kept == 1 else "documents with such n-grams are"
    return (
        f"note: {kept:,} {are} not removed: the share of each is too small for --threshold {threshold:g}; "
        "--threshold 0 removes every document with an n-gram of an item"
    )


def too_short(overlap: SetOverlap, n: int) -> str:
    """Return the number of items of a set without n-grams, on one line."""
    are = "item is" if overlap.items_short == 1 else "items are"
    return (
        f"note: {overlap.items_short:,} {are} shorter than an n-gram of {n} tokens: only documents as short, "
        "as a whole, are found in such items; a smaller --ngram compares more"
    )
