"""ngramdb's language models beside KenLM: perplexities, time per token, sizes.

    python benchmarks/versus_kenlm.py DATA [--orders 2,3,5,10] [--order 5] [--rounds 5] [--write]

DATA is a folder with `wt2v.train.txt.gz` and `wt2.test.txt.gz`, a sentence a line, words between blanks; and
with `medium.jsonl.gz`, whose texts are cut into words. `--write` keeps the report in
`benchmarks/results_kenlm.md`.

What is measured. Sentences: perplexity of the test sentences, `<s>` and `</s>` as KenLM has them, unknown
words included, and time per scored token. Speed: the same over web text, a document in a hundred held out and
scored as one sentence, with every model; and what drawing a token takes. For each order that KenLM is asked
for, ngramdb writes the ARPA file that the PyPI package `kenlm` loads; so both score with the same numbers,
and a difference is one of arithmetic. KenLM's module is compiled for a greatest order (6 as a rule): above
it, and without a limit on order, ngramdb stands alone. ngramdb scores everything in one call (`score_many`),
KenLM a sentence a call (`Model.score`): what either offers. Times are medians over the rounds, by the clock,
without loading; `first` is the first round, before anything is remembered. ngramdb shares the texts of a call
among the cores that are free, KenLM's module has one thread: `CPU` is what all threads took together. Words
become ids before the clock starts for ngramdb, and within it for KenLM: that part is timed alone, too, by
looking up the words in a dictionary.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from datetime import date
from itertools import chain
from pathlib import Path

from kenlmbench import quality, speed
from peerbench.machine import ForeignLoad, description, verdict

MISSING = "this benchmark needs KenLM's Python module beside it: pip install kenlm"
RESULTS = Path(__file__).resolve().parent / "results_kenlm.md"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    files = ", ".join((*quality.FILES, speed.FILE))
    parser.add_argument("data", type=Path, help=f"folder with {files}")
    parser.add_argument("--orders", default="2,3,5,10", help="orders of the sentences' models (2,3,5,10)")
    parser.add_argument("--order", type=int, default=5, help="order of KenLM's model of the web text (5)")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is scored (5)")
    parser.add_argument("--write", action="store_true", help="keep the report in benchmarks/results_kenlm.md")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        kenlm = importlib.import_module("kenlm")
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 1
    missing = [name for name in (*quality.FILES, speed.FILE) if not (options.data / name).is_file()]
    if missing:
        print(f"{options.data}: there is no {missing[0]} here", file=sys.stderr)
        return 1
    orders = [int(order) for order in options.orders.split(",")]
    load = ForeignLoad()
    lines = []
    for line in chain(
        ["# Beside KenLM\n", f"{date.today()}; {description()}.\n", "## Sentences\n"],
        quality.report(options.data, orders, options.rounds, kenlm),
        ["\n## Speed\n"],
        speed.report(options.data, options.order, options.rounds, kenlm),
    ):
        print(line, flush=True)
        lines.append(line)
    lines.append(f"\n{verdict(load.share())}")
    print(lines[-1])
    if options.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
