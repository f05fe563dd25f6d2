"""Requests: parameters of questions over HTTP and by tools of assistants, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.questions.arguments.texts import Pattern, Statement

#: Kinds of parameters, and the schema of each in OpenAPI.
SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "lengths": {"type": "string", "pattern": r"^\d+(\.\.\d+)?$"},
    "integer": {"type": "integer"},
    "number": {"type": "number", "minimum": 0},
    "flag": {"type": "boolean"},
    "ids": {"type": "string", "pattern": r"^\s*\[?\s*(\d+(\s*,\s*\d+)*)?\s*\]?\s*$"},
}


class Parameter(NamedTuple):
    """A parameter: its kind (`SCHEMAS`), purpose, default, least value of an integer, and choices."""

    name: str
    kind: str
    about: str
    default: Any = None
    least: int = 0
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return the parameter's JSON Schema."""
        found = dict(SCHEMAS[self.kind])
        if self.kind == "integer":
            found["minimum"] = self.least
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        return found


class Given:
    """The values of a request's parameters, with defaults for missing ones."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def text(self, name: str) -> str | None:
        """Return a text; None if it is missing or empty."""
        value: str | None = self._values[name]
        return value or None


class Asked(NamedTuple):
    """A request: values, corpus, version, and the rows of the page, `limit` of them after `offset`."""

    given: Given
    corpus: str
    version: int | None
    limit: int
    offset: int


class Planned(NamedTuple):
    """A statement, and the number of its first rows to skip."""

    statement: Statement
    skipped: int = 0


Q = Parameter("q", "text", "an n-gram, as text")
IDS = Parameter("ids", "ids", "the n-gram as token ids instead")
PATTERN = Parameter("pattern", "text", 'an expression of the language instead, as `"a" [0..2] "b"`')
MATCH_TEXT = Parameter("match_text", "flag", "match text, whatever its tokens", False)
IGNORE_CASE = Parameter("ignore_case", "flag", "ignore case", False)
SENTENCE = Parameter("sentence", "flag", "the sentence instead of a window")
WHERE = Parameter("where", "text", "only documents that meet this condition, as after WHERE")
RETURNING = Parameter("returning", "text", "fields to put beside each row, with commas between")
ORDER_DOCUMENTS = Parameter("order", "text", "fields to sort by, with commas between")
DESCENDING = Parameter("descending", "flag", "the reverse order", False)
SAMPLE = Parameter("sample", "integer", "draw that many rows at random", least=1)
SEED = Parameter("seed", "integer", "the same seed draws the same rows")
PATTERN_PARAMETERS = (Q, IDS, PATTERN, MATCH_TEXT, IGNORE_CASE)


def pattern_of(given: Given) -> Pattern:
    """Return the n-gram or the pattern. Raises InvalidArgument unless exactly one of the three is given."""
    ways = [name for name in ("q", "ids", "pattern") if given[name] is not None]
    if len(ways) != 1:
        raise InvalidArgument("give exactly one of q (text), ids (token ids) and pattern")
    expression = given["pattern"]
    ngram = given["q"] if given["ids"] is None else given["ids"]
    return Pattern(ngram, expression, given["match_text"], given["ignore_case"])


def is_sampled(given: Given) -> bool:
    """Return True if rows are drawn without a seed."""
    return given["sample"] is not None and given["seed"] is None


def ngram_of(given: Given) -> str | list[int]:
    """Return the n-gram. Raises InvalidArgument if it is missing or given twice."""
    if given["ids"] is None and given["q"] is None:
        raise InvalidArgument("give an n-gram as q (text) or ids (token ids)")
    return context_of(given)


def context_of(given: Given) -> str | list[int]:
    """Return the context, empty by default. Raises InvalidArgument if it is given twice."""
    ids: list[int] | None = given["ids"]
    text: str | None = given["q"]
    if ids is not None and text is not None:
        raise InvalidArgument("give either q (text) or ids (token ids), not both")
    return ids if ids is not None else text or ""


def is_of_sentence(given: Given) -> bool:
    """Return True if the window is the sentence. Raises InvalidArgument if it also has a number."""
    if given["sentence"] and given["window"] is not None:
        raise InvalidArgument("give either window (tokens on either side) or sentence, not both")
    return bool(given["sentence"])
