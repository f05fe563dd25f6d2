"""The databases that are served, and the names of their corpora."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ngramdb.api import Connection, connect
from ngramdb.api.arguments.texts import Statement
from ngramdb.errors import BindError, InvalidArgument, NgramdbError
from ngramdb.interrupts import Interrupt
from ngramdb.serve.limits import Limits, apply_settings

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
    """A database with the name that it is served under. May be shared by threads."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self.connection = connection
        self._looked = 0.0

    def refresh(self) -> None:
        """See new versions, without looking for them at every request."""
        now = time.monotonic()
        if now - self._looked >= FRESH_S:
            self._looked = now
            self.connection.refresh(at_once=False)


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
        """A database by its name; the first one without. Raises BindError."""
        for hosted in self.databases:
            if name is None or hosted.name == name:
                return hosted
        known = ", ".join(hosted.name for hosted in self.databases)
        raise BindError(f"no database {name!r}; known: {known}")

    def corpora(self) -> list[Named]:
        """All corpora, as they are now."""
        every = [(hosted, name) for hosted in self.databases for name in _names(hosted)]
        counts: dict[str, int] = {}
        for _, name in every:
            counts[name] = counts.get(name, 0) + 1
        return [
            Named(
                name if counts[name] == 1 and name not in RESERVED else f"{hosted.name}.{name}", hosted, name
            )
            for hosted, name in every
        ]

    def corpus(self, name: str | None) -> Named:
        """A corpus by its name, or by that of its database and its own; the only one without.

        Raises
        ------
        BindError
            There is none, or several.
        """
        if name is None:
            every = self.corpora()
            if len(every) != 1:
                known = ", ".join(one.name for one in every) or "none"
                raise BindError(f"which corpus? known: {known}")
            return every[0]
        found = list(self._called(name))
        if len(found) != 1:
            known = ", ".join(one.name for one in self.corpora()) or "none"
            raise BindError(f"no corpus {name!r}; known: {known}")
        return found[0]

    def _called(self, name: str) -> Iterator[Named]:
        named = [hosted for hosted in self.databases if name in _names(hosted)]
        if len(named) == 1:
            yield Named(name, named[0], name)
            return
        for hosted in self.databases:
            prefix = f"{hosted.name}."
            own = name.removeprefix(prefix)
            if name.startswith(prefix) and own in _names(hosted):
                yield Named(name, hosted, own)

    def warm(self) -> None:
        """Ask every corpus something, so that the first clients need not wait for what is read once.

        That is indexes and vocabularies, and of the first corpus the code of each kind of question.
        """
        for number, named in enumerate(self.corpora()):
            for text in USUAL if number == 0 else USUAL[:1]:
                statement = Statement(text, text).source(named.corpus)
                with contextlib.suppress(NgramdbError):  # the one who asks it will be told
                    named.hosted.connection.ask(statement.text, {}, work=Interrupt()).fetchone()

    def interrupt(self) -> None:
        """Stop everything that runs."""
        for hosted in self.databases:
            hosted.connection.interrupt()

    def close(self) -> None:
        """Close the databases."""
        for hosted in self.databases:
            hosted.connection.close()


def _names(hosted: Hosted) -> list[str]:
    hosted.refresh()
    return hosted.connection.corpora()


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
        connection = connect(path, read_only=True)
        apply_settings(connection, limits, settings)
        hosted.append(Hosted(name, connection))
    if not hosted:
        raise InvalidArgument("name at least one database")
    return Library(hosted)
