"""`ngramdb demo [PATH]`: index Python's standard library and walk through one question of each kind.

A folder that holds the demonstration already is used as it is. Nothing is ever removed: a folder that holds
anything else is an error.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import sysconfig
import time
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ngramdb.api import Connection, LoadReport, Result, connect
from ngramdb.cli.common import Command, describe
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import LoadWatch
from ngramdb.cli.terminal.screen import Screen, detect, render
from ngramdb.errors import InvalidArgument, NotADatabase

DEFAULT_PATH = "python-stdlib.ngdb"
CORPUS = "stdlib"
# Width of the tour's tables without a terminal.
COLUMNS_IN_A_FILE = 100

# Every field of the demonstration's documents; a corpus without one of them is somebody else's.
FIELDS = frozenset({"module", "package", "size", "lines"})

DESCRIPTION = f"""\
Index the sources of Python's own standard library, one document per file, and run one query of each kind.
The database stays in PATH, by default ./{DEFAULT_PATH}. An existing demonstration is used as it
is; anything else in its place is left alone, with an error.
"""


def _flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH", nargs="?", default=DEFAULT_PATH, help="where the database goes"
    )


def _run(options: argparse.Namespace) -> None:
    screen = detect(sys.stdout)
    if screen.width is None:
        # in a file, too, a document's text is cut: the tour is for reading
        screen = replace(screen, width=COLUMNS_IN_A_FILE)
    with _open(options.path) as connection:
        if _is_built(connection, options.path):
            screen.write(
                f"{options.path} holds the demonstration already (remove the folder to build it again).\n"
            )
        else:
            _build(connection, screen, wanted=not options.no_progress)
        for number, step in enumerate(STEPS, start=1):
            _show(connection, step, number, screen)
    screen.write(f"\nThe database stays in {options.path}. Ask it questions of your own:\n\n")
    screen.draw("  " + screen.styled(f"ngramdb {shlex.quote(options.path)}", "1") + "\n")


def _open(path: str) -> Connection:
    try:
        return connect(path)
    except NotADatabase as error:
        raise NotADatabase(f"{error}\n  Name another place: ngramdb demo PATH", path=path) from error


def _is_built(connection: Connection, path: str) -> bool:
    """Return True if the demonstration is complete; False for a new or a partly loaded database.

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
    root = folder()
    files = source_files(root)
    if not files:
        raise InvalidArgument(f"no sources of Python's standard library found in {root}")
    screen.write(f"Indexing {human.count(len(files), 'file')} of Python's standard library, {root}\n")
    screen.stream.flush()
    if CORPUS not in connection.corpora():
        connection.create_corpus(CORPUS, tokenizer="words")
    with LoadWatch("indexing", n_documents=len(files), wanted=wanted) as watch:
        report = connection.corpus(CORPUS).append(documents(root, files), progress=watch)
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


# ---- Python's own standard library as documents: text that every machine with Python has.


# Folders that hold other people's packages, caches, or files made by the build.
SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "__pycache__"})


def folder() -> Path:
    """Return the folder with the sources of the running Python's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def source_files(root: Path) -> list[Path]:
    """Return the Python files below `root` in order of their paths, without packages and caches."""
    found: list[Path] = []
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        found.extend(Path(parent, name) for name in names if name.endswith(".py"))
    return sorted(found)


def documents(root: Path, files: list[Path]) -> Iterator[dict[str, Any]]:
    """One document a file: `text`, `module` (dotted), `package` (its first part), `size` in bytes, `lines`.

    A file that is not text in its declared encoding is skipped: the library's tests include some on purpose.
    """
    for path in files:
        try:
            with tokenize.open(path) as source:
                text = source.read()
        except (OSError, SyntaxError, UnicodeError):
            continue
        module = module_name(path.relative_to(root))
        yield {
            "text": text,
            "module": module,
            "package": module.partition(".")[0],
            "size": path.stat().st_size,
            "lines": text.count("\n"),
        }


def module_name(path: Path) -> str:
    """`json/__init__.py` is module json, `json/decoder.py` json.decoder."""
    parts = list(path.with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


# ---- The guided tour over the demonstration corpus: one statement of each kind, and a line on what it shows.


@dataclass(frozen=True)
class Step:
    """A statement and the sentence that is shown above it."""

    says: str
    statement: str


STEPS: tuple[Step, ...] = (
    Step("How often does this sequence of tokens occur?", 'COUNT "for i in range"'),
    Step("And in how many files?", 'COUNT DOCS WHERE "for i in range"'),
    Step("How likely is one continuation?", 'PROB "len" GIVEN "for i in range("'),
    Step(
        "A context that never occurs has no probability; INFGRAM uses its longest suffix that does occur.",
        'PROB "len" GIVEN "the snake counted for i in range(" USING INFGRAM',
    ),
    Step("What do the authors raise?", 'DIST GIVEN "raise" TOP 8'),
    Step(
        "Token by token: which part of a line is surprising?",
        "SCORE \"if __name__ == '__main__':\" USING INFGRAM",
    ),
    Step(
        "Any mix of AND, OR and NOT finds files, with their metadata.",
        'DOCS WHERE ("import asyncio" OR "import threading") AND NOT "import socket" LIMIT 5',
    ),
    Step(
        "Files that define a main function, the last ones first.",
        'DOCS WHERE "def main(" ORDER BY doc_id DESC LIMIT 3',
    ),
    Step(
        "How is such a question answered?",
        'EXPLAIN ANALYZE DOCS WHERE "import threading" AND "import socket" AND NOT "import ssl"',
    ),
    Step("What is on the disk?", "SHOW SEGMENTS"),
)

COMMANDS = {"demo": Command(DESCRIPTION, _flags, _run)}
