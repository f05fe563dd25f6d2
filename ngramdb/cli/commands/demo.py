"""`ngramdb demo [PATH]`: index Python's standard library and walk through one question of each kind.

A folder that holds the demonstration already is used as it is. Nothing is ever removed: a folder that holds
anything else is an error.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from dataclasses import replace

from ngramdb.api import Connection, LoadReport, Result, connect
from ngramdb.cli.commands import stdlib
from ngramdb.cli.commands.catalog import describe
from ngramdb.cli.commands.tour import STEPS, Step
from ngramdb.cli.common import OK, add_common_flags, command_parser
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import LoadWatch
from ngramdb.cli.terminal.render import render
from ngramdb.cli.terminal.screen import Screen, detect
from ngramdb.errors import InvalidArgument, NotADatabase

DEFAULT_PATH = "python-stdlib.ngdb"
CORPUS = "stdlib"
# Width of the tour's tables where there is no terminal.
COLUMNS_IN_A_FILE = 100

# Every field of the demonstration's documents; a corpus without one of them is somebody else's.
FIELDS = frozenset({"module", "package", "size", "lines"})

DESCRIPTION = f"""\
Index the sources of Python's own standard library, one document a file, and ask one question of each kind.
The database stays in PATH, by default ./{DEFAULT_PATH}. A demonstration that is there already is used as it
is; anything else in its place is left alone, with an error.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's flags."""
    parser = command_parser("demo", DESCRIPTION)
    parser.add_argument(
        "path", metavar="PATH", nargs="?", default=DEFAULT_PATH, help="where the database goes"
    )
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    screen = detect(sys.stdout)
    if screen.width is None:
        # in a file, too, a document's text is cut: the tour is for reading
        screen = replace(screen, width=COLUMNS_IN_A_FILE)
    with _open(options.path) as connection:
        if _is_built(connection, options.path):
            screen.write(
                f"{options.path} holds the demonstration already (remove the folder to build it anew).\n"
            )
        else:
            _build(connection, screen, wanted=not options.no_progress)
        for number, step in enumerate(STEPS, start=1):
            _show(connection, step, number, screen)
    screen.write(f"\nThe database stays in {options.path}. Ask it questions of your own:\n\n")
    screen.draw("  " + screen.styled(f"ngramdb {shlex.quote(options.path)}", "1") + "\n")
    return OK


def _open(path: str) -> Connection:
    try:
        return connect(path)
    except NotADatabase as error:
        raise NotADatabase(f"{error}\n  Name another place: ngramdb demo PATH", path=path) from error


def _is_built(connection: Connection, path: str) -> bool:
    """Whether the demonstration is there in full; False for a new database or one interrupted while loading.

    Raises InvalidArgument when the database holds anything but the demonstration.
    """
    names = connection.corpora()
    if not names:
        return False
    described = describe(connection, CORPUS) if names == [CORPUS] else {}
    fields = {name.removeprefix("field ") for name in described if name.startswith("field ")}
    if names == [CORPUS] and described["documents"] == 0:
        return False
    if fields != FIELDS:
        raise InvalidArgument(
            f"{path} is a database, but not the demonstration: it holds {', '.join(names)}\n"
            "  Name another place: ngramdb demo PATH"
        )
    return True


def _build(connection: Connection, screen: Screen, wanted: bool) -> None:
    root = stdlib.folder()
    files = stdlib.source_files(root)
    if not files:
        raise InvalidArgument(f"this Python has no sources of its standard library in {root}")
    screen.write(f"Indexing {human.count(len(files), 'file')} of Python's standard library, {root}\n")
    screen.stream.flush()
    if CORPUS not in connection.corpora():
        connection.create_corpus(CORPUS, tokenizer="words")
    with LoadWatch("indexing", n_documents=len(files), wanted=wanted) as watch:
        report = connection.corpus(CORPUS).append(stdlib.documents(root, files), progress=watch)
    screen.write(_loaded(connection, report) + "\n")


def _loaded(connection: Connection, report: LoadReport) -> str:
    described = describe(connection, CORPUS)
    return (
        f"{human.count(report.documents, 'document')}, {human.count(report.tokens, 'token')} from "
        f"{human.size(report.bytes)} of text in {human.duration(report.elapsed)}; "
        f"{human.size(described['bytes'])} on disk"
    )


def _show(connection: Connection, step: Step, number: int, screen: Screen) -> None:
    """One question: what it shows, the statement, the answer and its time."""
    screen.write(f"\n{number}. {step.says}\n")
    screen.draw(screen.styled(f"{CORPUS}> {step.statement};", "1") + "\n")
    started = time.perf_counter()
    with connection.execute(step.statement) as result:
        answer = Result.of_rows(result.columns, result.fetchall(), **result.summary)
    elapsed = time.perf_counter() - started
    render(answer, screen, "table")
    screen.draw(screen.styled(f"({human.duration(elapsed)})", "2") + "\n")
    screen.stream.flush()
