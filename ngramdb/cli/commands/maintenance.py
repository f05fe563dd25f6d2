"""`info`, `check`, `compact`, `warm` and `analyze`: what is in a database, whether it is sound, and fast."""

from __future__ import annotations

import argparse
import os
import sys
import time

from ngramdb.api import Connection, Result, connect
from ngramdb.cli.common import (
    OK,
    PROBLEMS,
    Command,
    UsageError,
    add_database,
    add_format,
    add_lock_timeout,
    describe,
    in_own_words,
    quoted,
    say,
    writing,
)
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import Waiting
from ngramdb.cli.terminal.screen import default_mode, detect, render
from ngramdb.registries import ATTACHED

_INFO = "List the corpora of a database with their sizes, and the database's version."
COLUMNS = ("corpus", "tokenizer", "documents", "tokens", "vocabulary", "segments", "bytes", "version")


def _info_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser, None)
    add_format(parser, "how corpora look")


def _info(options: argparse.Namespace) -> None:
    screen = detect(sys.stdout)
    mode = options.format or default_mode(screen)
    with connect(options.database, read_only=True) as connection:
        rows = corpora(connection)
        if mode == "table":
            version, action = last_change(connection)
            n_bytes = folder_bytes(options.database)
            changed = f" ({action})" if action else ""
            screen.write(f"{options.database}: version {version:,}{changed}, {human.size(n_bytes)} on disk\n")
        if rows or mode != "table":
            render(Result.of_rows(COLUMNS, rows), screen, mode)


def corpora(connection: Connection) -> list[tuple[object, ...]]:
    """Return a row of `COLUMNS` per corpus, by name."""
    rows: list[tuple[object, ...]] = []
    for row in connection.execute("SHOW CORPORA").to_dicts():
        facts = describe(connection, row["corpus"])
        rows.append(tuple(facts[name] for name in COLUMNS))
    return rows


def last_change(connection: Connection) -> tuple[int, str]:
    """Return the newest version's number and the statement that created it."""
    for row in connection.execute("SHOW VERSIONS").to_dicts():
        if row["current"]:
            return row["version"], row["action"]
    return 0, ""


def folder_bytes(folder: str) -> int:
    """Return the size of all files below the folder, in bytes; files that vanish meanwhile are ignored."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
    return total


_CHECK = """\
Read the database's files in full, compare every checksum and verify what the index promises of itself.
A line per problem goes to standard output; the exit status is 3 when there is one.
"""


def _check_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser, "one corpus instead of all", nargs="?")
    add_format(parser, "how problems look")


def _check(options: argparse.Namespace) -> int:
    with connect(options.database, read_only=True) as connection:
        statement = "CHECK" if options.corpus is None else f"CHECK {quoted(options.corpus)}"
        with in_own_words():
            result = connection.execute(statement)
        n_problems = result.summary["problems"]
        if not n_problems:
            say(f"{options.database}: no problems found")
            return OK
        render(result, detect(sys.stdout), options.format)
        return PROBLEMS


_COMPACT = """\
Merge the segments of a corpus, or of all of them, and drop what was deleted. Answers stay the same; questions
get faster and the database smaller. One commit a corpus; whoever reads meanwhile is not disturbed.
"""


def _compact_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser, "one corpus instead of all", nargs="?")
    add_format(parser, "how the outcome looks")
    parser.add_argument(
        "--far-index",
        action="store_true",
        help="prepare the segments for an object store: a cold count of up to 15 tokens then takes at most 4 "
        "requests for each, of any size; 1 byte per token",
    )
    add_lock_timeout(parser)


def _compact(options: argparse.Namespace) -> None:
    with writing(options) as connection:
        connection.settings["far_index"] = options.far_index
        statement = "COMPACT" if options.corpus is None else f"COMPACT {quoted(options.corpus)}"
        with in_own_words(), Waiting(not options.no_progress) as waiting:
            result = connection.execute(statement, progress=waiting)
        render(result, detect(sys.stdout), options.format)


_WARM = """\
Read the index of a corpus, or of all of them, into memory, so that the first questions need not wait for
the disk. It stays there, also for other programs that open the database, until the system needs the memory
for something else. Of an index that is larger than half of the memory, the parts that every search reads come
first. With --type, DB is the index of another program, as ATTACH has it.
"""


def _warm_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser, "one corpus instead of all", nargs="?")
    parser.add_argument("--type", choices=ATTACHED, help="DB is an index that this program made")


def _warm(options: argparse.Namespace) -> None:
    if options.type is not None and options.corpus is not None:
        raise UsageError(f"{options.type} indexes contain no corpora: omit {options.corpus}")
    is_ours = options.type is None
    with connect(options.database if is_ours else None, read_only=is_ours) as connection:
        if not is_ours:
            connection.attach(options.database, options.database, type=options.type)
        names = connection.corpora() if options.corpus is None else [options.corpus]
        for name in names:
            started = time.monotonic()
            with Waiting(not options.no_progress) as waiting:
                warmed = connection.corpus(name).warm(progress=waiting)
            read, all_of_it = human.size(warmed.bytes_in_memory), human.size(warmed.bytes)
            say(f"{name}: {read} of {all_of_it} in memory, {human.duration(time.monotonic() - started)}")


_ANALYZE = """\
Count a corpus's n-grams by their frequencies, for the discounts of Kneser-Ney models, and store the
result in one commit. Without it, every session that needs these counts computes them again.
"""


def _analyze_flags(parser: argparse.ArgumentParser) -> None:
    add_database(parser)
    parser.add_argument(
        "--order",
        type=int,
        metavar="N",
        help="the maximum length of n-grams to count; 10, or 50 if tokens are characters or bytes",
    )
    add_format(parser, "the output format of the discounts")
    add_lock_timeout(parser)


def _analyze(options: argparse.Namespace) -> None:
    with writing(options) as connection:
        with in_own_words(), Waiting(not options.no_progress) as waiting:
            clause = "" if options.order is None else f" ORDER {options.order}"
            result = connection.execute(f"ANALYZE {quoted(options.corpus)}{clause}", progress=waiting)
        render(result, detect(sys.stdout), options.format)


COMMANDS = {
    "info": Command(_INFO, _info_flags, _info),
    "check": Command(_CHECK, _check_flags, _check),
    "compact": Command(_COMPACT, _compact_flags, _compact),
    "warm": Command(_WARM, _warm_flags, _warm),
    "analyze": Command(_ANALYZE, _analyze_flags, _analyze),
}
