"""How often something occurs by the values of a field, or by periods of them: COUNT … GROUP BY."""

from __future__ import annotations

from ngramdb.api.arguments.texts import Statement, fields_of
from ngramdb.errors import InvalidArgument
from ngramdb.serve.forms import Parameter
from ngramdb.serve.questions import (
    IDS,
    IGNORE_CASE,
    MATCH_TEXT,
    PATTERN,
    WHERE,
    Asked,
    Planned,
    Q,
    pattern_of,
)

PARAMETERS = (
    Q,
    IDS,
    PATTERN,
    MATCH_TEXT,
    IGNORE_CASE,
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
        "relative", "flag", "of occurrences: with the tokens of each value, and the count per million", False
    ),
)
ABOUT = "How often it occurs by a field or by period: COUNT … GROUP BY."
#: The groups of a period of dates: a month is one of a year.
_PARTS = {"year": ("YEAR",), "month": ("YEAR", "MONTH"), "day": ("YEAR", "MONTH", "DAY")}


def plan(asked: Asked) -> Planned:
    """The statement that counts.

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
    return Planned(statement, asked.offset)


def _groups(field: str, period: str | None) -> tuple[str, ...]:
    """What the values of a field are grouped by. Raises InvalidArgument."""
    if period is None:
        return (field,)
    if period in _PARTS:
        return tuple(f"{part}({field})" for part in _PARTS[period])
    if not (period.isascii() and period.isdigit() and len(period) < 10 and int(period)):
        raise InvalidArgument(f"period is a number of years, or {', '.join(_PARTS)}, not {period[:20]!r}")
    return (f"{field} / {int(period)} * {int(period)}",)


def _counted(asked: Asked) -> Statement:
    """COUNT of occurrences, or of documents, and of which ones. Raises InvalidArgument."""
    given = asked.given
    where = given.text("where")
    has_pattern = any(given[name] is not None for name in ("q", "ids", "pattern"))
    if has_pattern and not given["documents"]:
        statement = Statement("COUNT", "COUNT").pattern(pattern_of(given))
        if given["relative"]:
            statement.add("PER MILLION")
        return asked.source(statement).where(where)
    if given["relative"]:
        raise InvalidArgument("relative is of occurrences, per million tokens: say which, without documents")
    statement = asked.source(Statement("COUNT DOCS", "COUNT DOCS"))
    if not has_pattern:
        return statement.where(where)
    statement.add("WHERE (").join(Statement().pattern(pattern_of(given))).add(")")
    return statement.condition("AND (", where).add(")") if where else statement
