"""The databases of the service, and the names of their corpora."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ngramdb.api import Connection, connect
from ngramdb.errors import BindError, DatabaseGone, InvalidArgument, NgramdbError, StorageError
from ngramdb.interrupts import Interrupt
from ngramdb.questions.requests import Statement
from ngramdb.serve.problem_details import Limits, apply_settings

#: First parts of addresses that are not corpora; corpora with these names need their full names.
RESERVED = frozenset({"", "batch", "complete", "corpora", "openapi", "query", "settings", "static", "v1"})
#: A statement of each frequent kind. Each is fast, since its n-gram occurs in hardly any corpus.
USUAL = (
    'COUNT ""',
    'COUNT "ngramdb ngramdb" WHERE length < 0 GROUP BY length',
    'KWIC "ngramdb ngramdb" ORDER BY right LIMIT 1',
    'DOCS WHERE "ngramdb ngramdb" LIMIT 1',
    'DIST GIVEN "ngramdb ngramdb" TOP 1',
    'PROB "ngramdb" GIVEN "ngramdb"',
    'TRACE "ngramdb ngramdb"',
    'SCORE "ngramdb" USING INFGRAM',
    'NGRAMS 2 STARTING WITH "ngramdb" TOP 1',
    'COLLOCATES OF "ngramdb ngramdb" TOP 1',
)
#: Seconds during which a database is not checked for newer versions.
FRESH_S = 0.05


class Hosted:
    """A database with the name under which it is served. May be shared by threads.

    If another database replaces it on disk, that one is opened and served. While it cannot be read, its
    corpora keep their names: queries of them raise the error, and other databases answer as usual.
    """

    def __init__(self, name: str, opens: Callable[[], Connection]) -> None:
        """Open the database by calling `opens`."""
        self.name = name
        self.connection = opens()
        self._opens = opens
        self._lock = threading.Lock()
        self._looked = 0.0
        self._corpora: list[str] = []
        self._error: StorageError | None = None

    def corpora(self) -> list[str]:
        """Return the current names of its corpora, or the last known ones while it cannot be read."""
        self._refresh()
        return self._corpora

    def look_again(self) -> None:
        """Check for a newer version at the next question."""
        self._looked = 0.0

    def require(self) -> None:
        """Raise StorageError while the database cannot be read."""
        self._refresh()
        if self._error is not None:
            raise self._error.with_traceback(None)

    def _refresh(self) -> None:
        """Check for newer versions, but not at every request."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < FRESH_S:
                return
            try:
                self._corpora = self._newest().corpora()
                self._error = None
            except StorageError as error:
                self._error = error
            self._looked = now

    def _newest(self) -> Connection:
        try:
            self.connection.refresh(at_once=False)
        except DatabaseGone:
            # Questions in progress on the old connection are still answered; the last one releases it.
            self.connection = self._opens()
        return self.connection


@dataclass(frozen=True)
class Named:
    """A corpus: its name in addresses, its database, and its name in that database."""

    name: str
    hosted: Hosted
    corpus: str


class Library:
    """All databases of the service.

    A corpus is addressed by its name or, if two databases have a corpus of that name, by
    `database.corpus`, which always works.
    """

    def __init__(self, hosted: Sequence[Hosted]) -> None:
        self.databases = tuple(hosted)

    def database(self, name: str | None) -> Hosted:
        """Return the database of this name, or the first one for None. Raises BindError, StorageError."""
        for hosted in self.databases:
            if name is None or hosted.name == name:
                hosted.require()
                return hosted
        known = ", ".join(hosted.name for hosted in self.databases)
        raise BindError(f"no database {name!r}; known: {known}")

    def corpora(self) -> list[Named]:
        """Return all current corpora."""
        every = [(hosted, name) for hosted in self.databases for name in hosted.corpora()]
        taken = Counter(name for _, name in every)
        taken.update(RESERVED)
        # Full names always refer to their own corpus, whatever other corpora are called.
        full = [f"{hosted.name}.{name}" for hosted, name in every]
        taken.update(full)
        return [
            Named(name if taken[name] == 1 else full_name, hosted, name)
            for (hosted, name), full_name in zip(every, full, strict=True)
        ]

    def corpus(self, name: str | None) -> Named:
        """Return the corpus with this name or full name, or the only corpus for None.

        Raises
        ------
        BindError
            No corpus has this name, or the name is missing and there are several.
        StorageError
            Its database cannot be read.
        """
        found = self.corpora() if name is None else list(self._called(name))
        if len(found) != 1:
            known = ", ".join(one.name for one in self.corpora()) or "none"
            what = "which corpus?" if name is None else f"no corpus {name!r};"
            raise BindError(f"{what} known: {known}")
        found[0].hosted.require()
        return found[0]

    def _called(self, name: str) -> Iterator[Named]:
        is_full = False
        for hosted in self.databases:
            prefix = f"{hosted.name}."
            own = name.removeprefix(prefix)
            if name.startswith(prefix) and own in hosted.corpora():
                is_full = True
                yield Named(name, hosted, own)
        named = [hosted for hosted in self.databases if name in hosted.corpora()]
        if len(named) == 1 and not is_full:
            yield Named(name, named[0], name)

    def warm(self) -> None:
        """Query every corpus once, so that the first clients need not wait for data that is loaded once.

        This loads indexes and vocabularies and, with the first corpus, the code of each kind of question.
        """
        for number, named in enumerate(self.corpora()):
            for text in USUAL if number == 0 else USUAL[:1]:
                statement = Statement(text, text).source(named.corpus)
                with contextlib.suppress(NgramdbError):  # the next question reports it
                    named.hosted.connection.ask(statement.text, {}, work=Interrupt()).fetchone()

    def look_again(self) -> None:
        """Check for new databases and versions at the next question."""
        for hosted in self.databases:
            hosted.look_again()

    def interrupt(self) -> None:
        """Stop all running statements."""
        for hosted in self.databases:
            hosted.connection.interrupt()

    def close(self) -> None:
        """Close the databases."""
        for hosted in self.databases:
            hosted.connection.close()


def open_library(paths: Iterable[str], limits: Limits, settings: dict[str, str]) -> Library:
    """Open databases for reading.

    Raises
    ------
    InvalidArgument
        No database was given, or two have the same name.
    StorageError
        A database cannot be opened.
    """
    hosted: list[Hosted] = []
    for path in paths:
        name = os.path.basename(os.path.abspath(path)).partition(".")[0] or "database"
        if any(name == one.name for one in hosted):
            raise InvalidArgument(f"two databases are called {name}; rename one of them, or use a link")
        hosted.append(Hosted(name, partial(_opened, path, limits, settings)))
    if not hosted:
        raise InvalidArgument("no database given; pass at least one")
    return Library(hosted)


def _opened(path: str, limits: Limits, settings: dict[str, str]) -> Connection:
    connection = connect(path, read_only=True)
    apply_settings(connection, limits, settings)
    return connection
