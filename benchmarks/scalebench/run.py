"""The run: which jobs are left, each in a process of its own, within a time; an interrupted run goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from peerbench.progress import say

from scalebench.jobs import JOBS, QUESTION, names
from scalebench.place import Figures, Place

# What is kept of a job that ended in an error; the next run tries it again.
FAILED = {"missing": "failed"}
BENCHMARKS = Path(__file__).resolve().parent.parent


def run(place: Place, only: str, again: bool, limit_s: float, keep: bool) -> None:
    """Everything of one size that is asked for and not yet measured."""
    have = place.figures()
    wanted = [name for name in names() if only in name and place.n_tokens <= _most(name)]
    left = [name for name in wanted if again or have.get(name, FAILED) == FAILED]
    if not left:
        return
    say(f"{place.n_tokens:,} tokens")
    place.keep("corpus", {"tokens": place.corpus().n_tokens})
    questions = [name for name in left if name.startswith(QUESTION)]
    for name in [*(name for name in left if name in JOBS), *questions[:1]]:
        _prepare(place, name, limit_s)
        _do(place, questions if name in questions else [name], limit_s)
    if not keep:
        shutil.rmtree(place.layout.folder, ignore_errors=True)


def _most(name: str) -> int:
    return JOBS[name].most_tokens if name in JOBS else 1 << 62


def _prepare(place: Place, name: str, limit_s: float) -> None:
    """Makes what a job needs and an earlier run has removed. Beside peers, those that there can be."""
    is_beside_peers = name.startswith(QUESTION) or name == "cold count"
    peers = ("build infini-gram", "build tokengrams") if is_beside_peers else ()
    needed = JOBS[name].needs if name in JOBS else ("bench",)
    makers = [maker for maker, job in JOBS.items() if job.makes and job.makes in needed]
    for maker in (*makers, *peers):
        if place.n_tokens <= JOBS[maker].most_tokens and not place.marker(JOBS[maker].makes).exists():
            _prepare(place, maker, limit_s)
            _do(place, [maker], limit_s)


def _do(place: Place, jobs: Sequence[str], limit_s: float) -> None:
    """Jobs in one process. One that takes too long, or fails, has no figures; the run goes on."""
    say("  " + (jobs[0] if len(jobs) == 1 else "questions"))
    asked = {**{key: str(value) for key, value in asdict(place).items()}, "n_tokens": place.n_tokens}
    command = [sys.executable, "-m", "scalebench.child", json.dumps({**asked, "jobs": jobs})]
    made = [place.marker(JOBS[name].makes) for name in jobs if name in JOBS and JOBS[name].makes]
    for path in made:
        path.unlink(missing_ok=True)
    child = subprocess.Popen(command, cwd=BENCHMARKS, start_new_session=True)
    try:
        if child.wait(limit_s):
            raise subprocess.CalledProcessError(child.returncode, jobs[0])
        for path in made:
            path.touch()
    except subprocess.TimeoutExpired:
        say(f"  … given up after {limit_s:.0f} s")
        _keep_missing(place, jobs, {"missing": f"> {limit_s:.0f} s"})
    except subprocess.CalledProcessError as error:
        say(f"  … failed: {error}")
        _keep_missing(place, jobs, FAILED)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)  # processes that it has started, too
            child.wait()


def _keep_missing(place: Place, jobs: Sequence[str], why: Figures) -> None:
    """Of several jobs those that were done have been kept."""
    for name in jobs:
        if name not in place.figures():
            place.keep(name, why)
