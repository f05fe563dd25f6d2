"""COUNT as a request: over HTTP, as tools of assistants, and in help."""

from __future__ import annotations

from ngramdb.errors import InvalidArgument
from ngramdb.questions.count import Verbs
from ngramdb.questions.definition import Definition, Help, Tool, WrittenByHand
from ngramdb.questions.requests import (
    PATTERN_PARAMETERS,
    WHERE,
    Asked,
    Condition,
    Occurring,
    Parameter,
    Statement,
    fields_of,
    pattern_of,
)

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
        "Count exactly how often something occurs in a corpus. Give `q`, words as written, or "
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
        ('COUNT "climate" GROUP BY RIGHT 1 TOP 10', "the words to its right; also LEFT 1, FORM"),
        ('COUNT DOCS WHERE "good" AND NOT "bad"', "matching documents"),
    ),
)


# ---- COUNT … GROUP BY, written by hand: no verb has periods, or counts documents by a field.

#: The groups of a period of dates; months are those of each year.
_PARTS = {"year": ("YEAR",), "month": ("YEAR", "MONTH"), "day": ("YEAR", "MONTH", "DAY")}


def _frequency(asked: Asked) -> Statement:
    """Return the statement that counts by groups.

    Raises
    ------
    InvalidArgument
        The field is missing, the period is invalid, or documents are to be counted per million tokens.
    """
    given = asked.given
    fields = fields_of(given["by"])
    if not fields:
        raise InvalidArgument("by is missing: give the field by which to group")
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
        raise InvalidArgument(
            f"period must be a number of years, or {', '.join(_PARTS)}, not {period[:20]!r}"
        )
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
        raise InvalidArgument("relative counts occurrences per million tokens: give an n-gram, not documents")
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
