"""Buckets of quality as fields of the documents: `Corpus.quality` and `ngramdb quality`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ngramdb.api.database import Database
from ngramdb.curation.quality import UNITS, Bucket, Buckets, Scoring, buckets_of, checked_percentiles
from ngramdb.engine.changes.change import Change
from ngramdb.engine.changes.joining import OWN
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.errors import InvalidArgument
from ngramdb.executor.per_segment import matching
from ngramdb.language import ast
from ngramdb.lm.spec import ModelSpec
from ngramdb.planner import bind_fields
from ngramdb.planner.plan import Costs, DocExpr, FieldKey
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.types import Docs

__all__ = ["UNITS", "QualityReport", "checked_percentiles", "quality"]


@dataclass(frozen=True)
class QualityReport:
    """The outcome of `Corpus.quality`.

    Attributes
    ----------
    documents : the number of documents with a bucket
    without : the number of documents that have no perplexity, and so no bucket: those without a line
    table : a row per group and bucket, with `group`, `bucket`, `documents`, `tokens` and `below`, the
        perplexity that all of them are below (None for the last bucket)
    version : the version of the database with the fields; None if nothing was written
    """

    documents: int
    without: int
    table: tuple[Bucket, ...]
    version: int | None = None


@dataclass(frozen=True)
class Perplexity:
    """What documents are divided by. `call` and `by` are bound to the version that the commit succeeds."""

    scope: Scope
    call: ast.Called
    unit: str
    normalizes: bool
    by: tuple[ast.OrderBy, ...]

    @classmethod
    def of(
        cls, scope: Scope, reference: str, model: ModelSpec, unit: str, normalizes: bool, by: str | None
    ) -> Perplexity:
        """Check the arguments of the verb. Raises InvalidArgument."""
        if unit not in UNITS:
            raise InvalidArgument(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
        if unit == "ccnet" and not normalizes:
            raise InvalidArgument("ccnet normalizes texts; unit='lines' can do without")
        if not isinstance(reference, str):
            raise InvalidArgument(f"reference must be the name of a corpus, not {reference!r}")
        source = ast.Source((ast.SourceTerm(ast.Name(reference)),))
        call = ast.Called(ast.Name("perplexity"), model=to_ast.model(model), source=source)
        keys = tuple(ast.OrderBy(key) for key in to_ast.fields("by", by))
        return cls(scope, call, unit, normalizes, keys)

    def bound(self, view: CorpusView) -> tuple[Scoring, FieldKey | None]:
        """Return how documents are scored, and the key of their groups. Raises BindError, PlanError."""
        key, _ = bind_fields.bound_function(self.scope, self.call, view)
        keys = bind_fields.document_keys(self.scope, self.by, view)
        if self.unit != "document" and view.tokenizer.kind == "tokens":
            what = f"the documents of {view.entry.name} are token ids, which have no lines"
            raise InvalidArgument(f"{what}; unit='document' (--as document) scores the tokens")
        assert key.function is not None
        return Scoring(key.function, self.unit, self.normalizes), keys[0] if keys else None


@dataclass(frozen=True)
class Request:
    """What `quality` is called with. `condition` binds the documents' condition to a version."""

    perplexity: Perplexity
    condition: Callable[[CorpusView], tuple[DocExpr, Costs | None]]
    percentiles: tuple[float, ...]
    field: str
    score_field: str | None
    replaces: bool

    def __post_init__(self) -> None:
        for argument, path in (("field", self.field), ("score_field", self.score_field)):
            if argument == "score_field" and path is None:
                continue
            if not isinstance(path, str) or not path or path != path.encode(errors="replace").decode():
                raise InvalidArgument(f"{argument} must be the path of a field, not {path!r}")

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.field,) if self.score_field is None else (self.field, self.score_field)


def quality(database: Database, name: str, request: Request, dry_run: bool) -> QualityReport:
    """Give the documents of a corpus their buckets, in one commit."""
    with _opened(database, name, dry_run) as (view, change):
        _check_paths(view, request)
        scoring, by = request.perplexity.bound(view)
        documents = [docs.numbers() for _, docs in matching(view, *request.condition(view), None)]
        found = buckets_of(view, documents, scoring, request.percentiles, by)
        version = None if change is None else _written(change, documents, found, request)
    n = sum(map(len, documents))
    n_bucketed = sum(row.documents for row in found.rows)
    return QualityReport(n_bucketed, n - n_bucketed, tuple(found.rows), version)


@contextmanager
def _opened(database: Database, name: str, dry_run: bool) -> Iterator[tuple[CorpusView, Change | None]]:
    if dry_run:
        yield database.snapshot.view(name), None
        return
    with database.change(name, f"buckets of quality of {name}") as change:
        yield change.view, change


def _check_paths(view: CorpusView, request: Request) -> None:
    """Raise InvalidArgument if fields exist already, or the name is that of a column of documents."""
    if request.field == request.score_field:
        raise InvalidArgument(f"the bucket and the perplexity need two fields, not {request.field} for both")
    for path in request.paths:
        if path in OWN:
            raise InvalidArgument(f"{path} is a column of all documents; choose another name for the field")
        exists = any(segment.metadata.has_within(path) for segment in view.segments)
        if exists and not request.replaces:
            raise InvalidArgument(
                f"{view.entry.name} has a field {path} already; replace=True (--replace) overwrites it, or "
                "choose another name"
            )


def _written(change: Change, documents: Sequence[Docs], found: Buckets, request: Request) -> int:
    change.set_fields(documents, found.fields(request.field, request.score_field), request.paths)
    return change.commit().version
