"""The database as completion sees it: names, values, tokens.

Every answer comes within a fraction of a second.

Whatever takes longer than a person's next key is abandoned; answers are cached until the
database has a new version.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from ngramdb.api import Connection
from ngramdb.api.settings import rules
from ngramdb.cli.commands.sharing import quoted
from ngramdb.errors import TimeoutExceeded
from ngramdb.registries import MATCHES

Corpora = tuple[str, ...]
Counted = tuple[Any, int]
Value = TypeVar("Value")

# Nobody waits longer for a completion, in seconds.
PATIENCE_S = 0.1
# Time limit of late answers in the background, in seconds.
PATIENCE_IN_BACKGROUND_S = 10.0
# Answers that are kept.
MOST_KEPT = 256
# The commonest values of a field, and the likeliest tokens after a context, that are considered.
MOST_VALUES = 50
MOST_TOKENS = 4000

# Prefix of the rows of DESCRIBE that are metadata fields.
FIELD = "field "


class Catalog(Protocol):
    """The queries of `complete`. `corpora` are those of a statement's FROM; `()` means the current one."""

    def corpora(self) -> Sequence[str]: ...
    def versions(self) -> Sequence[str]:
        """Return the names of kept versions."""

    def fields(self, corpora: Corpora) -> Sequence[str]:
        """Return the paths of metadata fields, `meta.year` for nested ones."""

    def values(self, corpora: Corpora, field: str) -> Sequence[Counted]:
        """Return a field's values and the number of documents with each, the most frequent first."""

    def settings(self) -> Mapping[str, Sequence[str]]:
        """Return the settings with the words that each accepts, if they are few."""

    def tokenizer(self, corpora: Corpora) -> str:
        """Return the kind of the corpora's tokenizer, or '' without one."""

    def next_tokens(self, corpora: Corpora, context: str) -> Sequence[Counted]:
        """Return the tokens that follow the longest known suffix of the context, the likeliest first."""

    def count(self, corpora: Corpora, text: str) -> int:
        """Return the occurrences of a text as an n-gram, or 0 if not known in time."""

    def paths(self, beginning: str) -> Sequence[str]:
        """Files and folders, folders with a slash at their end, whose path begins so."""


class ConnectionCatalog:
    """The catalog of a connection; `connection` gives the one that is current now.

    A query that exceeds `patience_s` is repeated in the background, unless `insists` is False;
    `arrived` is called, in that thread, when the answer is there. May be shared by threads.
    """

    def __init__(
        self,
        connection: Callable[[], Connection],
        patience_s: float = PATIENCE_S,
        arrived: Callable[[], None] = lambda: None,
        insists: bool = True,
    ) -> None:
        self._connection = connection
        self._patience_s = patience_s
        self._arrived = arrived
        self._insists = insists
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], object] = OrderedDict()

    def corpora(self) -> Sequence[str]:
        return self._connection().corpora()

    def versions(self) -> Sequence[str]:
        return sorted(self._connection().snapshot.manifest.kept)

    def fields(self, corpora: Corpora) -> Sequence[str]:
        def ask(timeout_s: float) -> Sequence[str]:
            found: dict[str, None] = {}
            for name in corpora or (self._connection().corpus().name,):
                for row in self._rows(f"DESCRIBE {quoted(name)}", timeout_s):
                    if str(row[0]).startswith(FIELD):
                        found[str(row[0]).removeprefix(FIELD)] = None
            return list(found)

        return self._answer(("fields", corpora), ask, ())

    def values(self, corpora: Corpora, field: str) -> Sequence[Counted]:
        def ask(timeout_s: float) -> Sequence[Counted]:
            grouped = f"GROUP BY {field} ORDER BY count DESC TOP {MOST_VALUES}"
            rows = self._rows(f"COUNT DOCS {grouped}{_from(corpora)}", timeout_s)
            return [(value, count) for value, count in rows if value is not None]

        return self._answer(("values", corpora, field), ask, ())

    def settings(self) -> Mapping[str, Sequence[str]]:
        def ask(timeout_s: float) -> Mapping[str, Sequence[str]]:
            rows = self._rows("SHOW SETTINGS", timeout_s)
            kinds = {str(name): _words(str(kind), str(default)) for name, _, default, kind, *_ in rows}
            return {**kinds, "match": MATCHES, "disabled_rules": rules()}

        return self._answer(("settings",), ask, {})

    def tokenizer(self, corpora: Corpora) -> str:
        def ask(timeout_s: float) -> str:
            return str(self._connection().corpus(*corpora[:1]).tokenizer.kind)

        return self._answer(("tokenizer", corpora), ask, "")

    def next_tokens(self, corpora: Corpora, context: str) -> Sequence[Counted]:
        def ask(timeout_s: float) -> Sequence[Counted]:
            statement = f"DIST GIVEN ? USING INFGRAM TOP {MOST_TOKENS}{_from(corpora)}"
            rows = self._rows(statement, timeout_s, [context])
            return [(token, count) for token, _, count, _ in rows if token]

        return self._answer(("next", corpora, context), ask, ())

    def count(self, corpora: Corpora, text: str) -> int:
        def ask(timeout_s: float) -> int:
            return int(self._rows(f"COUNT ? MATCH TOKENS{_from(corpora)}", timeout_s, [text])[0][0])

        return self._answer(("count", corpora, text), ask, 0)

    def paths(self, beginning: str) -> Sequence[str]:
        folder, name = os.path.split(beginning)
        try:
            with os.scandir(os.path.expanduser(folder) or ".") as entries:
                found = [
                    os.path.join(folder, entry.name) + ("/" if entry.is_dir() else "")
                    for entry in entries
                    if entry.name.startswith(name) and (name or not entry.name.startswith("."))
                ]
        except OSError:
            return []
        return sorted(found)

    def warm(self) -> None:
        """Load what the first key would otherwise wait for: names of fields, frequencies of all tokens."""
        self.tokenizer(())
        fields = self.fields(())
        self.next_tokens((), "")
        self.next_tokens((), "a")  # reads the tokenizer, too
        for field in fields[:1]:
            self.values((), field)

    def _rows(self, statement: str, timeout_s: float, parameters: Any = None) -> list[tuple[Any, ...]]:
        with self._connection().execute(statement, parameters, timeout=timeout_s) as result:
            return result.fetchall()

    def _answer(self, question: tuple[object, ...], ask: Callable[[float], Value], nothing: Value) -> Value:
        """Return the cached answer, else a new one; `nothing` if it is not ready in time."""
        try:
            connection = self._connection()
            current = connection.corpus().name if question[1:2] == ((),) else ""
            question = (id(connection), connection.version, current, *question)
            with self._lock:
                if question in self._kept:
                    self._kept.move_to_end(question)
                    return self._kept[question]  # type: ignore[return-value]
            try:
                answer = ask(self._patience_s)
            except TimeoutExceeded:
                if self._insists:
                    self._keep(question, nothing)  # until the answer arrives, no key waits for it again
                    threading.Thread(target=self._ask_again, args=(question, ask), daemon=True).start()
                return nothing
        except Exception:
            # Errors of the database are reported by statements, not while typing.
            return nothing
        self._keep(question, answer)
        return answer

    def _ask_again(self, question: tuple[object, ...], ask: Callable[[float], object]) -> None:
        with suppress(Exception):
            self._keep(question, ask(PATIENCE_IN_BACKGROUND_S))
            self._arrived()

    def _keep(self, question: tuple[object, ...], answer: object) -> None:
        with self._lock:
            self._kept[question] = answer
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)


def _from(corpora: Corpora) -> str:
    return f" FROM {' + '.join(map(quoted, corpora))}" if corpora else ""


def _words(kind: str, default: str) -> Sequence[str]:
    """Return the values of a setting of this kind, if they are a few words."""
    if kind == "boolean":
        return ("TRUE", "FALSE")
    return (default,) if default.isdecimal() else ()
