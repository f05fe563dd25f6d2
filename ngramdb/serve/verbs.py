"""`POST /CORPUS/verbs/VERB`: the verbs of a corpus, for `ngramdb.connect("http://…")` and similar programs.

The body has the verb's `arguments` by name, as `ngramdb.api.wire` writes them; `where`, the conditions
that select documents, each with its parameters; and `limit` and `offset` of the rows to send. With `each`,
lists of equal length by the names of further arguments, it is a batch: one call for each of their places.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ngramdb import errors
from ngramdb.api import Corpus, Result, wire
from ngramdb.errors import ResourceError
from ngramdb.interrupts import Interrupt, check
from ngramdb.questions import verbs
from ngramdb.questions.parsing import Pattern
from ngramdb.questions.requests import Parameter
from ngramdb.serve.database_pool import Named
from ngramdb.serve.problem_details import Limits, Problem, body_of, problem_of
from ngramdb.serve.requests import given, shortened
from ngramdb.serve.responses import as_json, json_of, page_of

#: The maximum number of nested conditions: no program needs more, and each one costs a view of the corpus.
MOST_CONDITIONS = 8
PAGING = (Parameter("limit", "integer", ""), Parameter("offset", "integer", "", 0))
FIELDS = ("arguments", "each", "where", "limit", "offset", "timeout")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_ids(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" or not value.size
    return isinstance(value, (list, tuple)) and {int}.issuperset(map(type, value))


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _are_ngrams(value: Any) -> bool:
    if _is_pair(value) and all(isinstance(item, np.ndarray) for item in value):
        return True
    return isinstance(value, (list, tuple)) and all(_is_ngram(item) for item in value)


def _are_orders(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(one is None or _is_whole(one) for one in value)


def _is_ngram(value: Any) -> bool:
    return isinstance(value, (str, Pattern)) or _is_ids(value)


def _is_document(value: Any) -> bool:
    return isinstance(value, (str, dict)) or _is_ids(value) or _is_pair(value)


#: Predicates by type name. Values that a client sends are only passed on if one accepts them.
KINDS: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "int": _is_whole,
    "float": lambda value: _is_whole(value) or isinstance(value, float),
    "str": lambda value: isinstance(value, str),
    "Literal['sentence']": lambda value: value == "sentence",
    "Sequence[str]": lambda value: isinstance(value, (list, tuple)) and {str}.issuperset(map(type, value)),
    "Mapping[Any, float]": lambda value: isinstance(value, dict),
    "tuple[int, int]": lambda value: _is_pair(value) and all(map(_is_whole, value)),
    "Ngram": lambda value: isinstance(value, str) or _is_ids(value),
    "Ids": _is_ids,
    "Pattern": lambda value: isinstance(value, Pattern),
    "Corpus": lambda value: isinstance(value, Corpus),
    "Ngrams": _are_ngrams,
    "Sequence[Ngram]": _are_ngrams,
    "Documents": lambda value: isinstance(value, (list, tuple)) and all(map(_is_document, value)),
    "ModelLike": lambda value: isinstance(value, str),
    "Sequence[ModelLike]": lambda value: (
        isinstance(value, (list, tuple)) and {str}.issuperset(map(type, value))
    ),
    "Orders": lambda value: value is None or isinstance(value, (str, int)) or _are_orders(value),
    "ParameterValues": lambda value: value is None or isinstance(value, (list, tuple, dict)),
    "Progress": lambda value: False,
}
#: Descriptions of types in messages, other than those that are names in Python.
SAID = {
    "None": "null",
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "Literal['sentence']": "'sentence'",
    "Sequence[str]": "a list of strings",
    "Mapping[Any, float]": "an object",
    "tuple[int, int]": "a pair of integers",
    "Ngram": "a string or token ids",
    "Ids": "token ids",
    "Pattern": "a pattern",
    "Corpus": "a corpus",
    "Ngrams": "a list of n-grams (strings or token ids)",
    "Sequence[Ngram]": "a list of n-grams (strings or token ids)",
    "Documents": "a list of documents",
    "ModelLike": "a model as written after USING",
    "Sequence[ModelLike]": "a list of models",
    "Orders": "orders as written after ORDERS, or a list of them",
    "ParameterValues": "a list, or an object with names",
}


@lru_cache
def _signature_of(verb: str) -> inspect.Signature:
    return inspect.signature(getattr(Corpus, verb))


@lru_cache
def arguments_of(verb: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of a verb's arguments with the names of their types, all of them keys of `KINDS`."""
    parameters = _signature_of(verb).parameters.values()
    return {one.name: tuple(str(one.annotation).split(" | ")) for one in parameters if one.name != "self"}


def answered(
    named: Named, verb: str, fields: Mapping[str, Any], limits: Limits, work: Interrupt
) -> tuple[bytes, int]:
    """Return the answer as JSON, and its version. Raises Problem, and the verb's errors."""
    arguments = fields.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise Problem(400, "arguments must be an object with the names of arguments")
    corpus = named.hosted.connection.corpus(named.corpus)
    told: list[tuple[str, str]] = []
    with work, verbs.collected(told):
        for condition, params in _conditions(fields.get("where")):
            corpus = corpus.where(condition, params=params)
        asking = _Asking(corpus, named, verb, fields, limits, named.hosted.connection.version)
        if fields.get("each") is None:
            body, version = asking.answer(arguments, told)
        else:
            body, version = asking.answers(arguments, _places(fields["each"], limits), told)
    return asking.checked(body) + b"\n", version


@dataclass
class _Asking:
    """A verb of a corpus, and the fields of the request."""

    corpus: Corpus
    named: Named
    verb: str
    fields: Mapping[str, Any]
    limits: Limits
    version: int

    def answer(self, arguments: Mapping[str, Any], told: list[tuple[str, str]]) -> tuple[bytes, int]:
        """Return the answer to one call, and its version; `told` collects its warnings."""
        found = _found(self.corpus, self.named, self.verb, arguments)
        facts = {"ok": True, "corpus": self.named.name, "warnings": told}
        if not isinstance(found, Result):
            return json_of({**facts, "version": self.version, "value": wire.sent(found)}), self.version
        paging = given(PAGING, {name: self.fields.get(name) for name in ("limit", "offset")})
        most = self.limits.max_rows
        limit = most if paging["limit"] is None else min(paging["limit"], most)
        page = page_of(found, limit, paging["offset"], self.limits.max_answer)
        if page.late is not None:
            raise page.late
        page.facts = facts
        return as_json(page), page.version

    def answers(
        self,
        arguments: Mapping[str, Any],
        places: Iterable[Mapping[str, Any]],
        told: list[tuple[str, str]],
    ) -> tuple[bytes, int]:
        """Return the answers of a batch. An error is the answer of its place; stopped work ends them all."""
        answers = []
        size = 0
        for place in places:
            check()
            try:
                answer, _ = self.answer({**arguments, **place}, told)
            except errors.QueryCancelled:
                raise
            except (errors.NgramdbError, Problem) as error:
                answer = json_of(body_of(problem_of(error)))
            told.clear()
            answers.append(answer)
            size += len(answer)
            if size > self.limits.max_body:
                self.checked(b",\n".join(answers))
        head = json_of({"ok": True, "corpus": self.named.name, "version": self.version})
        return b'%b,\n"answers": [\n%b]}' % (head[:-1], b",\n".join(answers)), self.version

    def checked(self, body: bytes) -> bytes:
        """Return the body. Raises ResourceError if it is too long to be sent."""
        most = self.limits.max_body
        if len(body) > most:
            raise ResourceError(f"the answer has {len(body):,} bytes; this service sends at most {most:,}")
        return body


def _places(each: Any, limits: Limits) -> Iterator[dict[str, Any]]:
    """Return the arguments of each call of a batch. Raises Problem."""
    if not isinstance(each, dict) or not each or not all(isinstance(one, list) for one in each.values()):
        raise Problem(400, "each must be an object with lists, by the names of arguments")
    lengths = {len(values) for values in each.values()}
    if len(lengths) > 1:
        raise Problem(400, "the lists of each must have the same length")
    if max(lengths) > limits.max_batch:
        raise Problem(413, f"a batch has at most {limits.max_batch:,} calls, not {max(lengths):,}")
    return (dict(zip(each, place, strict=True)) for place in zip(*each.values(), strict=True))


def _found(corpus: Corpus, named: Named, verb: str, arguments: Any) -> Any:
    if verb in wire.PROPERTIES:
        return getattr(corpus, verb)
    known = arguments_of(verb)
    values = {}
    for name, value in arguments.items():
        if name not in known:
            raise Problem(400, f"{verb} has no argument {shortened(name)!r}; it has {', '.join(known)}")
        values[name] = wire.received(value, lambda other: _other(named, other))
        if not any(KINDS[kind](values[name]) for kind in known[name]):
            message = f"{name} of {verb} must be {', or '.join(SAID.get(kind, kind) for kind in known[name])}"
            raise Problem(400, message, parameter=name, type="InvalidArgument")
    try:
        _signature_of(verb).bind(corpus, **values)
    except TypeError as error:
        raise Problem(400, f"{verb}: {error}") from None
    return getattr(corpus, verb)(**values)


def _other(named: Named, name: str) -> Corpus:
    """Return another corpus of the same database."""
    return named.hosted.connection.corpus(name)


def _conditions(where: Any) -> list[tuple[str, Any]]:
    """Return the conditions that select documents, with their parameters. Raises Problem."""
    pairs = [] if where is None else where
    if not isinstance(pairs, list) or len(pairs) > MOST_CONDITIONS:
        raise Problem(
            400, f"where must be a list of at most {MOST_CONDITIONS} conditions, each with its parameters"
        )
    found = []
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)):
            message = "a condition of where must be a pair: a string, and its parameters or null"
            raise Problem(400, message, type="InvalidArgument")
        params = wire.received(pair[1])
        if not KINDS["ParameterValues"](params):
            raise Problem(400, "the parameters of a condition must be a list or an object")
        found.append((pair[0], params))
    return found
