"""A crawl with planted faults goes through one plan; scans that know nothing of ngramdb show what is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.crawl import EMAIL, Crawl, made_up_texts, ngrams_of_items, planted, windows_twice

import ngramdb

# Words of an item that no document may share.
N_ITEM = 13
# Tokens of a repeated text, and of an item, by tokenizer.
LENGTHS = [("words", 20, N_ITEM), ("words(lower)", 20, N_ITEM), ("chars", 120, 40)]
# Segments of the corpus: deliveries that were loaded one after the other.
DELIVERIES = 4


def plan_of(folder: Path, length: int, n: int) -> dict[str, Any]:
    return {
        "corpus": "crawl",
        "steps": [
            {"fields": {"table": str(folder / "labels.jsonl"), "on": "url"}},
            {"delete": "score < 0.3 OR LOOP_SHARE(13) > 0.5"},
            {"delete_duplicates": {"normalize": ["case", "space"]}},
            {"delete_near_duplicates": {"contained": 0.95}},
            {"cut_duplicates": {"length": length}},
            {"decontaminate": {"against": [str(folder / "items.jsonl")], "by": "gpt3", "n": n}},
            {"cut_spans": "TEXT ~ EMAIL"},
            {"export": str(folder / "clean.jsonl")},
        ],
    }


def loaded(db: ngramdb.Connection, crawl: Crawl, tokenizer: str) -> None:
    corpus = db.create_corpus("crawl", tokenizer)
    for k in range(DELIVERIES):
        corpus.append(crawl.documents[k::DELIVERIES])


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def beginning(text: str) -> str:
    return " ".join(EMAIL.sub("", text).casefold().split()[:4])


@pytest.mark.parametrize(("tokenizer", "length", "n"), LENGTHS)
def test_no_planted_fault_is_left_and_no_good_document_lost(
    tokenizer: str, length: int, n: int, tmp_path: Path
) -> None:
    crawl = planted(made_up_texts(60, seed=5), seed=6)
    write_lines(tmp_path / "labels.jsonl", crawl.labels)
    write_lines(tmp_path / "items.jsonl", [{"text": item} for item in crawl.items])
    with ngramdb.connect(tmp_path / "crawl.ngdb") as db:
        loaded(db, crawl, tokenizer)
        report = ngramdb.curate(db, plan_of(tmp_path, length, n), sample=2, report=tmp_path / "report.html")
        corpus = db.corpus("crawl")
        assert corpus.delete_duplicates(normalize=["case", "space"]) == 0
        assert corpus.delete_near_duplicates(contained=0.95) == 0
        assert corpus.cut_duplicates(length=length).tokens == 0
        again = ngramdb.curate(db, plan_of(tmp_path, length, n))
        assert all(step["done_before"] for step in again["steps"])
    assert [step["removed_documents"] > 0 for step in report["steps"][1:4]] == [True] * 3
    left = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [row["text"] for row in left]
    units = [list(text) if tokenizer == "chars" else text.split() for text in texts]
    assert windows_twice(units, length) == 0
    assert not ngrams_of_items(texts, crawl.items, N_ITEM)
    assert not any(EMAIL.search(text) for text in texts)
    # One copy of each good document is left, its own or another with the same words.
    originals = {row["url"]: row["text"] for row in crawl.documents}
    heads = {beginning(text) for text in texts}
    assert [url for url in crawl.good if beginning(originals[url]) not in heads] == []
