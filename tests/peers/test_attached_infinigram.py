"""Indexes that infini-gram's own builder makes, attached: our answers, its own, and brute force.

Needs the package `infini-gram`; the indexes are made of documents drawn at random. Its builder takes 34 GB
for tokens of 32 bits, however few they are, so those indexes are our own exports, which it reads.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.foreign_indexes import stream_of

import ngramdb

pytest.importorskip("infini_gram")

BUILD = """
import sys
from infini_gram import indexing
sys.argv = ["indexing", *sys.argv[1:]]
indexing.main()
"""
DTYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32}
# With fewer bytes, its builder silently writes wrong tables.
BYTES_PER_SHARD = 150_000
# Its code for a document's end among next tokens.
EOS = 3


class Case:
    """An index of its builder's, opened by both, and the documents in the order of their numbers."""

    def __init__(self, folder: Path, name: str, shards: int, version: int) -> None:
        from infini_gram.engine import InfiniGramEngine

        dtype = DTYPES[name]
        rng = np.random.default_rng(shards)
        ids = rng.permutation(np.arange(4, 250 if name == "u8" else 65000))
        n_tokens = shards * BYTES_PER_SHARD // np.dtype(dtype).itemsize
        drawn = ids[np.minimum(rng.zipf(1.3, n_tokens) - 1, len(ids) - 1)]
        cuts = np.sort(rng.choice(n_tokens, n_tokens // 80, replace=False))
        documents = [part.tolist() for part in np.split(drawn, cuts)]
        documents += [documents[0], documents[1][3:], documents[0] * 2]
        self.documents = [document for s in range(shards) for document in documents[s::shards]]
        self.stream = np.concatenate([[*document, EOS] for document in self.documents])
        self.db = ngramdb.connect()
        if name == "u32":
            folder = folder / "exported"
            made = self.db.create_corpus("native", "tokens").append(documents)
            assert made.documents == len(documents)
            exported = self.db.corpus("native")
            exported.export_infini_gram(folder, version=version, shards=shards, token_dtype=name)
        else:
            build(folder, documents, name, shards, version)
        largest = int(np.iinfo(dtype).max)
        size = min(largest, 65535)
        self.engine: Any = InfiniGramEngine(str(folder), EOS, size, version, name, max_support=10**6)
        self.corpus = self.db.attach(folder, "pile", dtype=name, version=version)
        self.rng = rng

    def grams(self, n: int) -> list[list[int]]:
        """N-grams of the documents, and some that do not occur."""
        found = []
        while len(found) < n:
            document = self.documents[self.rng.integers(len(self.documents))]
            length = int(self.rng.integers(1, 7))
            if len(document) < length:
                continue
            at = int(self.rng.integers(len(document) - length + 1))
            gram = document[at : at + length]
            if self.rng.random() < 0.2:
                gram[int(self.rng.integers(length))] = int(self.rng.integers(4, 250))
            found.append(gram)
        return found

    def places(self, gram: list[int]) -> Any:
        """Return the places in `stream` at which the n-gram ends, by comparing each place."""
        hits = np.ones(len(self.stream) - len(gram), dtype=bool)
        for i, token in enumerate(gram):
            hits &= self.stream[i : len(hits) + i] == token
        return np.flatnonzero(hits) + len(gram)

    def next_tokens(self, gram: list[int]) -> dict[int, int]:
        tokens, counts = np.unique(self.stream[self.places(gram)], return_counts=True)
        return dict(zip(tokens.tolist(), counts.tolist(), strict=True))


def build(folder: Path, documents: list[list[int]], name: str, shards: int, version: int) -> None:
    """The index by its own builder."""
    for s in range(shards):
        text, offsets = stream_of(documents[s::shards], DTYPES[name], reverse=version == 5)
        (folder / f"tokenized.{s}").write_bytes(text.tobytes())
        (folder / f"offset.{s}").write_bytes(offsets.tobytes())
    options = f"--data_dir {folder} --save_dir {folder} --token_dtype {name} --shards {shards} --cpus 1"
    options += f" --mem 2 --version {version} --ulimit 1024"
    command = [sys.executable, "-c", BUILD, *options.split()]
    subprocess.run(command, check=True, capture_output=True)


def survived(asks: list[Callable[[], Any]]) -> list[Any]:
    """Return the answers of a child process; None if it dies, as its distributions do at times."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        faulthandler.disable()
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            pickle.dump([ask() for ask in asks], out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        found = answers.read()
    _, status = os.waitpid(child, 0)
    return list(pickle.loads(found)) if status == 0 else [None] * len(asks)


CASES = [("u16", 1, 4), ("u16", 4, 4), ("u8", 1, 4), ("u8", 4, 4), ("u32", 1, 4), ("u32", 4, 4)]
CASES += [("u16", 1, 5), ("u16", 4, 5), ("u8", 4, 5)]


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("index"), *request.param)


def test_documents_are_those_of_its_numbers(case: Case) -> None:
    assert case.corpus.n_documents == case.engine.get_total_doc_cnt() == len(case.documents)
    for i in range(0, len(case.documents), 97):
        found = case.engine.get_doc_by_ix(i, max_disp_len=10**6)["token_ids"]
        assert found == case.documents[i]
        shown = case.db.execute("DOCS FROM pile WHERE doc_id = ?", [i]).fetchone()[-1]
        assert [int(token) for token in shown.split()] == case.documents[i]


def test_counts(case: Case) -> None:
    grams = case.grams(400)
    ours = case.corpus.count_many(grams).tolist()
    assert ours == [case.engine.count(gram)["count"] for gram in grams]
    assert ours == [case.corpus.count(gram) for gram in grams]
    assert ours == [len(case.places(gram)) for gram in grams]


def test_counts_stop_at_documents_where_its_do_not_see_any(case: Case) -> None:
    for before, after in list(zip(case.documents, case.documents[1:], strict=False))[:40]:
        if before and after:
            gram = [before[-1], after[0]]
            assert case.corpus.count(gram) == case.engine.count(gram)["count"]


def test_probabilities(case: Case) -> None:
    for gram in case.grams(200):
        theirs = case.engine.prob(gram[:-1], gram[-1])
        if not theirs["prompt_cnt"]:
            assert case.corpus.prob(gram[-1], gram[:-1]) is None
            continue
        ours = case.corpus.prob(gram[-1], gram[:-1])
        if len(gram) == 1:  # it counts separators among the tokens
            assert ours.cont_count == theirs["cont_cnt"]
            continue
        assert (ours.context_count, ours.cont_count) == (theirs["prompt_cnt"], theirs["cont_cnt"])
        theirs = case.engine.infgram_prob(gram[:-1], gram[-1])
        ours = case.corpus.prob(gram[-1], gram[:-1], model="infgram")
        if theirs["suffix_len"] > 0:
            assert (ours.context_count, ours.cont_count) == (theirs["prompt_cnt"], theirs["cont_cnt"])
        assert ours.effective_n == theirs["suffix_len"] + 1


def test_distributions(case: Case) -> None:
    """Its own are sometimes wrong for frequent contexts: they count more ends than documents."""
    n_right = n_wrong = 0
    for _ in range(5):
        grams = case.grams(6)
        asks = [(name, gram) for gram in grams for name in ("ngram", "infgram")]
        methods = {"ngram": case.engine.ntd, "infgram": case.engine.infgram_ntd}
        answers = survived([partial(methods[name], gram) for name, gram in asks])
        for (name, gram), theirs in zip(asks, answers, strict=True):
            ours = case.corpus.dist_arrays(gram, model=name)
            length = ours.effective_n - 1 if name == "infgram" else len(gram)
            assert theirs is None or length == theirs.get("suffix_len", length)
            if not length:
                continue
            counts = dict(zip(ours.token_ids.tolist(), ours.counts.tolist(), strict=True))
            if ours.n_end:
                counts[EOS] = ours.n_end
            assert counts == case.next_tokens(gram[len(gram) - length :])
            if theirs is not None:
                found = {token: entry["cont_cnt"] for token, entry in theirs["result_by_token_id"].items()}
                n_right += counts == found
                n_wrong += counts != found
    assert n_right, f"all of its {n_wrong} are wrong"


def test_ngrams_by_brute_force(case: Case) -> None:
    for n in (1, 2, 3):
        counts = Counter(
            tuple(document[i : i + n]) for document in case.documents for i in range(len(document) - n + 1)
        )
        expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:200]
        rows = case.db.execute(f"NGRAMS {n} FROM pile TOP 200").fetchall()
        assert [row[-1] for row in rows] == [count for _, count in expected]


def test_documents_of_conditions_by_brute_force(case: Case) -> None:
    """Its own search for several n-grams loses documents, and caps how many it looks at."""
    numbers = np.cumsum(case.stream == EOS)
    for a, b in zip(case.grams(40), case.grams(40), strict=True):
        with_a, with_b = (numbers[case.places(gram) - 1] for gram in (a, b))
        expected = np.intersect1d(with_a, with_b).tolist()
        found = case.corpus.docs("? AND ?", params=[a, b]).fetchall()
        assert [row[0] for row in found] == expected


def test_models_equal_those_of_the_same_documents_loaded(case: Case) -> None:
    native = case.db.create_corpus("native", "tokens", if_not_exists=True)
    if not native.n_documents:
        native.append(case.documents)
    for model in ("kneser_ney", "backoff", "infgram", "kneser_ney order 3"):
        for document in case.documents[:5]:
            ours, expected = (one.score(document[:30], model=model).prob for one in (case.corpus, native))
            assert np.array_equal(ours, expected, equal_nan=True)
