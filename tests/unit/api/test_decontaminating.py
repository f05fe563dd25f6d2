"""Decontamination: documents that share too much with an evaluation set are found, explained, and removed at
once."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from support.subwords import write_tokenizer
from support.trained import word_pieces
from tokenizers import normalizers

import ngramdb
from ngramdb.engine.changes.audit import removed_documents
from ngramdb.errors import InvalidArgument

QUESTION = "what is the capital city of the country that lies between two large seas in the north"
OTHER = "name the longest river that flows through more than five different states of the union please"


@pytest.fixture
def sets(tmp_path):
    """Two evaluation sets."""
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(
        json.dumps({"text": "unrelated words", "id": "q0"})
        + "\n"
        + json.dumps({"text": QUESTION, "id": "q1"})
    )
    two.write_text(json.dumps({"text": OTHER, "id": "r0"}) + "\n")
    return one, two


@pytest.fixture
def db():
    with ngramdb.connect() as db:
        yield db


def load(db, tokenizer="words"):
    c = db.create_corpus("c", tokenizer=tokenizer)
    c.append(
        [
            {
                "text": "a page about something else altogether, with enough words to have many n-grams",
                "source": "web",
            },
            {"text": QUESTION, "source": "web", "id": "copy"},
            {"text": QUESTION.upper(), "source": "book"},
        ]
    )
    c.append([{"text": f"it was asked: {OTHER} and so on", "source": "book", "id": 7}, {"text": "short one"}])
    return c


@pytest.mark.parametrize("tokenizer", ["words", "bytes", "chars"])
def test_contaminated_documents_are_removed_at_once(db, sets, tokenizer, tmp_path):
    c = load(db, tokenizer)
    path = tmp_path / "report.jsonl"
    found = db.corpus("c").decontaminate(sets, n=8, threshold=0.5, report=path)
    assert (found.documents, found.contaminated, found.removed) == (5, 2, 2)
    assert found.version == db.version
    assert c.count_docs() == 3
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["doc_id"], one["id"], one["source"]) for one in lines] == [
        (1, "copy", "web"),
        (3, 7, "book"),
    ]
    assert lines[0]["share"] == 1.0
    assert lines[0]["against"] == str(sets[0])
    assert [(span["item"], span["item_id"]) for span in lines[0]["spans"]] == [(1, "q1")]
    (span,) = lines[1]["spans"]
    assert OTHER in span["text"]
    records = list(removed_documents(db._database.store, db.snapshot.view("c").entry.audits))
    assert [one.doc_id for one in records] == [1, 3]
    assert "decontaminate c against" in records[0].removal.statement
    assert records[0].details["matches"][0]["position"] == 0
    db.snapshot.view("c").check()


def test_the_table_is_by_set_and_source(db, sets):
    load(db)
    found = db.corpus("c").decontaminate(sets, n=8, threshold=0.5, dry_run=True)
    one, two = map(str, sets)
    assert found.table == [
        (one, "book", 2, 0, 0.0),
        (one, "web", 2, 1, 0.5),
        (one, None, 1, 0, 0.0),
        (two, "book", 2, 1, 0.5),
        (two, "web", 2, 0, 0.0),
        (two, None, 1, 0, 0.0),
    ]
    assert (found.contaminated, found.removed) == (2, 0)
    assert db.corpus("c").count_docs() == 5


def test_case_and_white_space_can_be_folded(db, sets, tmp_path):
    load(db, "bytes")
    path = tmp_path / "report.jsonl"
    found = db.corpus("c").decontaminate(sets[0], n=8, lower=True, fold_space=True, report=path, dry_run=True)
    assert found.contaminated == 2
    spans = [json.loads(line)["spans"] for line in path.read_text().splitlines()]
    assert [span["text"] for one in spans for span in one] == [QUESTION, QUESTION]


@pytest.mark.parametrize(
    ("flags", "criterion"),
    [
        ({}, "n = 3, share >= 0.2"),
        ({"lower": True}, "n = 3, lower, share >= 0.2"),
        ({"fold_space": True, "strict": True}, "n = 3, fold_space, share > 0.2"),
    ],
)
def test_a_removal_is_recorded_with_all_that_it_went_by(db, tmp_path, flags, criterion):
    """Also the reading of items; words of folded texts have no position among the document's tokens."""
    exam = tmp_path / "exam.jsonl"
    exam.write_text(json.dumps({"q": "one two three four five six"}))
    corpus = db.create_corpus("c", tokenizer=write_tokenizer(tmp_path / "tokenizer.json"))
    corpus.append(["unbelievably one two three four five six", "other"])
    corpus.decontaminate(exam, text="q", n=3, threshold=0.2, **flags)
    (removed,) = corpus.removed_documents()
    assert removed.removal.statement == f"decontaminate c against {exam}: {criterion}, text = 'q'"
    (match,) = removed.details["matches"]
    assert ("position" in match) == (not flags)


@pytest.mark.parametrize("flags", [{}, {"lower": True}, {"fold_space": True}])
@pytest.mark.parametrize(
    "tokenizer", ["words", "words(lower, nfc)", "chars", "bytes", "byte-level", "metaspace", "WordPiece"]
)
def test_a_span_is_a_piece_of_the_documents_text(db, tmp_path, tokenizer, flags):
    """Signs and white space between its words as they came; folded where texts are compared folded."""
    asked = "well, you don't  want to (it's said) been there, do you?"
    texts = [f"\U0001f600 caf\u00e9: {asked} No.", "something else, that is no exam question's copy"]
    if tokenizer == "byte-level":
        tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    elif tokenizer in ("metaspace", "WordPiece"):
        known = tokenizer
        tokenizer = word_pieces(texts)
        if known == "metaspace":
            tokenizer.normalizer = normalizers.Lowercase()
    corpus = db.create_corpus("c", tokenizer=tokenizer)
    corpus.append(texts)
    (tmp_path / "exam.jsonl").write_text(json.dumps({"text": f"Q: {asked}"}))
    path = tmp_path / "report.jsonl"
    corpus.decontaminate(
        tmp_path / "exam.jsonl", n=6, threshold=0, report=path, dry_run=True, source_field=None, **flags
    )
    whole = texts[0].lower() if "lower" in flags else texts[0]
    whole = " ".join(whole.split()) if "fold_space" in flags else whole
    wanted = "you don't want to" if "fold_space" in flags else "you don't  want to"
    (line,) = [json.loads(line) for line in path.read_text().splitlines()]
    spans = [span["text"] for span in line["spans"]]
    assert spans and all(span in whole for span in spans) and any(wanted in span for span in spans)


@pytest.mark.parametrize(
    "flags", [{}, {"lower": True}, {"fold_space": True}, {"lower": True, "fold_space": True}]
)
@pytest.mark.parametrize(
    "kind", ["words(lower)", "words(nfc)", "words(lower, nfc)", "WordPiece", "metaspace"]
)
def test_what_the_tokenizer_takes_for_the_same_is_the_same_in_folded_texts(db, tmp_path, kind, flags):
    capital, decomposed = "The Old Cat Sat On Its Mat", "la cafe\u0301 e\u0301tait fermé ce soir"
    texts = [capital, capital.lower(), decomposed, normalize("NFC", decomposed)]
    tokenizer = kind
    if kind == "WordPiece":
        tokenizer = word_pieces(texts)
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    elif kind == "metaspace":
        tokenizer = word_pieces(texts)
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(" ", "\u2581"), normalizers.Replace("\u2581", " ")]
        )
    corpus = db.create_corpus("c", tokenizer=tokenizer)
    corpus.append(texts)
    path = tmp_path / "set.jsonl"
    same = ("lower" in kind or kind == "WordPiece", kind != "words(lower)")
    for text, is_same, others in ((capital.lower(), same[0], "lower" in flags), (texts[3], same[1], False)):
        path.write_text(json.dumps({"text": text}))
        found = corpus.decontaminate(path, n=4, dry_run=True, **flags).contaminated
        assert found == (2 if is_same or others else 1)


def test_strict_means_more_than_the_threshold(db, sets):
    load(db)
    assert db.corpus("c").decontaminate(sets[0], threshold=1.0, dry_run=True).contaminated == 1
    assert db.corpus("c").decontaminate(sets[0], threshold=1.0, strict=True, dry_run=True).contaminated == 0


def test_a_set_that_is_not_there_or_makes_no_sense_is_an_error(db, sets, tmp_path):
    load(db)
    version = db.version
    with pytest.raises(ngramdb.NgramdbError):
        db.corpus("c").decontaminate(tmp_path / "nowhere.jsonl")
    with pytest.raises(InvalidArgument, match="from 0 to 1"):
        db.corpus("c").decontaminate(sets, threshold=8)
    with pytest.raises(InvalidArgument, match="at least 1"):
        db.corpus("c").decontaminate(sets, n=0)
    with pytest.raises(ngramdb.NgramdbError, match="cannot write"):
        db.corpus("c").decontaminate(sets, n=8, report=tmp_path / "no" / "folder.jsonl")
    assert db.version == version


def test_an_item_of_a_text_file_is_a_line_unless_asked_otherwise(db, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a b c\n---\nd e f\ng h i\n")
    c = db.create_corpus("c")
    c.append(["b c --- d e", "e f g h"])

    def found(**options):
        (overlap,) = c.decontaminate(path, n=4, dry_run=True, **options).overlaps
        return overlap.items, overlap.documents

    assert found() == found(format="lines") == (4, 0)
    assert found(separator="---") == found(format="text", separator="---") == (2, 1)
    assert found(format="text") == (1, 2)
    path.rename(tmp_path / "x.jsonl")
    path = tmp_path / "x.jsonl"
    assert found(format="lines") == (4, 0)


def test_options_that_the_format_of_no_set_takes_are_refused(db, sets, tmp_path):
    c, path = load(db), tmp_path / "x.txt"
    path.write_text("a b c\n")
    with pytest.raises(InvalidArgument, match="which have no field that holds the text"):
        c.decontaminate(path, text="question")
    with pytest.raises(InvalidArgument, match="have no separator"):
        c.decontaminate(sets, separator="---")
    with pytest.raises(InvalidArgument, match="format must be one of jsonl, text, lines"):
        c.decontaminate(path, format="txt")
    assert len(c.decontaminate([path, *sets], text="id", dry_run=True).overlaps) == 3


def test_a_source_field_that_no_document_has_is_refused(db, sets):
    c = load(db)
    with pytest.raises(InvalidArgument, match="no document has a field 'sorce'; did you mean source"):
        c.decontaminate(sets, source_field="sorce")
    c.append([{"text": QUESTION, "meta": {"from": "mail"}}])
    found = c.decontaminate(sets[0], n=8, threshold=0.5, source_field="meta.from", dry_run=True)
    assert found.table == [(str(sets[0]), "mail", 1, 1, 1.0), (str(sets[0]), None, 5, 1, 0.2)]


def test_the_report_has_the_source_at_a_path(db, sets, tmp_path):
    c, path = db.create_corpus("c"), tmp_path / "report.jsonl"
    c.append([{"text": QUESTION, "meta": {"from": "mail"}}])
    c.decontaminate(sets[0], n=8, source_field="meta.from", report=path)
    assert json.loads(path.read_text())["source"] == "mail"


def test_an_item_without_an_ngram_is_found_in_documents_as_short(db, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("x a b c d e y\nk l m n\n")
    c = db.create_corpus("c")
    c.append(["a b c d e", "k l m n", "x a b c d e y and what else stands there in all its length"])
    report = c.decontaminate(path, n=13, dry_run=True)
    assert (report.contaminated, report.overlaps[0].items_short) == (1, 2)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_report_is_not_written_over_what_was_read(db, sets, tmp_path, dry_run):
    load(db)
    link = tmp_path / "link.jsonl"
    link.symlink_to(sets[0])
    before = sets[0].read_bytes()
    for report in (sets[0], link, tmp_path / "." / sets[0].name):
        with pytest.raises(ngramdb.InvalidArgument, match="is one of the evaluation sets"):
            db.corpus("c").decontaminate(sets, n=8, report=report, dry_run=dry_run)
    assert sets[0].read_bytes() == before
    assert db.corpus("c").decontaminate(sets, n=8, threshold=0.5, dry_run=True).contaminated


def test_items_are_tokenized_by_the_corpus_own_tokenizer(db, tmp_path, monkeypatch):
    """Opening a tokenizer.json once more takes longer than all the rest."""
    corpus = db.create_corpus("c", tokenizer=write_tokenizer(tmp_path / "tokenizer.json"))
    corpus.append(["one two three four five six"])
    (tmp_path / "exam.jsonl").write_text(json.dumps({"text": "two three four"}))
    monkeypatch.setattr("ngramdb.engine.corpus.caches.open_tokenizer", None)
    assert corpus.decontaminate(tmp_path / "exam.jsonl", n=3, threshold=0, dry_run=True).contaminated == 1
