"""Building a corpus in parts, on any number of machines: each worker makes one, independently of the others.

A part is loaded like any corpus, into a database that no other run uses; so all guarantees of a
load hold for it. Only its report makes it a part (`ngramdb.api.part_reports`).
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
from ngramdb.engine.storage.directory.base import storage_errors
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.versions import author
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.sources import PathLike, Source, expand
from ngramdb.ingest.work_splitting import Piece, content_digest, divided, list_digest, state_of
from ngramdb.planner.options import LOAD_OPTIONS
from ngramdb.questions.copy import Load
from ngramdb.registries import DEFAULT_TOKENIZER
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import create_tokenizer, title_of

if TYPE_CHECKING:
    from ngramdb.questions.arguments.signatures import BuildOptions, Unpack

# The name of the corpus of a part in its database.
CORPUS = "part"
# Options that concern a load as a whole.
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
    part, of = part_reports.checked_shard(shard)
    work = _Work.of(paths, tokenizer, on_error, options)
    (folder,) = as_paths([out], "build takes the path of the folder of parts that it makes")
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
    part_reports.checked_number(n)
    folders = as_paths(out, "missing takes a folder of parts, or a list of them")
    found = {
        report.part for folder in folders for report in part_reports.reports_in(folder) if report.of == n
    }
    return [part for part in range(n) if part not in found]


@dataclass(frozen=True)
class _Work:
    """The work that all workers of a build share, and the properties that make it the same build."""

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
        """The properties that the reports of all parts share, with the initial sizes of files."""
        definition = self.tokenizer.definition()
        content = None if definition is None else definition.sections["tokenizer"].tobytes()
        # In the form in which JSON returns them.
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in self.options.items()}
        # These tokenizers depend on Python's own tables of characters.
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
        raise InvalidArgument(f"{name} applies to a single load, not to a build in parts")
    if name not in LOAD_OPTIONS:
        known = ", ".join(known for known in LOAD_OPTIONS if known not in _OF_ONE_LOAD)
        raise InvalidArgument(f"no option {name!r}; known: {known}")
    return LOAD_OPTIONS[name].check(name, value)


def _known(folder: str, part: int, of: int, work: _Work) -> PartReport | None:
    """Return the report of an existing part. Raises InvalidArgument if it was built differently."""
    path = os.path.join(folder, f"{part_reports.stem_of(part, of)}.json")
    if not os.path.lexists(path):
        return None
    report = part_reports.read_report(path)
    difference = first_difference(report.build, work.common)
    if difference is not None:
        raise InvalidArgument(
            f"{path}: {report.title} exists, but it was built differently: {difference}; build in another "
            "folder, or remove its report"
        )
    return replace(report, notes=(f"{report.title} was there already; nothing was built",))


def first_difference(built: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Describe the first difference between two builds; None if they are the same."""
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
    """Build the part in a database at `path`, and return its report."""
    started = time.perf_counter()
    common = work.common  # with the sizes by which files are divided
    pieces = divided(work.sources, part, of)
    states = [state_of(piece.source) for piece in pieces]
    database = Database(Store.open(RealDirectory(path)))
    with contextlib.closing(database), database.work():
        for name, value in settings.items():
            database.settings[name] = value
        corpora.create_corpus(database, CORPUS, work.tokenizer_given)
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
