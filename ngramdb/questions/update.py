"""UPDATE: metadata fields of documents are set, to values computed from others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb.conditions.field_values import Codes, FieldReader, codes_of
from ngramdb.errors import BindError, InvalidArgument, PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_fields import bound_field, bound_key, field_types, path_of
from ngramdb.planner.plan import Costs, DocExpr, FieldKey, Plan, Question, Scalar, show_value
from ngramdb.planner.plan.fields import OWN_COLUMNS, PREFIX
from ngramdb.planner.scope import Scope
from ngramdb.questions import parsing, to_ast
from ngramdb.questions.plans import Action, Session
from ngramdb.questions.requests import Statement, quoted_name
from ngramdb.segments.base import CHUNK_DOCUMENTS, Segment
from ngramdb.segments.metadata import MetadataReader, is_within
from ngramdb.segments.metadata_builder import MetadataBuilder
from ngramdb.segments.metadata_columns import TYPE_KEY, flatten, pyarrow, split_path, storage_type
from ngramdb.source import Catalog, Corpus
from ngramdb.types import Docs

UPDATE_COLUMNS = ("documents", "version")

# Types of columns of metadata, by that of their values.
_TYPES = {bool: "bool", int: "int64", float: "float64", str: "string"}

# Syntax and examples, for help.
HELP = {
    "UPDATE": (
        "UPDATE corpus SET field = assigned {, field = assigned} [WHERE condition]",
        ("UPDATE wiki SET decade = year / 10 * 10 WHERE year > 0", "fields computed from other fields"),
    ),
}


class Assigned(NamedTuple):
    """A field and its new value: that of `key`, a field or computed from one, or else `constant`."""

    path: str
    key: FieldKey | None
    constant: Scalar | None

    def label(self) -> str:
        """Format it as the language writes it."""
        return f"{self.path} = {show_value(self.constant) if self.key is None else self.key.name}"


class Bound(NamedTuple):
    """The clauses of UPDATE, bound to a version."""

    where: DocExpr
    assigned: tuple[Assigned, ...]


def bind(scope: Scope, node: ast.Update) -> Plan:
    """Bind UPDATE."""
    corpus = scope.catalog.corpus_view(scope.corpus_name(node.name))

    def rebind(catalog: Catalog, now: Corpus) -> Bound:
        return _bound(Scope(catalog, scope.parameters, scope.text), node, now)

    found = _bound(scope, node, corpus)
    return Update(corpus, found.where, found.assigned, rebind)


def _bound(scope: Scope, node: ast.Update, corpus: Corpus) -> Bound:
    assigned: list[Assigned] = []
    for one in node.assignments:
        path = _target(scope, one.field, corpus)
        for other in assigned:
            if is_within(path, (other.path,)) or is_within(other.path, (path,)):
                both = path if path == other.path else f"{other.path} and {path}, one inside the other,"
                scope.fail(PlanError, f"{both} cannot be set twice in one statement", one.field)
        assigned.append(_assigned(scope, path, one, corpus))
    return Bound(condition(scope, node.where, corpus), tuple(assigned))


def _target(scope: Scope, node: ast.Field, corpus: Corpus) -> str:
    """Return the path of the metadata field that is set, a new one or one that exists."""
    path = path_of(node.keys)
    if path in OWN_COLUMNS:
        what = f"{path} is not a metadata field, so it cannot be set; {PREFIX}.{path} is the metadata field"
        scope.fail(PlanError, what, node)
    if not any(segment.metadata.has_within(path) for segment in corpus.segments):
        try:
            return bound_field(scope, node, corpus)[0].path
        except BindError:
            if node.keys[0] == PREFIX and len(node.keys) > 1:
                return path_of(node.keys[1:])
    return path


def _assigned(scope: Scope, path: str, node: ast.Assignment, corpus: Corpus) -> Assigned:
    given = node.value
    if not isinstance(given, (ast.Value, ast.Parameter)):
        return Assigned(path, bound_key(scope, given, corpus), None)
    value = scope.scalar(given)
    if value is not None and not isinstance(value, Scalar):
        scope.refuse(f"a field is set to a string, a number, a boolean or NULL, not to {value!r}", given)
    if value is None and not any(segment.metadata.has_within(path) for segment in corpus.segments):
        bound_field(scope, node.field, corpus)  # raises BindError: there is no value to remove
    try:
        flatten({"value": value})
    except InvalidArgument as error:
        scope.refuse(f"{path} cannot be set: {error}", given, error)
    return Assigned(path, None, value)


@dataclass(frozen=True)
class Update(Question, Action):
    """UPDATE. `where` and `assigned` are bound to the version that was planned on, for EXPLAIN.

    `rebind` binds the clauses to the version that the commit succeeds.
    """

    where: DocExpr
    assigned: tuple[Assigned, ...]
    rebind: Callable[[Catalog, Corpus], Bound] = dataclasses.field(compare=False, repr=False)
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return f"set {', '.join(one.path for one in self.assigned)} in {self.corpus.entry.name}"

    def details(self) -> tuple[str, ...]:
        return (*super().details(), *(one.label() for one in self.assigned))

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return one row: the number of documents whose fields were set, and the new version."""
        with session.change(self.corpus.entry.name, self.label()) as change:
            view = change.view
            bound: list[Bound] = []

            def condition_of(catalog: Catalog, corpus: Corpus) -> DocExpr:
                bound.append(self.rebind(catalog, corpus))
                return bound[-1].where

            where, costs = session.planned(condition_of, view)
            chosen = [docs.numbers() for _, docs in matching(view, where, costs, None)]
            n_documents = sum(map(len, chosen))
            if n_documents:
                assigned = bound[-1].assigned
                change.set_fields(chosen, _values(view, chosen, assigned), [one.path for one in assigned])
            version = change.commit().version
        row = (n_documents, version)
        return Result.of_rows(UPDATE_COLUMNS, [row], **dict(zip(UPDATE_COLUMNS, row, strict=True)))


def _values(view: Corpus, chosen: Sequence[Docs], assigned: Sequence[Assigned]) -> list[MetadataReader]:
    """Return the new values of the chosen documents, per segment."""
    # A field that was known remains so, even if no document has a value any more.
    known = field_types(view)
    kept = {one.path: name for one in assigned for name in known.get(one.path, ())}
    return [
        _values_of(segment, docs, assigned, kept) for segment, docs in zip(view.segments, chosen, strict=True)
    ]


def _values_of(
    segment: Segment, docs: Docs, assigned: Sequence[Assigned], kept: Mapping[str, str]
) -> MetadataReader:
    if not len(docs):
        return MetadataReader(b"", 0, segment.path)
    reader, builder = FieldReader(segment), MetadataBuilder(is_kept=False)
    builder.declare(kept)
    columns = {one.path: _column(reader, docs, one) for one in assigned}
    types = [_type_of(codes.values) for codes in columns.values()]
    if "" in types:
        _add_rows(builder, len(docs), columns)
    else:
        _add_columns(builder, len(docs), columns, types)
    return MetadataReader(builder.finish(), len(docs), segment.path)


def _column(reader: FieldReader, docs: Docs, one: Assigned) -> Codes:
    """Return the new values of a field for documents, by number."""
    if one.key is not None:
        return codes_of(one.key, reader, docs)
    if one.constant is None:
        return Codes(np.full(len(docs), -1, dtype=np.int64), [])
    return Codes(np.zeros(len(docs), dtype=np.int64), [one.constant])


def _type_of(values: Sequence[Any]) -> str:
    """Return the type of a column that holds the values as they are, or "" if there is none."""
    kinds = set(map(type, values))
    if len(kinds) > 1 or (kinds == {int} and not -(2**63) <= min(values) <= max(values) < 2**63):
        return ""
    return _TYPES.get(kinds.pop(), "") if kinds else "null"


def _add_columns(
    builder: MetadataBuilder, n: int, columns: Mapping[str, Codes], types: Sequence[str]
) -> None:
    arrow = pyarrow()
    storages = [storage_type(arrow, name) for name in types]
    values = [arrow.array(codes.values, kind) for codes, kind in zip(columns.values(), storages, strict=True)]
    schema = arrow.schema(
        [
            arrow.field(path, kind, metadata={TYPE_KEY: name})
            for path, kind, name in zip(columns, storages, types, strict=True)
        ]
    )
    for start in range(0, n, CHUNK_DOCUMENTS):
        interrupts.check()
        numbers = [codes.codes[start : start + CHUNK_DOCUMENTS] for codes in columns.values()]
        arrays = [
            one.take(arrow.array(codes, mask=codes < 0)) for one, codes in zip(values, numbers, strict=True)
        ]
        builder.add_columns(arrow.record_batch(arrays, schema=schema))


def _add_rows(builder: MetadataBuilder, n: int, columns: Mapping[str, Codes]) -> None:
    """Add documents one by one, for values of several types, and lists and objects."""
    leaves = [_leaves(path, codes.values) for path, codes in columns.items()]
    for start in range(0, n, CHUNK_DOCUMENTS):
        interrupts.check()
        numbers = [codes.codes[start : start + CHUNK_DOCUMENTS].tolist() for codes in columns.values()]
        for row in zip(*numbers, strict=True):
            builder.add_leaves([leaf for i, code in enumerate(row) for leaf in leaves[i][code]])


def _leaves(path: str, values: Sequence[Any]) -> list[list[tuple[str, Any]]]:
    """Return the paths and values that each value sets at a path; the last one is no value."""
    *outer, last = split_path(path)
    leaves = []
    for i, value in enumerate(values):
        interrupts.step(i, len(values))
        record: dict[str, Any] = {last: value}
        for key in reversed(outer):
            record = {key: record}
        leaves.append(flatten(record))
    return [*leaves, []]


# ---- The statement of a verb


def statement_of(corpus: str, fields: str | Mapping[str, Any], where: str | None) -> str:
    """Return the statement that a call of `Corpus.update` stands for. Raises InvalidArgument, ParseError."""
    made = Statement(f"UPDATE {quoted_name(corpus)} SET")
    if isinstance(fields, str):
        # A comment in it ends with its line.
        made.add(fields + "\n" * ("--" in fields))
        found = parsing.parsed(made.text).statements
        if len(found) != 1 or not isinstance(found[0], ast.Update) or found[0].where is not None:
            raise InvalidArgument(
                f"fields must be assignments as after SET, without a condition, not {fields!r}"
            )
    elif isinstance(fields, Mapping) and fields:
        made.add(", ".join(f"{_written(path)} = {_shown(path, value)}" for path, value in fields.items()))
    else:
        raise InvalidArgument(f"fields must be a str as after SET, or a dict of values, not {fields!r}")
    return made.where(where).text


def _written(path: Any) -> str:
    if not isinstance(path, str) or not path:
        raise InvalidArgument(f"fields must have the paths of fields as keys, not {path!r}")
    return ".".join(map(quoted_name, to_ast.field(path).keys))


def _shown(path: str, value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if not is_finite or (value is not None and not isinstance(value, Scalar)):
        raise InvalidArgument(f"{path} must be a str, a finite number, a bool or None, not {value!r}")
    return show_value(value)
