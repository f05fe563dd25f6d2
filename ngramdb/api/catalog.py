"""What names are bound to: the corpora of one version, the current one, the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngramdb.api.settings import SETTINGS
from ngramdb.api.snapshot import Snapshot

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection
    from ngramdb.engine.algebra import AlgebraView
    from ngramdb.engine.view import CorpusView


class SnapshotCatalog:
    """The catalog that planning asks: a connection on one snapshot."""

    def __init__(self, connection: Connection, snapshot: Snapshot) -> None:
        self._connection = connection
        self._snapshot = snapshot

    @property
    def current(self) -> str | None:
        return self._connection._current

    def corpus_names(self) -> list[str]:
        return self._snapshot.names()

    def corpus_view(self, name: str, /) -> CorpusView:
        return self._snapshot.view(name)

    def algebra(self, terms: tuple[tuple[int, str, int | None], ...], /) -> CorpusView | AlgebraView:
        return self._snapshot.algebra(terms)

    def setting_names(self) -> list[str]:
        return list(SETTINGS)

    def check_setting(self, name: str, value: Any, /) -> Any:
        return SETTINGS[name].check(name, value)

    def disabled_rules(self) -> frozenset[str]:
        return self._connection.settings.disabled_rules

    def match(self) -> str:
        return self._connection.settings.match
