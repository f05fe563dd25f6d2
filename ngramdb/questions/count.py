"""COUNT: numbers of occurrences, also by groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument, ParseError
from ngramdb.lazy import lazy_module
from ngramdb.questions import model_queries
from ngramdb.questions.arguments.texts import Statement, fields_of
from ngramdb.questions.definition import Definition, Help, Tool, WrittenByHand
from ngramdb.questions.requests import PATTERN_PARAMETERS, WHERE, Asked, Parameter, pattern_of
from ngramdb.questions.spelling import Condition, Occurring
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.language import ast, parser
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.arguments import to_ast
    from ngramdb.questions.arguments.patterns import Pattern
    from ngramdb.questions.arguments.signatures import Ngram
else:
    ast = lazy_module("ngramdb.language.ast")
    parser = lazy_module("ngramdb.language.parser")
    to_ast = lazy_module("ngramdb.questions.arguments.to_ast")


class Verbs(Asking):
    """Verbs of a corpus."""

    # Not for keywords only: looking up their defaults takes a tenth of the time of a question in token ids.
    def count(
        self,
        ngram: Ngram | Pattern,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """The number of occurrences of an n-gram; `count([])` is the number of tokens.

        Parameters
        ----------
        ngram : text or token ids, or a pattern (`ngramdb.pattern`)
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies
        where, params : only in documents that meet this condition

        Raises
        ------
        InvalidArgument
            Something that is neither text nor token ids, or a text without tokens.

        Notes
        -----
        Cost: one search per segment, about a microsecond; some 0.1 µs more than the kernel's call.
        """
        bound = self._bound
        if match_text is not None or ignore_case is not None or where is not None or params is not None:
            match_text = bool_arguments.as_optional_flag("match_text", match_text)
            ignore_case = bool_arguments.as_optional_flag("ignore_case", ignore_case)
            return bound.number(
                bound.bind(ast.Count(to_ast.occurring(ngram, match_text, ignore_case)), where, params)
            )
        if bound.snapshot.is_past:
            bound.rebind()
        if type(ngram) is list:  # the usual question, by the million
            count = bound.count  # called as a method it would take Python 3.11 longer
            try:
                return count(ngram)
            except (TypeError, OverflowError, ValueError) as error:
                cause = error
            bound.refuse(ngram, cause)  # outside of the handler: one error, not two
        return model_queries.count(bound, ngram)

    @bool_arguments.checked
    def counts(
        self,
        ngrams: Ngram | Pattern | Sequence[Ngram],
        where: str | None = None,
        *,
        group_by: str | Sequence[str] | None = None,
        per_million: bool = False,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The numbers of occurrences of n-grams as a table, also by groups and per million: COUNT … GROUP BY.

        Parameters
        ----------
        ngrams : an n-gram, or a list or column of them: texts or token ids; or a pattern (`ngramdb.pattern`)
        where, params : only in documents that meet this condition
        group_by : the field, or the fields, or what GROUP BY takes: 'year / 10 * 10', 'MONTH(date)',
            'UNNEST(tags)', 'RIGHT 1', 'FORM'
        per_million : also the numbers of tokens, and of occurrences per million of them
        order_by : columns by which rows are ordered
        descending : the reverse order
        top : the greatest number of rows, by count
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; if neither is given, the setting `match` applies

        Returns
        -------
        Columns `ngram`, where there are several, those of `group_by`, `count`; `tokens` and `per_million`.

        Raises
        ------
        QueryError
            A condition or a group that cannot be parsed or bound, or a value that is missing.
        """
        with self._bound.work() as work:
            first, *others = to_ast.occurring_each(ngrams, match_text, ignore_case)
            keys = _group_keys("order_by", order_by)
            tree = ast.Count(
                first,
                others=tuple(others),
                group_by=_group_keys("group_by", group_by),
                per_million=per_million,
                order_by=tuple(ast.OrderBy(key, descending) for key in keys),
                top=to_ast.number(0, "top", top),
            )
        return self._bound.ask(tree, where, params, work)


#: Patterns and conditions, for assistants.
SYNTAX = """\
"n-gram" in double quotes is counted as tokens; "x" MATCH TEXT as text, whatever its tokens; \
"x" IGNORE CASE; "a" [0..3] "b" with a gap of up to 3 tokens; AND, OR, NOT, parentheses; \
… WITHIN 5 TOKENS; conditions on fields: year > 1990, source = 'news', title LIKE 'A%'."""

DEFINITION = Definition(
    Verbs,
    "count",
    "COUNT",
    "How often it occurs: COUNT.",
    {"ngram": Occurring(), "where": Condition()},
    tool=Tool(
        "count",
        "Count exactly how often something occurs in a corpus. Give `q`, words as they stand, or "
        f"`pattern`, an expression: {SYNTAX} `where` limits the documents.",
    ),
    help=Help(
        "COUNT condition {, condition} [PER MILLION] [WHERE condition] "
        "[GROUP BY group {, group}] [ORDER BY keys]\n"
        "  [TOP k] [SAMPLE k [SEED s]] [FROM source]\n"
        "COUNT DOCS [WHERE condition] [GROUP BY group {, group}] [ORDER BY keys] [TOP k] [FROM source]",
        ('COUNT "of the"', "occurrences of an n-gram"),
        ('COUNT "of the" GROUP BY source', "the same per value of a metadata field"),
        ('COUNT "he", "she" PER MILLION GROUP BY year / 10 * 10', "several n-grams, per million, by decade"),
        ('COUNT "climate" GROUP BY RIGHT 1 TOP 10', "what stands to its right; also LEFT 1, FORM"),
        ('COUNT DOCS WHERE "good" AND NOT "bad"', "matching documents"),
    ),
)


def _group_keys(argument: str, given: str | Sequence[str] | None) -> tuple[ast.GroupKey, ...]:
    """Return the keys that names of fields, or other groups in the language, are. Raises InvalidArgument."""
    found: list[ast.GroupKey] = []
    for name in to_ast.names(argument, given):
        try:
            found.extend(parser.parse_group_keys(name))
        except ParseError:
            found.append(to_ast.field(name))  # as DESCRIBE shows it, without backquotes
    return tuple(found)


# ---- COUNT … GROUP BY as a request: no verb has periods, or counts documents by a field.

#: The groups of a period of dates: a month is one of a year.
_PARTS = {"year": ("YEAR",), "month": ("YEAR", "MONTH"), "day": ("YEAR", "MONTH", "DAY")}


def _frequency(asked: Asked) -> Statement:
    """Return the statement that counts by groups.

    Raises
    ------
    InvalidArgument
        No field, a period that makes no sense, or documents per million tokens.
    """
    given = asked.given
    fields = fields_of(given["by"])
    if not fields:
        raise InvalidArgument("say by which field: by=…")
    groups = (*_groups(fields[0], given.text("period")), *fields[1:])
    statement = _counted(asked).add(f"GROUP BY {', '.join(groups)}")
    if given["order"] == "count":
        statement.add("ORDER BY count DESC")
    return statement


def _groups(field: str, period: str | None) -> tuple[str, ...]:
    """Return the groups of the values of a field. Raises InvalidArgument."""
    if period is None:
        return (field,)
    if period in _PARTS:
        return tuple(f"{part}({field})" for part in _PARTS[period])
    if not (period.isascii() and period.isdigit() and len(period) < 10 and int(period)):
        raise InvalidArgument(f"period is a number of years, or {', '.join(_PARTS)}, not {period[:20]!r}")
    return (f"{field} / {int(period)} * {int(period)}",)


def _counted(asked: Asked) -> Statement:
    """Return COUNT of occurrences or of documents, without groups. Raises InvalidArgument."""
    given = asked.given
    where = given.text("where")
    has_pattern = any(given[name] is not None for name in ("q", "ids", "pattern"))
    if has_pattern and not given["documents"]:
        statement = Statement("COUNT", "COUNT").pattern(pattern_of(given))
        if given["relative"]:
            statement.add("PER MILLION")
        return statement.source(asked.corpus, asked.version).where(where)
    if given["relative"]:
        raise InvalidArgument("relative is of occurrences, per million tokens: say which, without documents")
    statement = Statement("COUNT DOCS", "COUNT DOCS").source(asked.corpus, asked.version)
    if not has_pattern:
        return statement.where(where)
    statement.add("WHERE (").join(Statement().pattern(pattern_of(given))).add(")")
    return statement.condition("AND (", where).add(")") if where else statement


FREQUENCY = WrittenByHand(
    "How often it occurs by a field or by period: COUNT … GROUP BY.",
    (
        *PATTERN_PARAMETERS,
        WHERE,
        Parameter("by", "text", "the field, or fields with commas between"),
        Parameter(
            "period",
            "text",
            "values of the first field together: `10` for decades; `year`, `month` or `day` of a date",
        ),
        Parameter("documents", "flag", "count documents, not occurrences", False),
        Parameter("order", "text", "`value` of the field, or `count`", "value", choices=("value", "count")),
        Parameter(
            "relative",
            "flag",
            "of occurrences: with the tokens of each value, and the count per million",
            False,
        ),
    ),
    _frequency,
    tool=Tool(
        "count_by_field",
        "Count occurrences (or, with `documents`, documents) by the values of a metadata field, or by "
        "period: by year for a trend, by source for a comparison. `relative` adds the count per million "
        "tokens, which is what to compare where parts differ in size.",
        ("by",),
    ),
)
