"""Loading: documents from files or from Python, through the engine's writer, into one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ngramdb.api.settings import Settings
from ngramdb.engine.manifest import CorpusEntry
from ngramdb.engine.store import Store
from ngramdb.engine.writer import LoadProgress, load_documents
from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits
from ngramdb.planner.plan import Load

ProgressCallback = Callable[[LoadProgress], None]

# The field that is read from JSON lines into a corpus of token ids.
DEFAULT_IDS_FIELD = "ids"


@dataclass(frozen=True)
class LoadReport:
    """What a load did.

    `skipped` documents could not be read; `reasons` are the first few of why. `bytes` is the length of all
    texts; `version` is the database's version that has the new documents; `elapsed` is in seconds.
    """

    documents: int
    tokens: int
    segments: int
    skipped: int
    reasons: tuple[str, ...] = field(default=())
    version: int = 0
    elapsed: float = 0.0
    bytes: int = 0


def load_files(
    store: Store, entry: CorpusEntry, plan: Load, settings: Settings, progress: ProgressCallback | None
) -> LoadReport:
    """Runs COPY … FROM. Nothing is committed unless every document was read, or skipped as was asked."""
    options = read_options(plan, entry.tokenizer.kind)
    sources = expand(list(plan.paths), plan.options.get("format"))
    if entry.tokenizer.kind == "tokens" and any(source.format == "text" for source in sources):
        raise InvalidArgument(f"corpus {entry.name} takes token ids, which text files do not have")
    errors = ErrorLog()
    documents = read_documents(sources, options, errors)
    return load(store, entry, documents, settings, f"load {entry.name}", progress, errors)


def load(
    store: Store,
    entry: CorpusEntry,
    documents: Iterator[Document],
    settings: Settings,
    action: str,
    progress: ProgressCallback | None,
    errors: ErrorLog | None = None,
) -> LoadReport:
    """Hands documents to the writer. One commit; on any error none.

    With an `errors` log they come from files, which may be read in a thread of their own.
    """
    started = time.perf_counter()
    n_bytes = 0

    def report(state: LoadProgress) -> None:
        nonlocal n_bytes
        n_bytes = state.text_bytes
        if progress is not None:
            progress(state)

    segment_tokens: Any = entry.options.get("segment_tokens", settings.segment_tokens)
    outcome = load_documents(
        store,
        entry.name,
        documents,
        segment_tokens=int(segment_tokens),
        threads=settings.threads,
        action=action,
        progress=report,
        in_background=errors is not None,
    )
    return LoadReport(
        documents=outcome.documents,
        tokens=outcome.tokens,
        segments=outcome.segments,
        skipped=errors.count if errors else 0,
        reasons=tuple(errors.reasons) if errors else (),
        version=outcome.version,
        elapsed=time.perf_counter() - started,
        bytes=n_bytes,
    )


def read_options(plan: Load, kind: str) -> ReadOptions:
    """The options of a load as the readers take them."""
    given = plan.options
    limits = Limits()
    if "max_document_bytes" in given:
        limits = Limits(document_bytes=given["max_document_bytes"])
    return ReadOptions(
        text_field=given.get("text", "text"),
        ids_field=given.get("ids", DEFAULT_IDS_FIELD if kind == "tokens" else None),
        metadata=given.get("metadata"),
        separator=given.get("separator"),
        limit=given.get("limit"),
        on_error="skip" if plan.skip_errors else "fail",
        limits=limits,
    )
