"""`ngramdb load DB CORPUS PATH…`: add documents to a corpus, made when it is missing, in one commit."""

from __future__ import annotations

import argparse
import glob
import os
from typing import Any

from ngramdb.api import Connection, Corpus, LoadReport, connect
from ngramdb.cli.commands.catalog import describe
from ngramdb.cli.commands.writing import add_lock_timeout, writing
from ngramdb.cli.common import (
    OK,
    UsageError,
    add_common_flags,
    command_parser,
    glued,
    guarded,
    positive,
    say_notes,
)
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import LoadWatch
from ngramdb.errors import InvalidArgument
from ngramdb.formats import ID_TYPES, READ, endings_and_titles
from ngramdb.kinds import DEFAULT_TOKENIZER, NAMED_TOKENIZERS, canonical_tokenizer

# Tokenizers that are known by a word; any other is the path of a tokenizer.json, of kind "json".

DESCRIPTION = """\
Add documents to a corpus. Database and corpus are made when they are missing. A load is one commit: it
happens as a whole or not at all.
"""
EPILOG = f"""\
A PATH is a file, a folder (read recursively), a glob, a URL of any of these (with ngramdb[remote]), or - for
standard input; what gzip, Zstandard, bzip2 or xz has compressed is unpacked. What
a file is read as goes by its name, and --format overrules it:

{"".join(f"  {endings:38}{title}{chr(10)}" for endings, title in endings_and_titles())}
All others are told by their first bytes, or are text, a document a file. In JSON lines and tables every field
or column beside the text becomes metadata.
"""


def run(arguments: list[str]) -> int:
    """Run the command; the exit code comes back."""
    options = make_parser().parse_args(glued(arguments, ("--separator",)))
    return guarded(lambda: _run(options), options.debug)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's flags."""
    parser = command_parser("load", DESCRIPTION, EPILOG)
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", help="the corpus's name")
    add("paths", metavar="PATH", nargs="+", help="what to read")
    add(
        "--tokenizer",
        metavar="T",
        help="words (the default), 'words(lower)', 'words(nfc)', 'words(lower, nfc)', chars, bytes, tokens, "
        "or the path of a Hugging Face tokenizer.json; a corpus that exists keeps its own",
    )
    add(
        "--text",
        metavar="FIELD",
        help="the JSON field (or column) with the text, a.b for one inside another; text when not given",
    )
    add(
        "--format",
        choices=READ,
        help="how the files are read, whatever their names; lines: a document a line",
    )
    add(
        "--separator",
        metavar="LINE",
        help="the line between two documents of a text file, the id between two of token ids",
    )
    add("--dtype", choices=ID_TYPES, help="the type of ids in files of token ids that do not say it")
    add("--metadata", metavar="A,B", help="the fields (or columns) to keep; all when not given, '' for none")
    add("--limit", metavar="N", type=positive, help="read at most this many documents")
    add(
        "--on-error",
        choices=("fail", "skip"),
        default="fail",
        help="what a document that cannot be read does",
    )
    add(
        "--commit-every",
        metavar="N",
        type=positive,
        help="commit after every N documents; one commit for all when not given",
    )
    add(
        "--resume",
        action="store_true",
        help="go on where a load of the same paths has stopped that committed on its way",
    )
    add("--segment-tokens", metavar="N", type=positive, help="most tokens in a segment")
    add("--sort-tokens", metavar="N", type=positive, help="most tokens to sort at a time; bounds the memory")
    add(
        "--threads",
        metavar="N",
        type=positive,
        help="cores that build segments; all of them when not given",
    )
    add(
        "--no-fast-tokenizer",
        action="store_true",
        help="take ids from the library tokenizers alone, even where fastokens gives the same ones",
    )
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def _run(options: argparse.Namespace) -> int:
    if not os.path.lexists(options.database):
        _check_before_making(options)
    with writing(options, create=True) as connection:
        if options.threads is not None:
            connection.settings["threads"] = options.threads
        if options.segment_tokens is not None:
            connection.settings["segment_tokens"] = options.segment_tokens
        if options.sort_tokens is not None:
            connection.settings["sort_tokens"] = options.sort_tokens
        connection.settings["fast_tokenizer"] = not options.no_fast_tokenizer
        corpus, is_new = open_corpus(connection, options.corpus, options.tokenizer)
        n_before = corpus.n_documents
        try:
            with LoadWatch(
                f"loading {corpus.name}", n_documents=options.limit, wanted=not options.no_progress
            ) as watch:
                report = load(corpus, options, watch)
        except BaseException:
            # a corpus made for this load goes with it: the next try may choose another tokenizer
            if corpus.n_documents > n_before:
                say_notes([_committed(corpus, can_go_on=all(map(_can_be_read_again, options.paths)))])
            elif is_new:
                connection.drop_corpus(options.corpus, if_exists=True)
            raise
    print(summary(options.corpus, report))
    say_notes(report.notes)
    return OK


def _can_be_read_again(path: str) -> bool:
    """Whether it is no standard input and no pipe; a glob does not exist by its name."""
    return path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path))


def _committed(corpus: Corpus, can_go_on: bool) -> str:
    has = f"corpus {corpus.name} has {human.count(corpus.n_documents, 'document')}"
    return f"{has}; the same command with --resume goes on after them" if can_go_on else has


def _check_before_making(options: argparse.Namespace) -> None:
    """Raise where a database would be made for nothing: arguments swapped, or files that are not there."""
    if os.path.exists(options.corpus):
        raise UsageError(
            f"there is no database {options.database}, and the corpus {options.corpus} is the name of a file "
            "or folder; the order is: ngramdb load DB CORPUS PATH…"
        )
    for path in options.paths:
        found = path == "-" or "://" in path or os.path.exists(os.path.expanduser(path))
        if not found and next(glob.iglob(os.path.expanduser(path), recursive=True), None) is None:
            raise InvalidArgument(f"{path}: no such file or folder; no database has been made")


def open_corpus(connection: Connection, name: str, tokenizer: str | None) -> tuple[Corpus, bool]:
    """The corpus, and whether it had to be made.

    Raises InvalidArgument when it exists with another tokenizer than the one asked for.
    """
    if name not in connection.corpora():
        return connection.create_corpus(name, tokenizer=tokenizer or DEFAULT_TOKENIZER), True
    corpus = connection.corpus(name)
    if tokenizer is not None and not has_tokenizer(corpus, tokenizer):
        known = describe(connection, name)["tokenizer"]
        raise InvalidArgument(
            f"corpus {name} has the tokenizer {known}, but --tokenizer asks for {tokenizer}; "
            "leave the flag out, or load into a new corpus"
        )
    return corpus, False


def has_tokenizer(corpus: Corpus, asked: str) -> bool:
    """Whether the corpus has the tokenizer that the flag names; a tokenizer.json is compared by content."""
    kind = corpus.tokenizer.kind
    asked = canonical_tokenizer(asked)
    if asked in NAMED_TOKENIZERS or kind in NAMED_TOKENIZERS:
        return bool(kind == asked)
    with connect() as scratch:
        other = scratch.create_corpus("scratch", tokenizer=asked).tokenizer
    return _content(corpus.tokenizer) == _content(other)


def _content(tokenizer: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in tokenizer.definition().sections.items()}


def load(corpus: Corpus, options: argparse.Namespace, watch: LoadWatch) -> LoadReport:
    """Run the load with the flags' options."""
    # argparse takes "--" out even as the value of a flag, and leaves an empty list.
    separator = "--" if options.separator == [] else options.separator
    given: dict[str, Any] = {"format": options.format, "separator": separator, "limit": options.limit}
    given |= {"dtype": options.dtype}
    given |= {"commit_every": options.commit_every, "resume": options.resume or None}
    if options.metadata is not None:
        given["metadata"] = tuple(name.strip() for name in options.metadata.split(",") if name.strip())
    chosen = {name: value for name, value in given.items() if value is not None}
    return corpus.load(options.paths, text=options.text, on_error=options.on_error, progress=watch, **chosen)


def summary(name: str, report: LoadReport) -> str:
    """What was loaded, on one line; the first reasons of what was skipped on lines of their own."""
    seconds = max(report.elapsed, 1e-9)
    text = (
        f"{name}: {human.count(report.documents, 'document')}, {human.count(report.tokens, 'token')} "
        f"in {human.duration(seconds)} ({human.size(report.bytes / seconds)}/s), version {report.version:,}"
    )
    if report.skipped:
        text += f", {_skipped(report)} skipped:"
        text += "".join(f"\n  {reason}" for reason in report.reasons)
        if report.skipped > len(report.reasons):
            text += f"\n  and {report.skipped - len(report.reasons):,} more"
    return text


def _skipped(report: LoadReport) -> str:
    """Documents that were skipped, and files: nobody knows how many documents these have."""
    n_documents = report.skipped - report.skipped_files
    parts = [human.count(n_documents, "document")] if n_documents else []
    if report.skipped_files:
        parts.append(f"all or the rest of {human.count(report.skipped_files, 'file')}")
    return " and ".join(parts)
