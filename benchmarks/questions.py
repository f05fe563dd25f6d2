"""How long questions of researchers take, each against the bar that it is held to.

    python benchmarks/questions.py medium.jsonl.gz [--database FOLDER]

Loads a file of JSON lines under `words`, in two halves by a field `half` that is added, and asks each
question three times. Printed are the least CPU time of the process, all threads together, which other
programs on the machine disturb little, and the least time that passed. Loading is measured with sentences and
without. medium.jsonl.gz has 9,700 documents of prose, 21 M words. Expressions are also matched against a
million different words, which are made up: three to fourteen letters, as frequent as in English (seed 7), one
in ten with an ending.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
import time
from pathlib import Path

import ngramdb


def documents(path: Path):
    """The documents with their half: every second one."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for i, line in enumerate(lines):
            found = json.loads(line)
            yield {"text": found["text"], "source": found.get("source"), "half": i % 2}


def loaded(db: ngramdb.Connection, name: str, path: Path, sentences: bool) -> None:
    corpus = db.create_corpus(name, sentences=sentences)
    cpu, began = time.process_time(), time.perf_counter()
    corpus.append(documents(path))
    cpu, passed = time.process_time() - cpu, time.perf_counter() - began
    rate = corpus.n_tokens / cpu / 1e6
    how = "with sentences" if sentences else "without"
    print(f"load {how}: {corpus.n_tokens:,} tokens, {cpu:.1f} s CPU ({rate:.2f} M tokens/s), {passed:.1f} s")


def frequent(corpus: ngramdb.Corpus, least: int) -> str:
    """A word, of letters only, with about so many occurrences."""
    rows = corpus.ngrams(1, top=2000).fetchall()
    words = [(count, text) for text, _, count in rows if text.isalpha() and count >= least]
    return min(words)[1]


def questions(corpus: ngramdb.Corpus):
    """Each question with its bar in seconds, None where there is none."""
    word = frequent(corpus, 100_000)
    yield f'COLLOCATES OF "{word}"', 0.1
    yield f'COLLOCATES OF "{word}" BY ll WHERE half = 0', None
    yield "COUNT /[a-z]*ing/", 0.05
    yield "COUNT /.*(tion|ment)s?/ IGNORE CASE", 0.05
    yield "KEYWORDS OF WHERE half = 0 AGAINST REST TOP 20", 0.3
    yield "KEYWORDS OF WHERE half = 0 AGAINST REST NGRAMS 3 TOP 20", 3.0
    yield f'COUNT "{word}" AND "time" WITHIN SENTENCE', None
    yield 'COUNT <s> "But"', None
    yield f'KWIC <s> "But" *{{0,}} "{word}" WITHIN SENTENCE WINDOW SENTENCE LIMIT 100', None


# With a condition that half of the documents meet it takes at most so many times what it takes without.
DISTRIBUTION = 'DIST GIVEN "of the"{} TOP 10'
BAR_OF_CONDITION = 5
ROUNDS = 30


def compare_condition(db: ngramdb.Connection) -> None:
    """Ask with and without the condition in turn, so that other programs disturb both alike."""
    least = {"": float("inf"), " WHERE half = 0": float("inf")}
    for _ in range(ROUNDS):
        for condition in least:
            cpu = time.process_time()
            db.execute(DISTRIBUTION.format(condition)).fetchall()
            least[condition] = min(least[condition], time.process_time() - cpu)
    without, among = least.values()
    said = " MISSED" if among > BAR_OF_CONDITION * without else ""
    print(
        f"{1e3 * without:9.2f} ms CPU, {1e3 * among:.2f} ms with a condition: {among / without:.1f} times  "
        f"{DISTRIBUTION.format(' [WHERE half = 0]')}  bar {BAR_OF_CONDITION} times{said}"
    )


# Letters by their frequency in English text, in tenths of a percent.
LETTERS = "etaoinshrdlucmfwygpbvkxqjz"
WEIGHTS = (127, 91, 82, 75, 70, 67, 63, 61, 60, 43, 40, 28, 28, 24, 22, 24, 20, 20, 19, 15, 10, 8, 2, 1, 2, 1)
ENDINGS = ("ing", "ments", "tion", "ness")
N_TYPES = 1_000_000


def made_up(n: int) -> list[str]:
    """So many different words."""
    chosen = random.Random(7)
    found: dict[str, None] = {}
    while len(found) < n:
        word = "".join(chosen.choices(LETTERS, WEIGHTS, k=chosen.randint(3, 14)))
        found[word + (chosen.choice(ENDINGS) if chosen.random() < 0.1 else "")] = None
    return list(found)


# Asked of the made-up words; each has the bar of an expression.
OF_TYPES = (
    "COUNT /[a-z]*ing/",
    "COUNT /.*(tion|ment)s?/ IGNORE CASE",
    "COUNT /s[aeiou]+t.*/",
    'COUNT "con" PREFIX',
)
BAR_OF_TYPES = 0.05


def timed(db: ngramdb.Connection, statement: str, bar: float | None) -> None:
    """Ask three times, and print how long it took."""
    times = []
    for _ in range(3):
        cpu, began = time.process_time(), time.perf_counter()
        db.execute(statement).fetchall()
        times.append((time.process_time() - cpu, time.perf_counter() - began))
    first, least = times[0][1], min(cpu for cpu, _ in times)
    passed = min(wall for _, wall in times)
    said = "" if bar is None else f"  bar {1e3 * bar:,.0f} ms" + (" MISSED" if least > bar else "")
    took = f"{1e3 * least:9.1f} ms CPU {1e3 * passed:9.1f} ms ({1e3 * first:9.1f} first)"
    print(f"{took}  {statement}{said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--database", type=Path, help="kept; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.database or Path(scratch) / "questions.ngdb"
        is_new = not folder.exists()
        with ngramdb.connect(folder) as db:
            if is_new:
                for name, sentences in (("bare", False), ("texts", True)):
                    loaded(db, name, options.path, sentences)
                db.drop_corpus("bare")
            corpus = db.corpus("texts")
            print(f"{corpus.n_tokens:,} tokens, {corpus.tokenizer.n_vocabulary:,} types")
            for statement, bar in questions(corpus):
                timed(db, statement, bar)
            compare_condition(db)
        with ngramdb.connect() as db:
            words = made_up(N_TYPES)
            corpus = db.create_corpus("types")
            corpus.append([" ".join(words[i : i + 1000]) for i in range(0, len(words), 1000)])
            print(f"made up: {corpus.n_tokens:,} tokens, {corpus.tokenizer.n_vocabulary:,} types")
            for statement in OF_TYPES:
                timed(db, statement, BAR_OF_TYPES)


if __name__ == "__main__":
    main()
