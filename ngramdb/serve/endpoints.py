"""The questions that have an address below a corpus: their parameters, and the statements that they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ngramdb.api.arguments.texts import Pattern, Statement, fields_of
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES
from ngramdb.serve.request_parameters import Given, Parameter

if TYPE_CHECKING:
    from ngramdb.api.arguments import models
else:
    models = lazy_module("ngramdb.api.arguments.models")


@dataclass(frozen=True)
class Asked:
    """What a question is asked of, and which rows: `limit` of them, after the first `offset`."""

    given: Given
    corpus: str
    version: int | None
    limit: int
    offset: int

    def source(self, statement: Statement) -> Statement:
        """The statement with FROM, and WHERE where the question takes it."""
        return statement.source(self.corpus, self.version)


@dataclass(frozen=True)
class Planned:
    """A statement, and how many of its first rows are passed over."""

    statement: Statement
    skipped: int = 0


@dataclass(frozen=True)
class Question:
    """A question: what it answers, its parameters, and its statement.

    is_drawn : whether the answer is another one each time, with these parameters
    """

    about: str
    parameters: tuple[Parameter, ...]
    plan: Callable[[Asked], Planned]
    is_drawn: Callable[[Given], bool] = lambda given: False


Q = Parameter("q", "text", "an n-gram, as text")
IDS = Parameter("ids", "ids", "the n-gram as token ids instead")
PATTERN = Parameter("pattern", "text", 'an expression of the language instead, as `"a" [0..2] "b"`')
MATCH_TEXT = Parameter("match_text", "flag", "match text, whatever its tokens", False)
IGNORE_CASE = Parameter("ignore_case", "flag", "ignore letters' case", False)
SENTENCE = Parameter("sentence", "flag", "the sentence in the place of a window")
WHERE = Parameter("where", "text", "only in documents that meet this condition, as after WHERE")
RETURNING = Parameter("returning", "text", "fields to put beside each row, with commas between")
ORDER_LINES = Parameter("order", "text", "`left`, `right` or `doc_id`, the order without it")
ORDER_DOCUMENTS = Parameter("order", "text", "fields to sort by, with commas between")
DESCENDING = Parameter("descending", "flag", "the reverse order", False)
SAMPLE = Parameter("sample", "integer", "draw so many rows at random", least=1)
SEED = Parameter("seed", "integer", "the same seed draws the same rows")
MODEL = Parameter("model", "text", "a language model, as after USING", "ngram")
MIN_COUNT = Parameter("min_count", "integer", "only what occurs so often", least=1)
LIMIT = Parameter("limit", "integer", "rows of an answer", least=0)
OFFSET = Parameter("offset", "integer", "rows to pass over")
TIMEOUT = Parameter(
    "timeout", "number", "seconds that the question may take; at most the limit of the server"
)
#: In the address of a statement's next page: what the pages before are of.
PAGED_VERSION = Parameter("version", "integer", "the version that the rows before were read of")
PAGED_SEED = Parameter("seed", "integer", "the seed by which the rows before were drawn")
_LENGTHS = re.compile(r"[0-9]{1,9}(\.\.[0-9]{1,9})?")
_TOKENS_NEAR = 5
COMMON = (LIMIT, OFFSET, TIMEOUT)
DATABASE = Parameter("db", "text", "the database, of several")
CORPUS = Parameter("corpus", "text", "the corpus of a statement without FROM")
OF_STATEMENTS = (DATABASE, CORPUS, *COMMON, PAGED_VERSION, PAGED_SEED)
PATTERN_PARAMETERS = (Q, IDS, PATTERN, MATCH_TEXT, IGNORE_CASE)


def pattern_of(given: Given) -> Pattern:
    """What is looked for. Raises InvalidArgument unless one of the ways to say it was taken."""
    ways = [name for name in ("q", "ids", "pattern") if given[name] is not None]
    if len(ways) != 1:
        raise InvalidArgument("say what to look for by one of q (text), ids (token ids) and pattern")
    expression = given["pattern"]
    ngram = given["q"] if given["ids"] is None else given["ids"]
    return Pattern(ngram, expression, given["match_text"], given["ignore_case"])


def is_sampled(given: Given) -> bool:
    """Whether rows are drawn without a seed."""
    return given["sample"] is not None and given["seed"] is None


def _ngram(given: Given) -> str | list[int]:
    """The n-gram that a question is about. Raises InvalidArgument where there is none, or two."""
    if given["ids"] is None and given["q"] is None:
        raise InvalidArgument("say what to ask about by q (text) or ids (token ids)")
    return _context(given)


def _context(given: Given) -> str | list[int]:
    """A context, which is empty where none is given."""
    ids: list[int] | None = given["ids"]
    text: str | None = given["q"]
    if ids is not None and text is not None:
        raise InvalidArgument("either q (text) or ids (token ids)")
    return ids if ids is not None else text or ""


def _is_of_sentence(given: Given) -> bool:
    """Whether the window is the sentence. Raises InvalidArgument where it has a number of tokens, too."""
    if given["sentence"] and given["window"] is not None:
        raise InvalidArgument("either window (tokens on either side) or sentence")
    return bool(given["sentence"])


def _model(given: Given) -> str:
    model: str = given["model"]
    models.as_model(model)
    return model


def _topped(statement: Statement, asked: Asked) -> Planned:
    """The rows of the page, and one more, which tells whether there are more."""
    last = asked.offset + asked.limit
    statement.both(f"TOP {last + 1}", f"TOP {last}")
    return Planned(statement, asked.offset)


def _limited(statement: Statement, asked: Asked) -> Planned:
    statement.both(f"LIMIT {asked.limit + 1}", f"LIMIT {asked.limit}")
    if asked.offset:
        statement.number("OFFSET", asked.offset)
    return Planned(statement)


def _count(asked: Asked) -> Planned:
    statement = asked.source(Statement("COUNT", "COUNT").pattern(pattern_of(asked.given)))
    return Planned(statement.where(asked.given.text("where")), asked.offset)


def _concordance(asked: Asked) -> Planned:
    given = asked.given
    statement = asked.source(Statement("KWIC", "KWIC").pattern(pattern_of(given)))
    statement.where(given.text("where"))
    if _is_of_sentence(given):
        statement.add("WINDOW SENTENCE")
    else:
        statement.number("WINDOW", given["window"])
    statement.order(fields_of(given["order"]), given["descending"])
    statement.sample(given["sample"], given["seed"]).returning(fields_of(given["returning"]))
    return Planned(statement, asked.offset) if given["sample"] else _limited(statement, asked)


def _documents(asked: Asked) -> Planned:
    given = asked.given
    statement = asked.source(Statement("DOCS", "DOCS"))
    ways = [name for name in ("q", "ids", "pattern") if given[name] is not None]
    if ways:
        both = Statement().pattern(pattern_of(given))
        if given.text("where"):
            both = Statement().add("(").join(both).add(") AND (").condition("", given["where"]).add(")")
        statement.add("WHERE").join(both)
    else:
        statement.where(given.text("where"))
    statement.order(fields_of(given["order"]), given["descending"])
    statement.sample(given["sample"], given["seed"]).returning(fields_of(given["returning"]))
    return Planned(statement, asked.offset) if given["sample"] else _limited(statement, asked)


def _next(asked: Asked) -> Planned:
    statement = asked.source(Statement("DIST", "DIST").ngram(_context(asked.given), "GIVEN"))
    statement.where(asked.given.text("where")).using(_model(asked.given))
    return _topped(statement, asked)


def _before(asked: Asked) -> Planned:
    statement = asked.source(Statement("DIST", "DIST").ngram(_ngram(asked.given), "BEFORE"))
    return _topped(statement.where(asked.given.text("where")), asked)


def _ngrams(asked: Asked) -> Planned:
    given = asked.given
    if not _LENGTHS.fullmatch(given["n"]):
        raise InvalidArgument("n is a number of tokens, as 2, or the least and the greatest one, as 2..4")
    statement = Statement("NGRAMS", "NGRAMS").add(given["n"])
    if given["ignore_case"]:
        statement.add("IGNORE CASE")
    asked.source(statement).where(given.text("where")).number("MIN COUNT", given["min_count"])
    for name, words in (
        ("containing", "CONTAINING"),
        ("starting", "STARTING WITH"),
        ("ending", "ENDING WITH"),
    ):
        if given.text(name):
            statement.ngram(given[name], words)
    if given["with_docs"]:
        statement.add("WITH DOCS")
    return _topped(statement, asked)


def _collocates(asked: Asked) -> Planned:
    given = asked.given
    statement = asked.source(Statement("COLLOCATES OF", "COLLOCATES OF").pattern(pattern_of(given)))
    statement.where(given.text("where"))
    if _is_of_sentence(given):  # which no window leaves, so that `within_sentence` adds nothing
        statement.add("WINDOW SENTENCE")
    else:
        statement.number("WINDOW", _TOKENS_NEAR if given["window"] is None else given["window"])
        if given["within_sentence"]:
            statement.add("WITHIN SENTENCE")
    statement.add(f"BY {given['by'].upper()}").number("MIN COUNT", given["min_count"])
    return _topped(statement, asked)


def _keywords(asked: Asked) -> Planned:
    given = asked.given
    statement = Statement("KEYWORDS OF", "KEYWORDS OF").where(given.text("where") or "length >= 0")
    if given.text("against"):
        statement.add("AGAINST").where(given["against"])
    else:
        statement.add("AGAINST REST")
    by, smoothing = given["by"].upper(), given["smoothing"]
    if smoothing is not None:
        if by != "SIMPLE":
            raise InvalidArgument("smoothing applies to by=simple only")
        by = f"SIMPLE({smoothing!r})"
    asked.source(statement).number("NGRAMS", given["n"]).add(f"BY {by}")
    return _topped(statement.number("MIN COUNT", given["min_count"]), asked)


def _dispersion(asked: Asked) -> Planned:
    statement = asked.source(Statement("DISPERSION OF", "DISPERSION OF").pattern(pattern_of(asked.given)))
    statement.where(asked.given.text("where"))
    by = asked.given.text("by")
    return Planned(statement.add(f"BY {by}") if by else statement, asked.offset)


def _trace(asked: Asked) -> Planned:
    statement = asked.source(Statement("TRACE", "TRACE").ngram(_ngram(asked.given)))
    statement.where(asked.given.text("where")).number("MIN LENGTH", asked.given["min_length"])
    return Planned(statement, asked.offset)


def _probability(asked: Asked) -> Planned:
    statement = (
        Statement("PROB", "PROB").ngram(_ngram(asked.given)).ngram(asked.given["given"] or "", "GIVEN")
    )
    statement = asked.source(statement).where(asked.given.text("where")).using(_model(asked.given))
    return Planned(statement, asked.offset)


def _score(asked: Asked) -> Planned:
    statement = asked.source(Statement("SCORE", "SCORE").ngram(_ngram(asked.given)))
    statement.where(asked.given.text("where")).using(_model(asked.given))
    for unit in ("document", "sentence"):  # of which the statement refuses two
        if asked.given[unit]:
            statement.add(unit.upper())
    return Planned(statement, asked.offset)


def _generate(asked: Asked) -> Planned:
    given = asked.given
    statement = asked.source(Statement("GENERATE", "GENERATE").ngram(_context(given), "GIVEN"))
    statement.where(given.text("where")).using(_model(given)).number("TOKENS", given["tokens"])
    beams = "" if given["beams"] is None else f" ({given['beams']})"
    if given.text("method"):
        statement.add(f"METHOD {given['method'].upper()}{beams}")
    for name, word in (
        ("temperature", "TEMPERATURE"),
        ("top", "TOP"),
        ("nucleus", "NUCLEUS"),
        ("diversity", "DIVERSITY"),
        ("seed", "SEED"),
        ("n", "RETURN"),
    ):
        statement.number(word, given[name])
    return Planned(statement, asked.offset)


def _is_drawn(given: Given) -> bool:
    drawing = ("temperature", "top", "nucleus")
    return given["seed"] is None and (
        given["method"] == "sample" or any(given[name] is not None for name in drawing)
    )


QUESTIONS: dict[str, Question] = {
    "count": Question("How often it occurs: COUNT.", (*PATTERN_PARAMETERS, WHERE), _count),
    "concordance": Question(
        "Every occurrence in its context: KWIC.",
        (
            *PATTERN_PARAMETERS,
            WHERE,
            Parameter("window", "integer", "tokens on either side"),
            SENTENCE,
            ORDER_LINES,
            DESCENDING,
            SAMPLE,
            SEED,
            RETURNING,
        ),
        _concordance,
        is_sampled,
    ),
    "documents": Question(
        "Documents, those with an n-gram or those that meet a condition: DOCS.",
        (*PATTERN_PARAMETERS, WHERE, ORDER_DOCUMENTS, DESCENDING, SAMPLE, SEED, RETURNING),
        _documents,
        is_sampled,
    ),
    "next": Question(
        "What comes next: DIST GIVEN.",
        (
            Parameter("q", "text", "the context; without it, the tokens of the corpus by their share"),
            IDS,
            WHERE,
            MODEL,
        ),
        _next,
    ),
    "before": Question("What comes before: DIST BEFORE.", (Q, IDS, WHERE), _before),
    "ngrams": Question(
        "The most frequent n-grams: NGRAMS.",
        (
            Parameter("n", "lengths", "tokens of an n-gram: `2`, or `2..4`", "2"),
            WHERE,
            MIN_COUNT,
            Parameter("containing", "text", "only n-grams with this one in them"),
            Parameter("starting", "text", "only n-grams that begin with this one"),
            Parameter("ending", "text", "only n-grams that end with this one"),
            IGNORE_CASE,
            Parameter("with_docs", "flag", "in how many documents each occurs", False),
        ),
        _ngrams,
    ),
    "collocates": Question(
        "The tokens near it, by association: COLLOCATES.",
        (
            *PATTERN_PARAMETERS,
            WHERE,
            Parameter("window", "integer", f"tokens on either side; {_TOKENS_NEAR} without it"),
            SENTENCE,
            Parameter("within_sentence", "flag", "a window ends where the sentence does", False),
            Parameter("by", "text", "the measure", "logdice", choices=ASSOCIATION_MEASURES),
            MIN_COUNT,
        ),
        _collocates,
    ),
    "keywords": Question(
        "What is more frequent in some documents than in others: KEYWORDS.",
        (
            WHERE,
            Parameter("against", "text", "the condition of the others; without it, the rest"),
            Parameter("n", "integer", "tokens of an n-gram", 1, least=1),
            Parameter("by", "text", "the measure", "ll", choices=KEYNESS_MEASURES),
            Parameter("smoothing", "number", "what by=simple adds to both frequencies; 1 by default"),
            MIN_COUNT,
        ),
        _keywords,
    ),
    "dispersion": Question(
        "How evenly it is spread: DISPERSION.",
        (*PATTERN_PARAMETERS, WHERE, Parameter("by", "text", "the field whose values are the parts")),
        _dispersion,
    ),
    "trace": Question(
        "Which parts of a text stand in the corpus word for word: TRACE.",
        (
            Parameter("q", "text", "the text"),
            IDS,
            WHERE,
            Parameter("min_length", "integer", "the least number of tokens of a part", 1, least=1),
        ),
        _trace,
    ),
    "probability": Question(
        "How likely a continuation is: PROB.",
        (
            Parameter("q", "text", "the continuation"),
            IDS,
            Parameter("given", "text", "the context"),
            WHERE,
            MODEL,
        ),
        _probability,
    ),
    "score": Question(
        "How likely a text is, token by token: SCORE.",
        (
            Parameter("q", "text", "the text"),
            IDS,
            WHERE,
            MODEL,
            Parameter("document", "flag", "as a document, from its beginning to its end", False),
            Parameter("sentence", "flag", "cut into sentences, each from its beginning to its end", False),
        ),
        _score,
    ),
    "generate": Question(
        "How it might go on: GENERATE.",
        (
            Parameter("q", "text", "the context; without it, a text from its beginning"),
            IDS,
            WHERE,
            Parameter("model", "text", "a language model, as after USING", "infgram"),
            Parameter("tokens", "integer", "the greatest number of tokens", 20),
            Parameter("method", "text", "how tokens are chosen", choices=("greedy", "sample", "beam")),
            Parameter("beams", "integer", "beams of `beam`", least=1),
            Parameter("temperature", "number", "of `sample`: above 1 is flatter"),
            Parameter("top", "integer", "of `sample`: from so many of the most probable tokens", least=1),
            Parameter(
                "nucleus", "number", "of `sample`: from the fewest tokens of this probability together"
            ),
            Parameter("diversity", "number", "of `beam`: the penalty of tokens that other beams have"),
            SEED,
            Parameter("n", "integer", "the number of continuations", 1, least=1),
        ),
        _generate,
        _is_drawn,
    ),
}


# ---- How often something occurs by the values of a field, or by periods of them: COUNT … GROUP BY.


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
