"""Small corpora over a few ids, in one, three or many segments, and documents deleted: for properties."""

from __future__ import annotations

import math
from contextlib import contextmanager

from hypothesis import strategies as st

import ngramdb

# Ids at the ends of the widths that segments choose from, and neighbours of the gap that symbols leave.
IDS = (0, 1, 2, 255, 256, 65535, 2**32 - 2)


@st.composite
def corpora(draw):
    """Documents over a few ids, where segments end, and which documents are deleted afterwards."""
    alphabet = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(alphabet), max_size=9), max_size=8))
    if documents and draw(st.booleans()):
        documents += [documents[0]] * 2
    deleted = draw(st.sets(st.integers(0, max(0, len(documents) - 1)), max_size=2)) if documents else set()
    return documents, draw(st.sampled_from([1, 3, 99])), deleted


def load(db, corpus, tokenizer="tokens"):
    """The corpus in a connection, and what is left of its documents, by id."""
    documents, n_segments, deleted = corpus
    size = max(1, math.ceil(len(documents) / n_segments))
    db.settings["auto_compact"] = False
    c = db.create_corpus("c", tokenizer=tokenizer)
    for start in range(0, len(documents), size):
        part = documents[start : start + size]
        c.append([(ids, {}) for ids in part] if tokenizer == "tokens" else part)
    for doc_id in deleted:
        assert c.delete(f"doc_id = {doc_id}") == 1
    return c, {i: document for i, document in enumerate(documents) if i not in deleted}


@contextmanager
def loaded(corpus, tokenizer="tokens"):
    """The same in a connection of its own."""
    with ngramdb.connect() as db:
        yield load(db, corpus, tokenizer)


def places(documents, ngram):
    """(doc_id, position) of every occurrence, in order."""
    n = len(ngram)
    return [
        (doc_id, i)
        for doc_id, document in documents.items()
        for i in range(len(document) - n + 1)
        if list(document[i : i + n]) == list(ngram)
    ]
