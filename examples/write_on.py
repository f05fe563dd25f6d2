"""Continue a text by every method.

    python write_on.py DATABASE CORPUS "it was the" [--tokens 12] [--model infgram] [--seed 1]

Greedily, drawn at random (in full, from the nucleus, and at a low temperature), by beam search, and by
diverse beam search. The same seed draws the same texts.
"""

from __future__ import annotations

import argparse
from typing import Any

import ngramdb

METHODS: dict[str, dict[str, Any]] = {
    "greedy": {"method": "greedy"},
    "sample": {"method": "sample"},
    "nucleus 0.8": {"method": "sample", "nucleus": 0.8},
    "temperature 0.5": {"method": "sample", "temperature": 0.5},
    "beam": {"method": "beam", "n": 2},
    "diverse beam": {"method": "beam", "diversity": 20, "n": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=12)
    parser.add_argument("--model", default="infgram", help="the text after USING")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        for name, options in METHODS.items():
            seed = {"seed": given.seed} if options["method"] == "sample" else {}
            for text in corpus.generate(given.text, given.tokens, given.model, **options, **seed):
                print(f"{name:>15} {text.logprob:8.3f}  {given.text} | {text}")


if __name__ == "__main__":
    main()
