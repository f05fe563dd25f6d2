"""Large segments merged on a cluster: written by tasks of Ray, and committed by whoever asked.

Tasks read the database as it is and write files into a folder of their own; the database is written to by the
one commit, which holds the writer's lock all the while. So a task that is lost is simply run again.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ngramdb.api.database import Database
from ngramdb.cluster import crew, worker_state
from ngramdb.cluster.crew import ray
from ngramdb.engine.changes.compaction import CompactionOutcome, Rewrite, Rewritten, rewrite
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store


def compact(
    database: str | os.PathLike[str],
    corpus: str,
    *,
    address: str | None = None,
    settings: Mapping[str, Any] | None = None,
    retries: int = worker_state.RETRIES,
    lock_timeout: float = 0.0,
) -> CompactionOutcome:
    """Merge small segments and drop removed documents, each new segment written by a task of Ray: COMPACT.

    The files are those that `Corpus.compact` writes, byte for byte.

    Parameters
    ----------
    database : its path, which all machines see under this name
    corpus : its name
    address : as for `load`
    settings : those of the connection that commits; `threads` (1) is also how many cores a task takes, and
        `segment_tokens` how large a segment may become
    retries : how often a task is run again whose machine or process was lost
    lock_timeout : seconds to wait for another writer

    Raises
    ------
    NotSupportedError
        Ray is not installed.
    BindError
        The corpus does not exist.
    LockedError
        Another writer is at work.
    ExecutionError
        A task was lost more than `retries` times; everything is as it was.
    """
    crew.require_ray()
    path = os.path.abspath(os.path.expanduser(os.fspath(database)))
    opened = Database(Store.open(RealDirectory(path), create=False))
    out = f"{path}.merged-{uuid.uuid4().hex[:16]}"
    try:
        for name, value in {"threads": 1, "lock_timeout": lock_timeout, **(settings or {})}.items():
            opened.settings[name] = value
        threads = opened.settings.threads
        with (
            crew.connected(address),
            opened.work(),
            opened.change(corpus, f"compact {corpus}") as change,
        ):
            version = change.transaction.manifest.version
            return change.compact(partial(_merged, path, corpus, version, out, threads, retries))
    finally:
        shutil.rmtree(out, ignore_errors=True)
        opened.close()


def _merged(
    path: str, corpus: str, version: int, out: str, threads: int, retries: int, wanted: Sequence[Rewrite]
) -> list[Rewritten | None]:
    """Return the tasks' results for these rewrites, in order."""
    os.makedirs(out, exist_ok=True)
    task = ray.remote(num_cpus=threads, max_retries=retries)(worker_state.answer_of)
    references = [task.remote(_merge, path, corpus, version, out, one) for one in wanted]
    made: list[Rewritten | None] = [None] * len(wanted)
    for i, result in worker_state.results(references, retries, "Start the same call again"):
        made[i] = result
    return made


def _merge(path: str, corpus: str, version: int, out: str, one: Rewrite) -> Rewritten | None:
    """Run a task's work."""
    store = Store.open(RealDirectory(path), read_only=True, create=False)
    try:
        entry = store.version(version).corpora[corpus]
        return rewrite(store, entry, one, RealDirectory(out), f"{uuid.uuid4().hex}.segment")
    finally:
        store.close()
