"""One version of the database for a connection: its manifest, and views of its corpora."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ngramdb.engine.storage.manifest import CorpusEntry, Manifest
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError, NotSupportedError
from ngramdb.lazy import lazy_module
from ngramdb.planner.parameters import listing, nearest

if TYPE_CHECKING:
    from ngramdb.engine.corpus import algebra
    from ngramdb.engine.corpus import view as views
    from ngramdb.engine.corpus.algebra import AlgebraView
    from ngramdb.engine.corpus.attached import AttachedView
    from ngramdb.engine.corpus.view import CorpusView
else:
    algebra = lazy_module("ngramdb.engine.corpus.algebra")
    views = lazy_module("ngramdb.engine.corpus.view")


class Snapshot:
    """A version and its corpora. Views of unchanged corpora are reused from the previous version."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        before: Snapshot | None = None,
        attached: Mapping[str, AttachedView] | None = None,
    ) -> None:
        self.manifest = manifest
        #: Corpora in other programs' files, which are not part of any version.
        self.attached = dict(attached or {})
        #: True if the database has switched to another version since, or was closed.
        self.is_past = False
        self._store = store
        self._lock = threading.Lock()
        self._hold = store.hold(manifest.version)
        self._views: dict[str, CorpusView] = {}
        self._earlier: dict[tuple[str, int], CorpusView] = {}
        self._sums: dict[tuple[tuple[int, str, int | None], ...], AlgebraView] = {}
        if before is not None:
            self._views = {
                name: view
                for name, view in before._views.copy().items()
                if manifest.corpora.get(name) == view.entry
            }
            for view in self._views.values():
                view.keep(manifest.version, self._hold)

    def end(self, after: Snapshot | None) -> None:
        """Mark the snapshot stale; its files stay until the last reader releases it."""
        self.is_past = True
        kept = () if after is None else (*after._views.values(), *after.attached.values())
        every: Iterator[CorpusView | AlgebraView] = chain(
            self._views.values(), self._earlier.values(), self._sums.values()
        )
        for view in every:
            if not any(view is one for one in kept):
                view.forget_slices()

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotSupportedError("a snapshot holds open files and cannot be pickled; pickle the connection")

    def opened(self, store: Store, entry: CorpusEntry, version: int, hold: object | None) -> CorpusView:
        """Return a view of a corpus as of `version`."""
        return views.CorpusView(store, entry, hold)

    @property
    def version(self) -> int:
        return self.manifest.version

    @property
    def database_id(self) -> str:
        """The id that distinguishes the database from others at the same path, past or future."""
        return self._store.database_id

    def created(self, version: int | None = None) -> float:
        """Return when this version or an earlier one was committed, in seconds since 1970 (UTC).

        Raises BindError if it is not kept.
        """
        return (self.manifest if version is None else self._manifest(version)).created

    def names(self) -> list[str]:
        """Return the names of the corpora, sorted."""
        return sorted(self.entries)

    @property
    def entries(self) -> dict[str, CorpusEntry]:
        """The catalog entries of all corpora, including attached ones."""
        attached = {name: view.entry for name, view in self.attached.items()}
        return {**self.manifest.corpora, **attached}

    def view(self, name: str, version: int | None = None) -> CorpusView:
        """Return a corpus of this version, or of an earlier one.

        Raises
        ------
        BindError
            The corpus does not exist; `nearest` is the most similar name. Or the version is not kept.
        """
        if name in self.attached:
            if version is not None:
                raise BindError(f"{name} is attached and has no versions; leave AT VERSION out")
            return self.attached[name]
        if version is not None and version != self.version:
            return self._earlier_view(name, version)
        view = self._views.get(name)
        if view is not None:
            return view
        entry = self.manifest.corpora.get(name)
        if entry is None:
            hint = nearest(name, self.entries)
            known = f"known: {listing(self.names())}" if self.names() else "this database has no corpora"
            tail = f"did you mean {hint}?" if hint else known
            raise BindError(f"no corpus {name!r}; {tail}", nearest=hint)
        with self._lock:
            if name not in self._views:
                self._views[name] = self.opened(self._store, entry, self.version, self._hold)
            return self._views[name]

    def algebra(self, terms: Sequence[tuple[int, str, int | None]]) -> CorpusView | AlgebraView:
        """Return a sum as one corpus: `(sign, name, version or None)` per term of `a + b AT VERSION n - c`.

        Raises
        ------
        BindError
            A corpus or version does not exist, or the corpora do not share a tokenizer.
        """
        key = tuple(terms)
        if len(key) == 1 and key[0][0] > 0:
            return self.view(key[0][1], key[0][2])
        view = self._sums.get(key)
        if view is None:
            opened = [algebra.Term(sign, self.view(name, version), version) for sign, name, version in key]
            view = self._sums.setdefault(key, algebra.AlgebraView(opened))
        return view

    def _earlier_view(self, name: str, version: int) -> CorpusView:
        view = self._earlier.get((name, version))
        if view is None:
            entry = self._manifest(version).corpora.get(name)
            if entry is None:
                raise BindError(f"no corpus {name!r} in version {version}")
            # This version also keeps the files of those that it keeps by name.
            is_named = self.manifest.kept_version(version) is not None
            hold = self._hold if is_named else self._store.hold(version)
            opened = self.opened(self._store, entry, version, hold)
            view = self._earlier.setdefault((name, version), opened)
        return view

    def _manifest(self, version: int) -> Manifest:
        return self.manifest.kept_version(version) or self._store.version(version)
