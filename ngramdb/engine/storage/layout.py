"""Names of the files of a database. FORMAT.md, "The folder", describes them in prose."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator

from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.manifest import Manifest
from ngramdb.errors import StorageError
from ngramdb.formats import MARKER

MARKER_KIND = "ROOT"
MANIFEST_KIND = "MNFT"
LOCK = "LOCK"
UNSYNCED = "UNSYNCED"
MANIFESTS = "manifests"
SEGMENTS = "segments"
#: Folders of data files, and the kind of container in each (in the folder of segments: native ones).
KINDS = {SEGMENTS: "SEGM", "vocabularies": "VOCB", "tokenizers": "TOKZ", "audits": "AUDT"}

#: Default limit, in bytes, of the local disk cache for databases in object stores.
DEFAULT_CACHE_LIMIT = 20 << 30

_MANIFEST = re.compile(rf"{MANIFESTS}/([0-9]{{10}})\.manifest")
_TEMPORARY = re.compile(rf"(?:{MARKER}|{UNSYNCED}|{MANIFESTS}/[0-9]{{10}}\.manifest)\.[0-9a-f]{{8}}\.tmp")
_DATA_FILE = re.compile(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{32}}\.[a-z]{{1,20}}")


def manifest_name(version: int) -> str:
    """Return the name of a version's manifest."""
    return f"{MANIFESTS}/{version:010d}.manifest"


def version_of(name: str) -> int | None:
    """Return the version in a manifest's name; None for other names."""
    match = _MANIFEST.fullmatch(name)
    return int(match[1]) if match else None


def temporary_name(final: str) -> str:
    """Return a name under which the file to be called `final` is written; different each time."""
    return f"{final}.{os.urandom(4).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Return True if writers use this name for incomplete files."""
    return _TEMPORARY.fullmatch(name) is not None


def new_data_name(folder: str, suffix: str) -> str:
    """Return a name that no other file has: 128 random bits."""
    return f"{folder}/{os.urandom(16).hex()}.{suffix}"


def is_data_file(name: str) -> bool:
    """Return True if our writers could have chosen this name; all other files in a folder are left alone."""
    return _DATA_FILE.fullmatch(name) is not None


# ---- Removing files that crashed writers left, and that no kept version refers to.


def collect_orphans(
    directory: Directory,
    newest: Manifest,
    read_older: Callable[[], Iterator[Manifest]],
    files: set[str] | None = None,
) -> tuple[list[str], bool]:
    """Remove orphans. Return their names, and True unless one could not be removed.

    Parameters
    ----------
    newest : the newest version.
    read_older : the other kept versions, oldest first; read only while files remain to be
     accounted for.
    files : data files that may be orphans; None checks all files of the database, temporary ones included
    Failures to remove a file are ignored: the next writer tries again.
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
        # A retracted manifest may reappear after a power failure, and refer to these files,
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
