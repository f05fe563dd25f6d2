"""Test if an ∞-gram improves a neural language model: train a small one on the spot and mix the two.

    python mix_with_neural.py DATABASE CORPUS FILE [--epochs 8]

The neural model sees two tokens: the sum of their embeddings goes through a hidden layer into a softmax; it
is trained on the corpus's documents by Adam, in numpy. FILE has held-out text, one document per line: the
first, third, … line tunes the weights of the mixture (one for sparse ∞-gram estimates, one for all others),
the rest is the test. Perplexities are over the tokens of the test that occur in the corpus. On text that two
tokens predict as well as a long context, the mixture gains nothing, and the output shows it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ngramdb
from ngramdb.lm import interpolate, relative_improvement

WIDTH = 32
BATCH = 256
LEARNING_RATE = 0.01

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LogLinear:
    """P(token | the two before it): softmax(out · tanh(first[before] + second[before that] + bias))."""

    def __init__(self, n_tokens: int, random: np.random.Generator) -> None:
        self.n_tokens = n_tokens
        shapes = {
            "first": (n_tokens + 1, WIDTH),  # one more for the place before a text
            "second": (n_tokens + 1, WIDTH),
            "bias": (WIDTH,),
            "out": (WIDTH, n_tokens),
            "base": (n_tokens,),
        }
        self.weights = {name: random.normal(0, 0.1, shape) for name, shape in shapes.items()}
        self.means = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.squares = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.n_steps = 0

    def contexts(self, ids: Integers) -> tuple[Integers, Integers]:
        """Return the token before each one, and the one before that."""
        padded = np.concatenate([[self.n_tokens, self.n_tokens], ids])
        return padded[1:-1], padded[:-2]

    def forward(self, before: Integers, second: Integers) -> tuple[Floats, Floats]:
        """Return the hidden layer and the distributions."""
        w = self.weights
        hidden = np.tanh(w["first"][before] + w["second"][second] + w["bias"])
        logits = hidden @ w["out"] + w["base"]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return hidden, powers / powers.sum(axis=1, keepdims=True)

    def learn(self, before: Integers, second: Integers, wanted: Integers) -> None:
        """Take one step of Adam (Kingma & Ba 2015, algorithm 1) on the mean cross-entropy."""
        hidden, probs = self.forward(before, second)
        error = probs
        error[np.arange(len(wanted)), wanted] -= 1.0
        error /= len(wanted)
        inner = (error @ self.weights["out"].T) * (1.0 - hidden**2)
        slopes = {name: np.zeros_like(value) for name, value in self.weights.items()}
        slopes["out"], slopes["base"], slopes["bias"] = hidden.T @ error, error.sum(0), inner.sum(0)
        np.add.at(slopes["first"], before, inner)
        np.add.at(slopes["second"], second, inner)
        self.n_steps += 1
        for name, slope in slopes.items():
            mean, square = self.means[name], self.squares[name]
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            step = mean / (1 - 0.9**self.n_steps)
            self.weights[name] -= LEARNING_RATE * step / (np.sqrt(square / (1 - 0.999**self.n_steps)) + 1e-8)

    def train(self, texts: list[Integers], epochs: int, random: np.random.Generator) -> None:
        pairs = [self.contexts(ids) for ids in texts]
        before = np.concatenate([pair[0] for pair in pairs])
        second = np.concatenate([pair[1] for pair in pairs])
        wanted = np.concatenate(texts)
        for _ in range(epochs):
            order = random.permutation(len(wanted))
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                self.learn(before[rows], second[rows], wanted[rows])

    def probabilities(self, ids: Integers) -> Floats:
        """Return the probability of each token of a text."""
        _, probs = self.forward(*self.contexts(ids))
        return probs[np.arange(len(ids)), ids]


def documents(db: ngramdb.Connection, corpus: ngramdb.Corpus) -> Iterator[Integers]:
    """Yield the token ids of every document."""
    result = db.execute(f"DOCS FROM `{corpus.name}`")
    at = result.columns.index("text")
    for row in result:
        yield np.asarray(corpus.tokenizer.encode(row[at]), dtype=np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("file", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args()
    random = np.random.default_rng(1)
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        neural = LogLinear(corpus.tokenizer.n_vocabulary, random)
        neural.train(list(documents(db, corpus)), given.epochs, random)
        lines = given.file.read_text(encoding="utf-8").splitlines()
        held_out = [np.asarray(corpus.tokenizer.encode(line), dtype=np.int64) for line in lines]
        # A text is cut at words that the corpus lacks: neither model knows them.
        texts = [[part[part >= 0] for part in np.split(ids, np.flatnonzero(ids < 0))] for ids in held_out]
        tuning, test = ([part for parts in texts[k::2] for part in parts if len(part)] for k in (0, 1))
        model = corpus.language_model("infgram")

        def both(parts: list[Integers]) -> tuple[ngramdb.lm.Scores, Floats]:
            offsets = np.cumsum([0, *map(len, parts)])
            scores = model.score_many(np.concatenate(parts), offsets)
            return scores, np.concatenate([neural.probabilities(part) for part in parts])

        mixture = interpolate(*both(tuning))
        scores, probs = both(test)
    alone = float(np.exp(-np.log(probs).mean()))
    mixed = mixture.perplexity(scores, probs)
    print(f"{len(probs):,} tokens; the ∞-gram gives {(scores.prob == 0).mean():.1%} of them no probability")
    print(f"weight of the ∞-gram: {mixture.weight:.2f}, where it is sparse: {mixture.sparse_weight:.2f}")
    print(f"perplexity of the neural model alone {alone:.2f}, of the mixture {mixed:.2f}")
    print(f"relative improvement {relative_improvement(alone, mixed):.1%}")


if __name__ == "__main__":
    main()
