"""Measure how often a corpus predicts the next word of another text, as in the ∞-gram paper.

    python agreement_figure.py DATABASE CORPUS FILE [--figure agreement.svg] [--order 5]

FILE has one document per line. A token agrees if the model gives it more than half of the probability. The
shares are those of an n-gram model, of the ∞-gram, and of its sparse estimates, whose context has a single
continuation; the table has the ∞-gram by effective n (the length of the context that was used, plus one).
The figure needs matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ngramdb
from ngramdb.lm import InfGram, draw_agreement


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("file", type=Path)
    parser.add_argument("--figure", help="PNG or SVG")
    parser.add_argument("--order", type=int, default=5)
    given = parser.parse_args()
    documents = given.file.read_text(encoding="utf-8").splitlines()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        ngram = corpus.agreement(documents, InfGram(given.order))
        infgram = corpus.agreement(documents, InfGram())
    print(f"{f'{given.order}-gram':>12} {ngram.share:6.1%} of {ngram.total:,} tokens agree")
    print(f"{'∞-gram':>12} {infgram.share:6.1%}, effective n {infgram.mean_effective_n:.2f} on average")
    print(f"{'sparse':>12} {infgram.sparse_share:6.1%} of {infgram.n_sparse.sum():,}")
    print("n  tokens  agree")
    rows = zip(infgram.n_tokens.tolist(), infgram.n_agreeing.tolist(), strict=True)
    for n, (tokens, agreeing) in enumerate(rows, start=1):
        if tokens:
            print(f"{n} {tokens:7,} {agreeing / tokens:6.1%}")
    if given.figure is not None:
        panels = {f"{given.order}-gram": ngram, "∞-gram": infgram}
        draw_agreement(panels, given.figure, sparse="sparse ∞-gram")


if __name__ == "__main__":
    main()
