"""`words(lower)`, `words(nfc)` and both: forms of a word count together, in documents and in questions."""

from __future__ import annotations

import pickle
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb.errors import BindError, InvalidArgument
from ngramdb.registries import GROWING_TOKENIZERS, canonical_tokenizer
from ngramdb.tokenizers import create_tokenizer

CHANGING = [kind for kind in GROWING_TOKENIZERS if kind != "words"]
COMPOSED, DECOMPOSED = "Caf\u00e9", "Cafe\u0301"


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        ("words", [2, 1, 1, 1]),
        ("words(lower)", [4, 4, 2, 2]),
        ("words(nfc)", [2, 1, 2, 2]),
        ("words(lower, nfc)", [4, 4, 4, 4]),
    ],
)
def test_forms_count_together(tokenizer: str, expected: list[int]) -> None:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("a", tokenizer)
        corpus.append(["the The THE the", f"{COMPOSED} {DECOMPOSED} {COMPOSED.lower()} {DECOMPOSED.upper()}"])
        assert [corpus.count(text) for text in ("the", "THE", COMPOSED, DECOMPOSED)] == expected
        assert corpus.n_tokens == 8


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("words(lower)", "words(lower)"),
        ("words (nfc,lower)", "words(lower, nfc)"),
        ("words( lower , nfc )", "words(lower, nfc)"),
        ("words(lower, lower)", "words(lower)"),
        ("chars", "chars"),
    ],
)
def test_options_stand_in_any_order(name: str, kept: str) -> None:
    assert canonical_tokenizer(name) == create_tokenizer(name).kind == kept


@pytest.mark.parametrize("name", ["words(upper)", "words()", "words(lower, nfd)", "words(LOWER)"])
def test_other_options_are_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="the options lower and nfc"):
        create_tokenizer(name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CHANGING)
def test_what_is_changed_stays_as_it_is(kind: str) -> None:
    """For every character alone, and beside a letter and a mark: else ids would depend on the way."""
    changed = create_tokenizer(kind).changed  # type: ignore[attr-defined]
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    assigned = [character for character in every if unicodedata.category(character) not in ("Cn", "Co")]
    for form in ("{}", "a{}", "{}\u0301", "\u03a3{}\u03a3"):
        once = [changed(form.format(character)) for character in (every if form == "{}" else assigned)]
        assert [changed(text) for text in once] == once


@pytest.mark.parametrize("kind", CHANGING)
@pytest.mark.parametrize(
    "text",
    ["ΟΔΟΣ ὁδός ΑΣ.Α", "İstanbul", "Straße", "\u1e9b\u0323 K Å", "日本語 ﬁ", "", " \t"],
)
def test_a_words_ids_do_not_depend_on_what_stands_around_it(kind: str, text: str) -> None:
    tokenizer: Any = create_tokenizer(kind)
    ids, _ = tokenizer.encode_batch([text.encode()])
    assert tokenizer.encode(text).tolist() == ids.tolist()
    for word in tokenizer.entries():
        assert len(tokenizer.encode(word.decode())) == 1
    for word in text.split():
        assert set(tokenizer.encode(word).tolist()) <= set(ids.tolist())
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text).tolist() == ids.tolist()
    assert tokenizer.fork().kind == kind


def test_the_sigma_at_a_words_end_is_one_like_others() -> None:
    tokenizer = create_tokenizer("words(lower)")
    ids, _ = tokenizer.encode_batch(["ΑΣ ΑΣ.Α".encode()])
    assert tokenizer.encode("ΑΣ").tolist() == [ids[0]] == [ids[1]]


@pytest.mark.parametrize("kind", ["words", *CHANGING, "chars"])
def test_ignore_case_matches_all_three_forms_of_sigma(kind: str) -> None:
    """`lower` keeps ς: the vocabularies of stored corpora have words with it."""
    with ngramdb.connect() as db:
        corpus = db.create_corpus("a", kind)
        corpus.append(["ΛΟΓΟΣ λογος", "λογοσ"])
        for word in ("ΛΟΓΟΣ", "λογος", "λογοσ"):
            assert db.execute("COUNT ? IGNORE CASE", [word]).fetchall() == [(3,)]
            assert db.execute("COUNT ? MATCH TEXT IGNORE CASE", [word]).fetchall() == [(3,)]
        assert corpus.count("λογος") == 1
        if kind != "chars":
            assert [row[2] for row in db.execute("NGRAMS 1 IGNORE CASE").fetchall()] == [3]


@pytest.mark.parametrize("kind", CHANGING)
def test_a_corpus_keeps_its_texts_and_its_tokenizer(tmp_path: Path, kind: str) -> None:
    texts = ["The Cat sat.", "a cat SAT", f"{DECOMPOSED} the end"]
    with ngramdb.connect(tmp_path / "a.ngdb") as db:
        corpus = db.create_corpus("a", kind)
        for text in texts:
            corpus.append([text])
    with ngramdb.connect(tmp_path / "a.ngdb") as db:
        corpus = db.corpus()
        assert corpus.tokenizer.kind == kind
        assert f"tokenizer {kind}" in repr(corpus)
        assert [row["text"] for row in corpus.docs().to_dicts()] == texts
        expected = corpus.count("cat"), corpus.count("the cat"), corpus.count("CAFÉ")
        corpus.compact()
        assert (corpus.count("cat"), corpus.count("the cat"), corpus.count("CAFÉ")) == expected
        assert db.execute("CHECK").fetchall() == []
        assert len(corpus.kwic("cat").to_dicts()) == expected[0]
        assert corpus.count("cat", match_text=True) == sum(text.count("cat") for text in texts)
        corpus.delete('"cat"')
        assert corpus.count("cat") == 0


def test_vocabularies_of_different_corpora_are_translated() -> None:
    with ngramdb.connect() as db:
        one = db.create_corpus("one", "words(lower)")
        one.append(["The cat", "a Dog"])
        two = db.create_corpus("two", "words(lower)")
        two.append(["DOG the", "CAT"])
        plain = db.create_corpus("plain")
        plain.append(["the cat"])
        assert db.execute('COUNT "The" FROM one + two').fetchone() == (2,)
        assert db.execute('COUNT "DOG" FROM one + two').fetchone() == (2,)
        assert db.execute("COUNT DOCS WHERE OVERLAP(two, 1) = 1 FROM one").fetchone() == (1,)
        with pytest.raises(BindError, match="words\\(lower\\) and words"):
            db.execute('COUNT "the" FROM one + plain')
        one.add(two)
        assert (one.count("the"), one.count("DOG"), one.n_documents) == (2, 2, 4)


def test_statements_and_the_command_line_take_them(tmp_path: Path) -> None:
    from ngramdb.cli.main import main

    with ngramdb.connect() as db:
        db.execute("CREATE CORPUS a TOKENIZER 'words(nfc, lower)'")
        assert db.corpus("a").tokenizer.kind == "words(lower, nfc)"
    (tmp_path / "a.txt").write_text("The cat\nthe CAT\n")
    database = str(tmp_path / "a.ngdb")
    load = ["load", database, "a", str(tmp_path / "a.txt"), "--format", "lines", "--tokenizer"]
    assert main([*load, "words(lower)"]) == main([*load, "words( lower )"]) == 0
    assert main([*load, "words"]) == 1
    with ngramdb.connect(database) as db:
        assert db.corpus().count("The Cat") == 4


def test_normalization_is_pythons() -> None:
    tokenizer: Any = create_tokenizer("words(nfc)")
    assert tokenizer.changed("e\u0301 \ufb01") == unicodedata.normalize("NFC", "e\u0301 \ufb01")
