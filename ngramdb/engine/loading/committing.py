"""The commit of a build: its parts are checked against each other, and become one corpus in one version.

Segments are linked or copied as they are; documents get new ids by an offset in their entries. If a
vocabulary of words grows with its corpus, each part has different ids: from the second part on, segments
are rewritten with ids of the joined vocabulary. These are the ids that a single load of all documents would
have assigned, because words come in the same order.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ngramdb import interrupts
from ngramdb.engine.changes.change import Change, ChangeOutcome, WriteOptions, rewritten, shifted, with_words
from ngramdb.engine.corpus.caches import remember, tokenizer_of
from ngramdb.engine.corpus.common import IdMap, id_map, require_same_kind
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading.parts import (
    CORPUS,
    PartReport,
    first_difference,
    remove_leftovers,
    reports_in,
)
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.manifest import CorpusEntry, LoadRecord, SegmentEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.tokenizers.base import Tokenizer

# Most numbers of parts in a message.
MOST_NAMED = 10
# With more new segments than this, a note recommends merging them.
FEW_SEGMENTS = 4


@dataclass(frozen=True)
class CommitReport:
    """The outcome of a commit of parts.

    Attributes
    ----------
    parts : the number of parts
    documents, tokens, segments : the numbers of what was added
    version : the version of the database with the new documents
    elapsed : seconds
    notes : remarks on the commit, for the reader
    """

    parts: int
    documents: int
    tokens: int
    segments: int
    version: int
    elapsed: float
    notes: tuple[str, ...] = ()


def collected(folders: Sequence[str]) -> list[PartReport]:
    """Return the reports of all parts in these folders, in order, after checking that they are a whole build.

    Raises InvalidArgument, CorruptionError, StorageError.
    """
    distinct = {os.path.realpath(folder): folder for folder in folders}
    found = [report for folder in distinct.values() for report in reports_in(folder)]
    shown = " and ".join(folders[:3]) + (" and others" if len(folders) > 3 else "")
    if not found:
        raise InvalidArgument(f"{shown}: no parts found; make them with `ngramdb build`")
    numbers = sorted({report.of for report in found})
    if len(numbers) > 1:
        listed = " and ".join(f"of {n:,}" for n in numbers)
        raise InvalidArgument(f"{shown}: contains parts {listed}; give the folder of one build")
    ordered = sorted(found, key=lambda report: report.part)
    for one, other in pairwise(ordered):
        if one.part == other.part:
            raise InvalidArgument(f"{one.title} exists twice, in {one.path} and {other.path}; remove one")
    absent = sorted(set(range(numbers[0])) - {report.part for report in ordered})
    if absent:
        raise InvalidArgument(
            f"{shown}: {len(absent):,} of {numbers[0]:,} parts are missing ({_listed(absent)}); "
            "build them first"
        )
    _check_same_build(ordered)
    _check_inputs(ordered)
    return ordered


def commit_reports(
    store: Store, name: str, reports: Sequence[PartReport], options: WriteOptions
) -> CommitReport:
    """Commit parts returned by `collected`; leftovers in their folders are removed."""
    started = time.perf_counter()
    joined = _joined(store, name, reports, options)
    for folder in {os.path.dirname(report.path) for report in reports}:
        remove_leftovers(folder)
    return CommitReport(
        parts=len(reports),
        documents=joined.outcome.documents,
        tokens=joined.outcome.tokens,
        segments=joined.n_segments,
        version=joined.outcome.version,
        elapsed=time.perf_counter() - started,
        notes=tuple(_notes(reports, joined, name)),
    )


@dataclass(frozen=True)
class _Joined:
    """The documents that a commit has added, and how many of their tokens were rewritten."""

    outcome: ChangeOutcome
    n_segments: int
    n_rewritten: int


def _joined(store: Store, name: str, reports: Sequence[PartReport], options: WriteOptions) -> _Joined:
    """Commit the parts."""
    n = len(reports)
    action = f"commit {n:,} part{'' if n == 1 else 's'} into {name}"
    with store.begin(options.lock_timeout_s) as transaction:
        entry = transaction.manifest.corpora.get(name)
        if entry is None:
            with _opened(reports[0]) as first:
                entry = with_tokenizer_of(first, transaction, name, uuid.uuid4().hex)
        change = Change(store, transaction, entry, action, options)
        n_rewritten = join_parts(change, _each_opened(reports), n, _record(reports))
        n_segments = len(change.entry.segments) - len(entry.segments)
        return _Joined(change.commit(), n_segments, n_rewritten)


def _each_opened(reports: Sequence[PartReport]) -> Iterator[BuiltPart]:
    """Yield the parts, one open at a time."""
    for report in reports:
        with _opened(report) as part:
            yield part


@contextmanager
def _opened(report: PartReport) -> Iterator[BuiltPart]:
    """Open the part that a report describes. Raises CorruptionError if it is another one."""
    path = report.database_path
    store = Store.open(RealDirectory(path), read_only=True, create=False)
    try:
        entry = store.manifest.corpora.get(CORPUS)
        found = (store.database_id, store.manifest.version)
        expected = (report.database, report.version)
        if (
            entry is None
            or found != expected
            or (entry.n_documents, entry.n_tokens)
            != (
                report.documents,
                report.tokens,
            )
        ):
            raise CorruptionError(
                f"{path}: this is not what the report of {report.title} describes; remove {report.path} and "
                "build the part again",
                path=path,
                expected=expected,
                found=found,
            )
        yield BuiltPart(report.title, store, entry)
    finally:
        store.close()


def _check_same_build(reports: Sequence[PartReport]) -> None:
    """Raise InvalidArgument if the parts are not those of one build."""
    first = reports[0]
    for report in reports[1:]:
        difference = first_difference(first.build, report.build)
        if difference is not None:
            raise InvalidArgument(
                f"{first.path} and {report.path} are parts of different builds: {difference}; build one of "
                "them again like the other"
            )


def _check_inputs(reports: Sequence[PartReport]) -> None:
    """Raise InvalidArgument unless the parts have read every byte of all files, each once, in order."""
    at_file, at_byte = 0, 0
    for report in reports:
        for piece in report.inputs:
            if (piece.file, piece.start) != (
                at_file,
                at_byte,
            ) or not piece.start <= piece.stop <= piece.bytes:
                raise InvalidArgument(
                    f"{report.path}: {report.title} begins at byte {piece.start:,} of file {piece.file:,} "
                    f"({piece.path}), and the parts before end at byte {at_byte:,} of file {at_file:,}; the "
                    "files have changed while parts were built: build all of them again"
                )
            at_file, at_byte = (at_file + 1, 0) if piece.stop == piece.bytes else (at_file, piece.stop)
    n_files = reports[0].build.get("n_files")
    if (at_file, at_byte) != (n_files, 0):
        raise InvalidArgument(
            f"the parts have read {at_file:,} files of {n_files}; the files have changed while parts were "
            "built: build all of them again"
        )


def _record(reports: Sequence[PartReport]) -> LoadRecord:
    """Return the corpus's record of these parts: the same runs are not committed twice."""
    runs = "".join(f"{report.database}\n" for report in reports)
    build = dict(reports[0].build)
    return LoadRecord(
        paths=hashlib.sha256(runs.encode()).hexdigest(),
        options=hashlib.sha256(json.dumps(build, sort_keys=True).encode()).hexdigest(),
        files=hashlib.sha256(str(build.get("files")).encode()).hexdigest(),
        n_files=int(build.get("n_files", 0)),
        n_lines=0,
        n_documents=sum(report.documents for report in reports),
    )


def _notes(reports: Sequence[PartReport], joined: _Joined, name: str) -> Iterator[str]:
    skipped = sum(report.skipped for report in reports)
    if skipped:
        reasons = [reason for report in reports for reason in report.reasons]
        shown = f": {reasons[0]}" if reasons else ""
        yield f"{skipped:,} documents or files were skipped when the parts were built{shown}"
    if joined.n_rewritten:
        yield (
            f"{joined.n_rewritten:,} tokens were rewritten, since each part had assigned its own ids to "
            "words; a tokenizer.json avoids that"
        )
    contents = Counter(
        (one.sha256, one.stop - one.start) for report in reports for one in report.inputs if one.sha256
    )
    twice = sum(n - 1 for (_, n_bytes), n in contents.items() if n_bytes)
    if twice:
        yield f"{twice:,} of the files, or pieces of them, have the content of another one, and count twice"
    if joined.n_segments > FEW_SEGMENTS:
        n_segments = f"{joined.n_segments:,} segments"
        yield f"{n_segments} were added; queries get faster when COMPACT {name} has merged them"


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - MOST_NAMED:,} more" if len(numbers) > MOST_NAMED else ""
    return ", ".join(str(number) for number in numbers[:MOST_NAMED]) + more


# ---- Parts as segments of one corpus


@dataclass(frozen=True)
class BuiltPart:
    """A corpus in a separate database, without removed documents. `name` is for messages."""

    name: str
    store: Store
    entry: CorpusEntry


def with_tokenizer_of(part: BuiltPart, transaction: Transaction, name: str, corpus_id: str) -> CorpusEntry:
    """Return a new, empty corpus that tokenizes as the part does, with a copy of the tokenizer's file."""
    tokenizer = part.entry.tokenizer
    file = tokenizer.file
    if file is not None:
        file = transaction.take_in("tokenizers", part.store.directory, file)
    empty = replace(tokenizer, file=file, vocabulary=())
    if tokenizer.kind in GROWING_TOKENIZERS:
        empty = replace(empty, n_vocabulary=0)
    return CorpusEntry(name, corpus_id, empty, (), 0, {})


def join_parts(change: Change, parts: Iterable[BuiltPart], n_parts: int, record: LoadRecord) -> int:
    """Add the parts' documents after the corpus's own, in order, without committing.

    `record` is stored with the corpus and identifies these parts if they are committed again. Returns the
    number of tokens that were rewritten because their ids changed.

    Raises
    ------
    InvalidArgument
        these parts are in the corpus already
    BindError
        a part's tokenizer differs from the corpus's
    CorruptionError
        a file of a part is damaged
    """
    if any(known.paths == record.paths for known in change.entry.loads):
        raise InvalidArgument(
            f"these parts are in the corpus {change.entry.name} already; nothing was committed again"
        )
    grows = change.before.tokenizer.kind in GROWING_TOKENIZERS
    # Other kinds are not even opened: opening a large tokenizer.json takes longer than all the rest.
    tokenizer = tokenizer_of(change.store, change.before.tokenizer).fork() if grows else None
    n_rewritten = 0
    for i, part in enumerate(parts):
        interrupts.step(i, n_parts)
        n_rewritten += _add(change, part, tokenizer)
    if tokenizer is not None:
        change.entry = with_words(change.transaction, change.entry, tokenizer)
        remember(change.store, change.entry.tokenizer, tokenizer)
    change.entry = replace(change.entry, loads=(*change.entry.loads, record))
    return n_rewritten


def _add(change: Change, part: BuiltPart, tokenizer: Tokenizer | None) -> int:
    """Add one part; `tokenizer`, if it grows, learns its words. Returns the number of rewritten tokens."""
    entry, transaction = change.entry, change.transaction
    view = CorpusView(part.store, part.entry)
    require_same_kind(entry.name, CorpusView(change.store, change.before), part.name, view)
    moved = [shifted(one, entry.next_doc_id, transaction) for one in part.entry.added]
    new_ids = None if tokenizer is None else _new_ids(view, tokenizer)
    if new_ids is None:
        added = [_taken_in(transaction, part, one) for one in moved]
    else:
        added = rewritten(part.store, transaction, part.entry, moved, new_ids)
    change.entry = replace(
        entry,
        segments=(*entry.added, *added, *entry.subtracted),
        next_doc_id=entry.next_doc_id + part.entry.next_doc_id,
    )
    change.documents += part.entry.n_documents
    change.tokens += part.entry.n_tokens
    return 0 if new_ids is None else part.entry.n_tokens


def _new_ids(view: CorpusView, tokenizer: Tokenizer) -> IdMap | None:
    """Return the ids of the part's words in the joined vocabulary; None if they are unchanged."""
    ids = id_map(view.tokenizer, tokenizer)
    return None if np.array_equal(ids, np.arange(len(ids))) else ids


def _taken_in(transaction: Transaction, part: BuiltPart, entry: SegmentEntry) -> SegmentEntry:
    directory, fields = part.store.directory, entry.fields
    return replace(
        entry,
        file=transaction.take_in("segments", directory, entry.file),
        fields=None if fields is None else transaction.take_in("fields", directory, fields),
    )
