"""Adding positions in a statement's text to errors that were raised while it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ngramdb.api.snapshot import Snapshot
from ngramdb.engine.storage.store import Store
from ngramdb.errors import InvalidArgument, NgramdbError, PlanError, QueryCancelled, QueryError
from ngramdb.language import ast


def placed(error: QueryError | InvalidArgument, statement: ast.Statement, text: str) -> QueryError:
    """Return the error with the position of the part of the statement at fault, else of the whole.

    An error with a position is unchanged. An InvalidArgument for a value becomes a PlanError: from the
    statement's point of view, the statement cannot be run.
    """
    if isinstance(error, QueryError) and error.start is not None:
        if error.text is None:
            error.place(text, error.start, error.stop)
        return error
    span = _at_fault(error, statement).span or statement.span
    start, stop = (None, None) if span is None else (span.start, span.stop)
    if isinstance(error, QueryError):
        error.place(text, start, stop)
        return error
    return PlanError(str(error), text=text, start=start, stop=stop)


def _at_fault(error: Exception, statement: ast.Statement) -> ast.Node:
    """Return the part of a statement that the error is about."""
    if isinstance(statement, ast.Explain) and isinstance(error, PlanError):
        return statement.statement
    refused = isinstance(error, InvalidArgument)
    if isinstance(statement, ast.CreateCorpus):
        return statement.tokenizer if refused and statement.tokenizer is not None else statement.name
    if isinstance(statement, (ast.CopyFrom, ast.CopyTo, ast.Attach)) and refused:
        return statement.path
    if isinstance(statement, ast.Restore):
        return statement.version
    if isinstance(statement, ast.KeepVersion):
        return statement.name if refused or statement.version is None else statement.version
    if isinstance(statement, ast.DropVersion):
        return statement.name
    if isinstance(statement, ast.Alter):
        return statement.term
    if isinstance(statement, (ast.DropCorpus, ast.Use, ast.Describe, ast.Attach, ast.Detach)):
        return statement.name or statement
    return statement


# ---- CHECK: every checksum of every file, and every invariant of every segment.


Problem = tuple[str | None, str, int | None, str]


def find_problems(store: Store, snapshot: Snapshot, names: Sequence[str]) -> Iterator[Problem]:
    """Yield problems as (corpus, file, offset in bytes, message), skipping the inside of damaged corpora.

    If every corpus is named, files that belong to none (the manifest, the database's marker) are checked,
    too.
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
