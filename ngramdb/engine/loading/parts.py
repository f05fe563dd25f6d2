"""The folder in which workers build the parts of a corpus: names, reports, and leftovers of killed workers.

A part is a small separate database, with a report that is written last, atomically (FORMAT.md, "Parts of a
build"). So a part exists exactly if its report does; anything that no report names is a leftover, which may
be removed unless its worker is alive and holds its lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import metadata
from typing import Any

from ngramdb.engine.changes.change import Change
from ngramdb.engine.loading import resuming
from ngramdb.engine.loading.loads import Files, load_files
from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.loading.writer import LoadCallback
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.directory.base import storage_errors
from ngramdb.engine.storage.directory.local_files import FileLock
from ngramdb.engine.storage.files import author, now
from ngramdb.errors import InvalidArgument, LoadError, LockedError, StorageError
from ngramdb.fork_safety import cached_property
from ngramdb.formats import MARKER
from ngramdb.ingest.sources import Source
from ngramdb.ingest.work_splitting import Piece, content_digest, divided, list_digest, state_of
from ngramdb.interrupts import Deferred, guarded
from ngramdb.strict_reading import JsonObject, open_regular
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import title_of

# The name of the corpus of a part in its database.
CORPUS = "part"
# The version of reports. Later versions are rejected.
REPORT_VERSION = 1
MOST_PARTS = 99_999
# The largest report that is read; one of 100,000 files has about 20 MB.
MOST_BYTES = 1 << 30

_REPORT = re.compile(r"part-([0-9]{5})-of-([0-9]{5})\.json")
_OF_RUN = re.compile(r"(part-[0-9]{5}-of-[0-9]{5})\.([0-9a-f]{16})\.(?:ngdb|lock|tmp)")
_NUMBERS = ("documents", "tokens", "segments", "skipped", "skipped_files", "n_bytes", "version")


@dataclass(frozen=True)
class Input:
    """The bytes of one file that a part has read; `sha256` of them as stored, None for a file by URL.

    `file` is the file's number among all files of the build, and `bytes` the size of all of it.
    """

    file: int
    path: str
    bytes: int
    start: int
    stop: int
    sha256: str | None


@dataclass(frozen=True)
class PartReport:
    """The report of one worker's part.

    Attributes
    ----------
    part, of : the number of the part, from 0 on, and the number of parts
    documents, tokens, segments, n_bytes : its contents; `n_bytes` of text
    skipped, skipped_files, reasons : documents and files that could not be read, how many of them are files,
        and the first few reasons
    build : properties shared by all parts of a build: files, options, tokenizer, version of the program
    inputs : the input of the part
    folder, database, version : the part's database beside the report, its id and version
    created, by, elapsed : when (seconds since 1970, UTC), by whom and in how many seconds it was built
    path : the path of the report
    notes : remarks on this run; not kept in the report
    """

    part: int
    of: int
    documents: int
    tokens: int
    segments: int
    n_bytes: int
    skipped: int
    skipped_files: int
    reasons: tuple[str, ...]
    build: Mapping[str, Any]
    inputs: tuple[Input, ...]
    folder: str
    database: str
    version: int
    created: float
    by: str
    elapsed: float
    path: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def title(self) -> str:
        """The name of the part in messages."""
        return f"part {self.part} of {self.of}"

    @property
    def database_path(self) -> str:
        return os.path.join(os.path.dirname(self.path), self.folder)

    def to_json(self) -> bytes:
        """Return the content of the report's file."""
        value = {"report": REPORT_VERSION, **asdict(self)}
        del value["path"], value["notes"]
        return (json.dumps(value, ensure_ascii=True, indent=1) + "\n").encode("ascii")


def checked_shard(shard: Any) -> tuple[int, int]:
    """Parse the number of a part and the number of parts, from (3, 16) or "3/16". Raises InvalidArgument."""
    given = shard.split("/") if isinstance(shard, str) else shard
    try:
        part, of = (int(number) for number in given)
    except (TypeError, ValueError):
        raise InvalidArgument(f"a shard must be i/n, such as 0/16, not {shard!r}") from None
    if not 0 <= part < checked_number(of):
        raise InvalidArgument(f"a shard of {of:,} must be from 0 to {of - 1:,}, not {part:,}")
    return part, of


def checked_number(n: Any) -> int:
    """Check a number of parts. Raises InvalidArgument."""
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_PARTS:
        raise InvalidArgument(f"the number of parts must be from 1 to {MOST_PARTS:,}, not {n!r}")
    return n


def stem_of(part: int, of: int) -> str:
    """Return the common prefix of the names of all files of a part."""
    return f"part-{part:05}-of-{of:05}"


def check_out(out: str) -> None:
    """Raise InvalidArgument if a folder of parts is a database."""
    if os.path.lexists(os.path.join(out, MARKER)):
        raise InvalidArgument(f"{out} is a database; parts are built in a folder of their own")


def reports_in(out: str) -> list[PartReport]:
    """Return all reports in a folder, by their numbers; none if the folder does not exist.

    Raises CorruptionError, StorageError: a report that cannot be read.
    """
    check_out(out)
    names = sorted(name for name in _entries(out) if _REPORT.fullmatch(name))
    return [read_report(os.path.join(out, name)) for name in names]


def read_report(path: str) -> PartReport:
    """Read the report in a file. Raises CorruptionError, StorageError."""
    with storage_errors("read the report", path), open(open_regular(path), "rb") as file:
        text = file.read(MOST_BYTES)
    return _read_report(JsonObject.parse(text, path, "report", "remove it and build the part again"))


def _read_report(reader: JsonObject) -> PartReport:
    reader.only({"report", *(one.name for one in fields(PartReport))} - {"path", "notes"})
    if reader.integer("report") != REPORT_VERSION:
        reader.fail("report", f"version {REPORT_VERSION}, which this program reads", reader.get("report"))
    of = reader.integer("of", 1)
    numbers: dict[str, Any] = {name: reader.integer(name) for name in _NUMBERS}
    report = PartReport(
        part=reader.integer("part", 0, of - 1),
        of=of,
        **numbers,
        reasons=reader.texts("reasons"),
        build=reader.child("build").value,
        inputs=reader.items("inputs", _read_input),
        folder=reader.matching("folder", _OF_RUN),
        database=reader.text("database"),
        created=reader.number("created"),
        by=reader.text("by", empty=True),
        elapsed=reader.number("elapsed"),
        path=reader.path,
    )
    reader.child("build").integer("n_files")
    stem = stem_of(report.part, of)
    if os.path.basename(reader.path) != f"{stem}.json":
        reader.fail("part", "the number in the name of the file", report.part)
    if not (report.folder.startswith(f"{stem}.") and report.folder.endswith(".ngdb")):
        reader.fail("folder", "the name of this part's database", report.folder)
    return report


def _read_input(reader: JsonObject) -> Input:
    reader.only(one.name for one in fields(Input))
    file, n_bytes, start, stop = (reader.integer(name) for name in ("file", "bytes", "start", "stop"))
    sha256 = None if reader.get("sha256") is None else reader.text("sha256")
    return Input(file, reader.text("path"), n_bytes, start, stop, sha256)


def write_report(out: str, report: PartReport, run: str) -> bool:
    """Write a report atomically and durably; return False, without writing, if the part has one already."""
    directory = RealDirectory(out)
    stem = stem_of(report.part, report.of)
    temporary = f"{stem}.{run}.tmp"
    with storage_errors("write the report", report.path):
        with contextlib.closing(directory.create(temporary)) as file:
            file.write(report.to_json())
            file.sync()
        try:
            directory.publish(temporary, f"{stem}.json")
        except FileExistsError:
            directory.remove(temporary)
            return False
        directory.sync_folder()
    return True


@guarded
def running(out: str, stem: str, run: str) -> Iterator[str]:
    """Yield the path of a run's database, with its lock held; remove both unless a report names it."""
    path = os.path.join(out, f"{stem}.{run}")
    with storage_errors("begin a part", path):
        # A cleanup may hold it for a moment.
        lock = FileLock.acquire(f"{path}.lock", 5.0)
    with lock:
        try:
            yield f"{path}.ngdb"
        finally:
            _remove_run(out, stem, run)


def remove_leftovers(out: str, stem: str | None = None) -> int:
    """Remove leftovers of killed workers, of one part or of all; return the number of their runs.

    Runs whose worker holds its lock stay. Failures are ignored: the next call tries again.
    """
    runs = {match.groups() for name in _entries(out) if (match := _OF_RUN.fullmatch(name))}
    n_removed = 0
    for of_part, run in sorted(runs):
        if stem not in (None, of_part) or _is_named(out, of_part, run):
            continue
        path = os.path.join(out, f"{of_part}.{run}.lock")
        with Deferred(), contextlib.suppress(LockedError, OSError), FileLock.acquire(path):
            n_removed += _remove_run(out, of_part, run)
    return n_removed


def _remove_run(out: str, stem: str, run: str) -> bool:
    """With its lock held, remove the lock and, unless a report names it, the database of a run."""
    path = os.path.join(out, f"{stem}.{run}")
    # Only now is it certain that the run will not be reported meanwhile.
    is_leftover = not _is_named(out, stem, run)
    if is_leftover:
        shutil.rmtree(f"{path}.ngdb", ignore_errors=True)
        with contextlib.suppress(OSError):
            os.unlink(f"{path}.tmp")
    with contextlib.suppress(OSError):
        os.unlink(f"{path}.lock")
    return is_leftover


def _is_named(out: str, stem: str, run: str) -> bool:
    """Return True if the part's report names the run, or may do so: an unreadable one may name any."""
    path = os.path.join(out, f"{stem}.json")
    if not os.path.lexists(path):
        return False
    try:
        return read_report(path).folder == f"{stem}.{run}.ngdb"
    except StorageError:
        return True


def _entries(out: str) -> list[str]:
    with storage_errors("read the folder of parts", out):
        try:
            return os.listdir(out)
        except FileNotFoundError:
            return []


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


# ---- Building a part, independently of the workers that build the others. It is loaded like any corpus,
# into a database that no other run uses; so all guarantees of a load hold for it. Only its report makes it
# a part.


# Begins a change of the empty corpus `CORPUS` of a new database at a path.
Begin = Callable[[str], AbstractContextManager[Change]]


@dataclass(frozen=True)
class Build:
    """The work that all workers of a build share, and the properties that make it the same build."""

    request: LoadRequest
    sources: list[Source]
    left_out: list[str]
    tokenizer: Tokenizer

    @cached_property
    def common(self) -> dict[str, Any]:
        """The properties that the reports of all parts share, with the initial sizes of files."""
        definition = self.tokenizer.definition()
        content = None if definition is None else definition.sections["tokenizer"].tobytes()
        given = self.request.given.items()
        # In the form in which JSON returns them.
        options = {k: list(v) if isinstance(v, tuple) else v for k, v in given}
        # These tokenizers depend on Python's own tables of characters.
        by_python = self.tokenizer.kind.startswith("words(")
        return {
            "ngramdb": metadata.version("ngramdb"),
            "unicode": unicodedata.unidata_version if by_python else None,
            "tokenizer": title_of(self.tokenizer.kind, content),
            "tokenizer_sha256": None if content is None else hashlib.sha256(content).hexdigest(),
            "options": {**options, "on_error": "skip" if self.request.skip_errors else "fail"},
            "n_files": len(self.sources),
            "n_bytes": sum(source.n_bytes or 0 for source in self.sources),
            "files": list_digest(self.sources),
        }


def build_part(
    build: Build, folder: str, part: int, of: int, begin: Begin, progress: LoadCallback | None
) -> PartReport:
    """Build a part, unless it exists, and return its report.

    Raises
    ------
    InvalidArgument
        Files that cannot be divided; or the part exists and was built differently.
    LoadError
        A file or a document that cannot be read (with file and line).
    StorageError
        The part cannot be written, or its report is damaged.
    """
    known = _known(folder, part, of, build)
    if known is not None:
        return known
    with storage_errors("make the folder of parts", folder):
        os.makedirs(folder, exist_ok=True)
    stem, run = stem_of(part, of), os.urandom(8).hex()
    remove_leftovers(folder, stem)
    with running(folder, stem, run) as path:
        report = _built(path, part, of, build, begin, progress)
        report = replace(report, path=os.path.join(folder, f"{stem}.json"))
        if write_report(folder, report, run):
            return report
    winner = _known(folder, part, of, build)
    if winner is None:
        raise InvalidArgument(f"{report.path}: the report was removed meanwhile; build the part again")
    return winner


def _known(folder: str, part: int, of: int, build: Build) -> PartReport | None:
    """Return the report of an existing part. Raises InvalidArgument if it was built differently."""
    path = os.path.join(folder, f"{stem_of(part, of)}.json")
    if not os.path.lexists(path):
        return None
    report = read_report(path)
    difference = first_difference(report.build, build.common)
    if difference is not None:
        raise InvalidArgument(
            f"{path}: {report.title} exists, but it was built differently: {difference}; build in another "
            "folder, or remove its report"
        )
    return replace(report, notes=(f"{report.title} was there already; nothing was built",))


def _built(
    path: str, part: int, of: int, build: Build, begin: Begin, progress: LoadCallback | None
) -> PartReport:
    """Build the part in a database at `path`, and return its report."""
    started = time.perf_counter()
    common = build.common  # with the sizes by which files are divided
    pieces = divided(build.sources, part, of)
    states = [state_of(piece.source) for piece in pieces]
    with begin(path) as change:
        files = Files.of(build.request, build.sources, change.before, change.options.memory_limit)
        loaded = load_files(change, replace(files, sources=[piece.source for piece in pieces]), progress)
        inputs = tuple(_input(piece) for piece in pieces)
        database_id = change.store.database_id
    for piece, state in zip(pieces, states, strict=True):
        if state_of(piece.source) != state:
            raise LoadError("was written to while it was read", source=piece.source.path)
    notes = [*loaded.notes, *resuming.of_sources(build.sources, build.left_out)]
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
        version=loaded.version,
        created=now(),
        by=author(),
        elapsed=time.perf_counter() - started,
        notes=tuple(dict.fromkeys(notes)),
    )


def _input(piece: Piece) -> Input:
    path = piece.source.path
    shown = path if piece.source.is_remote else os.path.abspath(os.path.expanduser(path))
    known = content_digest(piece)
    text = os.fsencode(shown).decode("utf-8", "backslashreplace")
    return Input(piece.file, text, piece.file_bytes, piece.start, piece.stop, known)
