"""An unknown word is one that does not occur in the queried corpus. The same for every model, for texts and
ids, after removals and in sums and differences; and so are all numbers that follow from it.
"""

from __future__ import annotations

import csv
import json
from itertools import product

import pytest
from support.subwords import word_level

import ngramdb
from ngramdb.cli.main import main

KEPT = ["the cat sat", "a dog sat on the cat"]
REMOVED = ["the zebra ran", "zebra crossing on the dog"]
MORE = ["the bird sang", "a bird ran"]
TEXT = "the zebra sat on a bird and the xyzzy ran"
MODELS = [
    "NGRAM",
    "NGRAM ORDER 2",
    "INFGRAM",
    "INFGRAM MIN COUNT 2",
    "BACKOFF",
    "KNESER_NEY",
    "WITTEN_BELL",
    "PITMAN_YOR",
    "KATZ",
    "SKIP_KNESER_NEY",
]
MODELS += ["KNESER_NEY ORDER 3", "KNESER_NEY MIN COUNT 2"]

# A query, and the documents of a corpus without all the others.
ASKED = {
    "all": ('SCORE "{}" {} FROM whole', KEPT + REMOVED),
    "after a removal": ('SCORE "{}" {} FROM less', KEPT),
    "the version before a removal": ('SCORE "{}" {} FROM less AT VERSION {version}', KEPT + REMOVED),
    "a difference": ('SCORE "{}" {} FROM whole - removed', KEPT),
    "a sum": ('SCORE "{}" {} FROM less + more', KEPT + MORE),
    "a sum with removals": ('SCORE "{}" {} FROM less + more - more', KEPT),
    "no documents": ('SCORE "{}" {} FROM none', []),
}


@pytest.fixture(scope="module", params=["words", "a vocabulary with every word"])
def db(request, tmp_path_factory):
    """The corpora; a tokenizer.json has ids for words that no document has."""
    tokenizer, folder = "words", tmp_path_factory.mktemp("unknown")
    if request.param != "words":
        every = sorted({word for text in (*KEPT, *REMOVED, *MORE, TEXT) for word in text.split()})
        tokenizer = str(word_level(folder / "tokenizer.json", every))
    with ngramdb.connect(folder / "corpora.ngdb") as db:
        db.tokenizer, db.folder = tokenizer, folder
        for name, texts in {"less": KEPT + REMOVED, "whole": KEPT + REMOVED}.items():
            db.create_corpus(name, tokenizer).append(texts)
        for name, texts in {"removed": REMOVED, "more": MORE, "none": []}.items():
            db.create_corpus(name, tokenizer).append(texts)
        db.before = db.version
        db.corpus("less").delete('"zebra"')
        yield db


def figures(result):
    """A row per token without ids, which depend on the order of documents; and the totals."""
    rows = [(row[0], row[1], *row[3:]) for row in result.fetchall()]
    return rows, {name: result.summary[name] for name in ("tokens", "unknown_words", "perplexity")}


@pytest.mark.parametrize(("asked", "model"), [*product(ASKED, MODELS)])
def test_unknown_words_are_those_of_a_corpus_without_the_other_documents(db, asked, model):
    statement, texts = ASKED[asked]
    words = {word for text in texts for word in text.split()}
    for unit in ("", "DOCUMENT"):
        text = statement.format(TEXT, f"USING {model} {unit}", version=db.before)
        rows, totals = figures(db.execute(text))
        for word, row in zip(TEXT.split(), rows, strict=False):
            assert row[1] == (word if word in words else "<unk>")
        assert totals["unknown_words"] == sum(word not in words for word in TEXT.split())
        with ngramdb.connect() as fresh:
            corpus = fresh.create_corpus("c", db.tokenizer)
            corpus.append(texts)
            expected = figures(fresh.execute(f'SCORE "{TEXT}" USING {model} {unit}'))
            assert repr((rows, totals)) == repr(expected)
            measured = corpus.perplexity([TEXT], model, document=bool(unit))
            assert measured.n_unknown == totals["unknown_words"]


@pytest.mark.parametrize("model", MODELS)
def test_perplexities_count_the_same_words(db, model, tmp_path, capsys):
    corpus = db.corpus("less")
    measured = corpus.perplexity([TEXT], model)
    scored = db.execute(f"SCORE ? USING {model} DOCUMENT FROM less", [TEXT])
    assert measured.n_unknown == scored.summary["unknown_words"] == 5  # zebra, bird, and, xyzzy, ran
    path = tmp_path / "held.jsonl"
    path.write_text(json.dumps({"text": TEXT}), encoding="utf-8")
    command = ["perplexity", str(db.folder / "corpora.ngdb"), "less", str(path), "--model", model]
    assert main([*command, "--format", "csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert int(row["unknown"]) == 5


def test_the_token_between_sentences_is_known():
    with ngramdb.connect() as db:
        db.execute("CREATE CORPUS lines TOKENIZER 'tokens' WITH (sentence_separator = '0')")
        corpus = db.corpus("lines")
        corpus.append([[1, 2, 0, 3], [4, 0, 1]])
        for docs, known in ((True, {1, 2, 3, 4}), (False, set())):
            if not docs:
                corpus.delete("[1]")
            scored = db.execute("SCORE [1, 0, 9, 4] USING KNESER_NEY DOCUMENT")
            unknown = [row[1] == "<unk>" for row in scored.fetchall()[:4]]
            assert unknown == [token != 0 and token not in known for token in (1, 0, 9, 4)]
            measured = corpus.perplexity([[1, 0, 9, 4]], "kneser_ney")
            assert scored.summary["unknown_words"] == sum(unknown) == measured.n_unknown
