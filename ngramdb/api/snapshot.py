"""One version of the database as a connection sees it: its manifest, and views of the corpora asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ngramdb.engine.manifest import Manifest
from ngramdb.engine.store import Store
from ngramdb.errors import BindError
from ngramdb.lazy import lazy_module
from ngramdb.planner.names import listing, nearest

if TYPE_CHECKING:
    from ngramdb.engine import view as views
    from ngramdb.engine.view import CorpusView
else:
    views = lazy_module("ngramdb.engine.view")


class Snapshot:
    """A version and its corpora. Views of unchanged corpora are taken over from the version before."""

    def __init__(self, store: Store, manifest: Manifest, before: Snapshot | None = None) -> None:
        self.manifest = manifest
        self._store = store
        self._lock = threading.Lock()
        self._views: dict[str, CorpusView] = {}
        if before is not None:
            self._views = {
                name: view
                for name, view in before._views.copy().items()
                if manifest.corpora.get(name) == view.entry
            }

    @property
    def version(self) -> int:
        return self.manifest.version

    def names(self) -> list[str]:
        """The corpora, sorted by name."""
        return sorted(self.manifest.corpora)

    def view(self, name: str) -> CorpusView:
        """A corpus of this version.

        Raises
        ------
        BindError
            There is no such corpus; `nearest` is the one that was meant, perhaps.
        """
        view = self._views.get(name)
        if view is not None:
            return view
        entry = self.manifest.corpora.get(name)
        if entry is None:
            hint = nearest(name, self.manifest.corpora)
            known = f"known: {listing(self.names())}" if self.names() else "this database has no corpora"
            tail = f"did you mean {hint}?" if hint else known
            raise BindError(f"no corpus {name!r}; {tail}", nearest=hint)
        with self._lock:
            if name not in self._views:
                self._views[name] = views.CorpusView(self._store, entry)
            return self._views[name]
