"""Workers that are killed again and again, run twice, run at once: the corpus is that of one load."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import ANY

import pytest
from support.builds import answers, loaded, write_files

import ngramdb
from ngramdb.engine.loading import parts

N_PARTS = 5
N_KILLS = 20
# Forks a process for each line, a command, so that a kill meets the work and not the start of Python. It is
# waited for after another line, an empty one: until then its number is its own.
SERVER = """
import importlib, json, os, sys
from ngramdb.cli.main import main
for name in ("pyarrow", "ngramdb.api.corpus", "ngramdb.cli.commands.building"):
    importlib.import_module(name)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        sys.stdout = sys.stderr
        os._exit(main(json.loads(line)))
    print(pid, flush=True)
    sys.stdin.readline()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Commands:
    """Runs commands, one at a time, each in a process of its own."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with open(log, "w") as stderr:
            self._server = subprocess.Popen(
                [sys.executable, "-c", SERVER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def start(self, *arguments: str) -> int:
        """Begin one; its process id."""
        return self._asked(json.dumps(arguments))

    def end(self) -> int:
        """Return how it ended: its exit status, or minus the number of a signal."""
        return self._asked("")

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run one to its end; return the exit status and its output."""
        before = self._log.stat().st_size
        self.start(*arguments)
        return self.end(), self._log.read_text()[before:]

    def run_killed(self, after_s: float, *arguments: str) -> bool:
        """Run one that is killed after some time; return False if it finished earlier."""
        pid = self.start(*arguments)
        time.sleep(after_s)
        os.kill(pid, signal.SIGKILL)
        return self.end() == -signal.SIGKILL

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        assert self._server.wait(60) == 0

    def _asked(self, line: str) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@pytest.fixture
def commands(tmp_path):
    made = Commands(tmp_path / "log")
    yield made
    made.close()


@pytest.mark.parametrize("seed", [1])
def test_killed_workers_and_committers_change_nothing(tmp_path, commands, seed):
    rng = random.Random(seed)
    files, out, database = write_files(tmp_path / "files", 400), tmp_path / "parts", tmp_path / "db"

    def worker(part):
        return "build", str(out), "--shard", f"{part}/{N_PARTS}", str(files), "--threads", "1"

    n_kills, patience_s = 0, 0.005
    while absent := ngramdb.missing(out, N_PARTS):
        command = worker(rng.choice(absent))
        if n_kills >= N_KILLS:
            assert commands.run(*command)[0] == 0
        elif commands.run_killed(rng.uniform(0.0, patience_s), *command):
            n_kills += 1
        patience_s *= (
            1.15  # however fast the machine is at first, and until they are through however slow it is
        )
    assert commands.run(*worker(2)) == (0, ANY)
    assert "part 2 of 5 was there already" in commands.run(*worker(2))[1]
    commit = "commit", str(database), "c", str(out)
    for _ in range(4):
        commands.run_killed(rng.uniform(0.0, 0.1), *commit)
    code, said = commands.run(*commit)
    assert code == 0 or "in the corpus c already" in said
    assert n_kills >= 5
    with ngramdb.connect(database) as db:
        assert answers(db, "c") == loaded(files)
        assert db.execute("CHECK").fetchall() == []
        assert parts.remove_leftovers(str(out)) == 0 or code != 0
    assert len(os.listdir(out)) == 2 * N_PARTS
