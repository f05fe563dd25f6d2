"""Binding fields: metadata paths that some segment has, and the documents' own `doc_id` and `length`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import isfinite

from ngramdb.errors import BindError, PlanError
from ngramdb.language import ast
from ngramdb.lazy import lazy_pattern
from ngramdb.patterns import takes_text
from ngramdb.planner import plan
from ngramdb.planner.parameters import listing, nearest
from ngramdb.planner.plan.fields import PREFIX, column_of, plain_name
from ngramdb.planner.scope import Scope, same_kind
from ngramdb.registries import DIALECTS, DOCUMENT_FUNCTIONS, MODELS
from ngramdb.source import PARSED_TYPE, Corpus

# Fields of every document besides metadata, with their types.
DOC_ID = "doc_id"
OWN_FIELDS = {DOC_ID: "int64", "length": "int64"}

# The documents' text, one of the columns of DOCS.
TEXT = "text"

# Names of tokens beside an occurrence in other concordancers.
_BESIDE = lazy_pattern(r"(?P<side>[lr])(?:eft|ight)?(?P<n>[1-9][0-9]?)?", re.IGNORECASE)

# Names of column types in messages.
TYPE_NAMES = {"int64": "number", "float64": "number", "string": "string", "bool": "boolean"}


def field_types(corpus: Corpus) -> dict[str, set[str]]:
    """Return the metadata fields of a corpus and their types. Cost: the schema of each segment."""
    found: dict[str, set[str]] = {}
    for segment in corpus.segments:
        for path, type_name in segment.metadata.fields().items():
            found.setdefault(path, set()).add(type_name)
    return found


def bound_function(scope: Scope, node: ast.Called, corpus: Corpus) -> tuple[plan.FieldKey, set[str]]:
    """Return the key of a document function, and the types of its values.

    Raises
    ------
    BindError
        No function or dialect has the name; names the nearest one.
    PlanError
        Arguments that the function does not take.
    """
    name, shown = node.name.value, node.name.value.upper()
    if name not in DOCUMENT_FUNCTIONS:
        written = ast.Name(shown, span=node.name.span)
        scope.unknown("document function", written, [one.upper() for one in DOCUMENT_FUNCTIONS], "")
    definition = DOCUMENT_FUNCTIONS[name]
    if definition.of_model or node.model is not None:
        return _of_model(scope, node, corpus)
    if len(node.numbers) != len(definition.parameters):
        takes = " and ".join(definition.parameters) or "no numbers"
        scope.fail(PlanError, f"{shown} takes {takes} in parentheses", node)
    pairs = zip(node.numbers, definition.parameters, strict=True)
    numbers = [scope.number(number, f"{what} of {shown}", 1) for number, what in pairs]
    if corpus.tokenizer.kind == "tokens" and (definition.needs_text or node.dialect is not None):
        what = f"{shown}{' AS …' * (not definition.needs_text)} measures texts"
        scope.fail(PlanError, f"{what}, and the documents of {corpus.entry.name} are token ids", node)
    call = plan.FunctionCall(
        name,
        corpus,
        tuple(number for number in numbers if number is not None),
        _dialect(scope, node.dialect, shown, definition.has_dialects),
    )
    key = plan.FieldKey(call.label(), own=True, function=call)
    return key, {"int64" if definition.is_whole else "float64"}


def _of_model(scope: Scope, node: ast.Called, corpus: Corpus) -> tuple[plan.FieldKey, set[str]]:
    """Return the key of a function of a model, of the corpus after FROM or of the documents' own."""
    name, shown = node.name.value, node.name.value.upper()
    if not DOCUMENT_FUNCTIONS[name].of_model:
        what = " and ".join(DOCUMENT_FUNCTIONS[name].parameters) or "no arguments"
        scope.fail(PlanError, f"{shown} takes {what} in parentheses, not a model", node.model or node)
    if node.model is None:
        models = ", ".join(model.upper() for model in MODELS)
        scope.fail(PlanError, f"{shown} takes a model ({models}) and FROM its corpus in parentheses", node)
    model = scope.model(node.model)
    other = corpus if node.source is None else scope.corpus(node.source)
    by_text = not same_kind(corpus.tokenizer, other.tokenizer)
    if by_text and "tokens" in (corpus.tokenizer.kind, other.tokenizer.kind):
        ids, texts = (corpus, other) if corpus.tokenizer.kind == "tokens" else (other, corpus)
        what = f"the documents of {ids.entry.name} are token ids, and those of {texts.entry.name} are texts"
        scope.fail(PlanError, f"{what}: no model of one has probabilities for the other", node)
    call = plan.FunctionCall(name, corpus, model=model, reference=other, by_text=by_text)
    return plan.FieldKey(call.label(), own=True, function=call), {"float64"}


def _dialect(scope: Scope, node: ast.Name | None, function: str, has_dialects: bool) -> str:
    if node is None:
        return ""
    if not has_dialects:
        scope.fail(PlanError, f"{function} has one definition: leave out AS {node.value}", node)
    if node.value not in DIALECTS:
        scope.unknown("dialect", node, DIALECTS, "")
    return node.value


def bound_field(
    scope: Scope,
    node: ast.Field | ast.Called,
    corpus: Corpus,
    as_ngram: Callable[[], str] = lambda: '"…"',
    others: tuple[str, ...] = (),
) -> tuple[plan.FieldKey, set[str]]:
    """Return the field of a name, and the types of its values (empty if they are not known).

    In a corpus without documents, any name is accepted.

    `as_ngram` returns the n-gram for the message if the documents' text is meant; `others` are names of other
    things that could be meant.

    Raises
    ------
    BindError
        No document has such a field; names the nearest one.
    """
    if isinstance(node, ast.Called):
        return bound_function(scope, node, corpus)
    path = path_of(node.keys)
    if path in OWN_FIELDS:
        return plan.FieldKey(path, own=True), {OWN_FIELDS[path]}
    types = field_types(corpus)
    behind_prefix = path_of(node.keys[1:]) if node.keys[0] == PREFIX and len(node.keys) > 1 else path
    if path in types and behind_prefix in types and column_of(behind_prefix, types) == path != behind_prefix:
        scope.doubt(f"{path} is the field {behind_prefix} here; that of {PREFIX} is {PREFIX}.{path}")
        return plan.FieldKey(behind_prefix), types[behind_prefix]
    for name in (path, behind_prefix):
        if name in types:
            return plan.FieldKey(name), types[name]
    # Without backquotes around it: a key with a dot, as columns of tables have.
    plain = ".".join(node.keys)
    dotted = [name for name in types if "\\" in name and plain_name(name) == plain]
    if len(dotted) == 1:
        return plan.FieldKey(dotted[0]), types[dotted[0]]
    for name in (path, behind_prefix):
        if any(segment.metadata.rest_has(name) for segment in corpus.segments):
            return plan.FieldKey(name), set()
    if path == TEXT and corpus.tokenizer.kind != "tokens":
        sought = as_ngram() + (" MATCH TEXT" if takes_text(corpus.tokenizer) else "")
        message = f"text is not a metadata field; WHERE {sought} finds documents by their text"
        start, stop = scope.place(node)
        raise BindError(message, text=scope.text, start=start, stop=stop)
    if not corpus.n_documents:  # not yet loaded, or all removed and compacted: any field may have been meant
        return plan.FieldKey(path), set()
    raise _unknown(scope, node, path, types, others)


def bound_key(
    scope: Scope, node: ast.GroupKey, corpus: Corpus, others: tuple[str, ...] = ()
) -> plan.FieldKey:
    """Return a field that rows are grouped or ordered by, or a key computed from it.

    `others` are names of other things that could be meant.

    Raises
    ------
    BindError
        No document has such a field.
    PlanError
        The field's values are of another kind, or the key is about occurrences.
    """
    if isinstance(node, ast.Divided):
        inner = bound_key(scope, node.what, corpus)
        if not inner.part:
            field, types = bound_field(scope, _field_of(node.what), corpus)
            kind = unfit(scalar_types(corpus, field, types), 0)
            if kind is not None:
                scope.fail(PlanError, f"only numbers can be divided, and {inner.path} is a {kind}", node.what)
        divisor = _number(scope, node.divisor)
        if divisor <= 0:
            scope.refuse(f"a field is divided by a number above 0, not by {divisor!r}", node.divisor)
        factor = None if node.factor is None else _number(scope, node.factor)
        return plan.changed(inner, divisor=divisor, factor=factor)
    if isinstance(node, ast.Unnested):
        return plan.changed(bound_field(scope, node.field, corpus)[0], unnested=True)
    if isinstance(node, ast.DatePart):
        return plan.changed(bound_date(scope, node, corpus)[0], part=node.part)
    if isinstance(node, (ast.Field, ast.Called)):
        return bound_field(scope, node, corpus, others=others)[0]
    if isinstance(node, ast.Form) and "form" in field_types(corpus):
        return plan.FieldKey("form")
    what = "FORM" if isinstance(node, ast.Form) else node.side.upper()
    scope.fail(PlanError, f"{what} is for occurrences: COUNT n-gram GROUP BY {what}", node)


def document_keys(
    scope: Scope, nodes: tuple[ast.OrderBy, ...], corpus: Corpus, others: tuple[str, ...] = ()
) -> tuple[plan.FieldKey, ...]:
    """Return the keys that documents are ordered by; `others` are names that could be meant."""
    keys = []
    for item in nodes:
        key = bound_key(scope, item.field, corpus, others)
        if key.unnested:
            scope.fail(
                PlanError, "documents must be ordered by a value that each has once, not by UNNEST", item
            )
        keys.append(plan.changed(key, descending=item.descending))
        if key == plan.FieldKey(DOC_ID, own=True):
            break  # no two documents have the same, so later keys have no effect
    return tuple(keys)


def bound_date(scope: Scope, node: ast.DatePart, corpus: Corpus) -> tuple[plan.FieldKey, set[str]]:
    """Return the field of a date part, and the types of the part."""
    key, types = bound_field(scope, node.field, corpus)
    kind = unfit(scalar_types(corpus, key, types), "")
    if kind is not None:
        what = (
            f"{node.part.upper()} takes dates, which are texts such as '2001-05-17'; {key.path} is a {kind}"
        )
        scope.fail(PlanError, what, node)
    return key, {"int64"}


def _field_of(node: ast.Tested) -> ast.Field | ast.Called:
    return node.field if isinstance(node, ast.DatePart) else node


def _number(scope: Scope, node: ast.Scalar) -> int | float:
    value = scope.scalar(node)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < float("inf"):
        scope.refuse(f"a field is divided by a number, not by {value!r}", node)
    return value


def returned_fields(
    scope: Scope, nodes: tuple[ast.Field | ast.Called, ...], corpus: Corpus, beside: bool = False
) -> tuple[plan.FieldKey, ...]:
    """Bind the fields of RETURNING: metadata, `doc_id`, `length`, `text` and functions of documents.

    `*` means all of them, in the order of DOCS. With `beside`, rows have their document's id already, so that
    `doc_id` is dropped, and `*` means the metadata.
    """
    keys: list[plan.FieldKey] = []
    for node in nodes:
        if isinstance(node, ast.Called):
            keys.append(bound_function(scope, node, corpus)[0])
        elif node.keys == (ast.EVERY_FIELD,):
            metadata = [plan.FieldKey(path) for path in field_types(corpus)]
            own = [plan.FieldKey(name, own=True) for name in (*OWN_FIELDS, TEXT)]
            keys += metadata if beside else [own[0], *metadata, *own[1:]]
        elif node.keys == (TEXT,):
            keys.append(plan.FieldKey(TEXT, own=True))
        else:
            keys.append(bound_field(scope, node, corpus)[0])
    return tuple(key for key in keys if not (beside and key.own and key.path == DOC_ID))


def path_of(keys: tuple[str, ...]) -> str:
    """Return the path of a metadata column; dots and backslashes in keys are escaped."""
    return ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys)


def _unknown(
    scope: Scope, node: ast.Field, path: str, types: dict[str, set[str]], others: tuple[str, ...]
) -> BindError:
    inside = sorted(name for name in types if name.startswith(path + "."))
    hint = nearest(path, [*types, *OWN_FIELDS, *others])
    beside = _BESIDE.fullmatch(path)
    if beside is not None:
        side, where = ("LEFT", "before") if beside["side"] in "lL" else ("RIGHT", "after")
        hint = None
        message = (
            f"no document has a field {path!r}; {side} {beside['n'] or 1} is a token {where} an occurrence, "
            "in GROUP BY of COUNT and ORDER BY of KWIC"
        )
    elif inside:
        hint = inside[0]
        message = f"{path!r} is an object; its fields are {listing(inside)}"
    elif hint is not None:
        message = f"no document has a field {path!r}; did you mean {hint}?"
    else:
        message = f"no document has a field {path!r}; known: {listing([*types, *OWN_FIELDS])}"
    start, stop = scope.place(node)
    return BindError(message, text=scope.text, start=start, stop=stop, nearest=hint)


def scalar_types(corpus: Corpus, key: plan.FieldKey, types: set[str]) -> set[str]:
    """Return the types of a field's values and of the elements of its lists, whatever columns hold them.

    The distribution of documents over segments must not decide what a field can be compared with. Empty if
    there are no such values, or if not all are known.

    Cost: columns of JSON are read once.
    """
    found = {name.removeprefix("list<").removesuffix(">") for name in types} - {"null", PARSED_TYPE}
    if key.own:
        return found
    for segment in corpus.segments:
        type_name = segment.metadata.fields().get(key.path)
        if type_name == PARSED_TYPE:
            found |= segment.metadata.parsed_types(key.path)[1]
        elif type_name is None and segment.metadata.rest_has(key.path):
            return set()
    return found


def unfit(types: set[str], literal: plan.Scalar) -> str | None:
    """Return the kind of values of these `scalar_types` if all have one and the literal has another."""
    kinds = {TYPE_NAMES[name] for name in types}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    return None if plan.kind_of(literal) == kind else kind


# ---- tests of fields that are true of no document, and messages on them


def never_true(test: plan.FieldTest) -> str | None:
    """Return a message on a test that is true of no document, or of fewer than expected; else None."""
    predicate, field = test.predicate, test.name
    if isinstance(predicate, plan.Compared) and predicate.literal is None:
        return f"a comparison with NULL is never true; {_by_null(field, test.negated)}"
    if isinstance(predicate, plan.OneOf) and predicate.has_null:
        if test.negated:
            return f"{field} NOT IN (…, NULL) is never true, as in SQL; leave NULL out of the list"
        which = "(…, NULL) finds nothing for NULL" if predicate.values else "(NULL) is never true"
        return f"{field} IN {which}; {_by_null(field)}"
    if isinstance(predicate, plan.InRange) and predicate.is_empty:
        return _not_in_range(predicate, field) if test.negated else _of_range(predicate, field)
    return None


def in_two_kinds(name: str, types: set[str], literals: Iterable[plan.Scalar | None]) -> str | None:
    """Return a message on a field that has numbers and texts and is compared with one kind, or None.

    `types` are the `scalar_types` of the field. Tables in text formats can have a column of numbers in one
    file and of texts in the next.
    """
    if not ("string" in types and types & {"int64", "float64"}):
        return None
    asked = [literal for literal in literals if _reads_as_number(literal)]
    if not asked or len({isinstance(literal, str) for literal in asked}) == 2:
        return None
    kind, other = ("text", "number") if isinstance(asked[0], str) else ("number", "text")
    shown = plan.show_value(asked[0])
    return f"{name} has values of several kinds: {shown} is a {kind} here, and matches no {other}"


def _reads_as_number(literal: plan.Scalar | None) -> bool:
    if isinstance(literal, str):
        with suppress(ValueError):
            return isfinite(float(literal))
        return False
    return isinstance(literal, int | float) and not isinstance(literal, bool)


def _of_range(predicate: plan.InRange, field: str) -> str:
    low, high = plan.show_value(predicate.low), plan.show_value(predicate.high)
    said = f"{field} BETWEEN {low} AND {high} is never true"
    if predicate.low is None or predicate.high is None:
        one = f"{field} {'<=' if predicate.low is None else '>='} …"
        return f"{said}, as in SQL; {one} has one bound only"
    if plan.kind_of(predicate.low) != plan.kind_of(predicate.high):
        return f"{said}: its bounds are a {plan.kind_of(predicate.low)} and a {plan.kind_of(predicate.high)}"
    return f"{said}: the lower bound comes first"


def _not_in_range(predicate: plan.InRange, field: str) -> str | None:
    """Return a message on NULL as a bound."""
    low, high = predicate.low, predicate.high
    if low is not None and high is not None:
        return None
    said = f"NOT {field} BETWEEN {plan.show_value(low)} AND {plan.show_value(high)}"
    if predicate.is_unknown:
        return f"{said} is never true; {_by_null(field, True)}"
    side = f"up to {plan.show_value(high)}" if low is None else f"from {plan.show_value(low)} on"
    return f"{said} is true of no value {side}, as in SQL"


def _by_null(field: str, negated: bool = False) -> str:
    which = "that have the field" if negated else "without the field"
    return f"{field} IS {'NOT ' if negated else ''}NULL finds documents {which}"
