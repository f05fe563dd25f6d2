"""KWIC: occurrences in their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.questions.arguments import to_ast
from ngramdb.questions.arguments.texts import Statement
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.requests import SENTENCE, Given, Parameter, is_of_sentence, is_sampled
from ngramdb.questions.spelling import Condition, Occurring, Order, Returning, Sampled, Spelling
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner import cautions
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import python_warnings
    from ngramdb.questions.arguments.patterns import Pattern
    from ngramdb.questions.arguments.signatures import Ngram
    from ngramdb.questions.results import Places
else:
    cautions = lazy_module("ngramdb.planner.cautions")
    python_warnings = lazy_module("ngramdb.questions.python_warnings")


class Window(Spelling):
    """Tokens on either side, or `sentence`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "integer", self.about), SENTENCE)

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: "sentence" if is_of_sentence(given) else given[name]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name] == "sentence":
            statement.add("WINDOW SENTENCE")
        else:
            statement.number("WINDOW", arguments[name])


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
    def kwic(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        window: int | Literal["sentence"] | None = None,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sample: int | None = None,
        seed: int | None = None,
        returning: str | Sequence[str] | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The occurrences of an n-gram with the text to the left and right of each: KWIC.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        window : tokens on either side; 'sentence' for what is in the sentence of the occurrence
        order_by : 'doc_id' (then by position), 'left' or 'right', the text on that side; or the field, or the
            fields, of its document
        descending : the reverse order
        limit, offset : the greatest number of rows, and the number of rows to pass over before them
        sample, seed : the number of rows to draw at random; the same seed draws the same rows
        returning : the field, or the fields, of its document to put beside each line
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        Columns `doc_id`, `position` (in tokens, from 0), `left`, `match`, `right`, and those of `returning`;
        `summary['total']` is the number of all occurrences, also with a `limit` or a `sample`.
        """
        keys = to_ast.fields("order_by", order_by)
        if not keys and descending:
            keys = (to_ast.field("doc_id"),)
        tree = ast.Kwic(
            to_ast.occurring(pattern, match_text, ignore_case),
            window=ast.InSentence()
            if isinstance(window, str) and window == "sentence"
            else to_ast.number(0, "window", window),
            order_by=tuple(ast.OrderBy(key, descending) for key in keys),
            limit=to_ast.number(0, "limit", limit),
            offset=to_ast.number(0, "offset", offset),
            sample=_sample(sample, seed),
            returning=to_ast.fields("returning", returning),
        )
        return self._bound.ask(tree, where, params)

    @bool_arguments.checked
    def occurrences(
        self,
        pattern: Ngram | Pattern,
        where: str | None = None,
        *,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Places:
        """Where a pattern occurs, as arrays: the lines of KWIC without their texts.

        Parameters
        ----------
        pattern : text or token ids, or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        `doc_ids`, `positions` (in tokens, from 0) and `lengths`, (n,) int64 each, by document and position.

        Notes
        -----
        Cost: some 20 ns per occurrence, and 24 bytes.
        """
        bound = self._bound
        tree = ast.Kwic(to_ast.occurring(pattern, match_text, ignore_case), offset=ast.Value(0))
        plan = bound.optimized(bound.bind(tree, where, params))
        with bound.work():
            found = python_warnings.occurrences(plan)
        if not len(found.doc_ids) and plan.phrases:
            python_warnings.warn(cautions.cautions_of_nothing(plan))
        return found


DEFINITION = Definition(
    Verbs,
    "kwic",
    "KWIC",
    "Every occurrence in its context: KWIC.",
    {
        "pattern": Occurring(),
        "where": Condition(),
        "window": Window("tokens on either side"),
        "order_by": Order("`left`, `right` or `doc_id`, the order without it"),
        "sample": Sampled(),
        "returning": Returning(),
    },
    page="LIMIT",
    is_drawn=is_sampled,
    tool=Tool(
        "concordance",
        "Show where something occurs, each occurrence with the words to its left and right and its "
        "document: the evidence for how a word is used. `returning` adds fields (source, year, …) to "
        "each line; `sample` draws lines at random instead of the first ones.",
    ),
    help=Help(
        "KWIC condition [WHERE condition] [WINDOW n | SENTENCE] [ORDER BY keys] [LIMIT k] [OFFSET n]\n"
        "  [SAMPLE k [SEED s]] [RETURNING fields] [FROM source]",
        ('KWIC "machine learning" WINDOW 8 LIMIT 20', "where it stands, with its neighbours"),
        ('KWIC /wom[ae]n/ * "of"', "patterns: expressions, any token, alternatives, repetitions"),
        (
            'KWIC <s> "but" AND "peace" WITHIN SENTENCE',
            "sentences: where they begin and end, and what is in one",
        ),
    ),
)


def _sample(size: int | None, seed: int | None) -> ast.Sample | None:
    if size is None:
        if seed is not None:
            raise InvalidArgument("seed applies to samples only: give their size with sample=")
        return None
    return ast.Sample(to_ast.required(1, "sample", size), to_ast.number(0, "seed", seed))
