"""Loading: documents from files or from Python, through the engine's writer, in one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ngramdb.api.arguments.tables import opened, table_documents
from ngramdb.api.database import Database
from ngramdb.api.verbs import load_notes
from ngramdb.api.verbs.resuming import Course
from ngramdb.engine.changes.change import Change
from ngramdb.engine.changes.hardware import DocumentLimits
from ngramdb.engine.loading.document_keys import DocumentKeys
from ngramdb.engine.loading.writer import LoadOutcome, load_documents
from ngramdb.engine.loading.writer import LoadProgress as LoadProgress
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled
from ngramdb.ingest.documents import Document, ErrorLog, Samples
from ngramdb.ingest.options import ReadOptions, check_options, have_fields
from ngramdb.ingest.reader import WantedFields, read_documents
from ngramdb.ingest.sources import Source, expand, total_size
from ngramdb.ingest.streams import Limits, Meter
from ngramdb.limits import MAX_INTEGER
from ngramdb.questions.copy import Load

LoadCallback = Callable[[LoadProgress], None]

# The field that a corpus of token ids reads from JSON lines; a line without it has
# the ids in the field for texts.
DEFAULT_IDS_FIELD = "ids"
DEFAULT_TEXT_FIELD = "text"
# Options that do not apply to a table in memory; nor does QUOTES.
OF_FILES = ("format", "separator", "dtype", "commit_every", "resume")


@dataclass(frozen=True)
class LoadReport:
    """The outcome of a load.

    Attributes
    ----------
    documents, tokens, segments : the numbers of what was added
    skipped, reasons : the number of documents and files that could not be read, and the first few reasons
    version : the version of the database with the new documents
    elapsed : seconds
    bytes : the length of all texts
    notes : remarks on the load, for the reader
    skipped_files : the number of those skipped that are files, each with an unknown number of documents
    duplicates : the number of documents that were skipped since their key occurred before
    replaced : the number of documents that were removed since a later one has their key; those that this load
        had added count in `documents` as well
    """

    documents: int
    tokens: int
    segments: int
    skipped: int
    reasons: tuple[str, ...] = field(default=())
    version: int = 0
    elapsed: float = 0.0
    bytes: int = 0
    notes: tuple[str, ...] = ()
    skipped_files: int = 0
    duplicates: int = 0
    replaced: int = 0


def load_files(database: Database, plan: Load, progress: LoadCallback | None = None) -> LoadReport:
    """Run COPY … FROM: one commit of all documents, or one per `commit_every` documents.

    A commit happens only if its documents were read, or skipped as requested. `progress` None
    means the database's own callback, if enabled.
    """
    if progress is None and database.settings.progress:
        progress = database.progress
    left_out: list[str] = []
    sources = expand(list(plan.paths), plan.options.get("format"), left_out)
    check_sources(plan, database.snapshot.view(plan.name).entry, sources)
    return load_sources(database, plan, sources, progress, left_out)


def check_sources(plan: Load, entry: CorpusEntry, sources: list[Source]) -> None:
    """Raise InvalidArgument if the files cannot be loaded into the corpus with these options."""
    check_options(plan.options, sources)
    if entry.tokenizer.kind == "tokens" and not have_fields(sources):
        beside = [source.path for source in sources if source.path.endswith((".idx", ".ds.index"))]
        where = f"; {beside[0]} belongs to a file of ids, which should be loaded" if beside else ""
        raise InvalidArgument(f"corpus {entry.name} takes token ids, which text files do not have{where}")


def load_sources(
    database: Database,
    plan: Load,
    sources: Sequence[Source],
    progress: LoadCallback | None,
    left_out: Sequence[str] = (),
    of_many: bool = False,
) -> LoadReport:
    """Load files that have been checked; `of_many`: they are part of a larger set."""
    before = database.snapshot.view(plan.name)
    entry = before.entry
    options = read_options(plan, entry.tokenizer, database.settings.memory_limit)
    options = replace(options, of_many=of_many or len(sources) > 1)
    errors = ErrorLog()
    with database.change(entry.name, f"load {entry.name}") as change:
        course = Course(plan, sources, change.before.loads)
        meter = Meter(total_bytes=total_size(course.sources))
        options = replace(options, limit=course.limit(options.limit))
        skipped = errors if plan.skip_errors else None
        run = _Run(database, change, progress, errors, meter, skipped, _keys_of(plan))
        where = load_notes.place_of(course)
        wanted = WantedFields(options)
        documents = read_documents(course.sources, options, errors, meter, course.position, wanted)
        with _seen_commits(database):
            run.load(documents, plan.options.get("commit_every"), course)
        run.notes += load_notes.of_sources(course.sources_given, left_out)
        run.notes += load_notes.of_course(course, plan, where, run.n_documents, change.before.n_documents)
        run.notes += load_notes.of_errors(errors)
        run.notes += load_notes.of_fields(wanted)
        if run.keys is None:
            run.notes += load_notes.of_repetition(before, run.samples.first)
    return run.report()


@contextmanager
def _seen_commits(database: Database) -> Iterator[None]:
    """Make the database switch to what was committed, even before an error."""
    try:
        yield
    except BaseException:
        with suppress(NgramdbError):
            database.refresh()
        raise


def load(
    database: Database,
    name: str,
    documents: Iterator[Document],
    action: str,
    progress: LoadCallback | None,
    errors: ErrorLog,
    keys: DocumentKeys | None = None,
) -> LoadReport:
    """Add documents from Python, in one commit; none if any of them fails.

    `errors` has the remarks of the conversion of documents.
    """
    with database.change(name, action) as change:
        run = _Run(database, change, progress, errors, keys=keys)
        run.load(documents)
    return run.report()


def load_table(
    database: Database, plan: Load, table: Any, progress: LoadCallback | None = None
) -> LoadReport:
    """Load the rows of a table in memory, with the options of a table in a file: one commit.

    Raises
    ------
    InvalidArgument
        An option that applies to files only, or a table without the requested columns.
    """
    given = [name for name in OF_FILES if plan.options.get(name)]
    if not plan.options.get("quotes", True):
        given.append("quotes")
    if given:
        raise InvalidArgument(f"{given[0]} applies to files only, not to a {type(table).__name__}")
    entry = database.snapshot.view(plan.name).entry
    options = read_options(plan, entry.tokenizer, database.settings.memory_limit)
    errors = ErrorLog()
    schema, batches = opened(table)
    wanted = WantedFields(options)
    documents = wanted.through(
        table_documents(schema, batches, options, errors, (type(table).__name__, "row"))
    )
    with database.change(entry.name, f"load {entry.name}") as change:
        skipped = errors if plan.skip_errors else None
        run = _Run(database, change, progress, errors, skipped=skipped, keys=_keys_of(plan))
        run.load(documents if options.limit is None else islice(documents, min(options.limit, MAX_INTEGER)))
        run.notes += load_notes.of_fields(wanted)
    return run.report()


class _Parts:
    """Documents in parts of `every`.

    One document is read beyond each part before the part ends: only then is it known whether the last file is
    complete, or a resumed load could mistake new files of the same names for its rest.
    """

    def __init__(self, documents: Iterator[Document], every: int, course: Course) -> None:
        self._documents = documents
        self._every = every
        self._course = course
        self._ahead: Document | None = None
        self._failure: NgramdbError | None = None
        self.at_end = False

    def next(self) -> Iterator[Document]:
        """Yield the next part. Raises the error that reading raised after the previous, committed one."""
        self._course.release()
        if self._failure is not None:
            raise self._failure
        if self._ahead is not None:
            yield self._ahead
        n_left = self._every - (self._ahead is not None)
        self._ahead = None
        yield from islice(self._documents, n_left)
        self._course.hold()
        try:
            self._ahead = next(self._documents, None)
        except QueryCancelled:
            raise
        except NgramdbError as error:
            self._failure = error
            return
        self.at_end = self._ahead is None
        if self.at_end:
            self._course.release()


class _Run:
    """A running load: one commit, or several that add up.

    With a `meter` documents come from files, which may be read in a separate thread; `errors` records
    what is skipped there, `skipped` also documents that cannot be tokenized.
    """

    def __init__(
        self,
        database: Database,
        change: Change,
        progress: LoadCallback | None,
        errors: ErrorLog,
        meter: Meter | None = None,
        skipped: ErrorLog | None = None,
        keys: DocumentKeys | None = None,
    ) -> None:
        self.keys = keys
        self.notes: list[str] = []
        self._settings = database.settings
        self._change = change
        self._progress = progress
        self._errors = errors
        self._meter = meter
        self._skipped = skipped
        self._started = time.perf_counter()
        self._sum = LoadOutcome(0, 0, 0, 0)
        self.samples = Samples()
        self._n_bytes = self._n_bytes_before = 0

    @property
    def n_documents(self) -> int:
        """Number of documents that have been added."""
        return self._sum.documents

    def load(
        self, documents: Iterator[Document], every: int | None = None, course: Course | None = None
    ) -> None:
        """Load and commit the documents, all at once or `every` at a time; `course` keeps the record."""
        if every is None or course is None:
            self._part(documents, course)
            return
        parts = _Parts(documents, every, course)
        while True:
            self._part(parts.next(), course)
            if parts.at_end:
                break
            self._change = self._change.following()

    def report(self) -> LoadReport:
        """Return the report."""
        done = self._sum
        entry = self._change.before
        texts = self.samples.notes(entry.tokenizer.kind.startswith("words"), entry.wants_sentences)
        keys = self.keys
        by_key = () if keys is None else (*load_notes.of_keys(keys), *load_notes.of_twins(keys))
        notes = (*self.notes, *by_key, *load_notes.of_remarks(self._errors), *done.notes, *texts)
        return LoadReport(
            documents=done.documents,
            tokens=done.tokens,
            segments=done.segments,
            skipped=self._errors.count,
            skipped_files=self._errors.files,
            reasons=tuple(self._errors.reasons),
            version=done.version,
            elapsed=time.perf_counter() - self._started,
            bytes=self._n_bytes,
            notes=tuple(dict.fromkeys(notes)),
            duplicates=0 if keys is None else keys.duplicates,
            replaced=0 if keys is None else keys.replaced,
        )

    def _part(self, documents: Iterator[Document], course: Course | None) -> None:
        outcome = load_documents(
            self._change,
            self.samples.through(documents),
            threads=self._settings.threads,
            progress=self._tell,
            in_background=self._meter is not None,
            meter=self._meter,
            skipped=self._skipped,
            fast_tokenizer=self._settings.fast_tokenizer,
            record=course.record if course is not None and course.is_recorded else None,
            keys=self.keys,
        )
        before = self._sum
        self._n_bytes_before = self._n_bytes
        self._sum = LoadOutcome(
            before.documents + outcome.documents,
            before.tokens + outcome.tokens,
            before.segments + outcome.segments,
            outcome.version,
            (*before.notes, *outcome.notes),
        )

    def _tell(self, part: LoadProgress) -> None:
        before = self._sum
        self._n_bytes = self._n_bytes_before + part.text_bytes
        if self._progress is None:
            return
        whole = replace(
            part,
            documents=before.documents + part.documents,
            tokens=before.tokens + part.tokens,
            text_bytes=self._n_bytes,
            segments=before.segments + part.segments,
            elapsed=time.perf_counter() - self._started,
        )
        self._progress(whole)


def _keys_of(plan: Load) -> DocumentKeys | None:
    return DocumentKeys.of(plan.options.get("key"), plan.options.get("on_conflict"))


def read_options(plan: Load, tokenizer: TokenizerEntry, memory_limit: int = 0) -> ReadOptions:
    """Return the options of a load for the readers.

    A corpus of token ids reads them from the field given by IDS, else from the one given by TEXT; without
    either, from `ids` or `text`.
    """
    given = plan.options
    limits = Limits(given["max_document_bytes"]) if "max_document_bytes" in given else Limits()
    room = DocumentLimits.of(memory_limit)
    if room.n_bytes is not None and room.n_bytes < limits.document_bytes:
        limits = Limits(document_bytes=room.n_bytes, reason=room.said(room.n_bytes, "bytes"))
    limits = replace(limits, line_bytes=min(limits.line_bytes, room.n_bytes or limits.line_bytes))
    text_field = given.get("text", DEFAULT_TEXT_FIELD)
    ids_field = given.get("ids")
    if ids_field is not None and "text" in given:
        raise InvalidArgument(
            f"IDS names the field with the documents' content, {ids_field!r}, and so does TEXT, "
            f"{text_field!r}; leave one out"
        )
    takes_ids = tokenizer.kind == "tokens"
    if takes_ids and ids_field is None:
        ids_field = given.get("text", DEFAULT_IDS_FIELD)
    return ReadOptions(
        text_field=text_field,
        ids_field=ids_field,
        ids_instead=DEFAULT_TEXT_FIELD if takes_ids and not given.keys() & {"ids", "text"} else None,
        n_ids=tokenizer.n_vocabulary,
        metadata=given.get("metadata"),
        separator=given.get("separator"),
        dtype=given.get("dtype"),
        quotes=given.get("quotes", True),
        limit=given.get("limit"),
        on_error="skip" if plan.skip_errors else "fail",
        limits=limits,
    )
