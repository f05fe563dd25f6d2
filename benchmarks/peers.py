"""ngramdb beside infini-gram and tokengrams: one corpus, one run, a table of ratios.

    python benchmarks/peers.py --scratch /some/folder --write

builds the three indexes from the same GPT-2 tokens, checks that they answer alike, times every figure on
fresh random queries for each system, and prints the table (`--write` keeps it in `benchmarks/results.md`).
What is measured, and how, is in `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from peerbench.run import Settings, run

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results.md"
QUICK_SCALE = 0.05


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--data", type=Path, default=REPOSITORY.parent / "shared" / "data", help="folder of the corpora"
    )
    parser.add_argument(
        "--corpus", help="name of a .jsonl.gz file in --data (default: medium; small with --quick)"
    )
    parser.add_argument(
        "--scratch", type=Path, help="where ids and indexes are kept (default: a temporary folder)"
    )
    parser.add_argument("--quick", action="store_true", help="few queries on a small corpus: a smoke test")
    parser.add_argument("--write", action="store_true", help="keep the report in benchmarks/results.md")
    parser.add_argument("--seed", type=int, default=20240607, help="seed of all query sets")
    parser.add_argument(
        "--rounds", type=int, help="fresh query sets per figure and system (default 5; 1 with --quick)"
    )
    parser.add_argument("--build-rounds", type=int, help="builds of each index (default 3; 1 with --quick)")
    parser.add_argument("--scale", type=float, help="multiplies the sizes of the query sets")
    parser.add_argument(
        "--reuse", action="store_true", help="do not build: query the indexes left in --scratch"
    )
    parser.add_argument("--only", help="measure only the figures whose title contains this text")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as temporary:
        scratch = options.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            jsonl=options.data / f"{options.corpus or ('small' if options.quick else 'medium')}.jsonl.gz",
            tokenizer=options.data / "gpt2.tokenizer.json",
            scratch=scratch.resolve(),
            seed=options.seed,
            rounds=options.rounds or (1 if options.quick else 5),
            build_rounds=options.build_rounds or (1 if options.quick else 3),
            scale=options.scale or (QUICK_SCALE if options.quick else 1.0),
            reuse=options.reuse,
            only=options.only or "",
        )
        outcome = run(settings)
    print(outcome.report)
    if options.write:
        RESULTS.write_text(outcome.report, encoding="utf-8")
    for failure in outcome.failures:
        print(f"WRONG ANSWER: {failure}", file=sys.stderr)
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
