"""Requests over HTTP and by tools of assistants: their parameters, values, and statements as text.

A `Spelling` says which parameters of a request, and which clause of a statement, a parameter of a verb has.
A `Statement` has two texts: `text`, with placeholders for n-grams, so that the same query for another n-gram
has the same text; and `shown`, in which they are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb import types
    from ngramdb.questions import parsing, to_ast
else:
    to_ast = lazy_module("ngramdb.questions.to_ast")
    types = lazy_module("ngramdb.types")
    parsing = lazy_module("ngramdb.questions.parsing")


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
IDS = Parameter("ids", "ids", "token ids, in place of q")
PATTERN = Parameter("pattern", "text", 'an expression of the language instead, as `"a" [0..2] "b"`')
MATCH_TEXT = Parameter("match_text", "flag", "match as text, however it is tokenized", False)
IGNORE_CASE = Parameter("ignore_case", "flag", "ignore case", False)
SENTENCE = Parameter("sentence", "flag", "use the sentence as the window")
WHERE = Parameter("where", "text", "condition on documents, as after WHERE")
RETURNING = Parameter("returning", "text", "fields to return with each row, separated by commas")
ORDER_DOCUMENTS = Parameter("order", "text", "fields to sort by, separated by commas")
DESCENDING = Parameter("descending", "flag", "reverse the order", False)
SAMPLE = Parameter("sample", "integer", "number of rows to draw at random", least=1)
SEED = Parameter("seed", "integer", "seed of the sample; the same seed draws the same rows")
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


# ---- spellings of the parameters of verbs


@dataclass(eq=False, repr=False)
class Spelling:
    """Base class of spellings: a parameter that requests lack."""

    about: str = ""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        """Return the parameters of a request for the verb's parameter `name`."""
        return ()

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        """Return these parameters as arguments of the verb. Raises InvalidArgument."""
        return {one.name: given[one.name] for one in self.requested(name, None)}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        """Add the clause of the argument to a statement."""


class Occurring(Spelling):
    """An n-gram or a pattern, with `match_text` and `ignore_case`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return PATTERN_PARAMETERS

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: pattern_of(given)}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.pattern(arguments[name])


@dataclass(eq=False, repr=False)
class Passage(Spelling):
    """A text or token ids, after the words `after`; empty by default if it is not `required`."""

    after: str = ""
    required: bool = True

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter("q", "text", self.about) if self.about else Q, IDS)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: ngram_of(given) if self.required else context_of(given)}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.ngram(arguments[name], self.after)


@dataclass(eq=False, repr=False)
class Words(Spelling):
    """A further n-gram, as text, after the words `after`; written even if empty if it `stays`."""

    after: str = ""
    stays: bool = False

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name] or self.stays:
            statement.ngram(arguments[name] or "", self.after)


class Condition(Spelling):
    """A condition on documents: WHERE."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (WHERE,)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: given.text(name)}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.where(arguments[name])


@dataclass(eq=False, repr=False)
class Number(Spelling):
    """A number, after the parameter's name or `after`; its default is not written if it is `implied`."""

    least: int = 0
    kind: str = "integer"
    after: str = ""
    implied: bool = False

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, self.kind, self.about, None if self.implied else default, self.least),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.number(self.after or clause_of(name), arguments[name])


class Switch(Spelling):
    """A flag that is a clause."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "flag", self.about, default),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(clause_of(name))


@dataclass(eq=False, repr=False)
class OneOf(Spelling):
    """One of several words."""

    choices: tuple[str, ...] = ()

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about, default, choices=self.choices),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(f"{clause_of(name)} {arguments[name].upper()}")


class Order(Spelling):
    """The keys of ORDER BY, and `descending`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter("order", "text", self.about), DESCENDING)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: fields_of(given["order"]), "descending": given["descending"]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.order(arguments[name], arguments["descending"])


class Sampled(Spelling):
    """The size of a sample, and `seed`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (SAMPLE, SEED)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.sample(arguments["sample"], arguments["seed"])


class Returning(Spelling):
    """Fields beside each row."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (RETURNING,)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: fields_of(given[name])}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.returning(arguments[name])


class Model(Spelling):
    """A language model: USING."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", "a language model, as after USING", default),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        to_ast.as_model(arguments[name])
        statement.using(arguments[name])


#: The least count, a parameter of several statements.
MIN_COUNT = Number("the least number of occurrences", least=1, implied=True)


def clause_of(name: str) -> str:
    """Return the words of the clause of a parameter."""
    return name.upper().replace("_", " ")


# ---- statements as text


Ngram = str | Sequence[int]


class Pattern(NamedTuple):
    """A search pattern: an n-gram (text or token ids), or an expression of the language as text."""

    ngram: Ngram | None = None
    expression: str | None = None
    match_text: bool = False
    ignore_case: bool = False


@dataclass(eq=False)
class Statement:
    """A statement built clause by clause; `values` are those of the placeholders in `text`."""

    text: str = ""
    shown: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, clause: str) -> Statement:
        """Add a clause, as written."""
        glue = " " if self.text else ""
        self.text += glue + clause
        self.shown += glue + clause
        return self

    def both(self, clause: str, shown: str) -> Statement:
        """Add a clause with a different form in `shown`."""
        self.text += f" {clause}"
        self.shown += f" {shown}"
        return self

    def join(self, other: Statement) -> Statement:
        """Append another statement; only one of the two may have n-grams."""
        self.text += f" {other.text}"
        self.shown += f" {other.shown}"
        self.values.update(other.values)
        return self

    def ngram(self, ngram: Ngram, before: str = "") -> Statement:
        """Add an n-gram, after the words `before`."""
        name = f"_{len(self.values) + 1}"
        value = ngram if isinstance(ngram, str) else types.token_ids(ngram).tolist()
        self.values[name] = value
        written = parsing.quoted_ngram(value)
        glue, head = " " if self.text else "", f"{before} " if before else ""
        self.text += f"{glue}{head}:{name}"
        self.shown += f"{glue}{head}{written}"
        return self

    def pattern(self, pattern: Pattern) -> Statement:
        """Add a pattern."""
        flags = {"MATCH TEXT": pattern.match_text, "IGNORE CASE": pattern.ignore_case}
        modifiers = "".join(f" {words}" for words, is_set in flags.items() if is_set)
        if pattern.expression is not None:
            # The line break ends a comment.
            whole = f"({pattern.expression}\n){modifiers}" if modifiers else pattern.expression
            return self.condition("", whole)
        self.ngram("" if pattern.ngram is None else pattern.ngram)
        return self.add(modifiers[1:]) if modifiers else self

    def condition(self, word: str, condition: str | None) -> Statement:
        """Add a clause for a user's condition; None for no clause. Raises ParseError."""
        if condition is None:
            return self
        parsing.parsed_condition(condition)  # complete by itself
        # A comment in it ends with its line.
        tail = "\n" if "--" in condition else ""
        return self.add(f"{word} {condition}{tail}".lstrip(" "))

    def number(self, word: str, value: int | float | None) -> Statement:
        """Add a clause with a number; None for no clause."""
        return self if value is None else self.add(f"{word} {value}")

    def where(self, where: str | None) -> Statement:
        """Add WHERE."""
        return self.condition("WHERE", where)

    def source(self, corpus: str, version: int | None = None) -> Statement:
        """Add FROM."""
        at = "" if version is None else f" AT VERSION {version}"
        return self.add(f"FROM {quoted_name(corpus)}{at}")

    def order(self, keys: Sequence[str], descending: bool) -> Statement:
        """Add ORDER BY; without keys, documents are in the order of their ids."""
        if not keys and not descending:
            return self
        keys, way = keys or ("doc_id",), " DESC" if descending else ""
        return self.add("ORDER BY " + ", ".join(f"{key}{way}" for key in keys))

    def sample(self, size: int | None, seed: int | None) -> Statement:
        """Add SAMPLE … SEED."""
        if size is None:
            return self
        return self.add(f"SAMPLE {size}").number("SEED", seed)

    def returning(self, fields: Sequence[str]) -> Statement:
        """Add RETURNING."""
        return self.add("RETURNING " + ", ".join(fields)) if fields else self

    def using(self, model: str | None) -> Statement:
        """Add USING; None for the default."""
        return self if model is None else self.add(f"USING {model}")


def quoted_name(name: str) -> str:
    """Return a name in the syntax of statements: in backquotes unless it is a plain word."""
    if name.isascii() and name.isidentifier():
        return name
    return "`" + name.replace("`", "``") + "`"


def fields_of(text: str | None) -> tuple[str, ...]:
    """Split a list of fields as in statements: `year, meta.kind`; a comma in backquotes belongs to a name."""
    return tuple(filter(None, (part.strip() for part in _parts(text or ""))))


def _parts(text: str) -> Iterator[str]:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        raise InvalidArgument(f"a backquote is not closed in {text!r}")
    part = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            part += f"`{piece}`"
            continue
        first, *others = piece.split(",")
        part += first
        for other in others:
            yield part
            part = other
    yield part
