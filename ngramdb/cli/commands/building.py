"""`load`, `build`, `missing` and `commit`: documents into a corpus, by one process or by many."""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ngramdb import cluster
from ngramdb.api import (
    CommitReport,
    Connection,
    Corpus,
    LoadReport,
    PartReport,
    build,
    collected,
    connect,
    missing,
)
from ngramdb.cli.common import (
    OK,
    PROBLEMS,
    Command,
    UsageError,
    add_database,
    add_lock_timeout,
    describe,
    positive,
    say_notes,
    writing,
)
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import Bar, LoadWatch, Waiting
from ngramdb.errors import BindError, InvalidArgument, LockedError
from ngramdb.formats import ID_TYPES, READ, endings_and_titles
from ngramdb.registries import DEFAULT_TOKENIZER, NAMED_TOKENIZERS, ON_CONFLICT, canonical_tokenizer

# ---- How files are read, and segments built.


ABOUT_PATHS = f"""\
A PATH is a file, a folder (read recursively), a glob, a URL of any of these (with ngramdb[remote]), or - for
standard input; files compressed by gzip, Zstandard, bzip2 or xz are unpacked. The
format of a file follows from its name unless --format is given:

{"".join(f"  {endings:38}{title}{chr(10)}" for endings, title in endings_and_titles())}
Other files are recognized by their first bytes, or are text, one document per file. In JSON lines and tables
every field or column besides the text becomes metadata.
"""


def add_reading_flags(parser: argparse.ArgumentParser, of_corpora: str = "") -> None:
    """Add the flags of the tokenizer and of reading files; `of_corpora` ends the help on tokenizers."""
    add = parser.add_argument
    add(
        "--tokenizer",
        metavar="T",
        help="words (the default), 'words(lower)', 'words(nfc)', 'words(lower, nfc)', chars, bytes, tokens, "
        f"or the path of a Hugging Face tokenizer.json{of_corpora}",
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
    add("--dtype", choices=ID_TYPES, help="the type of ids in files of token ids that do not declare it")
    add(
        "--no-quotes",
        action="store_true",
        help="double quotes in CSV and TSV are characters like others, never around a field",
    )
    add("--metadata", metavar="A,B", help="the fields (or columns) to keep; all when not given, '' for none")
    add(
        "--on-error",
        choices=("fail", "skip"),
        default="fail",
        help="what a document that cannot be read does",
    )


def add_building_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of building segments."""
    add = parser.add_argument
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


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Corpus.load` for the given flags of reading; None for missing ones."""
    # argparse takes "--" out even as the value of a flag, and leaves an empty list.
    separator = "--" if options.separator == [] else options.separator
    given = {"text": options.text, "format": options.format, "separator": separator, "dtype": options.dtype}
    if options.no_quotes:
        given["quotes"] = False
    if options.metadata is not None:
        given["metadata"] = tuple(name.strip() for name in options.metadata.split(",") if name.strip())
    return given


def building_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings given by the flags of building."""
    given = {name: getattr(options, name) for name in ("threads", "segment_tokens", "sort_tokens")}
    chosen = {name: value for name, value in given.items() if value is not None}
    return {**chosen, "fast_tokenizer": not options.no_fast_tokenizer}


# ---- `ngramdb load DB CORPUS PATH…`: add documents to a corpus, made when it is missing, in one commit.


_LOAD = """\
Add documents to a corpus. Database and corpus are made when they are missing. A load is one commit: it
happens as a whole or not at all.
"""


def _load_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_database(parser)
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


def _ray_address(text: str) -> str:
    """Return the address after `ray=`, or "" without one."""
    name, _, address = text.partition("=")
    if name != "ray":
        raise argparse.ArgumentTypeError(f"{text!r} is not ray or ray=ADDRESS")
    return address


def _run_on_cluster(options: argparse.Namespace) -> None:
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


def _load(options: argparse.Namespace) -> None:
    if options.cluster is not None:
        _run_on_cluster(options)
        return
    if not os.path.lexists(options.database):
        _check_before_making(options)
    with writing(options, create=True) as connection:
        for name, value in building_settings(options).items():
            connection.settings[name] = value
        report = _load_into(connection, options)
    print(summary(options.corpus, report))
    say_notes(report.notes)


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


# ---- `ngramdb build OUT --shard i/n PATH…`: one of n parts of a corpus, on whatever machine this is.


_BUILD = """\
Build one of n parts of a corpus from its share of the files, in the folder OUT. Any machine that sees the
files and OUT builds any part, in any order; `ngramdb missing` lists the parts that are not there yet, and
`ngramdb commit` makes one corpus of them. A part that is there is left as it is, so that a worker may be
killed and run again, or run twice.
"""


def _build_flags(parser: argparse.ArgumentParser) -> None:
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


def _build(options: argparse.Namespace) -> None:
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


# ---- `ngramdb missing OUT N`: which of n parts of a build are not there yet, for scripts.


_MISSING = """\
Print the parts of a build that are not there yet, on one line as `sbatch --array` takes them: 0,4-7. When all
N are there, nothing is printed, and the exit status is 0; when some are missing, it is 3.
"""


def _missing_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", nargs="+", help="the folder of the parts, or several")
    parser.add_argument("n", metavar="N", type=positive, help="how many parts there are to be")


def _missing(options: argparse.Namespace) -> int:
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


# ---- `ngramdb commit DB CORPUS OUT…`: the parts of a build, put together as a corpus in one version.


_COMMIT = """\
Check that every part of a build is present exactly once, and make one corpus of them, in one version: the
documents are in the order of the files, as after one `ngramdb load` of all. Database and corpus are created
if they are missing. Files are linked if they are on the same file system, else copied; OUT may be
removed afterwards.
"""


def _commit_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser)
    parser.add_argument("out", metavar="OUT", nargs="+", help="the folder of the parts, or several")
    add_lock_timeout(parser)


def _commit(options: argparse.Namespace) -> None:
    collected(options.out)  # before a database is made for parts that are not there
    with writing(options, create=True) as connection, Waiting(not options.no_progress) as waiting:
        report = connection.commit_parts(options.corpus, options.out, progress=waiting)
    print(committed(options.corpus, report))
    say_notes(report.notes)


def committed(name: str, report: CommitReport) -> str:
    """Return the outcome of a commit of parts, on one line."""
    numbers = {"part": report.parts, "document": report.documents, "token": report.tokens}
    listed = ", ".join(human.count(n, kind) for kind, n in numbers.items())
    return f"{name}: {listed} in {human.duration(max(report.elapsed, 1e-9))}, version {report.version:,}"


COMMANDS = {
    "load": Command(_LOAD, _load_flags, _load, ABOUT_PATHS),
    "build": Command(_BUILD, _build_flags, _build, ABOUT_PATHS),
    "missing": Command(_MISSING, _missing_flags, _missing),
    "commit": Command(_COMMIT, _commit_flags, _commit),
}
