"""Verifying a database: every byte of the files that its newest version needs, and all manifests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol

from ngramdb.engine.storage.directory.base import Directory, split_name
from ngramdb.engine.storage.files import KINDS, MARKER_KIND, SEGMENTS, manifest_name, read_version
from ngramdb.engine.storage.manifest import FileRef, Manifest
from ngramdb.errors import CorruptionError, StorageError
from ngramdb.formats import MARKER
from ngramdb.segments.container import Container, FileInfo


class Store(Protocol):
    """The store that is checked."""

    @property
    def directory(self) -> Directory: ...
    @property
    def database_id(self) -> str: ...
    @property
    def manifest(self) -> Manifest: ...
    def listed_versions(self) -> list[int]: ...
    def open_file(self, name: str, kind: str | None, info: FileInfo | None) -> Container: ...


class CheckFinding(NamedTuple):
    """One problem: the file, the byte (None if unknown) and what is wrong."""

    file: str
    offset: int | None
    message: str


def findings(store: Store) -> Iterator[CheckFinding]:
    """Yield the findings of `Store.check`."""
    for name, verify in _verifications(store):
        try:
            verify()
        except CorruptionError as error:
            yield CheckFinding(name, error.offset, str(error))
        except (StorageError, OSError) as error:
            yield CheckFinding(name, None, str(error))


def _verifications(store: Store) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every file's name, and a function that raises if something is wrong with it."""
    yield MARKER, lambda: store.open_file(MARKER, MARKER_KIND, None).verify()
    manifest = store.manifest
    versions = {manifest.version}
    with contextlib.suppress(OSError):  # only the newest version is known then
        versions.update(store.listed_versions())
    for version in sorted(versions):
        yield manifest_name(version), partial(_verify_version, store, version, version == manifest.version)
    for before, after in pairwise(sorted(versions)):
        if after > before + 1:
            yield manifest_name(before + 1), partial(_verify_hole, store, before, after)
    for ref in manifest.files().values():
        yield ref.name, partial(_verify, store, ref)


def _verify_version(store: Store, version: int, is_needed: bool) -> None:
    try:
        read_version(store.directory, version, store.database_id)
    except FileNotFoundError:
        if is_needed:
            raise
        # A writer has removed it meanwhile.


def _verify_hole(store: Store, before: int, after: int) -> None:
    """Raise if the versions in between are gone: only the oldest ones expire."""
    name = manifest_name(before + 1)
    # In this order: if the older one exists after the other was found missing, no writer has removed that.
    if store.directory.exists(name) or not store.directory.exists(manifest_name(before)):
        return
    path = store.directory.path_of(name)
    if after == before + 2:
        gone, what = f"the manifest of version {before + 1} is gone", "it"
    else:
        gone, what = f"the manifests of versions {before + 1} to {after - 1} are gone", "them"
    raise StorageError(
        f"{path}: {gone}, though the older version {before} is kept; restore {what} from a backup",
        path=path,
    )


def _verify(store: Store, ref: FileRef) -> None:
    # Opened again: a file that was replaced since it was first opened must be found too. The letters of
    # a segment's file are those of its kind, which are compared when the segment is opened.
    folder = split_name(ref.name)[0]
    store.open_file(ref.name, None if folder == SEGMENTS else KINDS[folder], ref.info).verify()
