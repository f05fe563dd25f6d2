"""Time per scored and per drawn token of every model, over web text as words; KenLM at one order."""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import ngramdb
from kenlmbench.peer import ask_kenlm
from kenlmbench.timing import NONE, Timed, cell, row, timed
from ngramdb.lm import UNKNOWN, Backoff, Generator, InfGram, KneserNey, LanguageModel, ModelSpec, Sampling

FILE = "medium.jsonl.gz"
# A document of so many is held out, to be scored.
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
| model | µs per token, first | µs per token | KenLM | target | perplexity | KenLM | mean effective n |
|---|---|---|---|---|---|---|---|"""


class Task:
    """A corpus of words in a database, and documents that it has not."""

    def __init__(self, data: Path, folder: Path) -> None:
        with gzip.open(data / FILE, "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        held_out = texts[HELD_OUT // 2 :: HELD_OUT]
        del texts[HELD_OUT // 2 :: HELD_OUT]
        self.db = ngramdb.connect(folder / "speed.ngdb")
        self.corpus = self.db.create_corpus("words")
        self.corpus.append({"text": text} for text in texts)
        tokenizer = self.corpus.tokenizer
        self.build_seconds = self._build([tokenizer.encode(text) for text in texts])
        encoded = [tokenizer.encode(text) for text in held_out]
        self.flat = np.concatenate(encoded).astype(np.int64)
        self.offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        self.n_documents, self.n_scored = len(encoded), len(self.flat) + len(encoded)

        def word_of(token: int) -> str:
            word = UNSEEN if token == UNKNOWN else tokenizer.token_text(token)
            return f"({word})" if word in RESERVED else word

        self.word_of = word_of
        self.sentences = [" ".join(map(word_of, ids.tolist())) for ids in encoded]

    def _build(self, documents: list[Any]) -> float:
        """CPU seconds of building an index of the same tokens, without text, on disk."""
        corpus = self.db.create_corpus("ids", "tokens")
        start = time.process_time()
        corpus.append({"ids": ids} for ids in documents)
        return time.process_time() - start


def report(data: Path, order: int, rounds: int, kenlm: ModuleType) -> Iterator[str]:
    """The lines of the section, each as soon as it is known. order: the one at which KenLM is asked, too."""
    with tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder:
        task = Task(data, Path(folder))
        with task.db:
            start = time.process_time()
            task.db.execute("ANALYZE words")
            analyzed = time.process_time() - start
            n_documents, n_tokens = task.corpus.n_documents, task.corpus.n_tokens
            yield f"`{FILE}` as words: {n_documents:,} documents and {n_tokens:,} tokens in the index;"
            n_documents, n_tokens = task.n_documents, task.n_scored
            yield f"{n_documents:,} documents with {n_tokens:,} tokens held out and scored, as sentences"
            yield "save by INFGRAM."
            yield f"CPU time: index built from ids {task.build_seconds:.2f} s, `ANALYZE` {analyzed:.2f} s.\n"
            yield HEADER
            for spec, target in (
                (KneserNey(order=order), NONE),
                (KneserNey(order=5), "≤ 2"),
                (KneserNey(), "≤ 2"),
                (InfGram(), "≤ 1"),
                (Backoff(order=5), NONE),
                (Backoff(), NONE),
            ):
                yield _scored(task, spec, target, rounds, kenlm if spec == KneserNey(order=order) else None)
            yield f"\nTokens drawn one by one, {DRAWN_LENGTH} a text; the first {DRAWN_FIRST} texts apart:\n"
            yield "| model | µs per token, first | µs per token | target |\n|---|---|---|---|"
            for spec in (KneserNey(), InfGram(), Backoff()):
                found = _drawn(task, spec)
                yield row([f"{spec}", cell(found.first, ".0f"), cell(found.usual, ".0f"), "≤ 100"])


def _scored(task: Task, spec: ModelSpec, target: str, rounds: int, kenlm: ModuleType | None) -> str:
    sentence = spec.kind != "infgram"  # whose contexts are whatever stands before
    model: LanguageModel = task.corpus.language_model(spec)
    documents = (task.flat, task.offsets)
    times = timed(lambda: task.corpus.score_many(documents, spec, sentence=sentence), task.n_scored, rounds)
    scores = model.score_many(*documents, sentence=sentence)
    peer = None
    if kenlm is not None:
        peer = ask_kenlm(kenlm, model, task.word_of, task.sentences, task.n_scored, rounds)
    return row(
        [
            f"{spec}",
            cell(times.first),
            cell(times.usual),
            cell(peer.time.usual if peer and peer.time else None),
            target,
            cell(scores.perplexity if spec.kind == "kneser_ney" else None, ".2f"),
            cell(peer.perplexity if peer else None, ".2f"),
            cell(float(scores.effective_n.mean()), ".1f"),
        ]
    )


def _drawn(task: Task, spec: ModelSpec) -> Timed:
    """Plain sampling: whole texts, stopped at a document's end, with their probabilities."""
    texts = Generator(task.corpus.language_model(spec))
    seconds, tokens = [], []
    for seed in range(DRAWN):
        start = time.thread_time()
        [text] = texts.generate([], DRAWN_LENGTH, Sampling(), seed=SEED + seed)
        seconds.append(time.thread_time() - start)
        tokens.append(len(text.ids) + text.ended)
    first, rest = slice(DRAWN_FIRST), slice(DRAWN_FIRST, None)
    return Timed(*(sum(seconds[part]) / sum(tokens[part]) * 1e6 for part in (first, rest)))
