"""Appending one document per commit: ngramdb beside SQLite FTS5, and the share of each fsync.

    python benchmarks/appends.py [FOLDER] [--appends 200]

Both programs commit every document durably (SQLite with its rollback journal and with a write-ahead log,
each with synchronous=FULL) and take turns, so that other load on the machine meets all of them. FOLDER is
on the disk to measure. ngramdb is measured again without fsync (the difference is the cost of durability) and
with the setting durability = normal. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import ngramdb
from ngramdb.engine.storage.directory import real

TEXT = "the quick brown fox jumps over the lazy dog, and document {} ends here"


class Syncs:
    """Replaces os.fsync in ngramdb's file layer: measures each call by what is synced, or skips it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.skipped = False
        self.listed = True

    def __call__(self, fd: int) -> None:
        if self.skipped:
            return
        path = Path(os.readlink(f"/proc/self/fd/{fd}"))
        name = f"folder {path.name}" if path.is_dir() else f"file in {path.parent.name}"
        if not self.listed:
            return os.fsync(fd)
        begun = perf_counter()
        os.fsync(fd)
        self.seconds[name].append(perf_counter() - begun)


class _Os:
    """The module `os` with another fsync."""

    def __init__(self, fsync: Callable[[int], None]) -> None:
        self.fsync = fsync

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


def sqlite(folder: Path, journal: str) -> Callable[[str], object]:
    connection = sqlite3.connect(folder / f"{journal}.sqlite", isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE VIRTUAL TABLE documents USING fts5(text)")
    return lambda text: connection.execute("INSERT INTO documents VALUES (?)", [text])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to write; the system's scratch folder by default"
    )
    parser.add_argument("--appends", type=int, default=200)
    options = parser.parse_args()
    syncs = Syncs()
    real.os = _Os(syncs)  # type: ignore[attr-defined, assignment]
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch)
        plain = ngramdb.connect(folder / "a.ngdb").create_corpus("c")
        unsynced = ngramdb.connect(folder / "b.ngdb").create_corpus("c")
        normal = ngramdb.connect(folder / "d.ngdb")
        normal.settings["durability"] = "normal"
        lasting = normal.create_corpus("c")
        syncs.seconds.clear()
        ways: dict[str, Callable[[str], object]] = {
            "SQLite FTS5, rollback journal": sqlite(folder, "DELETE"),
            "SQLite FTS5, write-ahead log": sqlite(folder, "WAL"),
            "ngramdb": lambda text: plain.append([text]),
            "ngramdb without fsync": lambda text: unsynced.append([text]),
            "ngramdb, durability normal": lambda text: lasting.append([text]),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for i in range(options.appends):
            for name, append in ways.items():
                syncs.skipped = name.endswith("without fsync")
                syncs.listed = name == "ngramdb"
                begun = perf_counter()
                append(TEXT.format(i))
                times[name].append(perf_counter() - begun)
    report(times, syncs, options.appends)
    return 0


def report(times: dict[str, list[float]], syncs: Syncs, n: int) -> None:
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    for name, median in medians.items():
        wal, journal = (
            median / medians[f"SQLite FTS5, {kind}"] for kind in ("write-ahead log", "rollback journal")
        )
        print(
            f"{name:32} p50 {median * 1e3:7.2f} ms   {wal:5.1f} x write-ahead log, {journal:4.1f} x journal"
        )
    for name, seconds in sorted(syncs.seconds.items()):
        calls, median_ms = len(seconds) / n, statistics.median(seconds) * 1e3
        print(f"  fsync of {name:24} {calls:5.2f} per append, p50 {median_ms:.2f} ms each")


if __name__ == "__main__":
    sys.exit(main())
