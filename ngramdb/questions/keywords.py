"""KEYWORDS: the n-grams that are more frequent in some documents than in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngramdb.errors import InvalidArgument
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.requests import WHERE, Parameter
from ngramdb.questions.spelling import MIN_COUNT, Number, Spelling
from ngramdb.questions.verbs import Asking, Bound
from ngramdb.registries import KEYNESS_MEASURES

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.verbs import Asking as Corpus  # all that is known of it here


class Documents(Spelling):
    """The condition of the documents, or all of them."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (WHERE,)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.where(arguments[name] or "length >= 0")


class Against(Spelling):
    """The condition of the documents that they are compared with, or the rest."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add("AGAINST").where(arguments[name])
        else:
            statement.add("AGAINST REST")


class Keyness(Spelling):
    """The measure, and `smoothing` of one of them."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "text", self.about, default, choices=KEYNESS_MEASURES),
            Parameter("smoothing", "number", "what by=simple adds to both frequencies; 1 by default"),
        )

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        by, smoothing = arguments[name], arguments["smoothing"]
        if smoothing is not None and by != "simple":
            raise InvalidArgument("smoothing applies to by=simple only")
        statement.add(f"BY {by.upper()}" + ("" if smoothing is None else f"({smoothing!r})"))


class Verbs(Asking):
    """Verbs of a corpus."""

    def keywords(
        self,
        where: str | None = None,
        against: str | Corpus | None = None,
        *,
        n: int = 1,
        by: str = "ll",
        smoothing: float = 1.0,
        min_count: int = 1,
        top: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The n-grams of some documents that are more frequent than in others: KEYWORDS.

        Parameters
        ----------
        where : the condition of the documents, with `?` or `:name` for `params`; None for all
        against : the condition of the others, or another corpus of the database, which is compared as a
            whole; None for the rest of this one
        n : tokens of an n-gram
        by : 'll' (log-likelihood of the two counts, Rayson & Garside 2000), 'logratio', 'chi2' or 'simple', a
            ratio of frequencies
        smoothing : what 'simple' adds to both frequencies per million
        min_count : the least number of occurrences in both parts together
        top : the greatest number of rows
        params : the values of the conditions' parameters, those of `where` first

        Returns
        -------
        Columns `ngram`, `token_ids`; the counts in both parts, `f1` and `f2`; the tokens of both, `N1` and
        `N2`; the measure. What is rarer in the documents than in the others comes last.

        Raises
        ------
        InvalidArgument
            A number out of range, a measure that does not exist, or a corpus of another database.
        NotSupportedError
            A part of a corpus, beside another corpus.
        """
        other: str | None = None
        theirs: Bound | None = getattr(against, "_bound", None)
        if theirs is not None:
            verb = "keywords against another corpus"
            self._bound.check_whole(verb)
            other = self._bound.name_of(theirs, verb)
        if not isinstance(by, str) or by not in KEYNESS_MEASURES:
            raise InvalidArgument(f"by is one of {', '.join(KEYNESS_MEASURES)}, not {by!r}")
        if where is None and against is None:
            raise InvalidArgument("keywords are those of a condition, or against another corpus: say which")
        for name, given, least in (("n", n, 1), ("min_count", min_count, 1), ("top", top, 0)):
            to_ast.at_least(least, name, given)
        if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float)) or not 0 < smoothing < 1e12:
            raise InvalidArgument(f"smoothing is a number above 0, not {smoothing!r}")
        name = f"`{self.name.replace('`', '``')}`"
        first = name if where is None else f"{name} WHERE {where}\n"
        if other is not None:
            second = f"`{other.replace('`', '``')}`"
        else:
            second = "REST" if against is None else f"{name} WHERE {against}\n"
        measure = f"simple({smoothing!r})" if by == "simple" else by
        limit = "" if top is None else f" TOP {top}"
        text = f"KEYWORDS OF {first} AGAINST {second} NGRAMS {n} BY {measure} MIN COUNT {min_count}{limit}"
        return self._bound.run(self._bound.bind_text(text, params))


DEFINITION = Definition(
    Verbs,
    "keywords",
    "KEYWORDS OF",
    "What is more frequent in some documents than in others: KEYWORDS.",
    {
        "where": Documents(),
        "against": Against("the condition of the others; without it, the rest"),
        "n": Number("tokens of an n-gram", least=1, after="NGRAMS"),
        "by": Keyness("the measure"),
        "min_count": MIN_COUNT,
    },
    before_from=2,
    page="TOP",
    help=Help(
        "KEYWORDS [OF] documents AGAINST documents | REST [NGRAMS n] [BY keyness] "
        "[MIN COUNT k] [TOP k] [FROM source]",
        ("KEYWORDS OF WHERE year < 1950 AGAINST REST TOP 20", "what is typical of some documents"),
    ),
)
