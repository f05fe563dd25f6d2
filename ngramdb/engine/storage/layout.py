"""How the files of a database are called. FORMAT.md, "The folder", describes them in prose."""

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
#: Folders of data files, and the kind of container that each of them holds (native segments, in that folder).
KINDS = {SEGMENTS: "SEGM", "vocabularies": "VOCB", "tokenizers": "TOKZ", "audits": "AUDT"}

#: Bytes that are kept on the local disk of databases in object stores, where nothing else is asked for.
DEFAULT_CACHE_LIMIT = 20 << 30

_MANIFEST = re.compile(rf"{MANIFESTS}/([0-9]{{10}})\.manifest")
_TEMPORARY = re.compile(rf"(?:{MARKER}|{UNSYNCED}|{MANIFESTS}/[0-9]{{10}}\.manifest)\.[0-9a-f]{{8}}\.tmp")
_DATA_FILE = re.compile(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{32}}\.[a-z]{{1,20}}")


def manifest_name(version: int) -> str:
    """The name of a version's manifest."""
    return f"{MANIFESTS}/{version:010d}.manifest"


def version_of(name: str) -> int | None:
    """The version in a manifest's name; None for other names."""
    match = _MANIFEST.fullmatch(name)
    return int(match[1]) if match else None


def temporary_name(final: str) -> str:
    """A name under which the file that will be called `final` is written; different each time."""
    return f"{final}.{os.urandom(4).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a writer gives this name to a file that is not complete."""
    return _TEMPORARY.fullmatch(name) is not None


def new_data_name(folder: str, suffix: str) -> str:
    """A name that no other file has: 128 random bits."""
    return f"{folder}/{os.urandom(16).hex()}.{suffix}"


def is_data_file(name: str) -> bool:
    """Whether a writer of ours could have given this name; anything else in a folder is left alone."""
    return _DATA_FILE.fullmatch(name) is not None


# ---- Removing what crashed writers left: files that no kept version refers to.


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
