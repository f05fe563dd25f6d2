"""Statements that verbs of a corpus stand for, as syntax trees made by hand, without text and spans."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ngramdb.api.arguments import packing
from ngramdb.api.arguments.tables import is_iterable
from ngramdb.api.patterns import Pattern
from ngramdb.errors import InvalidArgument, ParseError
from ngramdb.interrupts import checked
from ngramdb.language import ast
from ngramdb.language.parser import parse_group_keys
from ngramdb.lm.spec import ModelSpec
from ngramdb.registries import KEYNESS_MEASURES
from ngramdb.types import array_of, token_ids

# What separates the keys of a path, or else is escaped in one of them.
_DOT = re.compile(r"\\(.)|\.")


@dataclass(frozen=True)
class LinesWanted:
    """The lines of a concordance that `Corpus.kwic` is asked for, by the names of its arguments."""

    window: int | Literal["sentence"] | None = None
    order_by: str | Sequence[str] | None = None
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    sample: int | None = None
    seed: int | None = None
    returning: str | Sequence[str] | None = None


@dataclass(frozen=True)
class TableWanted:
    """The table of counts that `Corpus.counts` is asked for, by the names of its arguments."""

    group_by: str | Sequence[str] | None = None
    per_million: bool = False
    order_by: str | Sequence[str] | None = None
    descending: bool = False
    top: int | None = None


@dataclass(frozen=True)
class TextWanted:
    """The text that `Corpus.generate` is asked for, by the names of its arguments."""

    tokens: int
    model: ModelSpec
    method: str | None = None
    beams: int | None = None
    temperature: float | None = None
    top: int | None = None
    nucleus: float | None = None
    diversity: float | None = None
    seed: int | None = None
    n: int = 1


def count(ngram: Any, match_text: bool | None, ignore_case: bool | None) -> ast.Count:
    """COUNT of one n-gram or pattern."""
    return ast.Count(_occurring(ngram, match_text, ignore_case))


def counts(ngrams: Any, match_text: bool | None, ignore_case: bool | None, table: TableWanted) -> ast.Count:
    """COUNT of several n-grams, or of one, by groups."""
    first, *others = (_occurring(one, match_text, ignore_case) for one in checked(_each_ngram(ngrams)))
    return ast.Count(
        first,
        others=tuple(others),
        group_by=_group_keys("group_by", table.group_by),
        per_million=bool(table.per_million),
        order_by=tuple(ast.OrderBy(key, table.descending) for key in _group_keys("order_by", table.order_by)),
        top=_number(0, "top", table.top),
    )


def _each_ngram(ngrams: Any) -> list[Any]:
    """Return the n-grams of `counts` as a list: of one if it is text, a pattern or flat token ids."""
    if isinstance(ngrams, str) or not is_iterable(ngrams):
        return [ngrams]
    found = array_of(ngrams)
    if found is not None and found.ndim == 1 and found.dtype.kind in "iub":
        return [ngrams]
    every = packing.listed(ngrams)
    if isinstance(every, tuple):
        raise InvalidArgument("counts takes a list of n-grams; count_many takes a pair (flat ids, offsets)")
    return [every] if all(isinstance(one, (int, np.integer)) for one in every) else every


def _group_keys(argument: str, given: str | Sequence[str] | None) -> tuple[ast.GroupKey, ...]:
    """Names of fields, or what else GROUP BY takes, as the language writes it."""
    names = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"{argument} is the name of a field, or several, not {given!r}")
    found: list[ast.GroupKey] = []
    for name in names:
        try:
            found.extend(parse_group_keys(name))
        except ParseError:
            found.append(_field(name))  # as DESCRIBE shows it, without backquotes
    return tuple(found)


def kwic(pattern: Any, match_text: bool | None, ignore_case: bool | None, lines: LinesWanted) -> ast.Kwic:
    """KWIC."""
    keys = _fields("order_by", lines.order_by)
    if not keys and lines.descending:
        keys = (_field("doc_id"),)
    return ast.Kwic(
        _occurring(pattern, match_text, ignore_case),
        window=ast.InSentence()
        if isinstance(lines.window, str) and lines.window == "sentence"
        else _number(0, "window", lines.window),
        order_by=tuple(ast.OrderBy(key, lines.descending) for key in keys),
        limit=_number(0, "limit", lines.limit),
        offset=_number(0, "offset", lines.offset),
        sample=_sample(lines.sample, lines.seed),
        returning=_fields("returning", lines.returning),
    )


def docs(
    order_by: str | Sequence[str] | None,
    descending: bool,
    limit: int | None,
    offset: int,
    returning: str | Sequence[str] | None,
) -> ast.Docs:
    """DOCS ORDER BY, all keys in one direction."""
    keys = _fields("order_by", order_by) or (_field("doc_id"),)
    return ast.Docs(
        order_by=tuple(ast.OrderBy(key, descending) for key in keys),
        limit=_number(0, "limit", limit),
        offset=_number(0, "offset", offset),
        returning=_fields("returning", returning),
    )


def _fields(argument: str, given: str | Sequence[str] | None) -> tuple[ast.Field, ...]:
    names = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"{argument} is the name of a field, or several, not {given!r}")
    return tuple(_field(name) for name in names)


def collocates(
    pattern: Any,
    match_text: bool | None,
    ignore_case: bool | None,
    window: int | tuple[int, int] | Literal["sentence"],
    within_sentence: bool,
    by: str,
    min_count: int,
    top: int | None,
) -> ast.Collocates:
    """COLLOCATES OF one n-gram."""
    sentence = ast.InSentence() if within_sentence or _is_sentence(window) else None
    sides = window if isinstance(window, tuple) else (window, window)
    if len(sides) != 2:
        raise InvalidArgument(
            f"window is a number of tokens, a pair (left, right), or 'sentence', not {window!r}"
        )
    left, right = (None if _is_sentence(window) else required(0, "window", side) for side in sides)
    return ast.Collocates(
        _occurring(pattern, match_text, ignore_case),
        window=ast.Around(left, right, sentence),
        by=_measure(by),
        min_count=required(1, "min_count", min_count),
        top=_number(0, "top", top),
    )


def keywords(
    corpus: str,
    where: str | None,
    against: str | None,
    other: str | None,
    n: int,
    by: str,
    smoothing: float,
    min_count: int,
    top: int | None,
) -> str:
    """KEYWORDS as text, with conditions as they are written: `against`, or all of the corpus `other`."""
    if not isinstance(by, str) or by not in KEYNESS_MEASURES:
        raise InvalidArgument(f"by is one of {', '.join(KEYNESS_MEASURES)}, not {by!r}")
    if where is None and against is None and other is None:
        raise InvalidArgument("keywords are those of a condition, or against another corpus: say which")
    for name, given, least in (("n", n, 1), ("min_count", min_count, 1), ("top", top, 0)):
        at_least(least, name, given)
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float)) or not 0 < smoothing < 1e12:
        raise InvalidArgument(f"smoothing is a number above 0, not {smoothing!r}")
    name = f"`{corpus.replace('`', '``')}`"
    first = name if where is None else f"{name} WHERE {where}\n"
    if other is not None:
        second = f"`{other.replace('`', '``')}`"
    else:
        second = "REST" if against is None else f"{name} WHERE {against}\n"
    measure = f"simple({smoothing!r})" if by == "simple" else by
    limit = "" if top is None else f" TOP {top}"
    return f"KEYWORDS OF {first} AGAINST {second} NGRAMS {n} BY {measure} MIN COUNT {min_count}{limit}"


def dispersion(
    pattern: Any, match_text: bool | None, ignore_case: bool | None, by: str | None
) -> ast.Dispersion:
    """DISPERSION OF one n-gram."""
    if by is not None and not isinstance(by, str):
        raise InvalidArgument(f"by is the name of a field, not {by!r}")
    return ast.Dispersion(_occurring(pattern, match_text, ignore_case), by=None if by is None else _field(by))


def dist_before(ngram: Any, top: int | None) -> ast.DistBefore:
    """DIST BEFORE."""
    return ast.DistBefore(_ngram(ngram), _number(0, "top", top))


def ngrams(
    n: int | tuple[int, int],
    top: int | None,
    min_count: int,
    containing: Any,
    starting: Any,
    ending: Any,
    ignore_case: bool,
    with_docs: bool,
) -> ast.Ngrams:
    """NGRAMS."""
    lengths: ast.Lengths | ast.Value
    if isinstance(n, tuple) and len(n) == 2:
        lengths = ast.Lengths(*(required(1, "n", bound).value for bound in n))  # type: ignore[arg-type]
        if lengths.low > lengths.high:
            raise InvalidArgument(f"n is a number of tokens, or a pair (least, most), not {n!r}")
    else:
        lengths = required(1, "n", n)
    contained = containing.tree if isinstance(containing, Pattern) else _part(containing)
    first, last = _part(starting), _part(ending)
    return ast.Ngrams(
        lengths,
        min_count=required(1, "min_count", min_count),
        containing=contained,
        starting=first,
        ending=last,
        ignore_case=ignore_case,
        with_docs=with_docs,
        top=_number(0, "top", top),
    )


def trace(text: Any, min_length: int, returning: str | Sequence[str] | None = None) -> ast.Trace:
    """TRACE."""
    least = _number(1, "min_length", min_length)
    return ast.Trace(_ngram(text), min_length=least, returning=_fields("returning", returning))


def generate(given: Any, text: TextWanted) -> ast.Generate:
    """GENERATE."""
    method, beams = text.method, text.beams
    if method is not None and (not isinstance(method, str) or method not in ("greedy", "sample", "beam")):
        raise InvalidArgument(f"method is 'greedy', 'sample' or 'beam', not {method!r}")
    if beams is not None and method is None:
        method = "beam"
    if beams is not None and method != "beam":
        raise InvalidArgument(f"beams belongs to method 'beam', not to {method!r}")
    return ast.Generate(
        _ngram(given),
        required(0, "tokens", text.tokens),
        _model(text.model),
        None if method is None else ast.Method(method, _number(1, "beams", beams)),
        _real("temperature", text.temperature),
        _number(1, "top", text.top),
        _real("nucleus", text.nucleus),
        _real("diversity", text.diversity),
        _number(0, "seed", text.seed),
        required(1, "n", text.n),
    )


def sample(size: int, seed: int | None) -> ast.Docs:
    """DOCS SAMPLE."""
    return ast.Docs(sample=ast.Sample(required(1, "size", size), _number(0, "seed", seed)))


def about(tree: Any, corpus: str, where: ast.Condition | None) -> Any:
    """The tree of a question, asked of one corpus, with a condition on its documents."""
    source = ast.Source((ast.SourceTerm(ast.Name(corpus)),))
    return replace(tree, source=source) if where is None else replace(tree, source=source, where=where)


def _is_sentence(window: Any) -> bool:
    # An array is compared item by item.
    return isinstance(window, str) and window == "sentence"


def at_least(least: int, name: str, value: Any) -> int | None:
    """A whole number, of numpy's types as well; None as it is. Raises InvalidArgument below `least`."""
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgument(f"{name} is a whole number of at least {least}, not {value!r}")
    return value


def version_number(value: Any, number_of: Callable[[str], int] | None = None) -> int:
    """The number of a version that is given by its number, or by its name if `number_of` finds names.

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
        raise InvalidArgument(f"version is {kinds}, not {value!r}")
    return number


def version_name(value: Any) -> str:
    """The name of a version. Raises InvalidArgument if it is not a str."""
    if not isinstance(value, str):
        raise InvalidArgument(f"the name of a version is a str, not {value!r}")
    return value


def _field(path: str) -> ast.Field:
    r"""A field by its path as DESCRIBE shows it: `meta.year`; a dot within a key is written `\.`."""
    keys = _DOT.sub(lambda match: match[1] or "\0", path)
    return ast.Field(tuple(keys.split("\0")))


def _sample(size: int | None, seed: int | None) -> ast.Sample | None:
    if size is None:
        if seed is not None:
            raise InvalidArgument("seed is for samples: say how large with sample=")
        return None
    return ast.Sample(required(1, "sample", size), _number(0, "seed", seed))


def _ngram(value: Any) -> ast.Text | ast.TokenIds:
    return ast.Text(value) if isinstance(value, str) else ast.TokenIds(tuple(token_ids(value).tolist()))


def _part(value: Any) -> ast.Text | ast.TokenIds | None:
    return None if value is None else _ngram(value)


def _occurring(value: Any, match_text: bool | None, ignore_case: bool | None) -> ast.Contains:
    return ast.Contains(_pattern(value, match_text, ignore_case))


def _pattern(value: Any, match_text: bool | None, ignore_case: bool | None) -> ast.Pattern:
    """Return an n-gram or a pattern with its modifiers; without any the setting `match` applies."""
    tree = value.tree if isinstance(value, Pattern) else _ngram(value)
    if match_text is None and ignore_case is None:
        return tree
    if isinstance(tree, (ast.Text, ast.TokenIds, ast.Parameter)):
        return ast.Matching(tree, match_text, bool(ignore_case))
    if not match_text and not ignore_case:
        return tree
    return ast.Matching(ast.Group((tree,)), match_text or None, bool(ignore_case))


def _measure(name: str) -> ast.Measure:
    if not isinstance(name, str):
        raise InvalidArgument(f"by is the name of a measure, not {name!r}")
    return ast.Measure(name.lower())


def _model(model: ModelSpec) -> ast.ModelClause:
    return ast.ModelClause(
        model.kind,
        order=None if model.order is None else ast.Value(model.order),
        weight=ast.Value(model.weight) if model.kind == "backoff" else None,
        min_count=ast.Value(model.min_count),
    )


def _real(name: str, value: float | None) -> ast.Value | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise InvalidArgument(f"{name} is a number, not {value!r}")
    return None if value is None else ast.Value(value)


def _number(least: int, name: str, value: int | None) -> ast.Value | None:
    number = at_least(least, name, value)
    return None if number is None else ast.Value(number)


def whole(least: int, name: str, value: Any) -> int:
    """A whole number of at least `least`; whatever else, None too, raises InvalidArgument."""
    number = at_least(least, name, value)
    if number is None:
        raise InvalidArgument(f"{name} is a whole number of at least {least}, not None")
    return number


def required(least: int, name: str, value: Any) -> ast.Value:
    """The same for a tree."""
    return ast.Value(whole(least, name, value))
