"""Building a corpus in parts, on any number of machines: each worker makes one, independently of the others.

A part is loaded like any corpus, into a database that no other run uses; so all guarantees of a
load hold for it. Only its report makes it a part (`ngramdb.engine.loading.part_reports`).
"""

from __future__ import annotations

import hashlib
import os
import time
import unicodedata
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from ngramdb.caching import cached_property
from ngramdb.engine.changes.change import Change
from ngramdb.engine.loading import load_notes, part_reports
from ngramdb.engine.loading.loads import Files, load_files
from ngramdb.engine.loading.part_reports import Input, PartReport
from ngramdb.engine.loading.request import LoadRequest
from ngramdb.engine.loading.writer import LoadCallback
from ngramdb.engine.storage.directory.base import storage_errors
from ngramdb.engine.storage.versions import author, now
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.sources import Source
from ngramdb.ingest.work_splitting import Piece, content_digest, divided, list_digest, state_of
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import title_of

# Begins a change of the empty corpus `part_reports.CORPUS` of a new database at a path.
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
    stem, run = part_reports.stem_of(part, of), os.urandom(8).hex()
    part_reports.remove_leftovers(folder, stem)
    with part_reports.running(folder, stem, run) as path:
        report = _built(path, part, of, build, begin, progress)
        report = replace(report, path=os.path.join(folder, f"{stem}.json"))
        if part_reports.write_report(folder, report, run):
            return report
    winner = _known(folder, part, of, build)
    if winner is None:
        raise InvalidArgument(f"{report.path}: the report was removed meanwhile; build the part again")
    return winner


def _known(folder: str, part: int, of: int, build: Build) -> PartReport | None:
    """Return the report of an existing part. Raises InvalidArgument if it was built differently."""
    path = os.path.join(folder, f"{part_reports.stem_of(part, of)}.json")
    if not os.path.lexists(path):
        return None
    report = part_reports.read_report(path)
    difference = part_reports.first_difference(report.build, build.common)
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
    notes = [*loaded.notes, *load_notes.of_sources(build.sources, build.left_out)]
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
