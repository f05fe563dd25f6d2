"""Small databases for the tests of the Python interface."""

from __future__ import annotations

import pytest

import ngramdb


@pytest.fixture
def db():
    with ngramdb.connect() as connection:
        yield connection


@pytest.fixture
def wiki(db):
    """Three documents of words with metadata."""
    corpus = db.create_corpus("wiki")
    corpus.append(
        [
            {"text": "natural language processing", "year": 2019},
            {"text": "natural language understanding", "year": 2020, "m": {"lang": "en"}},
            "the end",
        ]
    )
    return corpus
