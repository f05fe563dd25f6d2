"""`ngramdb info DB`: what is in a database: its version, its corpora, their sizes."""

from __future__ import annotations

import argparse
import os
import sys

from ngramdb.api import Connection, Result, connect
from ngramdb.cli.commands.sharing import describe
from ngramdb.cli.common import OK, add_common_flags
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.render import MODES, default_mode, render
from ngramdb.cli.terminal.screen import detect

DESCRIPTION = "List the corpora of a database with their sizes, and the database's version."

COLUMNS = ("corpus", "tokenizer", "documents", "tokens", "vocabulary", "segments", "bytes", "version")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's flags."""
    parser = argparse.ArgumentParser(prog="ngramdb info", description=DESCRIPTION)
    parser.add_argument("database", metavar="DB", help="the database's folder")
    parser.add_argument(
        "--format", choices=MODES, help="how corpora look; table at a terminal, tsv elsewhere"
    )
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
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
    return OK


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
