"""Compare the CPU time of short processes with that of `import numpy`.

    python benchmarks/start.py --rounds 20

makes a small database and runs each program in turn, so that other load on the machine affects all of them
alike. It prints medians in milliseconds (user and system time together) and their ratios to `import numpy`;
with `--check` it exits with 1 if a ratio is above its goal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

import ngramdb

# The most that a program may take, as a multiple of `import numpy`.
GOALS = {"first statement": 1.6, "command line": 2.0}


def programs(database: Path) -> dict[str, list[str]]:
    """The arguments of Python by what is measured."""
    first = f"import ngramdb; db = ngramdb.connect({str(database)!r})"
    statement = 'COUNT "rose"'
    return {
        "python": ["-c", "pass"],
        "import numpy": ["-c", "import numpy"],
        "import ngramdb": ["-c", "import ngramdb"],
        "first count of a Corpus": ["-c", f"{first}; db.corpus('small').count('rose')"],
        "first statement": ["-c", f"{first}; db.execute({statement!r}).fetchall()"],
        "command line": ["-m", "ngramdb", str(database), "-c", statement],
    }


def cpu_ms(arguments: list[str]) -> float:
    """CPU time of a process, in milliseconds."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, arguments
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "small.ngdb"
        with ngramdb.connect(database) as db:
            db.create_corpus("small").append([{"text": f"a rose number {i}", "year": i} for i in range(1000)])
        asked = programs(database)
        for arguments in asked.values():  # compiles modules and keeps the parser's tables
            cpu_ms(arguments)
        rounds = [
            {name: cpu_ms(arguments) for name, arguments in asked.items()} for _ in range(options.rounds)
        ]
    medians = {name: statistics.median(one[name] for one in rounds) for name in asked}
    ratios = {name: median / medians["import numpy"] for name, median in medians.items()}
    for name, median in medians.items():
        goal = f"  (goal {GOALS[name]:.1f})" if name in GOALS else ""
        print(f"{name:24} {median:7.1f} ms {ratios[name]:6.2f} x numpy{goal}")
    return int(options.check and any(ratios[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
