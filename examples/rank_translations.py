"""Rank candidate translations, the most fluent one first.

    python rank_translations.py DATABASE CORPUS "the cat sat" "cat the sat" … [--model "kneser_ney order 5"]

Each candidate is scored as a separate document. They are ranked by log-probability per token under a language
model of the corpus, so that short candidates do not gain.
"""

from __future__ import annotations

import argparse

import ngramdb


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("candidates", nargs="+")
    parser.add_argument("--model", default="kneser_ney", help="the text after USING")
    given = parser.parse_args()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        every = corpus.score_many(given.candidates, model=given.model, document=True)
        ranked = sorted(zip(given.candidates, every, strict=True), key=lambda pair: -pair[1].logprob.mean())
        print("per token    total  candidate")
        for text, scores in ranked:
            print(f"{scores.logprob.mean():9.3f} {scores.logprob.sum():8.3f}  {text}")


if __name__ == "__main__":
    main()
