"""Loads: documents from files or from Python, through the writer, in one commit or several."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from ngramdb.engine.changes.change import Change, WriteOptions
from ngramdb.engine.corpus.caches import remember
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading import resuming
from ngramdb.engine.loading.request import DocumentKeys, LoadRequest
from ngramdb.engine.loading.resuming import Course
from ngramdb.engine.loading.writer import LoadCallback, LoadOutcome, LoadProgress, load_documents
from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import write_content
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled
from ngramdb.ingest.documents import Document, ErrorLog, Samples
from ngramdb.ingest.options import ReadOptions, check_options, have_fields
from ngramdb.ingest.reader import WantedFields, read_documents
from ngramdb.ingest.readers.arrow_data import opened_table, table_documents
from ngramdb.ingest.sources import Source, expand, total_size
from ngramdb.ingest.streams import Meter
from ngramdb.limits import MAX_INTEGER
from ngramdb.registries import DEFAULT_TOKENIZER, GROWING_TOKENIZERS

# Options that do not apply to a table in memory; nor does `quotes`.
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


# ---- Documents of a load: found and checked before the writer's lock is taken.


@dataclass(frozen=True)
class Files:
    """The files of a load. `left_out` are files of its folders that are not read."""

    request: LoadRequest
    sources: Sequence[Source]
    reading: ReadOptions
    left_out: Sequence[str] = ()

    @classmethod
    def find(cls, request: LoadRequest, entry: CorpusEntry, memory_limit: int) -> Files:
        """Return the files of a request's paths. Raises LoadError, InvalidArgument."""
        left_out: list[str] = []
        sources = expand(list(request.paths), request.format, left_out)
        return replace(cls.of(request, sources, entry, memory_limit), left_out=left_out)

    @classmethod
    def of(
        cls, request: LoadRequest, sources: Sequence[Source], entry: CorpusEntry, memory_limit: int
    ) -> Files:
        """Check that the files can be loaded into the corpus. Raises InvalidArgument."""
        check_options(request.given, sources)
        if entry.tokenizer.kind == "tokens" and not have_fields(sources):
            beside = [source.path for source in sources if source.path.endswith((".idx", ".ds.index"))]
            where = f"; {beside[0]} belongs to a file of ids, which should be loaded" if beside else ""
            raise InvalidArgument(f"corpus {entry.name} takes token ids, which text files do not have{where}")
        reading = request.reading(entry.tokenizer, memory_limit)
        return cls(request, sources, replace(reading, of_many=len(sources) > 1))


@dataclass(frozen=True)
class Stream:
    """Documents that do not come from files.

    `errors` has the remarks of their conversion; `wanted` are the requested fields. `skips`: leave out
    documents that cannot be tokenized.
    """

    documents: Iterator[Document]
    errors: ErrorLog
    keys: DocumentKeys | None = None
    skips: bool = False
    wanted: WantedFields | None = None

    @classmethod
    def of_table(cls, request: LoadRequest, table: Any, entry: CorpusEntry, memory_limit: int) -> Stream:
        """Return the rows of a table in memory, with the options of a table in a file.

        Raises
        ------
        InvalidArgument
            An option that applies to files only, or a table without the requested columns.
        """
        given = [name for name in OF_FILES if getattr(request, name)]
        if request.quotes is False:
            given.append("quotes")
        title = type(table).__name__
        if given:
            raise InvalidArgument(f"{given[0]} applies to files only, not to a {title}")
        options, errors = request.reading(entry.tokenizer, memory_limit), ErrorLog()
        schema, batches = opened_table(table)
        wanted = WantedFields(options)
        documents = wanted.through(table_documents(schema, batches, options, errors, (title, "row")))
        if options.limit is not None:
            documents = islice(documents, min(options.limit, MAX_INTEGER))
        return cls(documents, errors, request.keys(), request.skip_errors, wanted)


# ---- Loads, under the writer's lock.


def load_files(change: Change, files: Files, progress: LoadCallback | None = None) -> LoadReport:
    """Run COPY … FROM: one commit of all documents, or one per `commit_every` documents.

    A commit happens only if its documents were read, or skipped as requested.
    """
    request, errors, before = files.request, ErrorLog(), change.view
    course = Course(request, files.sources, change.before.loads)
    meter = Meter(total_bytes=total_size(course.sources))
    options = replace(files.reading, limit=course.limit(files.reading.limit))
    run = _Run(change, progress, errors, meter, errors if request.skip_errors else None, request.keys())
    where = resuming.place_of(course)
    wanted = WantedFields(options)
    documents = read_documents(course.sources, options, errors, meter, course.position, wanted)
    run.load(documents, request.commit_every, course)
    run.notes += resuming.of_sources(files.sources, files.left_out)
    run.notes += resuming.of_course(course, request.limit, where, run.n_documents, before.n_documents)
    run.notes += resuming.of_errors(errors)
    run.notes += resuming.of_fields(wanted)
    if run.keys is None:
        run.notes += resuming.of_repetition(before, run.samples.first)
    return run.report()


def load_stream(change: Change, stream: Stream, progress: LoadCallback | None = None) -> LoadReport:
    """Add documents in one commit; none if any of them fails."""
    skipped = stream.errors if stream.skips else None
    run = _Run(change, progress, stream.errors, skipped=skipped, keys=stream.keys)
    run.load(stream.documents)
    if stream.wanted is not None:
        run.notes += resuming.of_fields(stream.wanted)
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
        change: Change,
        progress: LoadCallback | None,
        errors: ErrorLog,
        meter: Meter | None = None,
        skipped: ErrorLog | None = None,
        keys: DocumentKeys | None = None,
    ) -> None:
        self.keys = keys
        self.notes: list[str] = []
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
        by_key = () if keys is None else (*resuming.of_keys(keys), *resuming.of_twins(keys))
        notes = (*self.notes, *by_key, *resuming.of_remarks(self._errors), *done.notes, *texts)
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
            progress=self._tell,
            in_background=self._meter is not None,
            meter=self._meter,
            skipped=self._skipped,
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


# ---- Corpora for a single query: documents indexed in memory, with another tokenizer or as words.

SCRATCH = "scratch"
SCRATCH_SEGMENT_TOKENS = 60_000_000


def scratch_corpus(
    directory: Directory, documents: Iterator[Document], like: CorpusView | None = None
) -> CorpusView:
    """Index the documents in a new database in memory, tokenized as in the corpus `like`, or else as words.

    Token ids are those of `like`, except for the kind `words`, whose vocabulary starts empty.
    """
    store = Store.open(directory)
    with store.begin() as transaction:
        kind = DEFAULT_TOKENIZER if like is None else like.entry.tokenizer.kind
        file, n_vocabulary = None, 0
        if like is not None and kind not in GROWING_TOKENIZERS:
            definition = like.tokenizer.definition()
            n_vocabulary = like.tokenizer.n_vocabulary
            if definition is not None:
                file = write_content(transaction, "tokenizers", "tokenizer", definition)
        tokenizer = TokenizerEntry(kind, file, (), n_vocabulary)
        if like is not None and kind not in GROWING_TOKENIZERS:
            remember(store, tokenizer, like.tokenizer)
        entry = CorpusEntry(SCRATCH, uuid.uuid4().hex, tokenizer, (), 0, {})
        transaction.commit({SCRATCH: entry}, SCRATCH)
    with Change.begin(
        store, SCRATCH, SCRATCH, WriteOptions(SCRATCH_SEGMENT_TOKENS, auto_compact=False)
    ) as change:
        load_documents(change, documents)
    return CorpusView(store, store.manifest.corpora[SCRATCH])
