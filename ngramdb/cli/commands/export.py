"""`ngramdb export DB CORPUS OUT`: documents as they came in, or a model of them, into a file."""

from __future__ import annotations

import argparse
import warnings

from ngramdb.api import connect
from ngramdb.cli.common import (
    OK,
    UsageError,
    add_common_flags,
    command_parser,
    positive,
    say_notes,
    utf8,
)
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal import human
from ngramdb.formats import WRITTEN, written_format

INFINI_GRAM = "infini-gram"

DESCRIPTION = """\
Write the documents of a corpus into a file, text and metadata exactly as loaded. The file appears under
its name when it is complete.
"""
EPILOG = """\
OUT is JSON lines (.jsonl, .ndjson, .json, or no ending), compressed if .gz, .zst, .bz2 or .xz follows,
or Parquet (.parquet), or the rows of DOCS as Arrow, CSV or TSV (.arrow, .csv, .tsv); another ending is
an error unless --format is given, which overrides the name.
An existing file is replaced.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("export", DESCRIPTION, EPILOG)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    parser.add_argument("out", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        type=utf8,
        help="only the documents that meet it, as after WHERE in DOCS",
    )
    parser.add_argument(
        "--format",
        choices=(*WRITTEN, "arpa", INFINI_GRAM),
        help="the format to write; arpa is a Kneser-Ney model for other programs instead of documents, and "
        "infini-gram a folder with an index that infini-gram reads",
    )
    parser.add_argument(
        "--removals",
        action="store_true",
        help="write no documents, but the records of those that were removed: which, when, by whom and why",
    )
    parser.add_argument(
        "--shards",
        metavar="N",
        type=positive,
        help="deal the documents of an index over N shards",
    )
    parser.add_argument(
        "--index-version",
        type=int,
        choices=(4, 5),
        help="of the index; in 5 documents are reversed",
    )
    parser.add_argument("--order", metavar="N", type=positive, help="the order of an arpa model")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    if (options.format == "arpa") != (options.order is not None):
        raise UsageError("--order requires --format arpa, and --format arpa requires --order")
    if options.order:
        return _export_model(options)
    if options.format == INFINI_GRAM:
        return _export_index(options)
    if options.shards is not None or options.index_version is not None:
        raise UsageError(f"--shards and --index-version apply to --format {INFINI_GRAM} only")
    written_format(options.out, options.format, otherwise="--format is given")
    return _export_removals(options) if options.removals else _export_documents(options)


def _export_model(options: argparse.Namespace) -> int:
    if options.where is not None or options.removals:
        raise UsageError("an arpa model covers all documents; leave out --where and --removals")
    with connect(options.database, read_only=True) as connection, Waiting(not options.no_progress):
        counts = connection.corpus(options.corpus).export_arpa(options.out, options.order)
    listed = ", ".join(human.count(count, f"{n}-gram") for n, count in enumerate(counts, start=1))
    print(f"{listed} written to {options.out}")
    return OK


def _export_index(options: argparse.Namespace) -> int:
    if options.where is not None or options.removals:
        raise UsageError("an index covers all documents; leave out --where and --removals")
    with connect(options.database, read_only=True) as connection, Waiting(not options.no_progress):
        corpus = connection.corpus(options.corpus)
        n = corpus.export_infini_gram(
            options.out, version=options.index_version or 4, shards=options.shards or 1
        )
    print(f"{human.count(n, 'document')} written to {options.out}")
    return OK


def _export_removals(options: argparse.Namespace) -> int:
    if options.where is not None:
        raise UsageError("--removals writes the records of all removed documents; leave out --where")
    with connect(options.database, read_only=True) as connection, Waiting(not options.no_progress):
        corpus = connection.corpus(options.corpus)
        n_documents = corpus.export_removals(options.out, format=options.format)
    print(f"{human.count(n_documents, 'removed document')} written to {options.out}")
    return OK


def _export_documents(options: argparse.Namespace) -> int:
    with connect(options.database, read_only=True) as connection:
        corpus = connection.corpus(options.corpus)
        # Warnings of a Python verb become notes, as for a statement.
        with warnings.catch_warnings(record=True) as caught, Waiting(not options.no_progress):
            warnings.simplefilter("always")
            n_documents = corpus.export(options.out, options.where, format=options.format)
    print(f"{human.count(n_documents, 'document')} written to {options.out}")
    say_notes(str(warning.message) for warning in caught)
    return OK
