"""Decontamination: documents that share too much with an evaluation set are found, explained, and removed at
once."""

from __future__ import annotations

import json

import pytest

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
