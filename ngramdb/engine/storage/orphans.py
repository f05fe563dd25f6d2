"""Removing what crashed writers left: files that no kept version refers to.

Only for the holder of the writer's lock, and only names that a writer could have given. In doubt a file
stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.layout import KINDS, MANIFESTS, UNSYNCED, is_data_file, is_temporary
from ngramdb.engine.storage.manifest import Manifest
from ngramdb.errors import StorageError
from ngramdb.formats import MARKER


def collect_orphans(
    directory: Directory,
    newest: Manifest,
    read_older: Callable[[], Iterator[Manifest]],
    files: set[str] | None = None,
) -> tuple[list[str], bool]:
    """Remove orphans. Returns their names, and True unless one could not be removed.

    Parameters
    ----------
    newest : the newest version.
    read_older : the other kept versions, oldest first; read only as far as there are files to account
        for.
    files : data files that may be orphans; None looks at all files of the database, temporary ones included
    Failures to remove a file are passed over: the next writer tries again.
    Cost: listing the folders without `files`; in the common case no file is read.
    """
    temporary = set()
    if files is None:
        files = {name for folder in KINDS for name in directory.list(f"{folder}/") if is_data_file(name)}
        for prefix in (f"{MANIFESTS}/", f"{MARKER}.", f"{UNSYNCED}."):
            temporary |= {name for name in directory.list(prefix) if is_temporary(name)}
    orphans = temporary | _unreferenced(files, newest, read_older)
    if not orphans:
        return [], True
    removed = []
    with contextlib.suppress(OSError):
        # A manifest that was taken back may still be there after a power failure, and refer to these files,
        # unless its removal is made durable before theirs.
        directory.sync_folder(MANIFESTS)
        for name in sorted(orphans):
            with contextlib.suppress(OSError):
                directory.remove(name)
                removed.append(name)
    return removed, len(removed) == len(orphans)


def _unreferenced(
    files: set[str], newest: Manifest, read_older: Callable[[], Iterator[Manifest]]
) -> set[str]:
    left = files - newest.files().keys()
    if not left:
        return left
    try:
        for manifest in read_older():
            left -= manifest.files().keys()
            if not left:
                break
    except (StorageError, OSError):
        # A version that cannot be read now may need any of these files.
        return set()
    return left
