"""The list of removals that `Corpus.removals` returns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ngramdb.executor.results.result import Result
from ngramdb.questions.results import SHOWN_ROWS

if TYPE_CHECKING:
    from ngramdb.engine.changes.audit import Removal


class Removals(list["Removal"]):
    """The removals from a corpus, oldest first: a list that is printed as a table of the newest ones."""

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Result:
        names = ("version", "created", "by", "n_documents", "n_tokens", "statement", "reason")
        table = Result.of_rows(names, [self._row(one, names) for one in self[-SHOWN_ROWS:]])
        table.n_rows = len(self)
        return table

    @staticmethod
    def _row(removal: Removal, names: Sequence[str]) -> tuple[Any, ...]:
        at = datetime.fromtimestamp(removal.created, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        return tuple(at if name == "created" else getattr(removal, name) for name in names)
