"""The questions of the service as tools for assistants, each with its schema and its limits.

A tool is a question with a name and a description for language models; its parameters are those of the
question. Its answer is the JSON of the service, with long texts cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ngramdb.errors import NgramdbError
from ngramdb.interrupts import Interrupt
from ngramdb.questions.count_requests import SYNTAX
from ngramdb.questions.requests import PATTERN_PARAMETERS, Given, Parameter
from ngramdb.serve.database_pool import Named
from ngramdb.serve.problem_details import Limits, Problem, body_of, problem_of
from ngramdb.serve.reading import Reader
from ngramdb.serve.requests import QUESTIONS, given, shortened
from ngramdb.serve.responses import Page, as_json

#: Limits for assistants: rows by default and at most; characters of texts.
LIMITS = Limits(time_limit=10.0, rows=20, max_rows=200, max_answer=200_000)
MOST_CHARACTERS = 1000
MOST_OF_A_DOCUMENT = 20_000

CORPUS = Parameter("corpus", "text", "the corpus; optional if there is only one")
VERSION = Parameter("version", "integer", "the version of the database at which to read the corpus")
LIMIT = Parameter(
    "limit", "integer", f"rows of the answer; {LIMITS.rows} by default, at most {LIMITS.max_rows}"
)
OFFSET = Parameter("offset", "integer", "rows to skip, for further pages")


@dataclass(frozen=True)
class Called:
    """A call: the values of the tool's parameters, its corpus if any, its page, and its interrupt."""

    given: Given
    named: Named | None
    version: int | None
    paging: tuple[int, int]
    work: Interrupt


@dataclass(frozen=True)
class Tool:
    """A tool: its name, description, parameters, required parameters, and function."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    run: Callable[[Reader, Called], Page]
    required: tuple[str, ...] = ()
    of_corpus: bool = True

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its input."""
        properties = {one.name: {**one.schema(), "description": one.about} for one in self.parameters}
        found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return found | ({"required": list(self.required)} if self.required else {})


def _corpora(reader: Reader, call: Called) -> Page:
    return reader.corpora(*call.paging)


def _describe(reader: Reader, call: Called) -> Page:
    return reader.describe(_named(call), call.version)


def _document(reader: Reader, call: Called) -> Page:
    """Return a document with the requested part of its text."""
    page = reader.document(_named(call), call.version, call.given["doc_id"], call.given, call.work)
    place = page.columns.index("text")
    row = list(page.rows[0])
    if isinstance(row[place], str):
        start, text = call.given["start"], row[place]
        row[place] = text[start : start + MOST_OF_A_DOCUMENT]
        page.facts["characters"] = len(text)
        if len(text) > start + MOST_OF_A_DOCUMENT:
            page.facts["next_start"] = start + MOST_OF_A_DOCUMENT
    page.rows = [tuple(row)]
    return page


def _statement(reader: Reader, call: Called) -> Page:
    return reader.statement(
        call.given.text("database"), call.given["statement"], None, call.paging, call.work
    )


def _named(call: Called) -> Named:
    assert call.named is not None
    return call.named


def _question(route: str, note: str = "") -> Tool:
    """Return a question of the service as a tool; `note` is added to its description."""
    question = QUESTIONS[route]
    assert question.tool is not None
    parameters = (*question.parameters, CORPUS, VERSION, LIMIT, OFFSET)

    def run(reader: Reader, call: Called) -> Page:
        return reader.question(route, _named(call), call.version, call.given, call.paging, call.work)

    return Tool(question.tool.name, question.tool.about + note, parameters, run, question.tool.required)


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "list_corpora",
            "List the available corpora with their sizes and tokenizers. Begin here.",
            (LIMIT, OFFSET),
            _corpora,
            of_corpus=False,
        ),
        Tool(
            "describe_corpus",
            "Describe a corpus: numbers of documents and tokens, tokenizer, version, and the metadata fields "
            "with their types, which can be used in conditions (where).",
            (CORPUS, VERSION),
            _describe,
        ),
        *map(_question, ("count", "frequency", "concordance", "next", "before")),
        _question(
            "documents", f" Texts are cut after {MOST_CHARACTERS} characters; read_document has all of it."
        ),
        Tool(
            "read_document",
            f"Read a document by its number: its fields and {MOST_OF_A_DOCUMENT} characters of its text "
            "beginning at `start`; `next_start` is where to continue.",
            (
                Parameter("doc_id", "integer", "the number of the document"),
                Parameter("start", "integer", "the first character to return", 0),
                *PATTERN_PARAMETERS,
                CORPUS,
                VERSION,
            ),
            _document,
            ("doc_id",),
        ),
        *map(_question, ("trace", "ngrams", "collocates", "duplicates", "score", "novelty")),
        Tool(
            "query",
            "Run a read-only statement of ngramdb's query language, for questions without a tool: "
            "COUNT, KWIC, DOCS, DIST, PROB, SCORE, GENERATE, TRACE, NGRAMS, COLLOCATES, KEYWORDS, "
            "DISPERSION, DUPLICATES, NEAR DUPLICATES, PERPLEXITY, AGREEMENT, NOVELTY, CONTINUATIONS, "
            "EXPLAIN. Examples: "
            'COUNT "climate" GROUP BY year FROM news; KEYWORDS OF WHERE year < 1950 AGAINST REST TOP 20; '
            f'DISPERSION OF "war" BY source. {SYNTAX}',
            (
                Parameter("statement", "text", "the statement"),
                Parameter("database", "text", "the database, if there are several"),
                LIMIT,
                OFFSET,
            ),
            _statement,
            ("statement",),
            of_corpus=False,
        ),
    )
}


def call(reader: Reader, name: str, values: Mapping[str, Any], work: Interrupt) -> dict[str, Any]:
    """Return the answer of a tool as a JSON object.

    Raises
    ------
    Problem
        There is no such tool, a parameter is invalid, or the query failed.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise Problem(404, f"no tool {name!r}; known: {', '.join(TOOLS)}")
    missing = [one for one in tool.required if values.get(one) is None]
    if missing:
        raise Problem(400, f"{name} needs {' and '.join(missing)}")
    try:
        page = tool.run(reader, _called(reader, tool, values, work))
    except (NgramdbError, MemoryError, RecursionError) as error:
        raise problem_of(error) from error
    return _shortened(page, page.facts.get("characters") is None)


def _called(reader: Reader, tool: Tool, values: Mapping[str, Any], work: Interrupt) -> Called:
    got = given(tool.parameters, values)
    named = reader.library.corpus(got.text("corpus")) if tool.of_corpus else None
    limit, offset, version = (
        got[one.name] if one in tool.parameters else None for one in (LIMIT, OFFSET, VERSION)
    )
    return Called(got, named, version, (reader.limits.rows_of(limit), offset or 0), work)


def _shortened(page: Page, cut: bool) -> dict[str, Any]:
    """Return the answer, with its statement and long texts cut to what fits in a table."""
    n_cut = 0

    def short(value: Any) -> Any:
        nonlocal n_cut
        if not isinstance(value, str) or len(value) <= MOST_CHARACTERS:
            return value
        n_cut += 1
        return value[:MOST_CHARACTERS] + "…"

    if cut:
        page = replace(page, rows=[tuple(map(short, row)) for row in page.rows])
    if len(page.facts.get("statement", "")) > MOST_CHARACTERS:
        page = replace(page, facts={**page.facts, "statement": _around(page.facts["statement"], 0)})
    if n_cut:
        page = replace(page, notes=(*page.notes, f"{n_cut} texts cut after {MOST_CHARACTERS} characters"))
    answer: dict[str, Any] = json.loads(as_json(page))
    usual = {"exact": True, "truncated": False, "notes": [], "summary": {}}
    return {name: value for name, value in answer.items() if name not in usual or value != usual[name]}


def explained(problem: Problem) -> str:
    """Return the message of a problem, with the part of the statement that caused it."""
    said = body_of(problem)
    text = str(said["error"])
    statement, start, stop = said.get("statement"), said.get("start"), said.get("stop")
    if isinstance(statement, str) and isinstance(start, int):
        found = shortened(repr(statement[start : stop or start + 1]))
        text += f"\nin: {_around(statement, start)}\nat: {found}"
    return text


def _around(statement: str, place: int) -> str:
    """Return as much of a statement as is worth reading, with the character at `place`."""
    start = max(0, place - MOST_CHARACTERS // 2)
    part = statement[start : start + MOST_CHARACTERS]
    return "…" * (start > 0) + part + "…" * (start + len(part) < len(statement))
