"""Corpora for a single query: documents indexed in memory, with another tokenizer or as words."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from ngramdb.engine.changes.change import Change, WriteOptions
from ngramdb.engine.corpus.key_cache import remember
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.loading.writer import load_documents
from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.manifest import CorpusEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.engine.storage.transaction import write_content
from ngramdb.ingest.documents import Document
from ngramdb.registries import DEFAULT_TOKENIZER, GROWING_TOKENIZERS

NAME = "scratch"
SEGMENT_TOKENS = 60_000_000


def scratch_corpus(
    directory: Directory, documents: Iterator[Document], like: CorpusView | None = None
) -> CorpusView:
    """Index the documents in a new database in memory, tokenized as in the corpus `like`, or else as words.

    Token ids are those of `like`, except for the kind `words`, whose vocabulary starts empty.
    """
    store = Store.open(directory)
    with store.begin() as transaction:
        kind = DEFAULT_TOKENIZER if like is None else like.entry.tokenizer.kind
        file, n_vocabulary = None, 0
        if like is not None and kind not in GROWING_TOKENIZERS:
            definition = like.tokenizer.definition()
            n_vocabulary = like.tokenizer.n_vocabulary
            if definition is not None:
                file = write_content(transaction, "tokenizers", "tokenizer", definition)
        tokenizer = TokenizerEntry(kind, file, (), n_vocabulary)
        if like is not None and kind not in GROWING_TOKENIZERS:
            remember(store, tokenizer, like.tokenizer)
        entry = CorpusEntry(NAME, uuid.uuid4().hex, tokenizer, (), 0, {})
        transaction.commit({NAME: entry}, "scratch")
    with Change.begin(store, NAME, "scratch", WriteOptions(SEGMENT_TOKENS, auto_compact=False)) as change:
        load_documents(change, documents)
    return CorpusView(store, store.manifest.corpora[NAME])
