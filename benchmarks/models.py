"""Perplexities of every model that is a distribution over all words, by order: words and characters.

    python benchmarks/models.py DATA [--models kneser_ney,witten_bell] [--orders 3,5,10] [--unit words]

DATA is a folder with `wt2v.train.txt.gz` and `wt2.test.txt.gz`, a sentence a line, words between blanks.
Each line is a document; `<s>` and `</s>` are as KenLM has them, and unknown words count. Characters are
those of the same lines. Prints a row per model: its perplexities, the last one without a limit on order,
and beside it the time per token of that, first and again, and what making the model took.
"""

from __future__ import annotations

import argparse
import gzip
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import ngramdb
from ngramdb.lm import UNKNOWN, ModelSpec
from ngramdb.lm.models import pack
from ngramdb.registries import MODELS

FILES = ("wt2v.train.txt.gz", "wt2.test.txt.gz")
ORDERS = {"words": (2, 3, 5, 10), "characters": (5, 10, 20)}
SMOOTHED = [kind.name for kind in MODELS.values() if kind.is_probability and not kind.is_relative]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path, help=f"folder with {' and '.join(FILES)}")
    parser.add_argument("--models", default=",".join(SMOOTHED), help="names of models (all)")
    parser.add_argument("--orders", help="orders beside none (2,3,5,10; of characters 5,10,20)")
    parser.add_argument("--unit", default="words,characters", help="words, characters or both")
    return parser.parse_args(arguments)


def sentences(path: Path, unit: str) -> list[Sequence[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    return [line.split() for line in lines] if unit == "words" else list(lines)


def report(data: Path, unit: str, models: Sequence[str], orders: Sequence[int]) -> None:
    ids: dict[str, int] = {}
    train = [[ids.setdefault(symbol, len(ids)) for symbol in one] for one in sentences(data / FILES[0], unit)]
    test = [[ids.get(symbol, UNKNOWN) for symbol in one] for one in sentences(data / FILES[1], unit)]
    flat, offsets = pack(test)
    n_scored = len(flat) + len(test)
    print(f"{unit}: {sum(map(len, train)):,} to train on, {n_scored:,} scored, `</s>` included\n")
    print(f"| model | {' | '.join(map(str, orders))} | no limit | µs, first | µs | made in, s |")
    print("|---|" + "---|" * (len(orders) + 4), flush=True)
    with ngramdb.connect() as db:
        corpus = db.create_corpus("wt2v", "tokens")
        corpus.append({"ids": one} for one in train)
        corpus.language_model("kneser_ney order 2")  # counts for all models
        for kind in models:
            cells = []
            most = MODELS[kind].max_order
            for order in (*orders, None):
                if most is not None and (order is None or order > most):
                    cells.append("")
                    continue
                start = time.perf_counter()
                model = corpus.language_model(ModelSpec(kind, order))
                made = time.perf_counter() - start
                first, scores = timed(model, flat, offsets)
                cells.append(f"{math.exp(-scores.total_logprob / n_scored):.2f}")
            again, _ = timed(model, flat, offsets)
            costs = (1e6 * first / n_scored, 1e6 * again / n_scored, made)
            print(f"| {' | '.join([kind, *cells, *(f'{cost:.2f}' for cost in costs)])} |", flush=True)
    print()


def timed(
    model: ngramdb.lm.LanguageModel, flat: np.ndarray, offsets: np.ndarray
) -> tuple[float, ngramdb.lm.Scores]:
    start = time.perf_counter()
    scores = model.score_many(flat, offsets, document=True)
    return time.perf_counter() - start, scores


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    for unit in options.unit.split(","):
        orders = [int(n) for n in options.orders.split(",")] if options.orders else ORDERS[unit]
        report(options.data, unit, options.models.split(","), orders)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
