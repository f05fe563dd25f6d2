"""Find lines of a file that occur in a corpus already, wholly or in part.

    python overlap.py DATABASE CORPUS FILE [-n 5]

For each line of FILE, print the share of its n-grams that occur in the corpus, and the count of the most
frequent one. All n-grams of a line are one array, counted in one call: a model for applications.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import ngramdb


def overlap(corpus: ngramdb.Corpus, text: str, n: int) -> tuple[float, int]:
    """Return the share of the text's n-grams that occur in the corpus, and their highest count."""
    ids = corpus.tokenizer.encode(text)
    if len(ids) < n:
        return 0.0, 0
    ngrams = sliding_window_view(ids, n)  # (len(ids) - n + 1, n)
    offsets = np.arange(len(ngrams) + 1) * n
    counts = corpus.count_many((ngrams.ravel(), offsets))
    return float((counts > 0).mean()), int(counts.max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("file", type=Path)
    parser.add_argument("-n", type=int, default=5, help="tokens in an n-gram")
    given = parser.parse_args()
    if given.n < 1:
        parser.error("-n must be at least 1")
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        print(" share    most  line")
        for line in given.file.read_text(encoding="utf-8").splitlines():
            share, most = overlap(corpus, line, given.n)
            print(f"{share:6.1%} {most:7,}  {line}")


if __name__ == "__main__":
    main()
