"""Building a corpus in parts, on as many machines as there are: each worker makes one, and needs no other.

A part is loaded as any corpus is, into a database of its own that no other run has; so whatever holds for a
load holds for it. Only its report makes it a part (`ngramdb.api.part_reports`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ngramdb.api import part_reports
from ngramdb.api.arguments.documents import as_paths
from ngramdb.api.database import Database
from ngramdb.api.part_reports import Input, PartReport
from ngramdb.api.verbs import corpora, load_notes, loading
from ngramdb.caching import cached_property
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.os_errors import storage_errors
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.versions import author
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.sources import PathLike, Source, expand
from ngramdb.ingest.work_splitting import Piece, content_digest, divided, list_digest, state_of
from ngramdb.planner.options import LOAD_OPTIONS
from ngramdb.planner.plan import CreateCorpus, Load
from ngramdb.registries import DEFAULT_TOKENIZER
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import create_tokenizer, title_of

if TYPE_CHECKING:
    from ngramdb.questions.arguments.signatures import BuildOptions, Unpack

# What the corpus of a part is called in its database.
CORPUS = "part"
# Options of a load that are about a load as a whole.
_OF_ONE_LOAD = ("limit", "commit_every", "resume", "key", "on_conflict")


def build(
    out: PathLike,
    paths: PathLike | Iterable[PathLike],
    shard: str | tuple[int, int],
    *,
    tokenizer: Any = DEFAULT_TOKENIZER,
    on_error: str = "fail",
    progress: loading.LoadCallback | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[BuildOptions],
) -> PartReport:
    """Build one of n parts of a corpus, for `ngramdb.commit` to put together.

    ```
    ngramdb.build("parts", "data/*.jsonl", (3, 16))         # on any machine, for each of 0 … 15
    ngramdb.missing("parts", 16)                            # those that are not there yet
    ngramdb.commit("corpora.ngdb", "wiki", "parts")
    ```

    A part that is there already is left as it is: a worker may be killed and run again, or run twice.

    Parameters
    ----------
    out : the folder of the parts, made when it is missing
    paths : all files of the corpus, as for `Corpus.load`; the same ones for each part
    shard : (i, n) or "i/n": which part, from 0 on, of how many
    tokenizer : as for `Connection.create_corpus`
    on_error : 'fail', or 'skip' to count documents and files that can't be read, and continue
    progress : called at most ten times a second with the progress of the load
    settings : values for `Connection.settings`: `threads`, `memory_limit`, …
    options : `text`, `format`, `ids`, `metadata`, `separator`, `dtype`, `quotes` and `max_document_bytes`,
        as for `Corpus.load`

    Raises
    ------
    InvalidArgument
        An invalid option; files that cannot be divided; or the part is there and was built otherwise.
    LoadError
        A file or a document that can't be read (with file and line).
    StorageError
        The part cannot be written, or its report is damaged.
    """
    part, of = part_reports.checked_shard(shard)
    work = _Work.of(paths, tokenizer, on_error, options)
    (folder,) = as_paths([out], "build makes a folder of parts, whose path it takes")
    part_reports.check_out(folder)
    known = _known(folder, part, of, work)
    if known is not None:
        return known
    with storage_errors("make the folder of parts", folder):
        os.makedirs(folder, exist_ok=True)
    stem, run = part_reports.stem_of(part, of), os.urandom(8).hex()
    part_reports.remove_leftovers(folder, stem)
    with part_reports.running(folder, stem, run) as path:
        report = _built(path, part, of, work, progress, settings or {})
        report = replace(report, path=os.path.join(folder, f"{stem}.json"))
        if part_reports.write_report(folder, report, run):
            return report
    winner = _known(folder, part, of, work)
    if winner is None:
        raise InvalidArgument(f"{report.path}: the report was removed meanwhile; build the part again")
    return winner


def missing(out: PathLike | Iterable[PathLike], n: int) -> list[int]:
    """The numbers of the parts of n that are not there, ascending.

    Parameters
    ----------
    out : the folder of the parts, or several that have some each
    n : how many parts there are to be

    Raises
    ------
    StorageError
        A report that cannot be read, or is damaged.
    """
    part_reports.checked_number(n)
    folders = as_paths(out, "missing takes a folder of parts, or a list of them")
    found = {
        report.part for folder in folders for report in part_reports.reports_in(folder) if report.of == n
    }
    return [part for part in range(n) if part not in found]


@dataclass(frozen=True)
class _Work:
    """What all workers of a build do, and what makes it the same build."""

    sources: list[Source]
    left_out: list[str]
    tokenizer_given: Any
    tokenizer: Tokenizer
    options: Mapping[str, Any]
    skip_errors: bool

    @classmethod
    def of(cls, paths: Any, tokenizer: Any, on_error: str, options: Mapping[str, Any]) -> _Work:
        if on_error not in ("fail", "skip"):
            raise InvalidArgument(f"on_error is 'fail' or 'skip', not {on_error!r}")
        names = as_paths(paths, "build takes a path or a list of paths")
        checked = {name: _checked(name, value) for name, value in options.items() if value is not None}
        tokenizer = os.fspath(tokenizer) if isinstance(tokenizer, os.PathLike) else tokenizer
        made = create_tokenizer(tokenizer)
        left_out: list[str] = []
        sources = expand(names, checked.get("format"), left_out)
        return cls(sources, left_out, tokenizer, made, checked, on_error == "skip")

    @cached_property
    def common(self) -> dict[str, Any]:
        """What the reports of all parts have in common; sizes of files as they are at first."""
        definition = self.tokenizer.definition()
        content = None if definition is None else definition.sections["tokenizer"].tobytes()
        # As JSON gives them back.
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in self.options.items()}
        # These tokenizers go by Python's own tables of characters.
        by_python = self.tokenizer.kind.startswith("words(")
        return {
            "ngramdb": metadata.version("ngramdb"),
            "unicode": unicodedata.unidata_version if by_python else None,
            "tokenizer": title_of(self.tokenizer.kind, content),
            "tokenizer_sha256": None if content is None else hashlib.sha256(content).hexdigest(),
            "options": {**options, "on_error": "skip" if self.skip_errors else "fail"},
            "n_files": len(self.sources),
            "n_bytes": sum(source.n_bytes or 0 for source in self.sources),
            "files": list_digest(self.sources),
        }


def _checked(name: str, value: Any) -> Any:
    if name in _OF_ONE_LOAD:
        raise InvalidArgument(f"{name} goes with one load, and not with a build in parts")
    if name not in LOAD_OPTIONS:
        known = ", ".join(known for known in LOAD_OPTIONS if known not in _OF_ONE_LOAD)
        raise InvalidArgument(f"no option {name!r}; known: {known}")
    return LOAD_OPTIONS[name].check(name, value)


def _known(folder: str, part: int, of: int, work: _Work) -> PartReport | None:
    """The report of a part that is there. Raises InvalidArgument where it was built otherwise."""
    path = os.path.join(folder, f"{part_reports.stem_of(part, of)}.json")
    if not os.path.lexists(path):
        return None
    report = part_reports.read_report(path)
    difference = first_difference(report.build, work.common)
    if difference is not None:
        raise InvalidArgument(
            f"{path}: {report.title} is there, but it was built otherwise: {difference}; build in another "
            "folder, or remove its report"
        )
    return replace(report, notes=(f"{report.title} was there already; nothing was built",))


def first_difference(built: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first thing in which two builds differ, for people; None where they are the same."""
    for name in sorted(built.keys() | other.keys()):
        a, b = built.get(name), other.get(name)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            return first_difference(a, b)
        if name == "files":
            return "the files have other names or sizes"
        return f"{name} {a!r:.80} and {b!r:.80}"
    return None


def _built(
    path: str,
    part: int,
    of: int,
    work: _Work,
    progress: loading.LoadCallback | None,
    settings: Mapping[str, Any],
) -> PartReport:
    """Build the part in a database at `path`, and report it."""
    started = time.perf_counter()
    common = work.common  # with the sizes by which files are divided
    pieces = divided(work.sources, part, of)
    states = [state_of(piece.source) for piece in pieces]
    database = Database(Store.open(RealDirectory(path)))
    with contextlib.closing(database), database.work():
        for name, value in settings.items():
            database.settings[name] = value
        corpora.create_corpus(database, CreateCorpus(CORPUS, work.tokenizer_given))
        loaded = _loaded(database, work, pieces, progress)
        inputs = tuple(_input(piece) for piece in pieces)
        database_id, version = database.store.database_id, database.snapshot.version
    for piece, state in zip(pieces, states, strict=True):
        if state_of(piece.source) != state:
            raise LoadError("was written to while it was read", source=piece.source.path)
    notes = [*loaded.notes, *load_notes.of_sources(work.sources, work.left_out)]
    if not pieces:
        notes.append(f"part {part} of {of} is empty: a line, a compressed file or a table is never divided")
    return PartReport(
        part=part,
        of=of,
        documents=loaded.documents,
        tokens=loaded.tokens,
        segments=loaded.segments,
        n_bytes=loaded.bytes,
        skipped=loaded.skipped,
        skipped_files=loaded.skipped_files,
        reasons=loaded.reasons,
        build=common,
        inputs=inputs,
        folder=os.path.basename(path),
        database=database_id,
        version=version,
        created=time.time(),
        by=author(),
        elapsed=time.perf_counter() - started,
        notes=tuple(dict.fromkeys(notes)),
    )


def _loaded(
    database: Database, work: _Work, pieces: list[Piece], progress: loading.LoadCallback | None
) -> loading.LoadReport:
    plan = Load(CORPUS, (), work.options, work.skip_errors)
    loading.check_sources(plan, database.snapshot.view(CORPUS).entry, work.sources)
    sources = [piece.source for piece in pieces]
    return loading.load_sources(database, plan, sources, progress, of_many=len(work.sources) > 1)


def _input(piece: Piece) -> Input:
    path = piece.source.path
    shown = path if piece.source.is_remote else os.path.abspath(os.path.expanduser(path))
    known = content_digest(piece)
    text = os.fsencode(shown).decode("utf-8", "backslashreplace")
    return Input(piece.file, text, piece.file_bytes, piece.start, piece.stop, known)
