"""The folder in which workers build the parts of a corpus: names, reports, and leftovers of killed workers.

A part is a small separate database, with a report that is written last, atomically (FORMAT.md, "Parts of a
build"). So a part exists exactly if its report does; anything that no report names is a leftover, which may
be removed unless its worker is alive and holds its lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.directory.base import storage_errors
from ngramdb.engine.storage.lock import FileLock
from ngramdb.errors import CorruptionError, InvalidArgument, LockedError, StorageError
from ngramdb.formats import MARKER
from ngramdb.interrupts import Deferred, guarded
from ngramdb.regular_files import open_regular

# The name of the corpus of a part in its database.
CORPUS = "part"
# The version of reports. Later versions are rejected.
REPORT_VERSION = 1
MOST_PARTS = 99_999
# The largest report that is read; one of 100,000 files has about 20 MB.
MOST_BYTES = 1 << 30

_REPORT = re.compile(r"part-([0-9]{5})-of-([0-9]{5})\.json")
_OF_RUN = re.compile(r"(part-[0-9]{5}-of-[0-9]{5})\.([0-9a-f]{16})\.(?:ngdb|lock|tmp)")
_NUMBERS = ("part", "of", "documents", "tokens", "segments", "skipped", "skipped_files", "n_bytes", "version")


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
        raise InvalidArgument(f"a shard is i/n, such as 0/16, not {shard!r}") from None
    if not 0 <= part < checked_number(of):
        raise InvalidArgument(f"the shards of {of:,} are 0 to {of - 1:,}, not {part:,}")
    return part, of


def checked_number(n: Any) -> int:
    """Check a number of parts. Raises InvalidArgument."""
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_PARTS:
        raise InvalidArgument(f"the number of parts is from 1 to {MOST_PARTS:,}, not {n!r}")
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
    try:
        value = json.loads(text)
        version = value.pop("report")
        if version != REPORT_VERSION:
            raise ValueError(f"it is of version {version}, and this program reads version {REPORT_VERSION}")
        value["inputs"] = tuple(Input(**one) for one in value["inputs"])
        value["reasons"] = tuple(value["reasons"])
        report = PartReport(**value, path=path)
        _check(report)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptionError(
            f"{path}: the report is damaged ({error}); remove it and build the part again", path=path
        ) from error
    return report


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


def _check(report: PartReport) -> None:
    """Raise ValueError unless the values of a report can be right."""
    name = _REPORT.fullmatch(os.path.basename(report.path))
    if name is None or (int(name[1]), int(name[2])) != (report.part, report.of):
        raise ValueError(f"it is that of {report.title}, by its content")
    numbers = [getattr(report, name) for name in _NUMBERS]
    numbers += [number for one in report.inputs for number in (one.file, one.bytes, one.start, one.stop)]
    if not _are_numbers(numbers) or not 0 <= report.part < report.of:
        raise ValueError("a number is not what it can be")
    folder = _OF_RUN.fullmatch(report.folder)
    if folder is None or folder[1] != stem_of(report.part, report.of) or not report.folder.endswith(".ngdb"):
        raise ValueError(f"its folder is {report.folder!r}")
    if not isinstance(report.build, dict) or not _are_numbers([report.build.get("n_files")]):
        raise ValueError("it does not record what was built")
    if not isinstance(report.database, str) or not isinstance(report.created, (int, float)):
        raise ValueError("a value has the wrong type")


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


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
