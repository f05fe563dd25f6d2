"""Perplexities of sentences at several orders, and sizes, beside KenLM: the very same model in both."""

from __future__ import annotations

import gzip
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

import ngramdb
from kenlmbench.peer import Peer, ask_kenlm
from kenlmbench.rounds import deal
from kenlmbench.timing import cell, row, timed
from ngramdb.lm import UNKNOWN, KneserNey, LanguageModel

FILES = ("wt2v.train.txt.gz", "wt2.test.txt.gz")

Ids = NDArray[np.int64]

HEADER = """\
| order | perplexity | KenLM | µs per token, first | µs per token | CPU | KenLM | ARPA, MB | written in, s |
|---|---|---|---|---|---|---|---|---|"""


class Task:
    """The sentences to train on and to score, as words and as ids."""

    def __init__(self, data: Path, n_rounds: int) -> None:
        train, test = ([line.split() for line in _lines(data / name)] for name in FILES)
        self.ids: dict[str, int] = {}
        self.train = [[self.ids.setdefault(word, len(self.ids)) for word in line] for line in train]
        self.words = list(self.ids)
        self.rounds = deal(
            [[self.ids.get(word, UNKNOWN) for word in line] for line in test],
            [" ".join(line) for line in test],
            n_rounds,
        )
        self.n_scored = [texts.n_scored for texts in self.rounds]

    def lookups(self, k: int) -> None:
        """What turning a round's words into ids costs at least."""
        ids = self.ids
        for sentence in self.rounds[k].sentences:
            [ids.get(word, UNKNOWN) for word in sentence.split()]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for line in file if line.strip()]


def report(data: Path, orders: Sequence[int], rounds: int, kenlm: ModuleType) -> Iterator[str]:
    """The lines of the section, each as soon as it is known."""
    task = Task(data, rounds)
    with (
        tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder,
        ngramdb.connect(Path(folder) / "kenlm.ngdb") as db,
    ):
        corpus = db.create_corpus("wt2v", "tokens")
        corpus.append({"ids": ids} for ids in task.train)
        start = time.thread_time()
        db.execute("ANALYZE wt2v")
        analyzed = time.thread_time() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        n_tokens = sum(map(len, task.train))
        yield f"{n_tokens:,} tokens to train on, {sum(task.n_scored):,} scored ones, a sentence a line."
        yield f"Database of any order: {size / 1e6:.1f} MB; `ANALYZE` {analyzed:.2f} s."
        lookups = timed(task.lookups, task.n_scored)
        yield f"Looking up words in a dictionary, part of KenLM's time: {lookups.usual:.2f} µs per token.\n"
        yield HEADER
        for order in (*orders, None):
            model = corpus.language_model(KneserNey(order=order))

            logprobs: list[float] = []

            def score(k: int, model: LanguageModel = model, logprobs: list[float] = logprobs) -> None:
                texts = task.rounds[k]
                scores = model.score_many(texts.flat, texts.offsets, document=True)
                logprobs.append(scores.total_logprob)

            ours = timed(score, task.n_scored)
            peer: Peer | None = None
            if order is not None:
                sentences = [texts.sentences for texts in task.rounds]
                peer = ask_kenlm(kenlm, model, task.words.__getitem__, sentences, task.n_scored)
            yield row(
                [
                    "∞" if order is None else str(order),
                    cell(math.exp(-sum(logprobs) / sum(task.n_scored)), ".3f"),
                    cell(peer.perplexity if peer else None, ".3f"),
                    cell(ours.first),
                    cell(ours.usual),
                    cell(ours.cpu),
                    cell(peer.time.usual if peer and peer.time else None),
                    cell(peer.arpa_bytes / 1e6 if peer else None, ".1f"),
                    cell(peer.arpa_seconds if peer else None, ".1f"),
                ]
            )
