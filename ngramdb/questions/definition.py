"""Definitions of questions: the verb, and how requests spell its parameters.

Types and defaults are those of the verb's signature; a definition adds the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ngramdb.lazy import imported
from ngramdb.questions.requests import Asked, Given, Parameter, Planned, Spelling, Statement

#: The names of questions in addresses, in the order of the service's description, and their definitions.
ROUTES = {
    "count": "count_requests.DEFINITION",
    "concordance": "kwic.DEFINITION",
    "documents": "docs.DEFINITION",
    "next": "dist.DEFINITION",
    "before": "dist.BEFORE",
    "ngrams": "ngrams.DEFINITION",
    "collocates": "collocates.DEFINITION",
    "keywords": "keywords.DEFINITION",
    "dispersion": "dispersion.DEFINITION",
    "duplicates": "duplicate_spans.DEFINITION",
    "trace": "trace.DEFINITION",
    "near_duplicates": "near_duplicates.DEFINITION",
    "probability": "prob.DEFINITION",
    "score": "score.DEFINITION",
    "generate": "generate.DEFINITION",
    "perplexity": "perplexity.DEFINITION",
    "agreement": "agreement.DEFINITION",
    "novelty": "novelty.DEFINITION",
    "continuations": "continuations.DEFINITION",
    "frequency": "count_requests.FREQUENCY",
}


def request_named(route: str) -> Request:
    """Return the question at an address of a corpus; the first call imports its module."""
    module, _, name = ROUTES[route].partition(".")
    found: Request = getattr(imported(f"ngramdb.questions.{module}"), name)
    return found


class Tool(NamedTuple):
    """A question as a tool of assistants: its name, its description, and the parameters it requires."""

    name: str
    about: str
    required: tuple[str, ...] = ()


class Help:
    """The help on a statement: its syntax, and examples, each with its purpose."""

    def __init__(self, syntax: str, *examples: tuple[str, str]) -> None:
        self.syntax = syntax
        self.examples = examples


class Request:
    """A question as a request: its parameters, and the statement that they make.

    Attributes
    ----------
    about : one line for the description of the service
    page : the clause that limits rows to those of a page, TOP or LIMIT; None if the answer is short
    is_drawn : returns True if equal parameters may give different answers
    """

    about: str
    page: str | None
    is_drawn: Callable[[Given], bool]
    tool: Tool | None
    help: Help | None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of a request."""
        raise NotImplementedError

    def statement(self, asked: Asked) -> Statement:
        """Return the statement, without the rows of the page. Raises InvalidArgument."""
        raise NotImplementedError

    def is_sampled(self, given: Given) -> bool:
        """Return True if a number of rows is drawn."""
        return any(one.name == "sample" for one in self.parameters) and bool(given["sample"])

    def plan(self, asked: Asked) -> Planned:
        """Return the statement for a page of rows and one more row, which shows if there is a next page.

        Raises InvalidArgument.
        """
        statement = self.statement(asked)
        if self.page == "TOP":
            last = asked.offset + asked.limit
            statement.both(f"TOP {last + 1}", f"TOP {last}")
        if self.page != "LIMIT" or self.is_sampled(asked.given):
            return Planned(statement, asked.offset)
        statement.both(f"LIMIT {asked.limit + 1}", f"LIMIT {asked.limit}")
        if asked.offset:
            statement.number("OFFSET", asked.offset)
        return Planned(statement)


@dataclass(eq=False, repr=False)
class Definition(Request):
    """A question whose requests have the parameters of its verb.

    Attributes
    ----------
    verbs, verb : the class with the verb, and its name
    head : the first words of the statement
    spelled : spellings by the names of the verb's parameters, in the order of requests; a parameter that is
        missing cannot be given in a request
    before_from : the number of clauses before FROM
    written : the order of clauses, if it is not that of `spelled`
    """

    verbs: type
    verb: str
    head: str
    about: str
    spelled: Mapping[str, Spelling]
    before_from: int = 1
    written: tuple[str, ...] = ()
    page: str | None = None
    is_drawn: Callable[[Given], bool] = lambda given: False
    tool: Tool | None = None
    help: Help | None = None

    def __post_init__(self) -> None:
        if unknown := self.spelled.keys() - self.defaults.keys():
            raise TypeError(f"{self.verb} has no parameter {', '.join(unknown)}")

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the verb's parameters, by their names."""
        parameters = inspect.signature(vars(self.verbs)[self.verb]).parameters.values()
        return {one.name: one.default for one in list(parameters)[1:]}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        spelled = self.spelled.items()
        return tuple(one for name, how in spelled for one in how.requested(name, self.defaults[name]))

    def statement(self, asked: Asked) -> Statement:
        arguments, statement = dict(self.defaults), Statement(self.head, self.head)
        for name, how in self.spelled.items():
            arguments.update(how.argument(name, asked.given))
        names = self.written or tuple(self.spelled)
        for name in names[: self.before_from]:
            self.spelled[name].write(statement, name, arguments)
        statement.source(asked.corpus, asked.version)
        for name in names[self.before_from :]:
            self.spelled[name].write(statement, name, arguments)
        return statement


@dataclass(eq=False, repr=False)
class WrittenByHand(Request):
    """A question unlike any verb: its parameters, and a function that writes its statement."""

    about: str
    listed: tuple[Parameter, ...]
    write: Callable[[Asked], Statement]
    page: str | None = None
    is_drawn: Callable[[Given], bool] = lambda given: False
    tool: Tool | None = None
    help: Help | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.listed

    def statement(self, asked: Asked) -> Statement:
        return self.write(asked)
