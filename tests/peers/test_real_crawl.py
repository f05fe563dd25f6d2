"""A crawl of real texts: licences, change logs and web pages with planted faults go through one plan.

Unlike made-up texts, these have duplicates of their own: licences that are quoted whole or in part, with
other line breaks, and addresses in all spellings. The scans for what is left know nothing of ngramdb.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.crawl import EMAIL, ngrams_of_items, planted, windows_twice
from support.peer_data import data_file

import ngramdb

PAGES = Path("/usr/share/doc")
N_ITEM = 13
# Characters of a text: longer ones take their time, and show no more.
MOST = 6000
SIMPLE_EMAIL = re.compile(r"[a-z0-9]@[a-z0-9]+\.[a-z]{2,}", re.IGNORECASE)


def web_pages() -> Iterator[str]:
    """Yield the beginnings of pages; those with `<unk>` for rare words share its n-grams with items."""
    with gzip.open(data_file("medium.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            if "<unk>" not in (text := json.loads(line)["text"][:MOST]):
                yield text


def package_texts(pattern: str, n: int) -> list[str]:
    """Return the texts of the first files with this name; skips the test without them."""
    found: list[str] = []
    for path in sorted(PAGES.glob(pattern)):
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = content.decode("utf-8", "replace")[:MOST]
        if len(text.split()) > 50 and not path.is_symlink():
            found.append(text)
        if len(found) == n:
            return found
    pytest.skip(f"needs {n} files {pattern} in {PAGES}")


def plan_of(folder: Path, length: int) -> dict[str, Any]:
    return {
        "corpus": "crawl",
        "steps": [
            {"fields": {"table": str(folder / "labels.jsonl"), "on": "url"}},
            {"delete": "score < 0.3 OR LOOP_SHARE(13) > 0.5"},
            {"delete_duplicates": {"normalize": ["case", "space"]}},
            {"delete_near_duplicates": {"contained": 0.95}},
            {"cut_duplicates": {"length": length}},
            {"decontaminate": {"against": [str(folder / "items.jsonl")], "by": "gpt3", "n": N_ITEM}},
            {"cut_spans": "TEXT ~ EMAIL IGNORE CASE"},
            {"export": str(folder / "clean.jsonl")},
        ],
    }


def trigrams(text: str) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for piece in EMAIL.split(text.casefold()):
        words = re.findall(r"\w+", piece)
        found.update(zip(words, words[1:], words[2:], strict=False))
    return found


# Pieces of a document are not tokenized anew; their text as a whole may have other tokens.
@pytest.mark.parametrize("tokenizer", ["words", "gpt2"])
def test_real_texts_with_planted_faults_are_cleaned_and_no_good_one_is_lost(
    tokenizer: str, tmp_path: Path
) -> None:
    pages = web_pages()
    good = [next(pages) for _ in range(50)]
    good += package_texts("*/copyright", 35) + package_texts("*/changelog*.gz", 15)
    crawl = planted(good + [next(pages) for _ in range(50)], seed=11)
    for name, rows in (("labels", crawl.labels), ("items", [{"text": item} for item in crawl.items])):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    length = 20 if tokenizer == "words" else 50
    with ngramdb.connect(tmp_path / "crawl.ngdb") as db:
        db.settings["auto_compact"] = False
        name = tokenizer if tokenizer == "words" else str(data_file("gpt2.tokenizer.json"))
        corpus = db.create_corpus("crawl", name)
        for k in range(4):
            corpus.append(crawl.documents[k::4])
        report = ngramdb.curate(db, plan_of(tmp_path, length), report=tmp_path / "report.html")
        assert corpus.cut_duplicates(length=length).tokens == 0
    assert all(step["removed_documents"] > 0 for step in report["steps"][1:4])
    left = [json.loads(line) for line in (tmp_path / "clean.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [row["text"] for row in left]
    # White space belongs to GPT-2's tokens, and a copy may begin and end within one.
    units = [re.findall(r"\S+" if tokenizer == "words" else r"\s*\S+", text) for text in texts]
    assert windows_twice(units, length if tokenizer == "words" else length + 2) == 0
    assert not ngrams_of_items(texts, crawl.items, N_ITEM)
    assert [found.group() for found in map(SIMPLE_EMAIL.search, texts) if found] == []
    everything = set().union(*map(trigrams, texts))
    originals = {row["url"]: trigrams(row["text"]) for row in crawl.documents}
    shares = {url: len(originals[url] & everything) / len(originals[url]) for url in crawl.good}
    # Those across a cut are not there: a list of names with addresses has fifty.
    assert {url: share for url, share in shares.items() if share < 0.8} == {}
