"""The corpus that infini-gram answered about, loaded once, and its answers.

The data is not part of the project: it lies in `../shared/data` beside the checkout. Without it these tests
are skipped.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.peer_data import data_file


@pytest.fixture(scope="session")
def peer() -> dict[str, Any]:
    """infini-gram's answers on `small.jsonl`."""
    with gzip.open(data_file("infinigram_small.json.gz"), "rt", encoding="utf-8") as file:
        answers: dict[str, Any] = json.load(file)
    return answers


@pytest.fixture(scope="session")
def tokenizer_file() -> Path:
    return data_file("gpt2.tokenizer.json")


@pytest.fixture(scope="session")
def documents() -> list[dict[str, Any]]:
    """The documents as the file has them."""
    with gzip.open(data_file("small.jsonl.gz"), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="session")
def connection(tmp_path_factory: pytest.TempPathFactory, tokenizer_file: Path) -> Iterator[Any]:
    """A database on disk that holds `small.jsonl` in one corpus, in several segments."""
    import ngramdb

    documents = data_file("small.jsonl.gz")
    database = tmp_path_factory.mktemp("peers") / "small.ngdb"
    with ngramdb.connect(str(database)) as opened:
        # About three segments: the answers must not depend on their boundaries.
        made = opened.create_corpus("small", tokenizer=str(tokenizer_file), segment_tokens=2_500_000)
        made.load(str(documents))
        yield opened


@pytest.fixture(scope="session")
def corpus(connection: Any) -> Any:
    return connection.corpus("small")
