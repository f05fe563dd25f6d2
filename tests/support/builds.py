"""Shared by tests of builds in parts: documents in files of many kinds, and all answers of a corpus."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ngramdb

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "log", "of", "über", "字", "ends,", "(really)", "7"]


def write_files(folder: Path, n_documents: int = 60, seed: int = 1) -> Path:
    """JSON lines of uneven lengths, plain and compressed, an empty file among them; words come late, too."""
    rng = random.Random(seed)
    folder.mkdir()
    lines = []
    for i in range(n_documents):
        words = [rng.choice(WORDS) for _ in range(rng.choice([0, 1, 5, 40]))]
        if i % 7 == 0:
            words.append(f"new{i}")
        lines.append(json.dumps({"text": " ".join(words), "n": i, "kind": rng.choice("ab")}) + "\n")
    cuts = sorted(rng.sample(range(n_documents + 1), 3))
    a, b, c, d = (lines[lo:hi] for lo, hi in zip([0, *cuts], [*cuts, n_documents], strict=True))
    (folder / "a.jsonl").write_text("\ufeff" + "".join(a))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("".join(b).encode()))
    (folder / "c.jsonl").write_text("".join(c).removesuffix("\n"))
    (folder / "d.jsonl").write_text("")
    (folder / "e.jsonl").write_text("\n".join(d))
    return folder


def write_tables(folder: Path, n_documents: int = 30) -> Path:
    """Parquet files of a few rows each."""
    folder.mkdir()
    for k in range(3):
        texts = [f"row {k} {i} of a table" for i in range(n_documents // 3)]
        pq.write_table(pa.table({"text": texts, "k": [k] * len(texts)}), folder / f"{k}.parquet")
    return folder


QUESTIONS = (
    "DOCS",
    "NGRAMS 1 TOP 1000",
    "NGRAMS 3 TOP 1000",
    'KWIC "the"',
    'COUNT "a cat"',
    'COUNT DOCS WHERE "the" AND NOT "dog" OR n > 40',
    'COUNT "the" GROUP BY kind',
    'DIST GIVEN "the" USING INFGRAM',
    'DIST GIVEN "a" USING KNESER_NEY TOP 20',
    'SCORE "the cat sat on new7" USING INFGRAM',
    'TRACE "the a cat dog sat on mat log"',
    "DOCS SAMPLE 5 SEED 3",
)


def answers(db: ngramdb.Connection, name: str, questions: tuple[str, ...] = QUESTIONS) -> list[Any]:
    """Return everything a corpus reports: every document with its id, in order, and answers of many kinds."""
    db.use(name)
    return [db.execute(question).fetchall() for question in questions]


def loaded(
    folder: Path, tokenizer: Any = "words", questions: tuple[str, ...] = QUESTIONS, **options: Any
) -> Any:
    """The answers of a corpus that one load has made of all files."""
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer=tokenizer).load(folder, **options)
        return answers(db, "c", questions)
