"""Small databases in memory, as their files: what tests damage, and open again."""

from __future__ import annotations

import random
from collections.abc import Callable

from ngramdb.api.connection import Connection
from ngramdb.api.corpus import Corpus
from ngramdb.api.database import Database
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store

Files = dict[str, bytes]


def files_of(fill: Callable[[Corpus, random.Random], None], seed: int = 1, tokenizer: str = "words") -> Files:
    """The files of a database whose corpus `c` was filled; nothing is merged by itself."""
    directory = MemoryDirectory()
    with Connection(Database(Store.open(directory))) as db:
        db.settings["auto_compact"] = False
        fill(db.create_corpus("c", tokenizer=tokenizer), random.Random(seed))
    return {name: bytes(directory.open_read(name)) for name in directory.list()}


def words(rng: random.Random, n_words: int, most: int) -> str:
    """Return a text of less than `most` words, drawn from `n_words` ones: `w0`, `w1`, …"""
    return " ".join(f"w{rng.randrange(n_words)}" for _ in range(rng.randrange(most)))


def opened(files: Files, *, read_only: bool = False) -> Connection:
    """A connection to a database of these files; what it writes is not theirs."""
    return Connection(Database(Store.open(MemoryDirectory(dict(files)), read_only=read_only)))
