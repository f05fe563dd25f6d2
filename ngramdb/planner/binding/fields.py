"""Binding fields: metadata paths that some segment has, and the documents' own `doc_id` and `length`."""

from __future__ import annotations

from collections.abc import Callable

from ngramdb.errors import BindError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.names import listing, nearest
from ngramdb.planner.source import Corpus

# What every document has without metadata saying so, and the type of it.
OWN_FIELDS = {"doc_id": "int64", "length": "int64"}

# In front of a metadata field that is called like one of those; DOCS names its columns so, too.
PREFIX = "metadata"

# The documents' text, which DOCS has among its columns.
TEXT = "text"

# How types of columns are called where a value doesn't fit.
TYPE_NAMES = {"int64": "number", "float64": "number", "string": "string", "bool": "boolean"}


def field_types(corpus: Corpus) -> dict[str, set[str]]:
    """The metadata fields of a corpus and the types they have. Cost: the schema of each segment."""
    found: dict[str, set[str]] = {}
    for segment in corpus.segments:
        for path, type_name in segment.metadata.fields().items():
            found.setdefault(path, set()).add(type_name)
    return found


def bound_field(
    scope: Scope, node: ast.Field, corpus: Corpus, as_ngram: Callable[[], str] = lambda: '"…"'
) -> tuple[plan.FieldKey, set[str]]:
    """The field that a name means, and the types of its values (none known: it may have any).

    `as_ngram` is the n-gram that is sought, should the documents' text be meant.

    Raises
    ------
    BindError
        No document has such a field; names the nearest one.
    """
    path = path_of(node.keys)
    if path in OWN_FIELDS:
        return plan.FieldKey(path, own=True), {OWN_FIELDS[path]}
    types = field_types(corpus)
    if path in types:
        return plan.FieldKey(path), types[path]
    behind_prefix = path_of(node.keys[1:]) if node.keys[0] == PREFIX and len(node.keys) > 1 else path
    if behind_prefix in types:
        return plan.FieldKey(behind_prefix), types[behind_prefix]
    for name in (path, behind_prefix):
        if any(segment.metadata.rest_has(name) for segment in corpus.segments):
            return plan.FieldKey(name), set()
    if path == TEXT and corpus.tokenizer.kind != "tokens":
        sought = as_ngram() + (" MATCH TEXT" if plan.takes_text(corpus.tokenizer) else "")
        message = f"text is no metadata field; WHERE {sought} finds documents by their text"
        start, stop = scope.place(node)
        raise BindError(message, text=scope.text, start=start, stop=stop)
    raise _unknown(scope, node, path, types)


def returned_fields(scope: Scope, nodes: tuple[ast.Field, ...], corpus: Corpus) -> tuple[plan.FieldKey, ...]:
    """The fields of RETURNING: metadata, `doc_id`, `length` and `text`."""
    return tuple(
        plan.FieldKey(TEXT, own=True) if node.keys == (TEXT,) else bound_field(scope, node, corpus)[0]
        for node in nodes
    )


def path_of(keys: tuple[str, ...]) -> str:
    """A field's keys as the path that metadata columns have: a dot or backslash in a key is escaped."""
    return ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys)


def _unknown(scope: Scope, node: ast.Field, path: str, types: dict[str, set[str]]) -> BindError:
    inside = sorted(name for name in types if name.startswith(path + "."))
    hint = nearest(path, [*types, *OWN_FIELDS])
    if inside:
        hint = inside[0]
        message = f"{path!r} is an object; its fields are {listing(inside)}"
    elif hint is not None:
        message = f"no document has a field {path!r}; did you mean {hint}?"
    else:
        message = f"no document has a field {path!r}; known: {listing([*types, *OWN_FIELDS])}"
    start, stop = scope.place(node)
    return BindError(message, text=scope.text, start=start, stop=stop, nearest=hint)


def unfit(types: set[str], literal: plan.Scalar) -> str | None:
    """What a field's values are, where none can be compared with the literal; None where some can."""
    kinds = {TYPE_NAMES.get(name.removeprefix("list<").removesuffix(">")) for name in types}
    kinds -= {TYPE_NAMES.get("null")} if types == {"list<null>"} else set()
    if len(kinds) != 1 or None in kinds:
        return None
    (kind,) = kinds
    return None if plan.kind_of(literal) == kind else kind
