"""How much memory a load of a Parquet file takes whose row groups are large, beside its budget.

    python benchmarks/large_parquet.py --data /folder/with/medium.jsonl.gz --scratch /some/folder
        [--gigabytes 3] [--row-group 1] [--limit 1GB] [--tokenizer words] [--seed 0]

Writes a Parquet file of so many GB of text (Zstandard; row groups of one GB of text each, before compression)
unless it is there. Its documents are drawn from `medium.jsonl.gz` by a block bootstrap: fragments of 100 to
1,000 characters, eight on average, with a number and an address as metadata. Then the reader alone goes
through the file, and `Corpus.load` loads it into a database on disk under `memory_limit`; each in a process
of its own.

Memory is the largest sum of anonymous and shared pages, sampled every 5 ms, without what the process had
after imports; pages of mapped files belong to the page cache and stand beside it (`scalebench/memory.py`).
The program exits with 1 where a load took more than 300 MB above `memory_limit`, or the reader 300 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from scalebench.memory import Watch

import ngramdb
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand

REPOSITORY = Path(__file__).resolve().parent.parent
GB, MB = 1_000_000_000, 1_000_000
FRAGMENT = (100, 1_000)
FRAGMENTS_PER_DOCUMENT = 8
ALLOWED_ABOVE = 300 * MB
FIGURES = ("read", "load")


def text_of(corpus: Path) -> str:
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        return "\n".join(json.loads(line)["text"] for line in lines)


def documents(text: str, n_bytes: int, rng: np.random.Generator) -> Iterator[str]:
    """Documents of about so many bytes in all."""
    while n_bytes > 0:
        n_fragments = rng.geometric(1 / FRAGMENTS_PER_DOCUMENT)
        starts = rng.integers(0, len(text) - FRAGMENT[1], n_fragments)
        sizes = rng.integers(*FRAGMENT, n_fragments, endpoint=True)
        document = " ".join(
            text[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        )
        n_bytes -= len(document.encode())
        yield document


def write(path: Path, corpus: Path, n_bytes: int, group_bytes: int, seed: int) -> None:
    """Write the file; one that is there is complete."""
    if path.exists():
        return
    text, rng = text_of(corpus), np.random.default_rng(seed)
    schema = pyarrow.schema(
        [("text", pyarrow.string()), ("number", pyarrow.int64()), ("url", pyarrow.string())]
    )
    unfinished = path.with_suffix(".unfinished")
    n_rows = 0
    with pyarrow.parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
        while n_bytes > 0:
            texts = list(documents(text, min(n_bytes, group_bytes), rng))
            numbers = range(n_rows, n_rows + len(texts))
            urls = [f"https://example.org/{number}" for number in numbers]
            group = pyarrow.table([pyarrow.array(column) for column in (texts, numbers, urls)], schema=schema)
            writer.write_table(group, row_group_size=group.num_rows)
            n_rows += group.num_rows
            n_bytes -= group_bytes
    unfinished.rename(path)


def read(path: Path) -> int:
    """Documents that the reader finds."""
    return sum(1 for _ in read_documents(expand(path)))


def load(path: Path, options: argparse.Namespace) -> int:
    """Documents that are loaded."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder, ngramdb.connect(f"{folder}/db") as db:
        db.settings["memory_limit"] = options.limit
        return db.create_corpus("c", tokenizer=options.tokenizer).load(path).documents


def measure(figure: str, path: Path, options: argparse.Namespace) -> dict[str, float]:
    """One figure, in this process."""
    with Watch() as watch:
        documents = read(path) if figure == "read" else load(path, options)
    return {"documents": documents, **watch.figures()}


def budget(limit: str) -> int:
    """A value of `memory_limit` in bytes."""
    with ngramdb.connect() as db:
        db.settings["memory_limit"] = limit
        n_bytes: int = db.settings["memory_limit"]
        return n_bytes


def in_a_process(figure: str, arguments: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, *arguments, "--one", figure]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=REPOSITORY.parent / "shared" / "data", help="folder")
    parser.add_argument("--corpus", default="medium.jsonl.gz", help="file of JSON lines in --data")
    parser.add_argument("--scratch", type=Path, required=True, help="where the file and databases are put")
    parser.add_argument("--gigabytes", type=float, default=3, help="text in the file")
    parser.add_argument("--row-group", type=float, default=1, help="gigabytes of text in a row group")
    parser.add_argument("--limit", default="1GB", help="memory_limit of the load")
    parser.add_argument("--tokenizer", default="words", help="tokenizer of the load")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=FIGURES, help="figures to measure")
    parser.add_argument("--one", choices=(*FIGURES, "write"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    path = options.scratch / f"text_{options.gigabytes:g}GB_groups_{options.row_group:g}GB.parquet"
    if options.one == "write":
        n_bytes, group_bytes = int(options.gigabytes * GB), int(options.row_group * GB)
        write(path, options.data / options.corpus, n_bytes, group_bytes, options.seed)
        print("{}")
        return 0
    if options.one:
        print(json.dumps(measure(options.one, path, options)))
        return 0
    in_a_process("write", arguments)
    parquet = pyarrow.parquet.ParquetFile(path).metadata
    sizes = [parquet.row_group(i).total_byte_size for i in range(parquet.num_row_groups)]
    print(
        f"{path.name}: {path.stat().st_size / GB:.2f} GB, {len(sizes)} row groups of {max(sizes) / GB:.2f} GB"
    )
    too_much = False
    for figure in options.only or FIGURES:
        found = in_a_process(figure, arguments)
        used = found["own"] - found["own_before"]
        allowed = ALLOWED_ABOVE + (budget(options.limit) if figure == "load" else 0)
        too_much |= used > allowed
        mapped, before = found["resident"] / MB, found["own_before"] / MB
        print(
            f"{figure}: {found['documents']:,} documents, {found['wall_s']:.0f} s "
            f"({found['cpu_s']:.0f} s CPU), memory of its own {used / MB:,.0f} MB of {allowed / MB:,.0f} MB "
            f"(before: {before:,.0f} MB; with mapped files {mapped:,.0f} MB)"
        )
    return int(too_much)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
