"""Completion for those who type elsewhere: what the prompt offers, without files, settings and changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType, ref

from ngramdb.api import Connection
from ngramdb.cli.prompt.catalog import ConnectionCatalog, Corpora, Counted
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.cli.prompt import completion
else:
    completion = lazy_module("ngramdb.cli.prompt.completion")  # a third of a service's start

#: Longer texts are not completed: each key would send them.
LONGEST_TEXT = 10_000
#: Users of a page also wait for the network; late queries are not repeated in the background.
PATIENCE_S = 0.3
#: Corpora whose answers are kept.
MOST_CATALOGS = 32
#: Statements that a service refuses; they are not offered either.
_REFUSED = frozenset(
    {
        *("ALTER", "ANALYZE", "ATTACH", "CHECK", "COMPACT", "COPY", "CREATE"),
        *("DELETE", "DETACH", "DROP", "KEEP", "RESET", "RESTORE", "SET", "USE"),
    }
)


class ServedCatalog(ConnectionCatalog):
    """The catalog of one corpus: it is what statements without FROM are about."""

    def __init__(self, connection: ReferenceType[Connection], corpus: str | None, patience_s: float) -> None:
        # The caller owns the connection; one that has been replaced is not kept, nor are its files.
        super().__init__(lambda: cast(Connection, connection()), patience_s, insists=False)
        self._corpus = corpus

    def _asked(self, corpora: Corpora) -> Corpora:
        return corpora or (() if self._corpus is None else (self._corpus,))

    def fields(self, corpora: Corpora) -> Sequence[str]:
        return super().fields(self._asked(corpora))

    def values(self, corpora: Corpora, field: str) -> Sequence[Counted]:
        return super().values(self._asked(corpora), field)

    def tokenizer(self, corpora: Corpora) -> str:
        return super().tokenizer(self._asked(corpora))

    def next_tokens(self, corpora: Corpora, context: str) -> Sequence[Counted]:
        return super().next_tokens(self._asked(corpora), context)

    def count(self, corpora: Corpora, text: str) -> int:
        return super().count(self._asked(corpora), text)

    def settings(self) -> Mapping[str, Sequence[str]]:
        return {}

    def paths(self, beginning: str) -> Sequence[str]:
        return ()


class ServedCompletion:
    """Candidates as JSON has them. May be shared by threads."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._catalogs: OrderedDict[tuple[ReferenceType[Connection], str | None], ServedCatalog] = (
            OrderedDict()
        )

    def __call__(
        self, connection: Connection, text: str, cursor: int, corpus: str | None
    ) -> list[dict[str, Any]]:
        """Return candidates at the cursor: `text`, its start (`start`), `kind`, `shown`, `about`."""
        if len(text) > LONGEST_TEXT or text.lstrip().startswith("."):
            return []
        found = completion.complete(text, min(cursor, len(text)), self._catalog(connection, corpus))
        begins = [not text[: one.start].rpartition(";")[2].strip() for one in found]
        return [
            asdict(one)
            for one, first in zip(found, begins, strict=True)
            if not (first and one.text.upper() in _REFUSED) and one.kind not in ("path", "setting")
        ]

    def _catalog(self, connection: Connection, corpus: str | None) -> ServedCatalog:
        key = (ref(connection), corpus)
        with self._lock:
            catalog = self._catalogs.setdefault(key, ServedCatalog(key[0], corpus, self._patience_s))
            self._catalogs.move_to_end(key)
            while len(self._catalogs) > MOST_CATALOGS:
                self._catalogs.popitem(last=False)
        return catalog
