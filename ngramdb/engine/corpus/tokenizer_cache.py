"""The tokenizers of a database's corpora, opened once and shared.

A tokenizer belongs to its entry in the manifest: corpora, versions and threads that agree on that share
one. A load works on a fork; when its commit is done the fork is remembered, so that the next question need
not open its files.
"""

from __future__ import annotations

from collections import OrderedDict
from weakref import WeakKeyDictionary

from ngramdb import forks
from ngramdb.engine.storage.manifest import TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.tokenizers.registry import open_tokenizer

# Versions of tokenizers that are kept open.
MAX_OPEN = 64

_lock = forks.lock()
_open_by_store: WeakKeyDictionary[Store, OrderedDict[TokenizerEntry, Tokenizer]] = WeakKeyDictionary()


def tokenizer_of(store: Store, entry: TokenizerEntry) -> Tokenizer:
    """The tokenizer that the entry describes. Raises CorruptionError, StorageError."""
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
    """Keep a tokenizer that is known to be what the entry describes."""
    with _lock:
        opened = _open_by_store.setdefault(store, OrderedDict())
        opened[entry] = tokenizer
        while len(opened) > MAX_OPEN:
            opened.popitem(last=False)
