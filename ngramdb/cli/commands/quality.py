"""`ngramdb quality DB [CORPUS] --reference NAME`: buckets of documents by perplexity."""

from __future__ import annotations

import argparse
import sys

from ngramdb.api import Connection, Corpus, Result
from ngramdb.api.verbs.quality import UNITS, QualityReport
from ngramdb.cli.common import Command, UsageError, add_format, add_lock_timeout, say, utf8, writing
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import Waiting
from ngramdb.cli.terminal.screen import detect, render

_ABOUT = """\
Divide the documents of a corpus into buckets by their perplexity under a language model of a reference, as
CCNet does: head (the lowest), middle and tail. Buckets and perplexities become fields of documents, in one
commit; the table on standard output has a row for each group and bucket.
"""
_UNITS = """\
lines scores each line of a text that is not empty from <s> to </s>. ccnet is what CCNet's published program
does: it deletes line feeds first, so that a document is a single line, and rounds to one decimal. document
scores the tokens of the document, as PERPLEXITY does. Lines are normalized: lower case, no accents, digits as
0, punctuation in ASCII; the reference should be, too.
"""
COLUMNS = ("group", "bucket", "documents", "tokens", "below")


def _flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", nargs="?", type=utf8, help="the corpus, unless there is only one more")
    add("--reference", metavar="NAME", type=utf8, required=True, help="the corpus whose model scores")
    add("--by", metavar="FIELD", type=utf8, help="percentiles are by the values of this field")
    add("--at", metavar="P,P", type=_percentiles, default=(30, 60), help="the percentiles; 30,60 otherwise")
    add("--as", dest="unit", choices=UNITS, default=UNITS[0], help="what is scored; lines when not given")
    add(
        "--model",
        metavar="M",
        default="kneser_ney order 5",
        help="as after USING; kneser_ney order 5 otherwise",
    )
    add("--no-normalize", action="store_true", help="score lines as they are")
    add(
        "--field",
        metavar="FIELD",
        type=utf8,
        default="bucket",
        help="the field of the bucket; bucket otherwise",
    )
    add("--score-field", metavar="FIELD", type=utf8, default="perplexity", help="that of the perplexity")
    add("--replace", action="store_true", help="overwrite these fields if they exist")
    add("--where", metavar="CONDITION", type=utf8, help="only documents that meet this condition")
    add("--dry-run", action="store_true", help="write no fields")
    add_format(parser, "how the table looks")
    add_lock_timeout(parser)


def _percentiles(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) if "." in part else int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} are not percentiles, such as 30,60") from None


def _corpus(connection: Connection, options: argparse.Namespace) -> Corpus:
    if options.corpus is not None:
        return connection.corpus(options.corpus)
    others = [name for name in connection.corpora() if name != options.reference]
    if len(others) != 1:
        raise UsageError(f"{options.database} has {len(others)} corpora besides the reference; name one")
    return connection.corpus(others[0])


def _quality(options: argparse.Namespace) -> None:
    with writing(options, read_only=options.dry_run) as connection, Waiting(not options.no_progress):
        corpus = _corpus(connection, options)
        report = corpus.quality(
            options.reference,
            by=options.by,
            at=options.at,
            unit=options.unit,
            model=options.model,
            normalize=not options.no_normalize,
            field=options.field,
            score_field=options.score_field,
            replace=options.replace,
            where=options.where,
            dry_run=options.dry_run,
        )
    render(Result.of_rows(COLUMNS, report.table), detect(sys.stdout), options.format)
    say(summary(corpus.name, report))


def summary(name: str, report: QualityReport) -> str:
    """Return the outcome, on one line."""
    without = f", {report.without:,} without a line" if report.without else ""
    written = "nothing written" if report.version is None else f"version {report.version:,}"
    return f"{name}: {human.count(report.documents, 'document')} in buckets{without}, {written}"


COMMANDS = {"quality": Command(_ABOUT, _flags, _quality, _UNITS)}
