"""NGRAMS: the most frequent n-grams."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.requests import Given, Parameter
from ngramdb.questions.spelling import MIN_COUNT, Condition, Spelling, Switch, Words
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.arguments.patterns import Pattern
    from ngramdb.questions.arguments.signatures import Ngram

_LENGTHS = re.compile(r"[0-9]{1,9}(\.\.[0-9]{1,9})?")


class Lengths(Spelling):
    """A number of tokens, or the least and the greatest."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "lengths", self.about, "2"),)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        if not _LENGTHS.fullmatch(given[name]):
            raise InvalidArgument("n is a number of tokens, as 2, or the least and the greatest one, as 2..4")
        return {name: given[name]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(arguments[name])


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
    def ngrams(
        self,
        n: int | tuple[int, int],
        where: str | None = None,
        *,
        top: int | None = None,
        min_count: int = 1,
        containing: Ngram | Pattern | None = None,
        starting: Ngram | None = None,
        ending: Ngram | None = None,
        ignore_case: bool = False,
        with_docs: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The n-grams of `n` tokens, the most frequent first: NGRAMS.

        Parameters
        ----------
        n : tokens of an n-gram, or a pair, the least and the greatest number
        where, params : only in documents that meet this condition
        top : the greatest number of n-grams; without it all of them, made as they are read
        min_count : only n-grams that occur so often
        containing : only n-grams with this n-gram, or this pattern, in them
        starting, ending : only n-grams with this n-gram at their beginning or end
        ignore_case : count n-grams together that differ in letters' case only
        with_docs : in how many documents each occurs, as a column `docs`

        Returns
        -------
        Columns `ngram`, `token_ids`, `count`.
        """
        contained = to_ast.pattern_tree(containing)
        tree = ast.Ngrams(
            _lengths(n),
            min_count=to_ast.required(1, "min_count", min_count),
            containing=contained,
            starting=to_ast.part(starting),
            ending=to_ast.part(ending),
            ignore_case=ignore_case,
            with_docs=with_docs,
            top=to_ast.number(0, "top", top),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "ngrams",
    "NGRAMS",
    "The most frequent n-grams: NGRAMS.",
    {
        "n": Lengths("tokens of an n-gram: `2`, or `2..4`"),
        "where": Condition(),
        "min_count": MIN_COUNT,
        "containing": Words("only n-grams with this one in them", "CONTAINING"),
        "starting": Words("only n-grams that begin with this one", "STARTING WITH"),
        "ending": Words("only n-grams that end with this one", "ENDING WITH"),
        "ignore_case": Switch("ignore letters' case"),
        "with_docs": Switch("in how many documents each occurs"),
    },
    before_from=2,
    written=("n", "ignore_case", "where", "min_count", "containing", "starting", "ending", "with_docs"),
    page="TOP",
    tool=Tool("frequent_ngrams", "The most frequent n-grams of n tokens, in all or some documents."),
    help=Help(
        "NGRAMS n | n..m [IGNORE CASE] [WHERE condition] [MIN COUNT k] "
        "[CONTAINING pattern] [STARTING [WITH] ngram]\n"
        "  [ENDING [WITH] ngram] [WITH DOCS] [TOP k] [FROM source]",
        ("NGRAMS 3 TOP 10", "the most frequent n-grams"),
    ),
)


def _lengths(n: Any) -> ast.Lengths | ast.Value:
    """Return the lengths of a verb's arguments. Raises InvalidArgument."""
    if not (isinstance(n, tuple) and len(n) == 2):
        return to_ast.required(1, "n", n)
    low, high = (to_ast.whole(1, "n", bound) for bound in n)
    if low > high:
        raise InvalidArgument(f"n is a number of tokens, or a pair (least, most), not {n!r}")
    return ast.Lengths(low, high)
