"""Suggest continuations of a text from a corpus.

    python next_words.py DATABASE CORPUS "it was the best of" [-k 5]

They follow the longest suffix of the text that occurs in the corpus (the model INFGRAM). Every suggestion has
its probability and count, and is extended as long as the corpus has a single continuation.
"""

from __future__ import annotations

import argparse

import ngramdb

# The maximum number of tokens by which a suggestion is extended.
MOST_TOKENS = 8


def certain_end(corpus: ngramdb.Corpus, ids: list[int]) -> list[int]:
    """Return the tokens that must follow, because the corpus has a single next token each time."""
    end: list[int] = []
    while len(end) < MOST_TOKENS:
        following = corpus.dist_arrays([*ids, *end])
        if len(following.token_ids) != 1 or following.n_end:
            break
        end.append(int(following.token_ids[0]))
    return end


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("text")
    parser.add_argument("-k", type=int, default=5, help="number of suggestions")
    given = parser.parse_args()
    with ngramdb.connect(given.database, read_only=True) as db:
        corpus = db.corpus(given.corpus)
        ids = corpus.tokenizer.encode(given.text).tolist()
        suggestions = corpus.dist(ids, model="infgram", top=given.k)
        n_used = suggestions.summary["effective_n"] - 1
        total = suggestions.summary["context_count"]
        used = ids[len(ids) - n_used :]
        print(f"after {corpus.tokenizer.decode(used)!r}:")
        for _token, token_id, count, prob in suggestions:
            if token_id is None:
                words = "(the document ends)"
            else:
                words = corpus.tokenizer.decode([token_id, *certain_end(corpus, [*used, token_id])])
            print(f"{prob:6.1%}  {count:,} of {total:,}  {words}")


if __name__ == "__main__":
    main()
