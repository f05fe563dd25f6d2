"""COLLOCATES: the tokens near occurrences of a pattern, by association."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.requests import SENTENCE, Given, Parameter, is_of_sentence
from ngramdb.questions.spelling import MIN_COUNT, Condition, Occurring, OneOf, Spelling
from ngramdb.questions.verbs import Asking
from ngramdb.registries import ASSOCIATION_MEASURES

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.arguments.patterns import Pattern
    from ngramdb.questions.arguments.signatures import Ngram


class Window(Spelling):
    """Tokens on either side, or `sentence`; and `within_sentence`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "integer", f"tokens on either side; {default} without it"),
            SENTENCE,
            Parameter("within_sentence", "flag", "a window ends where the sentence does", False),
        )

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        if is_of_sentence(given):  # which no window leaves, so that `within_sentence` adds nothing
            return {name: "sentence"}
        window = {} if given[name] is None else {name: given[name]}
        return {**window, "within_sentence": given["within_sentence"]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name] == "sentence":
            statement.add("WINDOW SENTENCE")
            return
        statement.number("WINDOW", arguments[name])
        if arguments["within_sentence"]:
            statement.add("WITHIN SENTENCE")


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
    def collocates(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | tuple[int, int] | Literal["sentence"] = 5,
        by: str = "logdice",
        min_count: int = 1,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        within_sentence: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The tokens near an n-gram, the most closely associated first: COLLOCATES.

        Parameters
        ----------
        pattern : text or token ids, or a pattern; those near others need the statement COLLOCATES
        where, params : only in documents that meet this condition
        window : tokens on either side, or a pair (left, right); 'sentence' is all of its sentence
        by : 'logdice' (Rychlý 2008), 'll' (log-likelihood over four cells, Dunning 1993), 'mi', 'mi3', 't',
            'z', 'logratio' or 'dice'; the first and the last use the number of occurrences, the others `f1`
        min_count : the least `f` of a token
        top : the greatest number of rows
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies
        within_sentence : whether a window ends with the occurrence's sentence

        Returns
        -------
        Columns `token`, `token_id`; `f`, `left` and `right`, how often it is in a window, and on which side;
        `f1`, `f2` and `N`, the numbers of positions in windows, with the token, and of all; and the measure.

        Raises
        ------
        InvalidArgument
            A number out of range, or a measure that does not exist.
        """
        tree = ast.Collocates(
            to_ast.occurring(pattern, match_text, ignore_case),
            window=_around(window, within_sentence),
            by=to_ast.measure(by),
            min_count=to_ast.required(1, "min_count", min_count),
            top=to_ast.number(0, "top", top),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "collocates",
    "COLLOCATES OF",
    "The tokens near it, by association: COLLOCATES.",
    {
        "pattern": Occurring(),
        "where": Condition(),
        "window": Window(),
        "by": OneOf("the measure", ASSOCIATION_MEASURES),
        "min_count": MIN_COUNT,
    },
    page="TOP",
    tool=Tool(
        "collocates",
        "The words that stand near something more often than chance would have it, by a measure of "
        "association.",
    ),
    help=Help(
        "COLLOCATES [OF] condition [WHERE condition] [WINDOW n | n LEFT | n RIGHT | n LEFT n RIGHT]\n"
        "  [WINDOW … WITHIN SENTENCE | SENTENCE] [BY association] [MIN COUNT k] [TOP k] [FROM source]",
        ('COLLOCATES OF "climate" BY ll TOP 20', "the words that stand near it, by association"),
    ),
)


def _around(window: Any, within_sentence: bool) -> ast.Around:
    """Return the window of a verb's arguments. Raises InvalidArgument."""
    if isinstance(window, str) and window == "sentence":  # an array is compared item by item
        return ast.Around(None, None, ast.InSentence())
    sides = window if isinstance(window, tuple) else (window, window)
    if len(sides) != 2:
        raise InvalidArgument(
            f"window is a number of tokens, a pair (left, right), or 'sentence', not {window!r}"
        )
    left, right = (to_ast.required(0, "window", side) for side in sides)
    return ast.Around(left, right, ast.InSentence() if within_sentence else None)
