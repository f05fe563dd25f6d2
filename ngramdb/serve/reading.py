"""Answers of each address of a corpus, computed in a worker thread: pages of rows with their facts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngramdb.api import Result
from ngramdb.errors import QueryError, StorageError
from ngramdb.interrupts import Interrupt
from ngramdb.patterns.grams import gives_pieces
from ngramdb.questions.requests import Asked, Given, Planned, Statement, pattern_of
from ngramdb.serve.database_pool import Library, Named
from ngramdb.serve.problem_details import Limits, Problem
from ngramdb.serve.requests import QUESTIONS
from ngramdb.serve.responses import Page, page_of

#: The maximum number of matches that are marked in a document.
MOST_MARKS = 1000
VERSION_COLUMNS = ("version", "created", "documents", "tokens", "current", "kept_as")
REMOVAL_COLUMNS = ("version", "created", "documents", "tokens", "reason", "restored")


class Reader:
    """Answers questions about the corpora of a library. May be shared by threads."""

    def __init__(self, library: Library, limits: Limits) -> None:
        self.library = library
        self.limits = limits

    def page(self, result: Result, limit: int, skipped: int = 0) -> Page:
        """Return the rows of a result that are sent."""
        return page_of(result, limit, skipped, self.limits.max_answer)

    # ---- questions about a corpus -----------------------------------------------------------------------

    def question(
        self,
        name: str,
        named: Named,
        version: int | None,
        given: Given,
        paging: tuple[int, int],
        work: Interrupt,
    ) -> Page:
        """Answer one of `QUESTIONS`."""
        asked = Asked(given, named.corpus, version, *paging)
        page = self._answered(named, asked, QUESTIONS[name].plan(asked), work)
        if name == "trace":
            page.facts["tokens"] = self._tokens(named, given)
        return page

    def _tokens(self, named: Named, given: Given) -> list[str]:
        tokenizer = named.hosted.connection.corpus(named.corpus).tokenizer
        if given["ids"] is not None:
            texts: list[str] = tokenizer.token_texts(given["ids"])
            return texts
        pieces: list[str] = tokenizer.split(given["q"] or "")
        return pieces

    def _answered(self, named: Named, asked: Asked, planned: Planned, work: Interrupt) -> Page:
        statement = planned.statement
        with _in_own_words():
            result = named.hosted.connection.ask(statement.text, statement.values, work=work)
            page = self.page(result, asked.limit, planned.skipped)
        _tell(page, named, asked.version, statement)
        return page

    def document(self, named: Named, version: int | None, doc_id: int, given: Given, work: Interrupt) -> Page:
        """Return one document, and the places of a pattern in its text.

        `matches` are ranges of characters, `positions` the tokens in which they begin.

        Raises
        ------
        Problem
            404: there is no document with that number.
        """
        connection = named.hosted.connection
        statement = Statement("DOCS", "DOCS").source(named.corpus, version).where(f"doc_id = {doc_id}")
        page = self.page(connection.ask(statement.text, work=work), 1)
        if not page.rows:
            raise Problem(404, f"no document {doc_id} in {named.name}")
        _tell(page, named, version, statement)
        if any(given[name] is not None for name in ("q", "ids", "pattern")):
            lines = Statement("KWIC", "KWIC").pattern(pattern_of(given))
            lines.source(named.corpus, version).where(f"doc_id = {doc_id}")
            found = connection.ask(lines.number("LIMIT", MOST_MARKS).text, lines.values, work=work)
            with found:
                known = [(position, place) for position, place in found.places or () if place is not None]
            page.facts["matches"] = [place for _, place in known]
            page.facts["positions"] = [position for position, _ in known]
        return page

    # ---- corpora and their properties -------------------------------------------------------------------

    def corpora(self, limit: int, offset: int) -> Page:
        """Return a row per corpus; a note lists those whose databases cannot be read at the moment."""
        rows = []
        unread = []
        for named in self.library.corpora():
            try:
                rows.append(_row_of(named))
            except StorageError:
                unread.append(named.name)
        columns = ("corpus", "database", "version", "tokenizer", "documents", "tokens")
        version = max((row[2] for row in rows), default=0)
        result = Result.of_rows(columns, rows)
        result.snapshot = version
        page = self.page(result, limit, offset)
        if unread:
            page.notes = (*page.notes, f"cannot be read at the moment: {', '.join(unread)}")
        return page

    def describe(self, named: Named, version: int | None) -> Page:
        """Return the properties of a corpus."""
        result = named.hosted.connection.describe(named.corpus, version)
        page = page_of(result, sys.maxsize, 0, sys.maxsize)  # all fields
        if version is not None:
            page.version = version
        facts: dict[str, Any] = {str(name): value for name, value in page.rows}
        fields = {name.removeprefix("field "): facts[name] for name in facts if name.startswith("field ")}
        own = {
            name: facts[name]
            for name in ("tokenizer", "vocabulary", "documents", "tokens", "segments", "bytes")
        }
        tokenizer = named.hosted.connection.corpus(named.corpus).tokenizer
        own["tokens_are"] = (
            "pieces" if gives_pieces(tokenizer) else "words" if tokenizer.has_own_words else "other"
        )
        page.facts = {"corpus": named.name, "database": named.hosted.name, **own, "fields": fields}
        return page

    def versions(self, named: Named, limit: int, offset: int) -> Page:
        """Return the kept versions, without their authors and statements."""
        return self._chosen(named, "VERSIONS", VERSION_COLUMNS, limit, offset)

    def removals(self, named: Named, limit: int, offset: int) -> Page:
        """Return the removals, with their reasons."""
        return self._chosen(named, "REMOVALS", REMOVAL_COLUMNS, limit, offset)

    def _chosen(self, named: Named, what: str, columns: tuple[str, ...], limit: int, offset: int) -> Page:
        statement = Statement(f"SHOW {what}", f"SHOW {what}").source(named.corpus)
        shown = named.hosted.connection.execute(statement.text)
        places = [shown.columns.index(name) for name in columns]
        result = Result.of_rows(columns, [tuple(row[i] for i in places) for row in shown])
        result.snapshot = shown.snapshot
        page = self.page(result, limit, offset)
        _tell(page, named, None, statement)
        return page

    # ---- statements -------------------------------------------------------------------------------------

    def statement(
        self,
        database: str | None,
        text: str,
        values: Any,
        paging: tuple[int, int],
        work: Interrupt,
        corpus: Named | None = None,
    ) -> Page:
        """Run any read-only statement; `corpus` is the default corpus of statements without FROM."""
        hosted = self.library.database(database) if corpus is None else corpus.hosted
        own = None if corpus is None else corpus.corpus
        result = hosted.connection.ask(text, values, work=work, corpus=own)
        page = self.page(result, *paging)
        page.facts = {"database": hosted.name, "statement": text}
        return page


def _row_of(named: Named) -> tuple[str, str, int, str, int, int]:
    """Return the row of a corpus in the list of corpora. Raises StorageError."""
    named.hosted.require()
    snapshot = named.hosted.connection.snapshot
    view = snapshot.view(named.corpus)
    return (
        named.name,
        named.hosted.name,
        snapshot.version,
        view.tokenizer_title,
        view.n_documents,
        view.n_tokens,
    )


def _tell(page: Page, named: Named, version: int | None, statement: Statement) -> None:
    """Set the corpus, the statement and the version of a page."""
    page.facts = {"corpus": named.name, "statement": statement.shown}
    if version is not None:
        page.version = version


@contextmanager
def _in_own_words() -> Iterator[None]:
    """Remove the place of an error in a generated statement, which no user has written."""
    try:
        yield
    except QueryError as error:
        if error.text is not None and ":_1" in error.text:
            error.place(None, None, None)
        raise
