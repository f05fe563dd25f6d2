"""Spellings of a verb's parameters: the parameters of a request, and the clause of a statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngramdb.lazy import lazy_module
from ngramdb.questions.arguments.texts import Statement, fields_of
from ngramdb.questions.requests import (
    DESCENDING,
    IDS,
    PATTERN_PARAMETERS,
    RETURNING,
    SAMPLE,
    SEED,
    WHERE,
    Given,
    Parameter,
    Q,
    context_of,
    ngram_of,
    pattern_of,
)

if TYPE_CHECKING:
    from ngramdb.questions.arguments import models
else:
    models = lazy_module("ngramdb.questions.arguments.models")


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
        models.as_model(arguments[name])
        statement.using(arguments[name])


#: The least count, a parameter of several statements.
MIN_COUNT = Number("the least number of occurrences", least=1, implied=True)


def clause_of(name: str) -> str:
    """Return the words of the clause of a parameter."""
    return name.upper().replace("_", " ")
