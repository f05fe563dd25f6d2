"""What happens when a corpus grows: every figure at 30 M, 100 M, 300 M and 1 G tokens, beside the peers.

    python benchmarks/scale.py --scratch /some/folder [--sizes 30M,100M] [--only TEXT] [--write]

draws corpora of GPT-2 ids by a block bootstrap, loads them through the public interface, measures, and
prints how each figure grows and whether it meets its bar (`--write` keeps the table in `results_scale.md`).
What has been measured stays in the scratch folder: a run that was interrupted goes on where it was, and one
that is repeated measures what is missing. What is measured, and how, is in `benchmarks/README.md`. All four
sizes take half an hour on two cores, 12 GB of memory and 45 GB of disk.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scalebench import page_cache
from scalebench.place import DATA, Place
from scalebench.report import report
from scalebench.run import run

RESULTS = Path(__file__).resolve().parent / "results_scale.md"
SIZES = "30M,100M,300M,1G"
UNITS = {"M": 1_000_000, "G": 1_000_000_000}


def size(text: str) -> int:
    """For example 300M or 1G."""
    return int(text[:-1]) * UNITS[text[-1].upper()]


def sizes(text: str) -> list[int]:
    return sorted(size(one) for one in text.split(","))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of medium.jsonl.gz and gpt2.tokenizer.json"
    )
    parser.add_argument("--scratch", type=Path, required=True, help="folder of corpora, indexes, figures")
    parser.add_argument("--sizes", type=sizes, default=sizes(SIZES), help=f"tokens ({SIZES})")
    parser.add_argument("--only", default="", help="do only the jobs whose name contains this text")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured")
    parser.add_argument(
        "--keep", action="store_true", help="leave databases and indexes in the scratch folder"
    )
    parser.add_argument("--limit", type=float, default=600, help="seconds that a job may take (600)")
    parser.add_argument("--write", action="store_true", help="keep the table in results_scale.md")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    options.scratch.mkdir(parents=True, exist_ok=True)
    places = [Place(options.scratch.resolve(), options.data.resolve(), n) for n in options.sizes]
    try:
        for place in places:
            run(place, options.only, options.again, options.limit, options.keep)
    finally:
        page_cache.give_back(options.scratch)
    text = report({place.n_tokens: place.figures() for place in places})
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
