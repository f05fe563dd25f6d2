"""Runs builds in child processes and reports wall time, CPU time, peak memory and size of the index."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

# Seconds between two looks at the memory of the child's process tree.
POLL_S = 0.05


@dataclass(frozen=True)
class Build:
    """One build. Memory is what the build added to the process it ran in, all processes together.

    `wall_s` runs from the first call to the last byte synced or written; `cpu_s` covers all threads and child
    processes; `index_bytes` is everything a reader needs.
    """

    wall_s: float
    cpu_s: float
    memory_bytes: int
    index_bytes: int


def run_build(builder: str, arguments: dict[str, Any], files: list[Path]) -> Build:
    """Run one builder in a fresh interpreter; `files` (files or folders) make up the finished index.

    Raises
    ------
    RuntimeError : the child failed; its standard error is in the message.
    """
    command = [sys.executable, "-m", "peerbench.builders", builder, json.dumps(arguments)]
    folder = Path(__file__).resolve().parent.parent
    # Files, not pipes: a child that writes much must not block while its memory is being watched.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, cwd=folder, stdout=output, stderr=errors)
        tree_peak = _watch(child)
        output.seek(0), errors.seek(0)
        if child.returncode:
            raise RuntimeError(f"{builder} failed with status {child.returncode}:\n{errors.read()[-4000:]}")
        report = json.loads(output.read().splitlines()[-1])
    # The kernel's own peak misses no short spike, but sees one process only.
    peak = max(tree_peak, report["memory_peak"])
    return Build(
        wall_s=report["wall_s"],
        cpu_s=report["cpu_s"],
        memory_bytes=peak - report["memory_before"],
        index_bytes=sum(_size(path) for path in files),
    )


def median_build(builds: list[Build]) -> Build:
    """Median wall and CPU time, and the largest memory, of repeated builds."""
    return Build(
        wall_s=statistics.median(build.wall_s for build in builds),
        cpu_s=statistics.median(build.cpu_s for build in builds),
        memory_bytes=max(build.memory_bytes for build in builds),
        index_bytes=builds[-1].index_bytes,
    )


def _watch(child: subprocess.Popen[bytes]) -> int:
    """Wait for the child; the largest memory of its tree seen on the way, in bytes."""
    peak = 0
    process = psutil.Process(child.pid)
    while child.poll() is None:
        peak = max(peak, _tree_memory(process))
        time.sleep(POLL_S)
    return peak


def _tree_memory(process: psutil.Process) -> int:
    """Private memory of all processes plus the largest shared part: pages of a common file count once."""
    private = shared = 0
    try:
        for member in [process, *process.children(recursive=True)]:
            memory = member.memory_info()
            private += memory.rss - memory.shared
            shared = max(shared, memory.shared)
    except psutil.NoSuchProcess:
        return 0
    return int(private + shared)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size
