"""A process that ends after a load that failed: no thread of Arrow still reads the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOAD = """
import sys, ngramdb
corpus = ngramdb.connect().create_corpus("c")
try:
    corpus.load(sys.argv[1])
except ngramdb.LoadError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "first_row"),
    [("long.csv", "a " * 20_000_000 + ",1"), ("short.csv", "a"), ("short.tsv", "a")],
    ids=["a row beyond all limits", "a row without a field", "the same in TSV"],
)
def test_the_process_ends_well(tmp_path: Path, name: str, first_row: str) -> None:
    path = tmp_path / name
    delimiter = "," if path.suffix == ".csv" else "\t"
    rows = (f"text{delimiter}n", first_row.replace(",", delimiter), *(f"a b{delimiter}2",) * 1_000_000)
    path.write_text("\n".join(rows) + "\n")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert name in done.stdout
