"""Caches: data derived from segments, as files beside the database; and open tokenizers, in memory.

With sampled keys of an attached index in a file, not every process need sample them; keys of a segment's
documents let a later delivery be compared with them. A file of `cache/` belongs to no version and may be
removed at any time; if it cannot be read or written, its content is computed again. FORMAT.md, "Cache", has
its layout.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import fork_safety
from ngramdb._cext.segment.kinds import TableIndex
from ngramdb.engine.storage.directory.base import WritableFile
from ngramdb.engine.storage.files import CACHE, temporary_name
from ngramdb.engine.storage.manifest import FileRef, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.errors import StorageError
from ngramdb.lazy import lazy_module
from ngramdb.segments.container import SMALL_BLOCK_SIZE, Container, ContainerWriter
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import open_tokenizer

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")


KIND = "KEYS"
# Sampling fewer rows than this takes less than opening a file.
FEWEST_ROWS = 1 << 20


def keys_of(store: Store, identity: str, index: TableIndex) -> NDArray[np.uint64]:
    """Return the key of every `index.stride`-th row.

    identity : what distinguishes the index's files, as they are, from all others
    """
    name = f"{CACHE}/{hashlib.md5(identity.encode(), usedforsecurity=False).hexdigest()}.keys"
    if index.n_tokens < FEWEST_ROWS:
        return index.sample()
    kept = _read(store, name, identity, index)
    if kept is not None:
        return kept
    keys = index.sample()
    if not store.read_only:
        _write(store, name, identity, index, keys)
    return keys


def _read(store: Store, name: str, identity: str, index: TableIndex) -> NDArray[np.uint64] | None:
    """Return the keys in a file; None if it is missing, damaged or belongs to another index."""
    try:
        container = _opened(store, name, KIND)
        container.verify()
        keys = container.array("keys")
    except (OSError, StorageError, KeyError):
        return None
    expected = (-(-index.n_tokens // index.stride), np.dtype(np.uint64))
    if container.properties != _properties(identity, index) or (len(keys), keys.dtype) != expected:
        return None
    return None if (keys[1:] < keys[:-1]).any() else keys


def _write(store: Store, name: str, identity: str, index: TableIndex, keys: NDArray[np.uint64]) -> None:
    """Store the keys, if possible. Other processes may be doing the same; all write the same content."""
    with contextlib.suppress(OSError, StorageError), _published(store, name) as file:
        writer = ContainerWriter(file, kind=KIND)
        writer.add("keys", keys)
        writer.finish(_properties(identity, index))


def _opened(store: Store, name: str, kind: str) -> Container:
    return Container.open(store.directory.open_read(name), store.directory.path_of(name), kind)


@contextlib.contextmanager
def _published(store: Store, name: str) -> Iterator[WritableFile]:
    """Publish a file that the block writes, in place of a damaged or stale one."""
    directory = store.directory
    temporary = temporary_name(name)
    file = directory.create(temporary)
    try:
        yield file
        file.close()
        if directory.exists(name):
            directory.remove(name)
        directory.publish(temporary, name)
    finally:
        file.close()
        with contextlib.suppress(OSError):
            directory.remove(temporary)


def _properties(identity: str, index: TableIndex) -> dict[str, str | int]:
    return {"identity": identity, "n_tokens": index.n_tokens, "stride": index.stride}


class SegmentCache:
    """Files with data derived from a segment: `cache/<the segment's 32 digits>.<what>`.

    They are removed with the segment (`ngramdb.engine.storage.upkeep`).
    """

    def __init__(self, store: Store, ref: FileRef) -> None:
        self._store = store
        self._segment = {"segment_size": ref.size, "segment_crc": ref.crc}
        self._stem = f"{CACHE}/{ref.name.rpartition('/')[2].partition('.')[0]}"

    def open(self, what: str, kind: str, properties: Mapping[str, Any]) -> Container | None:
        """Return the file with these properties; None if it is missing, damaged or stale."""
        if self._store.directory.is_remote:
            return None
        with contextlib.suppress(OSError, StorageError):
            found = _opened(self._store, f"{self._stem}.{what}", kind)
            return found if found.properties == {**properties, **self._segment} else None
        return None

    def write(
        self,
        what: str,
        kind: str,
        properties: Mapping[str, Any],
        fill: Callable[[ContainerWriter, WritableFile], object],
    ) -> Container | None:
        """Write a file by `fill(writer, file)`, and return it; None if that is impossible."""
        if self._store.read_only or self._store.directory.is_remote:
            return None
        with contextlib.suppress(OSError, StorageError):
            with _published(self._store, f"{self._stem}.{what}") as file:
                writer = ContainerWriter(file, kind, block_size=SMALL_BLOCK_SIZE)
                fill(writer, file)
                # Without a sync: what a crash leaves of it does not match its checksums.
                writer.finish({**properties, **self._segment}, synced=False)
            return self.open(what, kind, properties)
        return None


def identity_of(*paths: str) -> str:
    """Return a string that distinguishes these files, in their current state, from all others."""
    parts = []
    for path in paths:
        status = os.stat(path)
        parts.append(f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(parts)


# ---- The tokenizers of a database's corpora, opened once and shared.


# Versions of tokenizers that are kept open.
MAX_OPEN = 64

_lock = fork_safety.lock()
_open_by_store: WeakKeyDictionary[Store, OrderedDict[TokenizerEntry, Tokenizer]] = WeakKeyDictionary()


def tokenizer_of(store: Store, entry: TokenizerEntry) -> Tokenizer:
    """Return the tokenizer that the entry describes. Raises CorruptionError, StorageError."""
    with _lock:
        opened = _open_by_store.setdefault(store, OrderedDict())
        found = opened.get(entry)
        if found is not None:
            opened.move_to_end(entry)
            return found
    definition = None if entry.file is None else store.read(entry.file, "TOKZ")
    vocabulary = [store.read(ref, "VOCB") for ref in entry.vocabulary]
    tokenizer = open_tokenizer(entry.kind, definition, vocabulary)
    remember(store, entry, tokenizer)
    return tokenizer


def remember(store: Store, entry: TokenizerEntry, tokenizer: Tokenizer) -> None:
    """Cache the tokenizer for this entry."""
    with _lock:
        opened = _open_by_store.setdefault(store, OrderedDict())
        opened[entry] = tokenizer
        while len(opened) > MAX_OPEN:
            opened.popitem(last=False)
