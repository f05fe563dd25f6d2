"""Time per scored and per drawn token of every model, over web text as words; KenLM at one order."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import ngramdb
from kenlmbench import tables
from kenlmbench.peer import Peer, ask_kenlm
from kenlmbench.rounds import deal
from kenlmbench.timing import NONE, cell, row, timed
from ngramdb.lm import UNKNOWN, Backoff, Generator, InfGram, KneserNey, LanguageModel, ModelSpec, Sampling

FILE = "medium.jsonl.gz"
# A document of so many is held out for each round, to be scored.
HELD_OUT = 100
SEED = 20240607
# Tokens drawn one after the other in a text, and texts: the first ones are told apart, since whatever is
# frequent is looked at once.
DRAWN_LENGTH, DRAWN_FIRST, DRAWN = 50, 20, 200
# Stands for a word that the corpus has not.
UNSEEN = "(unseen)"
# What KenLM takes for the borders of a sentence or an unknown word, where the text itself has it.
RESERVED = {"<s>", "</s>", "<unk>"}

HEADER = """\
| model | µs per token, first | µs per token | CPU | KenLM | target | perplexity | KenLM | mean effective n |
|---|---|---|---|---|---|---|---|---|"""


class Task:
    """A corpus of words in a database, and documents that it has not."""

    def __init__(self, data: Path, folder: Path, n_rounds: int) -> None:
        with gzip.open(data / FILE, "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        every = HELD_OUT // n_rounds
        held_out = texts[every // 2 :: every]
        del texts[every // 2 :: every]
        self.db = ngramdb.connect(folder / "speed.ngdb")
        self.corpus = self.db.create_corpus("words")
        self.corpus.append({"text": text} for text in texts)
        tokenizer = self.corpus.tokenizer
        self.build_seconds = self._build([tokenizer.encode(text) for text in texts])
        encoded = [tokenizer.encode(text) for text in held_out]

        def word_of(token: int) -> str:
            word = UNSEEN if token == UNKNOWN else tokenizer.token_text(token)
            return f"({word})" if word in RESERVED else word

        self.word_of = word_of
        self.rounds = deal(encoded, [" ".join(map(word_of, ids.tolist())) for ids in encoded], n_rounds)
        self.n_scored = [texts.n_scored for texts in self.rounds]

    def _build(self, documents: list[Any]) -> float:
        """CPU seconds of building an index of the same tokens, without text, on disk."""
        corpus = self.db.create_corpus("ids", "tokens")
        start = time.process_time()
        corpus.append({"ids": ids} for ids in documents)
        return time.process_time() - start

    def first_question(self, spec: ModelSpec) -> float:
        """CPU seconds until a model has answered once: what it needs is loaded then, nothing remembered."""
        start = time.process_time()
        self.corpus.score_many((self.rounds[0].flat[:1], [0, 1]), spec)
        return time.process_time() - start


def report(data: Path, order: int, rounds: int, kenlm: ModuleType) -> Iterator[str]:
    """The lines of the section, each as soon as it is known. order: the one at which KenLM is asked, too."""
    with tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder:
        task = Task(data, Path(folder), rounds)
        with task.db:
            start = time.process_time()
            task.db.execute("ANALYZE words")
            analyzed = time.process_time() - start
            n_documents, n_tokens = task.corpus.n_documents, task.corpus.n_tokens
            yield f"`{FILE}` as words: {n_documents:,} documents and {n_tokens:,} tokens in the index;"
            n_documents, n_tokens = sum(len(texts.sentences) for texts in task.rounds), sum(task.n_scored)
            yield f"{n_documents:,} documents with {n_tokens:,} tokens held out and scored, as sentences"
            yield f"save by INFGRAM, others in each of {len(task.rounds)} rounds."
            yield f"CPU time: index built from ids {task.build_seconds:.2f} s, `ANALYZE` {analyzed:.2f} s,"
            yield f"first question to a Kneser-Ney model {task.first_question(KneserNey()):.2f} s.\n"
            yield HEADER
            kenlm_model = None
            for spec, target in (
                *((KneserNey(order=n), "≤ 2" if n == 5 else NONE) for n in sorted({order, 5})),
                (KneserNey(), "≤ 2"),
                (InfGram(), "≤ 1"),
                (Backoff(order=5), NONE),
                (Backoff(), NONE),
            ):
                line, peer = _scored(task, spec, target, kenlm if spec == KneserNey(order=order) else None)
                yield line
                kenlm_model = peer.model if peer else kenlm_model
            yield from tables.report(task, KneserNey(order=order), kenlm_model)
            yield f"\nTokens drawn one by one, {DRAWN_LENGTH} a text; the first {DRAWN_FIRST} texts apart:\n"
            yield "| model | µs per token, first | µs per token | target |\n|---|---|---|---|"
            for spec in (KneserNey(), InfGram(), Backoff()):
                first, usual = _drawn(task, spec)
                yield row([f"{spec}", cell(first, ".0f"), cell(usual, ".0f"), "≤ 100"])


def _scored(task: Task, spec: ModelSpec, target: str, kenlm: ModuleType | None) -> tuple[str, Peer | None]:
    sentence = spec.kind != "infgram"  # whose contexts are whatever stands before
    logprobs: list[float] = []
    lengths: list[float] = []

    def work(k: int) -> None:
        texts = task.rounds[k]
        scores = task.corpus.score_many((texts.flat, texts.offsets), spec, document=sentence).all
        logprobs.append(float(np.log(scores.prob).sum()) if spec.kind == "kneser_ney" else 0.0)
        lengths.append(float(scores.effective_n.sum()))

    task.first_question(spec)
    times = timed(work, task.n_scored)
    peer = None
    if kenlm is not None:
        sentences = [texts.sentences for texts in task.rounds]
        model: LanguageModel = task.corpus.language_model(spec)
        peer = ask_kenlm(kenlm, model, task.word_of, sentences, task.n_scored)
    n_scored = sum(task.n_scored)
    line = row(
        [
            f"{spec}",
            cell(times.first),
            cell(times.usual),
            cell(times.cpu),
            cell(peer.time.usual if peer and peer.time else None),
            target,
            cell(math.exp(-sum(logprobs) / n_scored) if spec.kind == "kneser_ney" else None, ".2f"),
            cell(peer.perplexity if peer else None, ".2f"),
            cell(sum(lengths) / n_scored, ".1f"),
        ]
    )
    return line, peer


def _drawn(task: Task, spec: ModelSpec) -> tuple[float, float]:
    """Plain sampling: whole texts, stopped at a document's end, with their probabilities.

    Microseconds a token, of the first texts and of the others.
    """
    texts = Generator(task.corpus.language_model(spec))
    seconds, tokens = [], []
    for seed in range(DRAWN):
        start = time.perf_counter()
        [text] = texts.generate([], DRAWN_LENGTH, Sampling(), seed=SEED + seed)
        seconds.append(time.perf_counter() - start)
        tokens.append(len(text.ids) + text.ended)

    def of(part: slice) -> float:
        return sum(seconds[part]) / sum(tokens[part]) * 1e6

    return of(slice(DRAWN_FIRST)), of(slice(DRAWN_FIRST, None))
