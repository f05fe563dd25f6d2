"""Changes of a corpus in one call each, below the level of connections and statements."""

from __future__ import annotations

import numpy as np

from ngramdb.engine.changes import change as changes
from ngramdb.engine.changes.change import Change, WriteOptions
from ngramdb.engine.loading import writer

BIG = 10**6


def begin(
    store, name, action, segment_tokens=BIG, auto_compact=True, memory_limit=0, sort_tokens=BIG, **options
):
    options = WriteOptions(segment_tokens, auto_compact, memory_limit, sort_tokens=sort_tokens, **options)
    return Change.begin(store, name, action, options)


def delete_documents(store, name, choose, *, notes=None, statement="", reason="", **options):
    """Remove the documents that `choose` selects in the current corpus, ignoring earlier removals."""
    with begin(store, name, f"delete from {name}", **options) as change:
        view = change.view
        chosen = [np.setdiff1d(docs, view.removed(i)) for i, docs in enumerate(choose(view))]
        details = None if notes is None else list(notes(view, chosen))
        change.remove(chosen, details, statement=statement, reason=reason)
        return change.commit()


def compact(store, name, **options):
    with begin(store, name, f"compact {name}", **options) as change:
        return change.compact()


def add_corpus(store, name, other, version=None, **options):
    with begin(store, name, f"add {other} to {name}", **options) as change:
        return changes.add_corpus(change, other, version)


def subtract_corpus(store, name, other, version=None, **options):
    with begin(store, name, f"subtract {other} from {name}", **options) as change:
        return changes.subtract_corpus(change, other, version)


def load_documents(
    store,
    name,
    documents,
    *,
    segment_tokens=BIG,
    action="load",
    auto_compact=False,
    memory_limit=0,
    sort_tokens=BIG,
    threads=1,
    fast_tokenizer=True,
    **how,
):
    options = {"threads": threads, "fast_tokenizer": fast_tokenizer}
    with begin(
        store, name, action, segment_tokens, auto_compact, memory_limit, sort_tokens, **options
    ) as change:
        return writer.load_documents(change, documents, **how)
