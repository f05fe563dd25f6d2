"""`ngramdb load DB CORPUS PATH…`: add documents to a corpus, made when it is missing, in one commit."""

from __future__ import annotations

import argparse
import glob
import os
from contextlib import suppress
from typing import Any

from ngramdb import cluster
from ngramdb.api import CommitReport, Connection, Corpus, LoadReport, PartReport, connect
from ngramdb.cli.commands.sharing import (
    ABOUT_PATHS,
    add_building_flags,
    add_lock_timeout,
    add_reading_flags,
    building_settings,
    describe,
    reading_options,
    writing,
)
from ngramdb.cli.common import (
    OK,
    UsageError,
    add_common_flags,
    command_parser,
    positive,
    say_notes,
    utf8,
)
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import Bar, LoadWatch
from ngramdb.errors import BindError, InvalidArgument, LockedError
from ngramdb.registries import DEFAULT_TOKENIZER, NAMED_TOKENIZERS, ON_CONFLICT, canonical_tokenizer

# Tokenizers that are known by a word; any other is the path of a tokenizer.json, of kind "json".

DESCRIPTION = """\
Add documents to a corpus. Database and corpus are made when they are missing. A load is one commit: it
happens as a whole or not at all.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = command_parser("load", DESCRIPTION, ABOUT_PATHS)
    add = parser.add_argument
    add("database", metavar="DB", help="the database's folder")
    add("corpus", metavar="CORPUS", type=utf8, help="the corpus's name")
    add("paths", metavar="PATH", nargs="+", help="what to read")
    add_reading_flags(parser, "; a corpus that exists keeps its own")
    add("--limit", metavar="N", type=positive, help="read at most this many documents")
    add(
        "--commit-every",
        metavar="N",
        type=positive,
        help="commit after every N documents; one commit for all when not given",
    )
    add(
        "--resume",
        action="store_true",
        help="resume a stopped load of the same paths that committed along the way",
    )
    add("--key", metavar="FIELD", help="metadata field that identifies a document, a string or an integer")
    add(
        "--on-conflict",
        choices=ON_CONFLICT,
        help="for a document whose key occurred before: fail, leave it out, or remove the earlier one",
    )
    add(
        "--cluster",
        metavar="ray[=ADDRESS]",
        type=_ray_address,
        help="build on a cluster of Ray, or by Ray on this machine, and commit once; with ngramdb[ray]",
    )
    add_building_flags(parser)
    add_lock_timeout(parser)
    add_common_flags(parser)
    return parser


def _ray_address(text: str) -> str:
    """Return the address after `ray=`, or "" without one."""
    name, _, address = text.partition("=")
    if name != "ray":
        raise argparse.ArgumentTypeError(f"{text!r} is not ray or ray=ADDRESS")
    return address


def _run_on_cluster(options: argparse.Namespace) -> int:
    """Load by tasks of Ray, which see the files, the database and the parts beside it."""
    for flag in ("limit", "commit_every", "resume", "key", "on_conflict"):
        if getattr(options, flag):
            raise UsageError(f"--{flag.replace('_', '-')} applies to a load on one machine, not to --cluster")
    chosen = {name: value for name, value in reading_options(options).items() if value is not None}
    with Bar(f"loading {options.corpus}", wanted=not options.no_progress) as bar:
        report = cluster.load(
            options.database,
            options.corpus,
            options.paths,
            address=options.cluster or None,
            tokenizer=options.tokenizer,
            on_error=options.on_error,
            progress=lambda at: bar.draw(at.fraction, f"{at.done} of {at.parts} parts"),
            settings=building_settings(options),
            lock_timeout=options.lock_timeout or 0.0,
            **chosen,
        )
    print(committed(options.corpus, report))
    say_notes(report.notes)
    return OK


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    if options.cluster is not None:
        return _run_on_cluster(options)
    if not os.path.lexists(options.database):
        _check_before_making(options)
    with writing(options, create=True) as connection:
        for name, value in building_settings(options).items():
            connection.settings[name] = value
        report = _load_into(connection, options)
    print(summary(options.corpus, report))
    say_notes(report.notes)
    return OK


def _load_into(connection: Connection, options: argparse.Namespace) -> LoadReport:
    """Load into the corpus, made when it is missing; also when another load, which failed, takes it back."""
    while True:
        corpus, n_before, is_new = None, 0, options.corpus not in connection.corpora()
        try:
            corpus, is_new = open_corpus(connection, options.corpus, options.tokenizer)
            n_before = corpus.n_documents
            with LoadWatch(
                f"loading {corpus.name}", n_documents=options.limit, wanted=not options.no_progress
            ) as watch:
                return load(corpus, options, watch)
        except BaseException as error:
            if corpus is None:  # not even made, as a rule
                if is_new and isinstance(error, KeyboardInterrupt):
                    _take_back(connection, options.corpus)
                raise
            if isinstance(error, BindError) and _is_gone(connection, options.corpus):
                continue
            # a corpus created for this load is dropped with it: the next try may choose another tokenizer
            if options.commit_every is not None and corpus.n_documents > n_before:
                say_notes([_committed(corpus, can_go_on=all(map(_can_be_read_again, options.paths)))])
            elif is_new:
                _take_back(connection, options.corpus)
            raise


def _take_back(connection: Connection, name: str) -> None:
    """Drop a corpus without documents; another writer who is at work may be loading into it."""
    with suppress(LockedError):
        connection.drop_corpus(name, if_exists=True, if_empty=True)


def _is_gone(connection: Connection, name: str) -> bool:
    connection.refresh()
    return name not in connection.corpora()


def _can_be_read_again(path: str) -> bool:
    """Return True unless it is standard input or a pipe; a glob does not exist under its name."""
    return path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path))


def _committed(corpus: Corpus, can_go_on: bool) -> str:
    has = f"corpus {corpus.name} has {human.count(corpus.n_documents, 'document')}"
    return f"{has}; the same command with --resume continues after them" if can_go_on else has


def _check_before_making(options: argparse.Namespace) -> None:
    """Raise an error rather than create a useless database: arguments swapped, or files missing."""
    if os.path.exists(options.corpus):
        raise UsageError(
            f"database {options.database} does not exist, and corpus {options.corpus} is the name of a file "
            "or folder; the order is: ngramdb load DB CORPUS PATH…"
        )
    for path in options.paths:
        found = path == "-" or "://" in path or os.path.exists(os.path.expanduser(path))
        if not found and next(glob.iglob(os.path.expanduser(path), recursive=True), None) is None:
            raise InvalidArgument(f"{path}: no such file or folder; no database has been made")


def open_corpus(connection: Connection, name: str, tokenizer: str | None) -> tuple[Corpus, bool]:
    """Return the corpus, and whether it was created.

    Raises InvalidArgument when it exists with another tokenizer than the one asked for.
    """
    if name not in connection.corpora():
        with suppress(BindError):  # another load may have made it just now
            return connection.create_corpus(name, tokenizer=tokenizer or DEFAULT_TOKENIZER), True
        connection.refresh()
    corpus = connection.corpus(name)
    if tokenizer is not None and not has_tokenizer(corpus, tokenizer):
        known = describe(connection, name)["tokenizer"]
        raise InvalidArgument(
            f"corpus {name} has the tokenizer {known}, but --tokenizer is {tokenizer}; "
            "leave the flag out, or load into a new corpus"
        )
    return corpus, False


def has_tokenizer(corpus: Corpus, asked: str) -> bool:
    """Return True if the corpus has the tokenizer of the flag; a tokenizer.json is compared by content."""
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
    given = reading_options(options)
    given |= {"limit": options.limit, "commit_every": options.commit_every, "resume": options.resume or None}
    given |= {"key": options.key, "on_conflict": options.on_conflict}
    chosen = {name: value for name, value in given.items() if value is not None}
    return corpus.load(options.paths, on_error=options.on_error, progress=watch, **chosen)


def summary(name: str, report: LoadReport) -> str:
    """Return the outcome of a load on one line; the first reasons for skipping on lines of their own."""
    return f"{work_done(name, report, report.bytes)}, version {report.version:,}{skipped(report)}"


def committed(name: str, report: CommitReport) -> str:
    """Return the outcome of a commit of parts, on one line."""
    numbers = {"part": report.parts, "document": report.documents, "token": report.tokens}
    listed = ", ".join(human.count(n, kind) for kind, n in numbers.items())
    return f"{name}: {listed} in {human.duration(max(report.elapsed, 1e-9))}, version {report.version:,}"


def work_done(name: str, report: LoadReport | PartReport, n_bytes: int) -> str:
    """Return the numbers of documents and tokens loaded or built, and the speed; `n_bytes` of text."""
    seconds = max(report.elapsed, 1e-9)
    return (
        f"{name}: {human.count(report.documents, 'document')}, {human.count(report.tokens, 'token')} "
        f"in {human.duration(seconds)} ({human.size(n_bytes / seconds)}/s)"
    )


def skipped(report: LoadReport | PartReport) -> str:
    """Return the number of skipped documents and the first reasons; '' if none was skipped."""
    text = ""
    if report.skipped:
        n_files = report.skipped_files
        text += f", {_skipped(report.skipped - n_files, n_files)} skipped:"
        text += "".join(f"\n  {reason}" for reason in report.reasons)
        if report.skipped > len(report.reasons):
            text += f"\n  and {report.skipped - len(report.reasons):,} more"
    return text


def _skipped(n_documents: int, n_files: int) -> str:
    """Documents that were skipped, and files: nobody knows how many documents these have."""
    parts = [human.count(n_documents, "document")] if n_documents else []
    if n_files:
        parts.append(f"all or the rest of {human.count(n_files, 'file')}")
    return " and ".join(parts)
