"""infini-gram reads the files that a corpus is exported to, and finds in them what its own builder writes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from support.infinigram_files import build, write_streams

import ngramdb

N_DOCUMENTS = 150
EOS = 50256


@pytest.fixture(scope="module")
def corpus(documents: list[dict[str, Any]], tokenizer_file: Path) -> Any:
    with ngramdb.connect() as db:
        made = db.create_corpus("web", tokenizer_file, segment_tokens=100_000)
        made.append(documents[:N_DOCUMENTS])
        yield made


@pytest.fixture(scope="module")
def texts(corpus: Any, documents: list[dict[str, Any]]) -> list[list[int]]:
    return [corpus.tokenizer.encode(one["text"]).tolist() for one in documents[:N_DOCUMENTS]]


@pytest.fixture(scope="module")
def peer() -> Any:
    return pytest.importorskip("infini_gram.engine").InfiniGramEngine


def test_streams_and_tables_are_those_of_the_peers_builder(
    corpus: Any, texts: list[list[int]], peer: Any, tmp_path: Path
) -> None:
    corpus.export_infini_gram(tmp_path / "ours", shards=2)
    write_streams(tmp_path / "theirs", texts, [{}] * N_DOCUMENTS, shards=2)
    build(tmp_path / "theirs", shards=2)
    for name in ("tokenized", "table", "offset"):
        for s in (0, 1):
            ours, theirs = (tmp_path / which / f"{name}.{s}" for which in ("ours", "theirs"))
            assert ours.read_bytes() == theirs.read_bytes(), name


@pytest.mark.parametrize(("version", "shards"), [(4, 1), (4, 3), (5, 1)])
@pytest.mark.parametrize("dtype", ["u16", "u32"])
def test_the_peer_answers_as_we_do(
    corpus: Any, texts: list[list[int]], peer: Any, tmp_path: Path, version: int, shards: int, dtype: str
) -> None:
    n = corpus.export_infini_gram(tmp_path / "index", version=version, shards=shards, token_dtype=dtype)
    engine = peer(
        index_dir=str(tmp_path / "index"),
        eos_token_id=EOS,
        version=version,
        token_dtype=dtype,
        precompute_unigram_logprobs=True,
    )
    assert engine.get_total_doc_cnt() == n == N_DOCUMENTS
    assert engine.count([])["count"] == corpus.n_tokens + N_DOCUMENTS
    chance = random.Random(version)
    for _ in range(80):
        text = chance.choice(texts)
        start = chance.randrange(len(text) - 12)
        ids = text[start : start + chance.choice([1, 2, 3, 8])]
        assert engine.count(ids)["count"] == corpus.count(ids)
        assert engine.prob(ids, text[start + 9])["cont_cnt"] == corpus.count([*ids, text[start + 9]])
    for number in (0, 1, N_DOCUMENTS - 1):
        found = engine.get_doc_by_ix(number, max_disp_len=7)
        if shards == 1:
            # Reversed documents begin with their last tokens, which are shown the right way round.
            text = texts[number]
            assert found["token_ids"] == (text[:7] if version == 4 else text[-7:])
            assert found["doc_len"] == len(texts[number])
        assert '"path": "web"' in found["metadata"]
