"""Every planted item is found and shown, whatever the measure and the threshold, under every tokenizer."""

from __future__ import annotations

import json
import random
import unicodedata

import pytest
from support.peer_data import data_file
from support.subwords import write_tokenizer

import ngramdb

SOME = "which bird dives from branch above the river naïve café Ünder don't isn't \"quoted\" 42 3.5 Straße"
WORDS = [*SOME.split(), "kingfisher", "unbelievably", "summer", "Ångström", "and", "so", "what", "of", "it"]
# The text around an item in a document.
PLACES = ["{}", "Asked: {} Then more.", "\n{}\n", '("{}")', "nothing else\n\n{}\tand a tail of words"]


def wrapped(chosen, text):
    """The text with other white space."""
    return "".join(chosen.choice(["\n", "  ", " ", "\r\n"]) if one == " " else one for one in text)


def typographic(text):
    return text.replace("'", "’").replace('"', "“", 1).replace('"', "”")


CHANGES = {
    "as it stands": (lambda chosen, text: text, {}),
    "other lines": (wrapped, {"fold_space": True}),
    "other case": (lambda chosen, text: text.upper().replace("SS", "ß"), {"lower": True}),
    "decomposed": (lambda chosen, text: unicodedata.normalize("NFD", text), {"nfc": True}),
    "typographic quotes": (lambda chosen, text: typographic(text), {"fold_quotes": True}),
    "all": (
        lambda chosen, text: typographic(unicodedata.normalize("NFD", wrapped(chosen, text.title()))),
        {"lower": True, "fold_space": True, "nfc": True, "fold_quotes": True},
    ),
}
PARTS = {"lower": "CASE", "fold_space": "SPACE", "nfc": "NFC", "fold_quotes": "QUOTES"}


def tokenizer_of(name, folder):
    if name == "subwords":
        return write_tokenizer(folder / "tokenizer.json")
    return data_file("gpt2.tokenizer.json") if name == "GPT-2" else name


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("tokenizer", ["words", "words(lower)", "bytes", "chars", "subwords", "GPT-2"])
def test_every_planted_item_is_shown(tmp_path, tokenizer, change):
    chosen = random.Random(f"{tokenizer} {change}")
    changed, folds = CHANGES[change]
    items = [" ".join(chosen.choices(WORDS, k=chosen.randint(6, 25))) + "?" for _ in range(30)]
    documents = [chosen.choice(PLACES).format(changed(chosen, item)) for item in items]
    path, report = tmp_path / "items.jsonl", tmp_path / "report.json"
    lines = [
        {"question": item, "text": item, "answer": "blue", "id": f"q{k}"} for k, item in enumerate(items)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizer_of(tokenizer, tmp_path))
        for first in range(0, len(documents), 8):
            corpus.append([*documents[first : first + 8], "00000000000000000"])
        for by in ("gpt3", "llama2", "palm", "longest", "bff", "decon"):
            corpus.decontaminate(
                path, by=by, threshold=1.0, strict=True, dry_run=True, report=report, **folds
            )
            told = json.loads(report.read_text())
            assert [row["item_id"] for row in sorted(told["items"], key=lambda row: row["item"])] == [
                f"q{k}" for k in range(len(items))
            ], by
            if change == "as it stands" and tokenizer in ("words", "words(lower)", "bytes", "chars"):
                whole = [row for row in told["items"] if row["longest"] == row["tokens"]]
                assert len(whole) == len(items), by
        page = tmp_path / "report.html"
        corpus.decontaminate(path, by="palm", dry_run=True, report=page, **folds)
        shown = page.read_text()
        assert all(f"q{k} (number {k})" in shown for k in range(len(items)))
        normalize = ", ".join(PARTS[name] for name in folds)
        statement = "DECONTAMINATE AGAINST ? BY palm > 1" + f" NORMALIZE {normalize}" * bool(folds)
        assert {row[0] for row in db.execute(statement, [str(path)]).fetchall()} == set(range(len(items)))
        # Nothing of the items is left when all documents with any n-gram of them are removed.
        corpus.decontaminate(path, by="gpt3", n=5, **folds)
        assert corpus.count_docs() == len(range(0, len(documents), 8))
