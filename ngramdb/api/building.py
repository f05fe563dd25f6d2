"""Building a corpus in parts, and committing the parts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api.conversion import as_paths
from ngramdb.api.database import Database
from ngramdb.api.verbs import corpora
from ngramdb.engine.changes.change import Change
from ngramdb.engine.loading import committing, parts
from ngramdb.engine.loading.committing import CommitReport as CommitReport
from ngramdb.engine.loading.loads import LoadReport as LoadReport
from ngramdb.engine.loading.parts import CORPUS
from ngramdb.engine.loading.parts import PartReport as PartReport
from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.loading.writer import LoadCallback
from ngramdb.engine.loading.writer import LoadProgress as LoadProgress
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.sources import PathLike, expand
from ngramdb.interrupts import ProgressCallback
from ngramdb.planner.parameters import LOAD_OPTIONS, checked_options
from ngramdb.registries import DEFAULT_TOKENIZER
from ngramdb.tokenizers.registry import create_tokenizer

if TYPE_CHECKING:
    from ngramdb.questions.signatures import BuildOptions, Unpack

# Options that concern a load as a whole.
_OF_ONE_LOAD = ("limit", "commit_every", "resume", "key", "on_conflict")


def build(
    out: PathLike,
    paths: PathLike | Iterable[PathLike],
    shard: str | tuple[int, int],
    *,
    tokenizer: Any = DEFAULT_TOKENIZER,
    on_error: str = "fail",
    progress: LoadCallback | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[BuildOptions],
) -> PartReport:
    """Build one of n parts of a corpus, for `ngramdb.commit` to join.

    ```
    ngramdb.build("parts", "data/*.jsonl", (3, 16))         # on any machine, for each of 0 … 15
    ngramdb.missing("parts", 16)                            # those that are still missing
    ngramdb.commit("corpora.ngdb", "wiki", "parts")
    ```

    An existing part is left unchanged: a worker may be killed and run again, or run twice.

    Parameters
    ----------
    out : the folder of the parts, created if missing
    paths : all files of the corpus, as for `Corpus.load`; the same ones for each part
    shard : (i, n) or "i/n": the number of the part, from 0 on, and the number of parts
    tokenizer : as for `Connection.create_corpus`
    on_error : 'fail', or 'skip' to count documents and files that cannot be read, and continue
    progress : called at most ten times per second with the progress of the load
    settings : values for `Connection.settings`: `threads`, `memory_limit`, …
    options : `text`, `format`, `ids`, `metadata`, `separator`, `dtype`, `quotes` and `max_document_bytes`,
        as for `Corpus.load`

    Raises
    ------
    InvalidArgument
        An invalid option; files that cannot be divided; or the part exists and was built differently.
    LoadError
        A file or a document that cannot be read (with file and line).
    StorageError
        The part cannot be written, or its report is damaged.
    """
    part, of = parts.checked_shard(shard)
    if on_error not in ("fail", "skip"):
        raise InvalidArgument(f"on_error must be 'fail' or 'skip', not {on_error!r}")
    names = as_paths(paths, "build takes a path or a list of paths")
    checked = _checked(options)
    tokenizer = os.fspath(tokenizer) if isinstance(tokenizer, os.PathLike) else tokenizer
    made = create_tokenizer(tokenizer)
    left_out: list[str] = []
    sources = expand(names, checked.get("format"), left_out)
    (folder,) = as_paths([out], "build takes the path of the folder of parts that it makes")
    parts.check_out(folder)
    request = LoadRequest(skip_errors=on_error == "skip", **checked)
    work = parts.Build(request, sources, left_out, made)
    return parts.build_part(work, folder, part, of, _beginning(tokenizer, settings or {}), progress)


def _beginning(tokenizer: Any, settings: Mapping[str, Any]) -> parts.Begin:
    @contextlib.contextmanager
    def begin(path: str) -> Iterator[Change]:
        database = Database(Store.open(RealDirectory(path)))
        with contextlib.closing(database), database.work():
            for name, value in settings.items():
                database.settings[name] = value
            corpora.create_corpus(database, CORPUS, tokenizer)
            with database.change(CORPUS, f"load {CORPUS}") as change:
                yield change

    return begin


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    for name in options:
        if name in _OF_ONE_LOAD and options[name] is not None:
            raise InvalidArgument(f"{name} applies to a single load, not to a build in parts")
    known = {name: option for name, option in LOAD_OPTIONS.items() if name not in _OF_ONE_LOAD}
    return checked_options(options, known)


def missing(out: PathLike | Iterable[PathLike], n: int) -> list[int]:
    """Return the numbers of the missing parts, ascending.

    Parameters
    ----------
    out : the folder of the parts, or several that have some each
    n : the total number of parts

    Raises
    ------
    StorageError
        A report that cannot be read, or is damaged.
    """
    parts.checked_number(n)
    folders = as_paths(out, "missing takes a folder of parts, or a list of them")
    found = {report.part for folder in folders for report in parts.reports_in(folder) if report.of == n}
    return [part for part in range(n) if part not in found]


def collected(out: PathLike | Iterable[PathLike]) -> list[PartReport]:
    """Return the reports of all parts in these folders, in order, after checking that they are a whole build.

    Raises InvalidArgument, CorruptionError, StorageError.
    """
    return committing.collected(as_paths(out, "commit takes a folder of parts, or a list of them"))


def commit_reports(
    database: Database, name: str, reports: Sequence[PartReport], progress: ProgressCallback | None = None
) -> CommitReport:
    """Commit parts returned by `collected`; leftovers in their folders are removed."""
    database.refresh()
    database.require_own(name)
    database.make()
    with database.work(progress=progress), database.writing() as timeout_s:
        return committing.commit_reports(database.store, name, reports, database.write_options(timeout_s))
