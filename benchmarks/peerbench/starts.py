"""Import, opening and the first answer of ngramdb, each time in a fresh interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from peerbench import report

# Fresh interpreters; medians are reported.
ROUNDS = 11

IMPORT_LIMIT_NS = 150e6
OPEN_LIMIT_NS = 50e6

_SCRIPT = """
import sys, time
start = time.perf_counter_ns()
import ngramdb
imported = time.perf_counter_ns()
with ngramdb.connect(sys.argv[1], read_only=True) as connection:
    connection.corpus("bench").count([262])
loaded = time.perf_counter_ns()
connection = ngramdb.connect(sys.argv[1], read_only=True)
corpus = connection.corpus("bench")
opened = time.perf_counter_ns()
corpus.count([262])
print(imported - start, loaded - start, opened - loaded, time.perf_counter_ns() - loaded)
"""


def rows(database: Path) -> list[report.Row]:
    """Table rows: import; everything up to the first count; and opening once libraries are loaded."""
    samples = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", _SCRIPT, str(database)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        samples.append([int(field) for field in output.split()])
    medians = (statistics.median(column) for column in zip(*samples, strict=True))
    imported, first_opened, opened, answered = medians
    return [
        report.limit_row("import ngramdb", imported, IMPORT_LIMIT_NS),
        report.limit_row(
            "import ngramdb, open a database, first count", first_opened, IMPORT_LIMIT_NS + OPEN_LIMIT_NS
        ),
        report.limit_row("open a database", opened, OPEN_LIMIT_NS),
        report.limit_row("open a database, first count", answered, OPEN_LIMIT_NS),
    ]
