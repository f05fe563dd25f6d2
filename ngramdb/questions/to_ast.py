"""Arguments of verbs as nodes of a syntax tree, without spans: n-grams, patterns, fields, numbers, models."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ngramdb.errors import InvalidArgument, ParseError
from ngramdb.interrupts import checked
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.lm.spec import ModelSpec
from ngramdb.questions import packing, parsing
from ngramdb.questions.packing import is_iterable
from ngramdb.questions.parsing import Pattern
from ngramdb.registries import DOCUMENT_FUNCTIONS, MODELS
from ngramdb.types import array_of, token_ids

if TYPE_CHECKING:
    from ngramdb.language import parser
    from ngramdb.planner import scope
    from ngramdb.questions.verbs import Bound
    from ngramdb.source import Catalog
else:
    parser = lazy_module("ngramdb.language.parser")
    scope = lazy_module("ngramdb.planner.scope")


# The separator of keys in a path, or an escaped character in one of them.
_DOT = re.compile(r"\\(.)|\.")
_CALL = re.compile(r"\s*(\w+)\s*\(")


def _each_ngram(ngrams: Any) -> list[Any]:
    """Return the n-grams of `counts` as a list: one item if it is text, a pattern or flat token ids."""
    if isinstance(ngrams, str) or not is_iterable(ngrams):
        return [ngrams]
    found = array_of(ngrams)
    if found is not None and found.ndim == 1 and found.dtype.kind in "iub":
        return [ngrams]
    every = packing.listed(ngrams)
    if isinstance(every, tuple):
        raise InvalidArgument("counts takes a list of n-grams; count_many takes a pair (flat ids, offsets)")
    return [every] if all(isinstance(one, (int, np.integer)) for one in every) else every


def names(argument: str, given: str | Sequence[str] | None) -> Sequence[str]:
    """Return the names of fields: none, one or several. Raises InvalidArgument."""
    found = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(found, Sequence) or not all(isinstance(name, str) for name in found):
        raise InvalidArgument(f"{argument} must be the name of a field, or several, not {given!r}")
    return found


def fields(argument: str, given: str | Sequence[str] | None) -> tuple[ast.Field, ...]:
    """Return the fields of these names. Raises InvalidArgument."""
    return tuple(field(name) for name in names(argument, given))


def columns(argument: str, given: str | Sequence[str] | None) -> tuple[ast.Field | ast.Called, ...]:
    """Return fields, and functions such as `LONGEST_SEEN()`. Raises InvalidArgument, ParseError."""
    return tuple(_called(name) or field(name) for name in names(argument, given))


def _called(name: str) -> ast.Called | None:
    found = _CALL.match(name)
    if found is None or found[1].lower() not in DOCUMENT_FUNCTIONS:
        return None
    (key,) = parser.parse_group_keys(name)
    return key if isinstance(key, ast.Called) else None


def group_keys(argument: str, given: str | Sequence[str] | None) -> tuple[ast.GroupKey, ...]:
    """Return the keys that names of fields, or other groups in the language, are. Raises InvalidArgument."""
    found: list[ast.GroupKey] = []
    for name in names(argument, given):
        try:
            found.extend(parser.parse_group_keys(name))
        except ParseError:
            found.append(field(name))  # as DESCRIBE shows it, without backquotes
    return tuple(found)


def corpus_name(bound: Bound, argument: str, given: Any) -> str | None:
    """Return the name of another corpus of the database, given by its name or as a corpus; None for None.

    Raises InvalidArgument for anything else, or a corpus of another database.
    """
    theirs: Bound | None = getattr(given, "_bound", None)
    name = given if theirs is None else bound.name_of(theirs, argument)
    if name is not None and not isinstance(name, str):
        raise InvalidArgument(f"{argument} must be a corpus or the name of one, not {given!r}")
    return name


def other_corpus(bound: Bound, argument: str, given: Any) -> ast.Source | None:
    """Return the same as the source of a clause."""
    name = corpus_name(bound, argument, given)
    return None if name is None else ast.Source((ast.SourceTerm(ast.Name(name)),))


def about(tree: Any, corpus: str, where: ast.Condition | None) -> Any:
    """Return the tree of a query on one corpus, with a condition on its documents."""
    source = ast.Source((ast.SourceTerm(ast.Name(corpus)),))
    return replace(tree, source=source) if where is None else replace(tree, source=source, where=where)


def at_least(least: int, name: str, value: Any) -> int | None:
    """Return a whole number, also of numpy's types, or None. Raises InvalidArgument below `least`."""
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgument(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value


def version_number(value: Any, number_of: Callable[[str], int] | None = None) -> int:
    """Return the number of a version given by its number, or by its name if `number_of` looks up names.

    Raises InvalidArgument for anything else.
    """
    if number_of is not None and isinstance(value, str) and not value.isdecimal():
        return number_of(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        kinds = "a whole number" if number_of is None else "a whole number, or the name of a version"
        raise InvalidArgument(f"version must be {kinds}, not {value!r}")
    return number


def version_name(value: Any) -> str:
    """Return the name of a version. Raises InvalidArgument if it is not a str."""
    if not isinstance(value, str):
        raise InvalidArgument(f"the name of a version must be a str, not {value!r}")
    return value


def key(given: Any) -> ast.Field:
    """Return the field that identifies documents. Raises InvalidArgument."""
    if not isinstance(given, str) or not given:
        raise InvalidArgument(f"on must be the path of a field, not {given!r}")
    return field(given)


def field(path: str) -> ast.Field:
    r"""Return a field for its path as in DESCRIBE: `meta.year`; a dot within a key is written `\.`."""
    keys = _DOT.sub(lambda match: match[1] or "\0", path)
    return ast.Field(tuple(keys.split("\0")))


def ngram(value: Any) -> ast.Text | ast.TokenIds:
    """Return an n-gram. Raises InvalidArgument."""
    return ast.Text(value) if isinstance(value, str) else ast.TokenIds(tuple(token_ids(value).tolist()))


def part(value: Any) -> ast.Text | ast.TokenIds | None:
    """Return an n-gram; None for None."""
    return None if value is None else ngram(value)


def pattern_tree(value: Any) -> ast.Pattern | None:
    """Return an n-gram or a pattern as it is; None for None."""
    return value.tree if isinstance(value, Pattern) else part(value)


def occurring_each(
    ngrams: Any, match_text: bool | None = None, ignore_case: bool | None = None
) -> tuple[ast.Contains, ...]:
    """Return the condition that an n-gram occurs for each of a list, or for the only one."""
    return tuple(occurring(one, match_text, ignore_case) for one in checked(_each_ngram(ngrams)))


def occurring(value: Any, match_text: bool | None = None, ignore_case: bool | None = None) -> ast.Contains:
    """Return the condition that an n-gram or a pattern occurs."""
    return ast.Contains(_pattern(value, match_text, ignore_case))


def _pattern(value: Any, match_text: bool | None, ignore_case: bool | None) -> ast.Pattern:
    """Return an n-gram or a pattern with its modifiers; without any, the setting `match` applies."""
    tree = value.tree if isinstance(value, Pattern) else ngram(value)
    if match_text is None and ignore_case is None:
        return tree
    if isinstance(tree, (ast.Text, ast.TokenIds, ast.Parameter)):
        return ast.Matching(tree, match_text, bool(ignore_case))
    if not match_text and not ignore_case:
        return tree
    return ast.Matching(ast.Group((tree,)), match_text or None, bool(ignore_case))


def written(value: Any, match_text: bool | None = None, ignore_case: bool | None = None) -> str:
    """Return an n-gram or a pattern as it is written in a statement, with its modifiers."""
    modifiers = " MATCH TEXT" * bool(match_text) + " IGNORE CASE" * bool(ignore_case)
    if isinstance(value, Pattern):
        text = f"{value.text}\n" if "--" in value.text else value.text
        return f"({text}){modifiers}" if modifiers else text
    if isinstance(value, str):
        tokens = " MATCH TOKENS" if match_text is False else ""
        return parsing.quoted_ngram(value) + tokens + modifiers
    return parsing.quoted_ngram(token_ids(value).tolist()) + modifiers


def measure(name: str) -> ast.Measure:
    """Return a measure by its name, in any case. Raises InvalidArgument if it is not a str."""
    if not isinstance(name, str):
        raise InvalidArgument(f"by must be the name of a measure, not {name!r}")
    return ast.Measure(name.lower())


def model(spec: ModelSpec) -> ast.ModelClause:
    """Return a model as after USING."""
    return ast.ModelClause(
        spec.kind,
        order=None if spec.order is None else ast.Value(spec.order),
        weight=ast.Value(spec.weight) if spec.kind == "backoff" else None,
        min_count=ast.Value(spec.min_count),
    )


def real(name: str, value: float | None) -> ast.Value | None:
    """Return a number; None for None. Raises InvalidArgument."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InvalidArgument(f"{name} must be a number, not {value!r}")
    return None if value is None else ast.Value(value)


def number(least: int, name: str, value: int | None) -> ast.Value | None:
    """Return a whole number of at least `least`; None for None. Raises InvalidArgument."""
    number = at_least(least, name, value)
    return None if number is None else ast.Value(number)


def whole(least: int, name: str, value: Any) -> int:
    """Return a whole number of at least `least`; raises InvalidArgument for anything else, even None."""
    number = at_least(least, name, value)
    if number is None:
        raise InvalidArgument(f"{name} must be a whole number of at least {least}, not None")
    return number


def required(least: int, name: str, value: Any) -> ast.Value:
    """Return a node with a whole number of at least `least`. Raises InvalidArgument."""
    return ast.Value(whole(least, name, value))


def as_model(model: Any) -> ModelSpec:
    """Return a model for its text (`"ngram"`, `"kneser_ney order 5"`) or an `ngramdb.lm.ModelSpec`.

    Raises
    ------
    ParseError
        No such model.
    InvalidArgument
        Neither text nor a model, or a parameter out of range.
    """
    if isinstance(model, str):
        return _parsed(model)
    if isinstance(model, ModelSpec):
        return model
    raise InvalidArgument(
        f"a model must be text such as 'infgram', or an object such as ngramdb.lm.KneserNey(), "
        f"not {type(model).__name__}"
    )


@lru_cache(maxsize=256)
def _parsed(text: str) -> ModelSpec:
    kind = text.lower()
    if kind in MODELS:  # reading the grammar takes 3 ms or more
        return ModelSpec(kind)
    # A model refers to nothing in a catalog.
    return scope.Scope(cast("Catalog", None), None, text).model(parser.parse_model(text))
