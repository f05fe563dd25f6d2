"""Single documents and occurrences, as Python takes them: `Corpus.document`, `Corpus.occurrences`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngramdb.api.results import Places, StoredDocument
from ngramdb.errors import InvalidArgument
from ngramdb.executor.kwic.concordance import lines_of
from ngramdb.executor.questions.document_columns import document_text


def document(view: Any, doc_id: int) -> StoredDocument:
    """The document with an id. Raises InvalidArgument where the corpus has none."""
    if isinstance(doc_id, bool) or not isinstance(doc_id, (int, np.integer)):
        raise InvalidArgument(f"a document's id is a whole number, not {doc_id!r}")
    for i, segment in enumerate(view.segments):
        number = segment.local_of(int(doc_id))
        if number is None or np.isin(number, view.removed(i)):
            continue
        return StoredDocument(
            int(doc_id),
            document_text(segment, number, view.tokenizer),
            segment.metadata.row(number),
            segment.document(number).astype(np.int64),
        )
    raise InvalidArgument(f"{view.entry.name} has no document with the id {doc_id}")


def occurrences(plan: Any) -> Places:
    """Where the occurrences of a concordance (its plan) are, by document and position."""
    found: list[tuple[Any, ...]] = []
    for part in lines_of(plan):
        documents, starts, _ = part.places()
        at = part.occurrences
        lengths = at.stops.astype(np.int64) - at.starts
        found.append((part.segment.doc_ids(documents), starts, lengths))
    none = np.empty(0, dtype=np.int64)
    columns = zip(*found, strict=True) if found else ((), (), ())
    return Places(*(np.concatenate((none, *column)) for column in columns))
