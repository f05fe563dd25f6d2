"""Items of evaluation sets in a corpus, against a comparison of all n-grams one by one."""

from __future__ import annotations

import json
import random

import pytest
from support.subwords import write_tokenizer

import ngramdb

MEASURES = {"gpt3": 0.0, "llama2": 0.6, "palm": 0.5, "longest": 0.4}


def naive(item: list[str], document: list[str], n: int) -> dict[str, float]:
    """The value of each measure for an item and a document, and the tokens of the longest piece."""
    if len(item) < min(n, 5):
        return dict.fromkeys([*MEASURES, "tokens"], 0.0)
    size = min(n, len(item))
    grams = {tuple(document[i : i + size]) for i in range(len(document) - size + 1)}
    found = [i for i in range(len(item) - size + 1) if tuple(item[i : i + size]) in grams]
    covered = {k for i in found for k in range(i, i + size)}
    longest = max(
        (
            stop - start
            for start in range(len(item))
            for stop in range(start + size, len(item) + 1)
            if any(document[i : i + stop - start] == item[start:stop] for i in range(len(document)))
        ),
        default=0,
    )
    return {
        "gpt3": float(bool(found)),
        "llama2": len(covered) / len(item),
        "palm": len(found) / max(len(item) - n + 1, 1),
        "longest": longest / len(item),
        "tokens": longest,
    }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("folded", [False, True])
def test_the_report_is_what_comparing_finds(tmp_path, seed, folded):
    chosen = random.Random(seed)
    words = "abc" if seed % 2 else "abcdefgh"
    items = [[chosen.choice(words) for _ in range(chosen.randint(0, 14))] for _ in range(12)]
    documents = [[chosen.choice(words) for _ in range(chosen.randint(0, 40))] for _ in range(14)]
    for document in documents[::2]:
        document[3:3] = chosen.choice(items)
    change = str.upper if folded else str
    path, report = tmp_path / "items.jsonl", tmp_path / "report.json"
    path.write_text("".join(json.dumps({"text": change("  ".join(item))}) + "\n" for item in items))
    n = chosen.choice([3, 5, 6])
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        for first in range(0, len(documents), 5):
            corpus.append([" ".join(one) for one in documents[first : first + 5]])
        corpus.delete("doc_id = 4")
        where = "doc_id <> 5 AND doc_id <> 8" if seed % 3 == 0 else None
        left_out = {4, 5, 8} if where else {4}
        kept = {i: one for i, one in enumerate(documents) if i not in left_out}
        for by, threshold in MEASURES.items():
            values = {(k, i): naive(item, one, n) for k, item in enumerate(items) for i, one in kept.items()}
            hits = {pair for pair, value in values.items() if value[by] and value[by] >= threshold}
            found = corpus.decontaminate(
                path, by=by, n=n, threshold=threshold, lower=folded, where=where, dry_run=True, report=report
            )
            assert found.contaminated == len({doc for _, doc in hits})
            told = json.loads(report.read_text())
            assert told["corpus_documents"] == found.documents == len(kept)
            fold = " NORMALIZE CASE" * folded + (f" WHERE {where}" if where else "")
            listed = db.execute(f"DECONTAMINATE AGAINST ? BY {by}({n}) >= {threshold}{fold}", [str(path)])
            names = ("item", "tokens", "covered", "value", "longest", "documents")
            assert [tuple(row[name] for name in names) for row in listed.to_dicts()] == [
                tuple(row[name] for name in names) for row in told["items"]
            ]
            assert listed.summary["contaminated_documents"] == found.contaminated
            pairs = {
                (item["item"], doc["doc_id"]): item["value"]
                for doc in told["documents"]
                for item in doc["items"]
            }
            some = {pair: value[by] for pair, value in values.items() if value["tokens"]}
            assert {item for item, _ in pairs} == {item for item, _ in some}
            assert {doc for _, doc in hits} <= {doc for _, doc in pairs}
            assert all(value == pytest.approx(some[pair], abs=1e-5) for pair, value in pairs.items())
            for row in told["items"]:
                own = {
                    doc: value for (k, doc), value in values.items() if k == row["item"] and value["tokens"]
                }
                assert row["documents"] == len(own)
                assert row["contaminated_documents"] == sum(k == row["item"] for k, _ in hits)
                assert row["longest"] == max(value["tokens"] for value in own.values())
                assert row["covered"] >= max(value["llama2"] for value in own.values()) - 1e-5


@pytest.mark.parametrize("tokenizer", ["words", "bytes", "subwords"])
def test_every_planted_item_is_found(tmp_path, tokenizer):
    """Also items that are shorter than an n-gram, and within longer words of a line."""
    chosen = random.Random(3)
    words = ["one", "two", "three", "four", "five", "six", "unbelievably", "other", "seven", "eight"]
    items = [" ".join(chosen.choices(words, k=chosen.randint(6, 30))) for _ in range(40)]
    kind = write_tokenizer(tmp_path / "tokenizer.json") if tokenizer == "subwords" else tokenizer
    path, report = tmp_path / "items.jsonl", tmp_path / "report.json"
    path.write_text("".join(json.dumps({"text": item, "id": f"q{k}"}) + "\n" for k, item in enumerate(items)))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=kind)
        corpus.append([f"It was said: {item}. And nothing else." for item in items] + ["nothing at all here"])
        found = corpus.decontaminate(path, by="gpt3", report=report)
        assert (found.removed, corpus.count_docs()) == (len(items), 1)
    assert {row["item_id"] for row in json.loads(report.read_text())["items"]} == {
        f"q{k}" for k in range(len(items))
    }


@pytest.mark.parametrize("tokenizer", ["words", "subwords"])
def test_items_in_other_case_and_lines_are_found_if_folded(tmp_path, tokenizer):
    item = "what is the capital of the country between two seas"
    kind = write_tokenizer(tmp_path / "tokenizer.json") if tokenizer == "subwords" else tokenizer
    (tmp_path / "items.txt").write_text(item + "\n")
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=kind)
        corpus.append([f"Asked: {item.upper().replace(' ', chr(10), 4)} indeed", "something else"])
        for folds, removed in ((False, 0), (True, 1)):
            found = corpus.decontaminate(
                tmp_path / "items.txt", by="gpt3", lower=folds, fold_space=folds, dry_run=not folds
            )
            assert found.removed == removed


def test_the_page_shows_what_is_below_the_threshold(tmp_path):
    (tmp_path / "items.jsonl").write_text('{"text": "a b c d <e> f g h i j", "id": "<q>"}\n')
    page = tmp_path / "report.html"
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "x b c d <e> f y", "source": "web & more"}])
        found = corpus.decontaminate(tmp_path / "items.jsonl", n=4, report=page, dry_run=True)
    assert found.contaminated == 0
    text = page.read_text()
    assert "&lt;q&gt;" in text and "web &amp; more" in text and "<e>" not in text
