"""examples/build.sbatch, run by a stand-in for Slurm: each task of the array is a process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.builds import answers, loaded, write_files
from support.subwords import write_tokenizer

import ngramdb

SCRIPT = Path(__file__).parents[2] / "examples" / "build.sbatch"
N_PARTS = 3

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the script is for bash")


class Cluster:
    """A stand-in for `sbatch` with arrays, as far as the script uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        (programs / "ngramdb").write_text(f'#!/bin/sh\nexec {sys.executable} -m ngramdb "$@"\n')
        (programs / "ngramdb").chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "DATA": str(folder / "files"),
            "PARTS": str(folder / "parts"),
            "DATABASE": str(folder / "db"),
            "TOKENIZER": str(folder / "tokenizer.json"),
            "CORPUS": "c",
            "N": str(N_PARTS),
        }

    def sbatch(self, array: str = "", **exported: str) -> list[int]:
        """Runs the tasks, two at a time, and returns their exit codes."""
        codes = []
        for tasks in _pairs(_tasks(array)):
            running = [
                subprocess.Popen(
                    ["bash", str(SCRIPT)],
                    env={**self.environment, **exported, **task},
                    stdout=subprocess.DEVNULL,
                )
                for task in tasks
            ]
            codes += [process.wait(60) for process in running]
        return codes


def _tasks(array: str) -> list[dict[str, str]]:
    if not array:
        return [{}]
    numbers = []
    for part in array.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return [{"SLURM_ARRAY_TASK_ID": str(number), "SLURM_CPUS_PER_TASK": "1"} for number in numbers]


def _pairs(tasks: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    return [tasks[i : i + 2] for i in range(0, len(tasks), 2)]


def test_an_array_and_what_was_missing_make_a_corpus(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files")
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    cluster = Cluster(tmp_path)
    assert cluster.sbatch("0,2") == [0, 0]
    assert cluster.sbatch(COMMIT="1") == [1]
    missing = subprocess.run(
        ["ngramdb", "missing", str(tmp_path / "parts"), str(N_PARTS)],
        env=cluster.environment,
        capture_output=True,
        text=True,
    )
    assert (missing.stdout, missing.returncode) == ("1\n", 3)
    assert cluster.sbatch(missing.stdout.strip()) == [0]
    assert cluster.sbatch(COMMIT="1") == [0]
    assert cluster.sbatch(COMMIT="1") == [1]  # reports that they exist already
    with ngramdb.connect(tmp_path / "db", read_only=True) as db:
        assert answers(db, "c") == loaded(files, tokenizer)


def test_the_script_is_one_that_sbatch_takes() -> None:
    lines = SCRIPT.read_text().splitlines()
    directives = [i for i, line in enumerate(lines) if line.startswith("#SBATCH")]
    commands = [i for i, line in enumerate(lines) if line and not line.startswith("#")]
    assert lines[0] == "#!/bin/bash" and directives and max(directives) < min(commands)
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", lines[i]) for i in directives)
