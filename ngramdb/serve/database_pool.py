"""The databases that are served, and the names of their corpora."""

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
from ngramdb.questions.arguments.texts import Statement
from ngramdb.serve.problem_details import Limits, apply_settings

#: The first parts of addresses that are not corpora; corpora of these names are asked by their full names.
RESERVED = frozenset({"", "batch", "complete", "corpora", "openapi", "query", "settings", "static", "v1"})
#: A question of each frequent kind that takes no time, since what it asks for is as good as nowhere.
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
#: How long a database is believed to be at the version that it had, in seconds.
FRESH_S = 0.05


class Hosted:
    """A database with the name that it is served under. May be shared by threads.

    Another one that takes its place on the disk is opened, and served from then on. While it cannot be read,
    its corpora keep their names: who asks them gets that error, and other databases answer as before.
    """

    def __init__(self, name: str, opens: Callable[[], Connection]) -> None:
        """Open the database: `opens` does."""
        self.name = name
        self.connection = opens()
        self._opens = opens
        self._lock = threading.Lock()
        self._looked = 0.0
        self._corpora: list[str] = []
        self._error: StorageError | None = None

    def corpora(self) -> list[str]:
        """The names of its corpora, as they are now; while it cannot be read, as they were."""
        self._refresh()
        return self._corpora

    def look_again(self) -> None:
        """Look for the newest version at the next question, however soon it comes."""
        self._looked = 0.0

    def require(self) -> None:
        """Raise StorageError while it cannot be read."""
        self._refresh()
        if self._error is not None:
            raise self._error.with_traceback(None)

    def _refresh(self) -> None:
        """See new versions, without looking for them at every request."""
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
            # What others ask of the connection before is answered; it ends with the last of them.
            self.connection = self._opens()
        return self.connection


@dataclass(frozen=True)
class Named:
    """A corpus: its name in addresses, its database, and its name there."""

    name: str
    hosted: Hosted
    corpus: str


class Library:
    """Everything that is served.

    A corpus is called by its name; where two databases have one of the same name, by `database.corpus`, which
    always works.
    """

    def __init__(self, hosted: Sequence[Hosted]) -> None:
        self.databases = tuple(hosted)

    def database(self, name: str | None) -> Hosted:
        """A database by its name; the first one without. Raises BindError, StorageError."""
        for hosted in self.databases:
            if name is None or hosted.name == name:
                hosted.require()
                return hosted
        known = ", ".join(hosted.name for hosted in self.databases)
        raise BindError(f"no database {name!r}; known: {known}")

    def corpora(self) -> list[Named]:
        """All corpora, as they are now."""
        every = [(hosted, name) for hosted in self.databases for name in hosted.corpora()]
        taken = Counter(name for _, name in every)
        taken.update(RESERVED)
        # By these each corpus is found, whatever others are called.
        full = [f"{hosted.name}.{name}" for hosted, name in every]
        taken.update(full)
        return [
            Named(name if taken[name] == 1 else full_name, hosted, name)
            for (hosted, name), full_name in zip(every, full, strict=True)
        ]

    def corpus(self, name: str | None) -> Named:
        """A corpus by its name, or by that of its database and its own; the only one without.

        Raises
        ------
        BindError
            There is none, or several.
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
        """Ask every corpus something, so that the first clients need not wait for what is read once.

        That is indexes and vocabularies, and of the first corpus the code of each kind of question.
        """
        for number, named in enumerate(self.corpora()):
            for text in USUAL if number == 0 else USUAL[:1]:
                statement = Statement(text, text).source(named.corpus)
                with contextlib.suppress(NgramdbError):  # the one who asks it will be told
                    named.hosted.connection.ask(statement.text, {}, work=Interrupt()).fetchone()

    def look_again(self) -> None:
        """Look for new databases and versions at the next question."""
        for hosted in self.databases:
            hosted.look_again()

    def interrupt(self) -> None:
        """Stop everything that runs."""
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
        None, or two with the same name.
    StorageError
        One that cannot be opened.
    """
    hosted: list[Hosted] = []
    for path in paths:
        name = os.path.basename(os.path.abspath(path)).partition(".")[0] or "database"
        if any(name == one.name for one in hosted):
            raise InvalidArgument(f"two databases are called {name}; rename the folder of one, or link to it")
        hosted.append(Hosted(name, partial(_opened, path, limits, settings)))
    if not hosted:
        raise InvalidArgument("name at least one database")
    return Library(hosted)


def _opened(path: str, limits: Limits, settings: dict[str, str]) -> Connection:
    connection = connect(path, read_only=True)
    apply_settings(connection, limits, settings)
    return connection
