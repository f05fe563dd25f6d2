"""Crews: one without Ray, whose members are libraries of this process, and work for members of any."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ngramdb import cluster, interrupts
from ngramdb.api.database import Database
from ngramdb.cluster.asking import ClusterConnection, SharedSnapshot
from ngramdb.cluster.crew import Crew, Library, MemberLost
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store


class Reference:
    """An answer; None where its member was lost."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer


class Members:
    """Libraries; those in `lost` do not answer."""

    def __init__(self, path: str, n: int) -> None:
        self.n_members = n
        self._path = path
        self.libraries = [Library(path) for _ in range(n)]
        self.lost: set[int] = set()
        self.asked = [0] * n

    def send(self, member: int, number: int, message: bytes) -> Reference:
        self.asked[member] += 1
        return Reference(None if member in self.lost else self.libraries[member].run(number, message))

    def ready(self, references: Sequence[Reference], timeout_s: float) -> list[Reference]:
        return list(references)

    def answer(self, reference: Reference) -> bytes:
        if reference.answer is None:
            raise MemberLost
        return reference.answer

    def stop(self, member: int, number: int) -> None:
        self.libraries[member].stop(number)

    def replace(self, member: int) -> Reference:
        self.libraries[member] = Library(self._path)
        return Reference(None if member in self.lost else b"")

    def close(self) -> None:
        pass


def connect(path: str | Path, members: int = 2, replicas: int = 2) -> ClusterConnection:
    """Act like `ngramdb.cluster.connect`, with members in this process unless pytest runs with `--ray`."""
    if os.environ.get("NGRAMDB_TEST_RAY"):
        import ray

        if not ray.is_initialized():  # for all tests: it takes seconds to start
            ray.init(num_cpus=members, include_dashboard=False, logging_level="error", log_to_driver=False)
        return cluster.connect(path, actors=members, replicas=replicas)
    folder = os.path.abspath(path)
    crew = Crew(Members(folder, members), replicas)
    store = Store.open(RealDirectory(folder), create=False)
    return ClusterConnection(Database(store, snapshots=partial(SharedSnapshot, crew)), crew)


# ---- work for members, which find it here by its name


def own_process(library):
    return os.getpid()


def killed_once(library, mark):
    """End the first process that is called, in the middle of its work."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))  # two may be called at the same moment
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    return time.sleep(60)


def wait_for_stop(library, mark):
    """Works until it is stopped."""
    open(mark, "w").close()
    try:
        while True:
            interrupts.check()
            time.sleep(0.001)
    finally:
        os.unlink(mark)
