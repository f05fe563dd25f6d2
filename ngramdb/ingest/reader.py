"""The front door of this package: sources and options in, a stream of documents out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.jsonl import read_jsonl
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.plain import read_lines, read_text
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter

_READERS = {"jsonl": read_jsonl, "text": read_text, "lines": read_lines}


def read_documents(
    sources: Iterable[Source],
    options: ReadOptions | None = None,
    errors: ErrorLog | None = None,
    meter: Meter | None = None,
) -> Iterator[Document]:
    """Yield the documents of all sources, in order, each by its format.

    sources - from `expand`; options - how to read; errors - takes down what is skipped; meter - counts the
    bytes read, for a progress display against the sources' `n_bytes`.

    Raises - LoadError, ResourceError: see `read_jsonl` and `read_text`.
    Cost - streaming: memory for the longest document, whatever the input's size.
    """
    options = options or ReadOptions()
    documents = _chained(
        sources, options, ErrorLog() if errors is None else errors, Meter() if meter is None else meter
    )
    # Not one document beyond the limit is read, so a bad line behind it does no harm.
    return documents if options.limit is None else islice(documents, options.limit)


def _chained(
    sources: Iterable[Source], options: ReadOptions, errors: ErrorLog, meter: Meter
) -> Iterator[Document]:
    for source in sources:
        yield from _READERS[source.format](source, options, errors, meter)
