"""Print the perplexity of held-out sentences by the order of the model.

    python perplexity_by_order.py DATABASE CORPUS FILE

FILE has one sentence per line. The table is that of Shareghi et al. 2016: interpolated modified Kneser-Ney of
orders 2, 3, 5, 7, 10 and without a limit, all from one index, with and without unknown words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import ngramdb
from ngramdb.lm import KneserNey

ORDERS = (2, 3, 5, 7, 10, None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    sentences = given.file.read_text(encoding="utf-8").splitlines()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        print("order  perplexity  known words only")
        for order in ORDERS:
            found = corpus.perplexity(sentences, KneserNey(order))
            print(f"{order or '∞':>5} {found.perplexity:11.2f} {found.perplexity_known:17.2f}")
        print(f"{found.n_tokens:,} tokens, {found.n_unknown:,} of them unknown words")


if __name__ == "__main__":
    main()
