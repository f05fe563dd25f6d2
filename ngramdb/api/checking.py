"""CHECK: every checksum of every file, and every invariant of every segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.storage.store import Store
from ngramdb.errors import NgramdbError, QueryCancelled

Problem = tuple[str | None, str, int | None, str]


def find_problems(store: Store, snapshot: Snapshot, names: Sequence[str]) -> Iterator[Problem]:
    """Problems as (corpus, file, offset in bytes, message). A corpus with damaged files isn't looked into.

    With every corpus named, files that belong to none (the manifest, the database's marker) are checked too.
    """
    own = [name for name in names if name not in snapshot.attached]
    owners = {ref.name: name for name in own for ref in snapshot.manifest.corpora[name].files()}
    every = set(names) == set(snapshot.names())
    damaged: set[str] = set()
    for finding in store.check():
        owner = owners.get(finding.file)
        if owner is None and not every:
            continue
        if owner is not None:
            damaged.add(owner)
        yield owner, finding.file, finding.offset, finding.message
    for name in names:
        if name not in damaged:
            yield from _contradictions(snapshot, name)


def _contradictions(snapshot: Snapshot, name: str) -> Iterator[Problem]:
    view = snapshot.view(name)
    try:
        parts = [(segment.path, segment.check) for segment in (*view.segments, *view.subtracted)]
        parts.append((name, view.check_documents))
        parts.append((name, view.check_tokens))
        parts.append((name, view.check_audits))
        parts.append((name, view.tokenizer.check))
    except QueryCancelled:
        raise
    except NgramdbError as error:
        yield _problem(name, name, error)
        return
    for file, check in parts:
        try:
            check()
        except QueryCancelled:
            raise
        except NgramdbError as error:
            yield _problem(name, file, error)


def _problem(name: str, file: str, error: NgramdbError) -> Problem:
    path = getattr(error, "path", None) or file
    return name, path, getattr(error, "offset", None), str(error)
