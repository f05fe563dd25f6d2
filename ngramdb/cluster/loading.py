"""A corpus built on a cluster: the parts of a build as tasks of Ray, and one commit by whoever asked.

Folders are seen by all machines: that of the files, and that of the parts. What a task does is
`ngramdb.build`, no more; so tasks that are lost with their machine are simply run again, and a load that was
stopped resumes with the finished parts.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ngramdb.api import CommitReport, Connection, build, connect
from ngramdb.api.database import Database
from ngramdb.cluster import crew
from ngramdb.cluster.crew import ray
from ngramdb.engine.changes.compaction import CompactionOutcome, Rewrite, Rewritten, rewrite
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import InvalidArgument
from ngramdb.registries import DEFAULT_TOKENIZER, NAMED_TOKENIZERS

if TYPE_CHECKING:
    from ngramdb.questions.signatures import BuildOptions, TokenizerLike, Unpack


PathLike = str | os.PathLike[str]

# Cores per task if `settings` does not set them: then as many parts are built at a time as there are cores.
THREADS = 1


@dataclass(frozen=True)
class ClusterProgress:
    """Progress of a load: `done` of `parts`, with these documents and tokens, after `elapsed` seconds."""

    done: int
    parts: int
    documents: int
    tokens: int
    elapsed: float

    @property
    def fraction(self) -> float:
        return self.done / self.parts


def load(
    database: PathLike,
    corpus: str,
    paths: PathLike | Iterable[PathLike],
    *,
    address: str | None = None,
    parts: int | None = None,
    folder: PathLike | None = None,
    tokenizer: TokenizerLike | None = None,
    on_error: str = "fail",
    progress: Callable[[ClusterProgress], None] | None = None,
    settings: Mapping[str, Any] | None = None,
    retries: int = crew.RETRIES,
    lock_timeout: float = 0.0,
    **options: Unpack[BuildOptions],
) -> CommitReport:
    """Add the documents of files to a corpus, built by tasks of Ray, in one commit.

    Parameters
    ----------
    database : its path, as the caller sees it; tasks do not touch it. Made when it is missing
    corpus : its name; it is made when it is missing
    paths : files, folders and globs, which all machines see under these names
    address : that of a Ray cluster ("auto", "ray://…"); None for the one that is connected to, else for one
        of this machine's cores, which ends with the load
    parts : how many tasks; as many as the cluster has room for at a time when not given
    folder : the folder in which the parts are built, visible to all machines; beside the database by default,
        so that the commit copies nothing. What was built there by a load of the same that was stopped is not
        built again; after the commit the parts go
    tokenizer : that of a new corpus, as for `Connection.create_corpus`; one that exists keeps its own
    on_error, options : as for `ngramdb.build`
    progress : called after each part
    settings : those of the connections that build; `threads` (1) is how many cores a task takes
    retries : how often a task is run again whose machine or process was lost
    lock_timeout : seconds that the commit waits for another writer

    Raises
    ------
    NotSupportedError
        Ray is not installed.
    InvalidArgument, LoadError
        As `ngramdb.build`, by whatever task; nothing is committed.
    ExecutionError
        A task was lost more than `retries` times.
    """
    started = time.perf_counter()
    crew.require_ray()
    path = os.path.abspath(os.path.expanduser(os.fspath(database)))
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    given = [_absolute(os.fspath(name)) for name in names]
    chosen = {"threads": THREADS, **(settings or {})}
    out = os.path.abspath(os.path.expanduser(os.fspath(folder))) if folder is not None else f"{path}.parts"
    with _known_tokenizer(path, corpus, tokenizer, out) as known, crew.connected(address):
        n = _checked_parts(parts) if parts is not None else _n_parts(int(chosen["threads"]))
        key = [path, corpus, str(n), *given, str(known), repr(sorted(options.items())), on_error]
        own = os.path.join(out, hashlib.sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:16])
        os.makedirs(own, exist_ok=True)
        arguments = {"tokenizer": known, "on_error": on_error, "settings": chosen, **options}
        _run(own, given, n, arguments, retries, progress)
        with connect(path) as connection:
            connection.settings["lock_timeout"] = lock_timeout
            report = connection.commit_parts(corpus, own)
    shutil.rmtree(own, ignore_errors=True)
    with contextlib.suppress(OSError):  # not empty: other loads' parts
        os.rmdir(out)
    return replace(report, elapsed=time.perf_counter() - started)


def _n_parts(threads: int) -> int:
    return max(crew.n_cores() // max(threads, 1), 1)


def _checked_parts(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InvalidArgument(f"parts must be a number of tasks, at least 1, not {n!r}")
    return n


def _run(
    out: str,
    paths: list[str],
    n: int,
    arguments: dict[str, Any],
    retries: int,
    progress: Callable[[ClusterProgress], None] | None,
) -> None:
    """Have all parts built. On any error, or an interrupt, what is running is cancelled."""
    started = time.perf_counter()
    task = ray.remote(num_cpus=arguments["settings"]["threads"], max_retries=retries)(_build)
    references = [task.remote(out, paths, (part, n), arguments) for part in range(n)]
    documents = tokens = 0
    advice = "Start the same load again to resume with the finished parts"
    for done, (_, report) in enumerate(crew.results(references, retries, advice), start=1):
        documents, tokens = documents + report.documents, tokens + report.tokens
        if progress is not None:
            progress(ClusterProgress(done, n, documents, tokens, time.perf_counter() - started))


def _build(out: str, paths: list[str], shard: tuple[int, int], arguments: dict[str, Any]) -> Any:
    """Run a task's work."""
    return crew.answer_of(build, out, paths, shard, **arguments)


@contextlib.contextmanager
def _known_tokenizer(path: str, corpus: str, asked: Any, out: str) -> Iterator[Any]:
    """Return the tokenizer of all parts: that of an existing corpus, as a name or a file visible to tasks."""
    if not os.path.isdir(path):
        yield _absolute_tokenizer(DEFAULT_TOKENIZER if asked is None else asked)
        return
    with connect(path, read_only=True) as connection:
        known = _of_corpus(connection, corpus)
    if known is None:
        yield _absolute_tokenizer(DEFAULT_TOKENIZER if asked is None else asked)
        return
    if asked is not None:
        raise InvalidArgument(
            f"corpus {corpus} exists and keeps its own tokenizer; leave tokenizer out, or load into a "
            "new corpus"
        )
    if not isinstance(known, bytes):
        yield known
        return
    os.makedirs(out, exist_ok=True)
    file = os.path.join(out, f"{hashlib.sha256(known).hexdigest()[:16]}.tokenizer.json")
    with open(file, "wb") as written:
        written.write(known)
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            os.unlink(file)


def _of_corpus(connection: Connection, name: str) -> Any:
    """Return a corpus's tokenizer: its name, tokenizer.json, or function; None without such a corpus."""
    if name not in connection.corpora():
        return None
    tokenizer = connection.corpus(name).tokenizer
    if tokenizer.kind in NAMED_TOKENIZERS:
        return str(tokenizer.kind)
    if tokenizer.kind == "callable":  # a function, which is sent along
        return tokenizer.function()
    definition: bytes = tokenizer.definition().sections["tokenizer"].tobytes()
    return definition


def _absolute_tokenizer(given: Any) -> Any:
    """Return a path that is valid on all machines; names, and objects, which are sent, are unchanged."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and os.path.exists(given)):
        return os.path.abspath(given)
    return given


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(os.path.expanduser(path))


# ---- Large segments merged on a cluster: written by tasks of Ray, and committed by whoever asked.


def compact(
    database: str | os.PathLike[str],
    corpus: str,
    *,
    address: str | None = None,
    settings: Mapping[str, Any] | None = None,
    retries: int = crew.RETRIES,
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
    task = ray.remote(num_cpus=threads, max_retries=retries)(crew.answer_of)
    references = [task.remote(_merge, path, corpus, version, out, one) for one in wanted]
    made: list[Rewritten | None] = [None] * len(wanted)
    for i, result in crew.results(references, retries, "Start the same call again"):
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
