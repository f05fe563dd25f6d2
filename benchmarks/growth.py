"""Growth of the CPU time of statements and verbs on text that repeats itself.

    python benchmarks/growth.py [--size 20000] [--only WORD]

Each runs on a text of `--size` tokens and on one of four times as many: four times the CPU time is linear
growth, 16 times quadratic. Only what grows faster than MOST_GROWTH, or passes LIMIT, is printed. The texts
are one letter or one word again and again, and two words in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import ngramdb

Work = Callable[[ngramdb.Connection, str], object]

LIMIT = 10.0
#: Growth beyond this is shown as a finding, for what takes at least SHOWN seconds.
MOST_GROWTH, SHOWN = 7.0, 0.05


class Text(NamedTuple):
    """A text of units that repeat themselves: what it is made of, and a unit of it in queries."""

    name: str
    tokenizer: str
    repeated: str
    unit: str

    def of(self, n_tokens: int) -> str:
        return self.repeated * (n_tokens // (1 if self.tokenizer == "chars" else len(self.repeated.split())))


TEXTS = (
    Text("one letter", "chars", "a", "a"),
    Text("one word", "words", "ha ", "ha"),
    Text("two words", "words", "the cat ", "cat"),
)
#: `{u}` is a unit of the text, `?` the whole text.
STATEMENTS = (
    'COUNT "{u}"',
    "COUNT ?",
    "COUNT ? MATCH TEXT",
    "COUNT ? MATCH TEXT IGNORE CASE",
    "COUNT ? IGNORE CASE",
    "COUNT ? IGNORE MARKS",
    "COUNT ? PREFIX",
    'COUNT "{u}"{{3,}}',
    'COUNT "{u}" *{{0,}} "{u}"',
    'COUNT "{u}" *{{0,}} "zebra"',
    'COUNT "{u}" [0..1000000] "zebra"',
    'COUNT ("{u}" "{u}" | "{u}"){{2,}} "zebra"',
    'COUNT /{u}.*/ "{u}"',
    'COUNT "{u}" AND "zebra" WITHIN 5 TOKENS',
    'COUNT "{u}" AND "{u}" WITHIN 1000000 TOKENS',
    'COUNT "{u}" AND "{u}" WITHIN SENTENCE',
    'COUNT DOCS WHERE COUNT("{u}") > 5',
    'COUNT "{u}" GROUP BY RIGHT 1',
    'COUNT "{u}" GROUP BY LEFT 2',
    "COUNT ? GROUP BY FORM",
    'COUNT "{u}"{{1,50}} GROUP BY FORM',
    'KWIC "{u}" LIMIT 10',
    'KWIC "{u}" ORDER BY RIGHT LIMIT 10',
    'KWIC "{u}" ORDER BY LEFT LIMIT 10',
    'KWIC "{u}"{{2,}} LIMIT 10',
    'KWIC "{u}" WINDOW SENTENCE LIMIT 3',
    'COLLOCATES OF "{u}"',
    'COLLOCATES OF "{u}" WINDOW SENTENCE',
    'DISPERSION OF "{u}"',
    "KEYWORDS OF doc_id = 0 AGAINST REST",
    "KEYWORDS OF doc_id = 0 AGAINST REST NGRAMS 50",
    "NGRAMS 1",
    "NGRAMS 50",
    "NGRAMS 1..50",
    "NGRAMS 50 WITH DOCS",
    'NGRAMS 50 CONTAINING "{u}"',
    "NGRAMS 50 IGNORE CASE",
    "TRACE ?",
    "PROB ? GIVEN ?",
    "DIST GIVEN ?",
    "DIST BEFORE ?",
    "SCORE ?",
    "SCORE ? SENTENCE",
    "DOCS WHERE ? LIMIT 1",
    "DOCS WHERE OVERLAP(c, 13) >= 0.5 LIMIT 1",
    "DOCS WHERE text LIKE '%zebra%' LIMIT 1",
)
MODELS = ("", "INFGRAM", "NGRAM ORDER 5", "BACKOFF", "KNESER_NEY", "KNESER_NEY ORDER 5")
WITH_MODEL = ("PROB", "DIST GIVEN", "SCORE")
VERBS: dict[str, Callable[[Any, str, str], object]] = {
    "prob_many": lambda c, text, model: c.prob_many([text] * 3, [text[:1] or "a"] * 3, model=model),
    "dist_many": lambda c, text, model: c.dist_many([text] * 2, model=model),
    "generate": lambda c, text, model: c.generate(text, 3, model=model),
    "stream": lambda c, text, model: list(c.stream(text, 3, model=model)),
    "draft": lambda c, text, model: c.draft(text, 5),
    "perplexity": lambda c, text, model: c.perplexity([text], model=model),
    "agreement": lambda c, text, model: c.agreement([text]),
    "score_many": lambda c, text, model: c.score_many([text, text], model=model),
    "match_lengths": lambda c, text, model: c.match_lengths(text),
    "trace_arrays": lambda c, text, model: c.trace_arrays(text),
    "append": lambda c, text, model: c.append([text]),
}
WITHOUT_MODEL = ("draft", "agreement", "match_lengths", "trace_arrays", "append")


def work_on(text: Text) -> dict[str, Work]:
    """What is run over a corpus of a text, by its name."""
    found: dict[str, Work] = {}
    for statement in STATEMENTS:
        for model in MODELS if statement.startswith(WITH_MODEL) else ("",):
            asked = statement.format(u=text.unit) + (f" USING {model}" if model else "")
            found[asked] = partial(ask, statement=asked)
    for name, verb in VERBS.items():
        for model in ("infgram",) if name in WITHOUT_MODEL else map(str.lower, MODELS[1:]):
            found[f"{name} {model}"] = lambda db, whole, verb=verb, model=model: verb(
                db.corpus("c"), whole, model
            )
    return found


def ask(db: ngramdb.Connection, whole: str, statement: str) -> object:
    return db.execute(statement, [whole] * statement.count("?")).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=20_000, help="tokens of the smaller text")
    parser.add_argument("--only", default="", help="what has this word in its name")
    options = parser.parse_args()
    for text in TEXTS:
        small, large = (Run(text, size) for size in (options.size, 4 * options.size))
        for name, run in work_on(text).items():
            if options.only not in name:
                continue
            before, _ = small.seconds(run)
            after, told = large.seconds(run)
            growth = after / max(before, 1e-3)
            if after > SHOWN and (growth > MOST_GROWTH or after > LIMIT):
                late = f", late {after - LIMIT:.1f} s" if after > LIMIT else ""
                print(
                    f"{text.name:10} {name:60} {before:7.3f} s, {after:7.3f} s, ×{growth:.1f} {told}{late}",
                    flush=True,
                )


class Run:
    """A database of a text, of its first half and of a short one."""

    def __init__(self, text: Text, n_tokens: int) -> None:
        self.whole = text.of(n_tokens)
        self.db = ngramdb.connect()
        corpus = self.db.create_corpus("c", text.tokenizer)
        corpus.append([self.whole, text.of(n_tokens // 2), "a zebra"])
        corpus.analyze()
        self.db.use("c")
        self.db.settings["timeout"] = LIMIT

    def seconds(self, work: Work) -> tuple[float, str]:
        """The CPU seconds of a run, and the error that ended it, if any."""
        start = process_time()
        told = ""
        try:
            work(self.db, self.whole)
        except ngramdb.Error as error:
            told = type(error).__name__
        return process_time() - start, told


if __name__ == "__main__":
    main()
