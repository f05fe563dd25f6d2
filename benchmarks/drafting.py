"""Texts that grow token by token: matchers, guards, drafts and quotations, with prompt lookup beside them.

    python benchmarks/drafting.py DATA [--scratch FOLDER] [--documents 100] [--quotations 20]

DATA is a folder with `medium.jsonl.gz` and `gpt2.tokenizer.json`. Every 50th document is held out: it serves
for the output of a model, so that the drafts that agree with it are right. Prints CPU µs per token;
arctic-inference is measured if it is installed. `--scratch` keeps the corpus for the next run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ngramdb
from ngramdb.lm import Drafter, DraftTree, Guard, append_many

HELD_OUT = 50
TOKENS = 400  # of each text
PROMPT = 50
N = 16  # tokens of a draft
LANES = 64


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path, help="folder with medium.jsonl.gz and gpt2.tokenizer.json")
    parser.add_argument("--scratch", type=Path, help="folder of the corpus (a temporary one)")
    parser.add_argument("--documents", type=int, default=100, help="texts that are held out and used")
    parser.add_argument("--quotations", type=int, default=20, help="planted ones, and as many altered ones")
    return parser.parse_args(arguments)


def texts(data: Path) -> Iterator[str]:
    with gzip.open(data / "medium.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


def corpus_of(data: Path, path: Path) -> Any:
    db = ngramdb.connect(path)
    if "drafts" not in db.corpora():
        corpus = db.create_corpus("drafts", tokenizer=str(data / "gpt2.tokenizer.json"))
        corpus.append(text for i, text in enumerate(texts(data)) if i % HELD_OUT)
    return db.corpus("drafts")


def cpu(work: Callable[[], Any], n: int) -> float:
    """Return CPU µs per unit of this thread's work."""
    began = time.thread_time()
    work()
    return 1e6 * (time.thread_time() - began) / max(1, n)


def measure_matchers(corpus: Any, held: list[list[int]]) -> None:
    flat = [token for ids in held for token in ids]
    matcher = corpus.matcher()

    def one_by_one() -> None:
        for token in flat:
            matcher.append(token)

    length = len(flat) // LANES
    columns = np.array(flat[: length * LANES]).reshape(LANES, length).T.copy()
    states = [corpus.matcher() for _ in range(LANES)]

    def side_by_side() -> None:
        for row in columns:
            append_many(states, row)

    one_by_one()
    print(f"| Matcher.append, a token | {cpu(one_by_one, len(flat)):.2f} |")
    print(f"| append_many, {LANES} texts | {cpu(side_by_side, columns.size):.2f} |")
    for model in ("infgram", "kneser_ney order 5"):
        scored = corpus.matcher(model=model)
        some = flat[:4000]
        equal = np.array_equal(scored.score(some), corpus.score(some, model).prob, equal_nan=True)
        scored.clear()
        again = cpu(lambda scored=scored, some=some: scored.score(some), len(some))
        print(f"| Matcher.score, {model} ({'equal' if equal else 'NOT EQUAL'} to SCORE) | {again:.2f} |")


def measure_guards(corpus: Any, held: list[list[int]]) -> None:
    seconds = []
    for ids in held:
        guard = Guard(corpus)
        began = time.thread_time()
        for token in ids:
            guard.append(token)
        seconds.append(time.thread_time() - began)
    mean = 1e6 * sum(seconds) / sum(map(len, held))
    print(f"| Guard.append, a token | {mean:.2f} |")
    print(f"| Guard, p99 of a text of {TOKENS} tokens, ms | {1e3 * np.percentile(seconds, 99):.2f} |")


def n_right(tree: DraftTree, following: list[int]) -> int:
    """Return the length of the tree's path that the text takes."""
    children = {pair: i for i, pair in enumerate(zip(tree.parents, tree.ids, strict=True))}
    node, n = -1, 0
    while n < len(following) and (node, following[n]) in children:
        node = children[node, following[n]]
        n += 1
    return n


def prompt_lookup(ids: list[int]) -> DraftTree:
    """Draft by the rule of transformers' prompt lookup: what follows the first equal pair, or token."""
    array = np.array(ids)
    for size in (2, 1):
        windows = np.lib.stride_tricks.sliding_window_view(array, size)[:-1]
        places = np.flatnonzero((windows == array[-size:]).all(axis=1))
        if len(places):
            line = ids[places[0] + size : places[0] + size + N]
            return DraftTree(line, list(range(-1, len(line) - 1)), [], 0.0, size)
    return DraftTree([], [], [], 0.0, 0)


def report_drafts(name: str, held: list[list[int]], begin: Any, propose: Any, append: Any) -> None:
    steps = right = proposed = 0
    spent = 0.0
    for ids in held:
        begin(ids[:PROMPT])
        at = PROMPT
        while at < len(ids):
            began = time.thread_time()
            tree = propose()
            spent += time.thread_time() - began
            n = n_right(tree, ids[at:])
            append(ids[at : at + n + 1])
            at += n + 1
            steps, right, proposed = steps + 1, right + n, proposed + len(tree.ids)
    gained = f"{proposed / steps:.1f} | {right / steps:.3f} | {1 + right / steps:.3f}"
    print(f"| {name} | {gained} | {1e6 * spent / steps:.1f} | {1e6 * spent / max(1, proposed):.1f} |")


def measure_drafts(corpus: Any, held: list[list[int]]) -> None:
    print("\n| drafts | proposed | right | tokens per call | µs per call | µs per proposed |")
    print("|---|---|---|---|---|---|")
    text: list[int] = []

    def begin(ids: list[int]) -> None:
        text[:] = ids

    report_drafts("rule of prompt lookup", held, begin, lambda: prompt_lookup(text), text.extend)
    for name, options in (
        ("corpus", {"prompt": False}),
        ("corpus and text", {}),
        ("corpus and text, 0.1", {"least_prob": 0.1}),
    ):
        drafter = Drafter(corpus, **options)
        report_drafts(
            name,
            held,
            lambda ids, drafter=drafter: drafter.start(1, ids),
            lambda drafter=drafter: drafter.propose(1, N),
            lambda ids, drafter=drafter: drafter.append(1, ids),
        )
    try:
        from arctic_inference.suffix_decoding import SuffixDecodingCache
    except ImportError:
        print("\narctic-inference is not installed")
        return
    cache = SuffixDecodingCache()

    def start(ids: list[int]) -> None:
        if 1 in cache.active_requests:
            cache.stop_request(1)
            cache.evict_cached_response(1)
        text[:] = ids
        cache.start_request(1, np.array(ids, dtype=np.int32))

    def read(ids: list[int]) -> None:
        text.extend(ids)
        cache.add_active_response(1, ids)

    def speculate() -> DraftTree:
        found = cache.speculate(1, np.array(text[-64:], dtype=np.int32), max_spec_tokens=N)
        return DraftTree(found.token_ids, found.parents, found.probs, found.score, found.match_len)

    report_drafts("arctic-inference, text", held, start, speculate, read)


def measure_quotations(corpus: Any, data: Path, n: int) -> None:
    rng = random.Random(40)
    kept = [text for i, text in zip(range(3 * n), texts(data), strict=False) if i % HELD_OUT]
    wrong = {"planted": 0, "altered": 0}
    seconds = []
    for _ in range(n):
        words = [word for word in rng.choice(kept).split() if not set(word) & set("«»")]
        start = rng.randrange(max(1, len(words) - 20))
        part = words[start : start + 12]
        planted = "  ".join(part).translate({ord("'"): "’"}).upper()
        part[rng.randrange(len(part))] = "qzxv"
        for kind, quotation, expected in (
            ("planted", planted, "found"),
            ("altered", " ".join(part), "absent"),
        ):
            began = time.thread_time()
            (found,) = corpus.quotations(f"«{quotation}»")
            seconds.append(time.thread_time() - began)
            wrong[kind] += found.status != expected
    print(f"\n{n:,} planted quotations, {wrong['planted']} not found; altered, {wrong['altered']} not absent")
    median, high = np.percentile(seconds, (50, 99))
    print(f"CPU ms per quotation: median {1e3 * median:.1f}, p99 {1e3 * high:.1f}")


OPENING = """
import sys, time, re, numpy, ngramdb
from ngramdb.lm import Drafter
corpus = ngramdb.connect(sys.argv[1], read_only=True).corpus("drafts")
corpus.count([1])
began = time.perf_counter()
drafter = Drafter(corpus)
opened = time.perf_counter() - began
rng = numpy.random.default_rng(1)
for i in range(2000):
    drafter.start(1, rng.integers(0, 50000, 8))
    drafter.propose(1)
print(f"{1e3 * opened:.2f}", flush=True)
sys.stdin.readline()
rollup = open("/proc/self/smaps_rollup").read()
print(*(re.search(name + r":\\s+(\\d+)", rollup).group(1) for name in ("Rss", "Pss")))
"""


def measure_processes(path: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(path)]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    opened = [process.stdout.readline().strip() for process in both]
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    sizes = [process.communicate()[0].split() for process in both]
    print(f"\nTwo processes: a drafter is made in {' and '.join(opened)} ms (with imports)")
    print("; ".join(f"Rss {int(rss) // 1024} MB, Pss {int(pss) // 1024} MB" for rss, pss in sizes))


def main(arguments: list[str]) -> int:
    args = parse(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        path = (args.scratch or Path(temporary)) / "drafts.ngdb"
        corpus = corpus_of(args.data, path)
        held_out = [text for i, text in enumerate(texts(args.data)) if not i % HELD_OUT]
        held = [corpus.tokenizer.encode(text)[:TOKENS].tolist() for text in held_out[: args.documents]]
        held = [ids for ids in held if len(ids) > PROMPT]
        print(f"{corpus!r}, {len(held)} texts held out\n\n| CPU µs per token | |\n|---|---|")
        measure_matchers(corpus, held)
        measure_guards(corpus, held)
        measure_drafts(corpus, held)
        measure_quotations(corpus, args.data, args.quotations)
        measure_processes(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
