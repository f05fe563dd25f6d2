"""The programs in examples/ run, on small data, and print what is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ngramdb

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = [
    {"text": "it was the best of times, it was the worst of times", "book": "two cities"},
    {"text": "it was the best of all worlds", "book": "candide"},
    {"text": "it was a dark and stormy night", "year": 1830},
]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "books.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("books").append(DOCUMENTS)
    return path


def run(name: str, database: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-X", "utf8", str(EXAMPLES / name), str(database), "books", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_example_is_tested() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}", database' in source


def test_overlap_tells_known_lines_from_new_ones(database: Path, tmp_path: Path) -> None:
    lines = ["it was the best of", "it was the age of wisdom", "a very new line", "it was"]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    printed = run("overlap.py", database, str(tmp_path / "lines.txt"), "-n", "3")
    assert printed == [
        " share    most  line",
        "100.0%       3  it was the best of",
        " 25.0%       3  it was the age of wisdom",
        "  0.0%       0  a very new line",
        "  0.0%       0  it was",
    ]


def test_curate_lists_documents_and_writes_all_ids(database: Path, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    condition = '"it was the" AND NOT "dark"'
    printed = run("curate.py", database, condition, "--limit", "1", "--ids", str(ids))
    assert printed == [
        "2 of 3 documents",
        "",
        "0: book two cities, length 13",
        "  it was the best of times, it was the worst of times",
    ]
    assert ids.read_text() == "0\n1\n"


def test_next_words_suggests_what_the_corpus_goes_on_with(database: Path) -> None:
    assert run("next_words.py", database, "they say it was the best of") == [
        "after 'it was the best of':",
        " 50.0%  1 of 2  times , it was the worst of times",
        " 50.0%  1 of 2  all worlds",
    ]
    assert run("next_words.py", database, "of times", "-k", "1") == [
        "after 'of times':",
        " 50.0%  1 of 2  , it was the worst of times",
    ]
    assert run("next_words.py", database, "stormy night") == [
        "after 'stormy night':",
        "100.0%  1 of 1  (the document ends)",
    ]
