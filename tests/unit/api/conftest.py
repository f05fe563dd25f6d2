"""Small databases for the tests of the Python interface."""

from __future__ import annotations

import pytest
from support.subwords import write_tokenizer

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


@pytest.fixture(scope="session")
def subwords(tmp_path_factory):
    """A byte-level tokenizer.json with one long token, a blank and `fox`."""
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")
