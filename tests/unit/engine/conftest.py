"""A database in memory, and the loads that its tests make."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pytest
from support.changes import load_documents
from support.faulty_directory import FaultyDirectory

from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import write_content
from ngramdb.ingest.documents import Document
from ngramdb.tokenizers.registry import create_tokenizer

# A tokenizer.json of single bytes and one merge: byte-lossless, as those of the GPT family are.
BYTE_LEVEL = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    },
    "post_processor": None,
    "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
}


def byte_alphabet():
    """The printable character of every byte, as byte-level tokenizers write it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


@pytest.fixture(scope="session")
def tokenizer_json(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    vocabulary = {character: i for i, character in enumerate(byte_alphabet())}
    model = {"type": "BPE", "vocab": {**vocabulary, "th": 256}, "merges": ["t h"], "ignore_merges": False}
    path.write_text(json.dumps({**BYTE_LEVEL, "model": model}), encoding="utf-8")
    return path


@pytest.fixture
def narrow_tokenizer(tmp_path):
    """Return a tokenizer.json with two words and without a token for others."""
    path = tmp_path / "narrow.json"
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "<unk>"}
    path.write_text(json.dumps({**BYTE_LEVEL, "pre_tokenizer": {"type": "Whitespace"}, "model": model}))
    return path


class Database:
    """A store in memory with corpora that are loaded straight through the writer."""

    def __init__(self, directory=None):
        self.directory = MemoryDirectory() if directory is None else directory
        self.store = Store.open(self.directory)

    def create(self, name="c", tokenizer="tokens"):
        made = create_tokenizer(tokenizer)
        with self.store.begin() as transaction:
            definition = made.definition()
            file = definition and write_content(transaction, "tokenizers", "tokenizer", definition)
            entry = TokenizerEntry(made.kind, file, (), made.n_vocabulary)
            corpus = CorpusEntry(name, uuid.uuid4().hex, entry, (), 0, {})
            transaction.commit({**transaction.manifest.corpora, name: corpus}, f"create corpus {name}")

    def load(self, documents, name="c", segment_tokens=10**6, threads=1, **options):
        """Loads lists of ids, texts, or documents as they are."""
        stream = (one if isinstance(one, Document) else document(one) for one in documents)
        return load_documents(
            self.store, name, stream, segment_tokens=segment_tokens, threads=threads, action="load", **options
        )

    def view(self, name="c"):
        return CorpusView(self.store, self.store.manifest.corpora[name])

    def files(self):
        """Every file's name but the manifests'."""
        return [name for name in self.directory.list() if not name.startswith("manifests/")]


def document(content, **metadata):
    """A document of text, bytes or token ids."""
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, bytes):
        return Document(content, None, metadata, "test", 1)
    return Document(None, np.array(content, dtype=np.uint32), metadata, "test", 1)


@pytest.fixture
def database():
    return Database()


@pytest.fixture
def faulty_database():
    return Database(FaultyDirectory())


@pytest.fixture
def make_document():
    return document
