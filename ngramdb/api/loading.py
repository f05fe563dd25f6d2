"""Loading: documents from files or from Python, through the engine's writer, into one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ngramdb.api.database import Database
from ngramdb.engine.budget import DocumentLimits
from ngramdb.engine.manifest import TokenizerEntry
from ngramdb.engine.writer import LoadProgress, load_documents
from ngramdb.errors import InvalidArgument
from ngramdb.formats import named
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import Source, expand, total_size
from ngramdb.ingest.streams import Limits, Meter
from ngramdb.planner.plan import Load

ProgressCallback = Callable[[LoadProgress], None]

# The field that is read from JSON lines into a corpus of token ids, and the one that is read where a line
# lacks it: there, the ids are the text.
DEFAULT_IDS_FIELD = "ids"
DEFAULT_TEXT_FIELD = "text"


@dataclass(frozen=True)
class LoadReport:
    """What a load did.

    `documents` with so many `tokens` were added, in so many new `segments`; `skipped` ones could not be read,
    and `reasons` are the first few of why. `bytes` is the length of all texts; `version` is the database's
    version that has the new documents; `elapsed` is in seconds.
    `notes` say what is worth knowing of how it went.
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


def load_files(database: Database, plan: Load, progress: ProgressCallback | None = None) -> LoadReport:
    """Runs COPY … FROM. Nothing is committed unless every document was read, or skipped as was asked.

    `progress` None means the database's own callback, if that is wanted.
    """
    if progress is None and database.settings.progress:
        progress = database.progress
    entry = database.snapshot.view(plan.name).entry
    options = read_options(plan, entry.tokenizer, database.settings.memory_limit)
    sources = expand(list(plan.paths), plan.options.get("format"))
    check_separator(options.separator, sources)
    if entry.tokenizer.kind == "tokens" and not have_fields(sources):
        raise InvalidArgument(f"corpus {entry.name} takes token ids, which text files do not have")
    errors, meter = ErrorLog(), Meter(total_bytes=total_size(sources))
    documents = read_documents(sources, options, errors, meter)
    action = f"load {entry.name}"
    return load(database, entry.name, documents, action, progress, errors, meter, skip=plan.skip_errors)


def check_separator(separator: str | None, sources: list[Source]) -> None:
    """Raises InvalidArgument when a separator is given, and no file has separators."""
    if separator is not None and not any(named(source.format).has_separator for source in sources):
        title = named(sources[0].format).title
        raise InvalidArgument(
            f"{sources[0].label} is read as {title}, which have no separator; give the format text to read "
            "it as text"
        )


def have_fields(sources: list[Source]) -> bool:
    """Whether the documents of all files have fields, so that one may be token ids."""
    return all(named(source.format).has_fields for source in sources)


def load(
    database: Database,
    name: str,
    documents: Iterator[Document],
    action: str,
    progress: ProgressCallback | None,
    errors: ErrorLog | None = None,
    meter: Meter | None = None,
    *,
    skip: bool = False,
) -> LoadReport:
    """Hands documents to the writer. One commit; on any error none.

    With a `meter` they come from files, which may be read in a thread of their own; `errors` records what
    is skipped there, and with `skip` also documents that cannot be tokenized.
    """
    started = time.perf_counter()
    n_bytes = 0

    def report(state: LoadProgress) -> None:
        nonlocal n_bytes
        n_bytes = state.text_bytes
        if progress is not None:
            progress(state)

    with database.change(name, action) as change:
        outcome = load_documents(
            change,
            documents,
            threads=database.settings.threads,
            progress=report,
            in_background=meter is not None,
            meter=meter,
            skipped=errors if skip else None,
            fast_tokenizer=database.settings.fast_tokenizer,
        )
    errors = errors or ErrorLog()
    return LoadReport(
        documents=outcome.documents,
        tokens=outcome.tokens,
        segments=outcome.segments,
        skipped=errors.count,
        reasons=tuple(errors.reasons),
        version=outcome.version,
        elapsed=time.perf_counter() - started,
        bytes=n_bytes,
        notes=outcome.notes,
    )


def read_options(plan: Load, tokenizer: TokenizerEntry, memory_limit: int = 0) -> ReadOptions:
    """The options of a load as the readers take them.

    A corpus of token ids reads them from the field that IDS names, else from the one that TEXT names; without
    either, from `ids` or `text`.
    """
    given = plan.options
    limits = Limits(given["max_document_bytes"]) if "max_document_bytes" in given else Limits()
    room = DocumentLimits.of(memory_limit)
    if room.n_bytes is not None and room.n_bytes < limits.document_bytes:
        limits = Limits(document_bytes=room.n_bytes, reason=room.said(room.n_bytes, "bytes"))
    text_field = given.get("text", DEFAULT_TEXT_FIELD)
    ids_field = given.get("ids")
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
        limit=given.get("limit"),
        on_error="skip" if plan.skip_errors else "fail",
        limits=limits,
    )
