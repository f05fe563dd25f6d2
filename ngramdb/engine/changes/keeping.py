"""Keeping versions by name, and dropping those names."""

from __future__ import annotations

from itertools import chain

from ngramdb.engine.storage.manifest import CorpusEntry, Manifest
from ngramdb.engine.storage.store import Store
from ngramdb.errors import BindError, InvalidArgument

#: Most characters in the name of a version.
MAX_NAME_LENGTH = 100


def keep_version(store: Store, name: str, number: int | None, lock_timeout_s: float = 0.0) -> tuple[int, int]:
    """Keep a version, the newest one if `number` is None, under a name, until the name is dropped.

    The next version's manifest repeats that of the kept one, and so does each later one: its files belong
    to all of them. If the version already has that name, nothing is committed.

    Returns
    -------
    The number of the kept version, and that of the first version that keeps it.

    Raises
    ------
    BindError
        the version is no longer kept, or another one has the name
    InvalidArgument
        the name is empty, too long, or a number
    LockedError
        another writer holds the lock

    Cost: one manifest. Each later manifest grows by the size of the kept one: a few kilobytes.
    """
    check_version_name(name)
    with store.begin(lock_timeout_s) as transaction:
        newest = transaction.manifest
        version = newest if number is None else store.version(number)
        before = newest.kept.get(name)
        if before is not None and before.version != version.version:
            raise BindError(
                f"version {before.version} is kept as {name!r} already: choose another name, or DROP VERSION "
                f"{name!r} first"
            )
        if before is not None:
            return version.version, newest.version
        kept = {**newest.kept, name: _alone(version)}
        action = f"keep version {version.version} as {name}"
        done = transaction.commit(newest.corpora, action, kept, _dropped(store, version, newest))
        return version.version, done.version


def _dropped(store: Store, version: Manifest, newest: Manifest) -> dict[str, CorpusEntry]:
    """Return the last entries, by id, of the corpora of a version that are not in the newest one."""
    present = {corpus.id for corpus in newest.corpora.values()}
    gone = [corpus for corpus in version.corpora.values() if corpus.id not in present]
    return {corpus.id: last_seen(store, corpus).without_documents() for corpus in gone}


def last_seen(store: Store, then: CorpusEntry) -> CorpusEntry:
    """Return the newest entry of a corpus that is still known: with the ids and records of what came after.

    Cost: the manifests since a drop, unless a version with the corpus is kept by name.
    """
    newest = store.manifest
    earlier = (version.corpora for version in reversed(store.versions()))
    entries = (corpora.values() for corpora in chain((newest.corpora, newest.dropped), earlier))
    return next((entry for entry in chain.from_iterable(entries) if entry.id == then.id), then)


def drop_version(store: Store, name: str, lock_timeout_s: float = 0.0) -> tuple[int, int]:
    """Drop a version's name: the version itself is removed unless `keep_versions` still keeps it.

    Returns the number of the version that had the name, and that of the first version without it.
    Raises BindError if no version has that name, LockedError if another writer holds the lock.
    """
    with store.begin(lock_timeout_s) as transaction:
        newest = transaction.manifest
        number = newest.number_of(name)
        kept = {other: version for other, version in newest.kept.items() if other != name}
        done = transaction.commit(newest.corpora, f"drop the name {name} of version {number}", kept)
        return number, done.version


def check_version_name(name: str) -> None:
    """Raise InvalidArgument unless this is a valid name for a version."""
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidArgument(
            f"the name of a version has 1 to {MAX_NAME_LENGTH} printable characters, not {name!r:.120}"
        )
    if name.isdecimal():
        raise InvalidArgument(f"{name!r} would be read as a version number; choose another name")


def _alone(version: Manifest) -> Manifest:
    """Return the version without the versions that it keeps by name."""
    return Manifest(version.version, version.created, version.action, version.corpora, version.by)
