"""Databases that earlier versions wrote are opened, asked, checked, written to and compacted.

Each folder here has a database as it was on disk, questions with their answers at that time,
and the script that wrote both. Nothing in them is ever replaced: if a test here fails, users cannot open
the databases that they have. `format_1/write.py` wrote the others, too:

- `format_1`: the first one
- `format_1_frequent_ngrams`: the statistics of a corpus have frequent n-grams
- `format_1_load_records`: a corpus has the record of a load that can be resumed
- `format_1_small_blocks`: segments have a checksum for every 4,096 bytes
- `format_1_sentences`: segments record the beginnings of sentences
- `format_1_kept_versions`: a version is kept by name, fields have the types of a table's columns
- `format_1_far_index`: some segments have a far index
- `format_1_dropped_corpora`: a version that is kept by name has a corpus that was dropped
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.compat_questions import ask, exported, fields

import ngramdb
from ngramdb.segments.container.layout import FORMAT_VERSION

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/database.tar.gz"))
FOLDERS_OF_SENTENCES = [
    Path(__file__).parent / name
    for name in (
        "format_1_sentences",
        "format_1_far_index",
        "format_1_kept_versions",
        "format_1_dropped_corpora",
    )
]
# A larger file would be a burden on every checkout.
MOST_BYTES = 300_000


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def expected(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def database(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "database"
    with tarfile.open(folder / "database.tar.gz") as archive:
        # Without a filter Python 3.14 and earlier ones do different things, and 3.12 warns.
        archive.extractall(path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return path


def states(path: Path) -> dict[str, str]:
    """Every file of a folder and a digest of its content."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def same(expected: Any, found: Any) -> bool:
    """Equal; numbers with a fraction up to their last digits, which a compiler may round another way."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, expected, found))
    if isinstance(expected, float) and isinstance(found, float):
        return found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    return type(expected) is type(found) and bool(expected == found)


#: Characters at the outer ends of contexts that earlier versions cut, or left out; now they are whole.
CUT = "[^\x00-\x7f]+"


def uncut(column: str, values: Any) -> Any:
    """Return the values of a column, those of contexts without the characters at their outer ends."""
    cut = {"left": f"^{CUT}", "right": f"{CUT}$"}.get(column)
    return [re.sub(cut, "", value) for value in values] if cut else values


def differences(db: ngramdb.Connection, questions: list[dict[str, Any]]) -> list[str]:
    """The questions that are not answered as they were. Later versions may answer with more columns."""
    wrong = []
    for question in questions:
        # Scores of documents had the name of sentences until there were scores of sentences.
        found = ask(db, re.sub(r"^(SCORE .*) SENTENCE\b", r"\1 DOCUMENT", question["statement"]))
        for name, values in {"": question["n_rows"], **question["columns"]}.items():
            now = found["columns"].get(name) if name else found["n_rows"]
            if not same(uncut(name, values), uncut(name, now)):
                wrong.append(f"{question['statement']}: {name}: {now} instead of {values}")
    return wrong


def test_there_is_a_database_of_every_format_and_none_is_large() -> None:
    assert {f"format_{version}" for version in range(1, FORMAT_VERSION + 1)} <= {f.name for f in FOLDERS}
    for folder in FOLDERS:
        assert sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) < MOST_BYTES


def test_it_is_answered_as_it_was_without_a_byte_being_written(
    database: Path, expected: dict[str, Any]
) -> None:
    before = states(database)
    with ngramdb.connect(database, read_only=True) as db:
        questions = [*expected["always"], *expected["while versions are kept"], *expected["as laid out"]]
        assert len(questions) > 100
        assert differences(db, questions) == []
        assert {name: fields(db, name) for name in expected["fields"]} == expected["fields"]
        assert {name: exported(db, name, database.parent) for name in expected["exports"]} == expected[
            "exports"
        ]
        assert db.execute("CHECK").fetchall() == []
    assert states(database) == before


def test_it_can_be_written_to_and_compacted_and_answers_stay(
    database: Path, expected: dict[str, Any]
) -> None:
    questions = [*expected["always"], *expected["while versions are kept"]]
    with ngramdb.connect(database) as db:
        then = db.version
        for name in expected["exports"]:
            corpus = db.corpus(name)
            n = corpus.count_docs()
            corpus.append([[1, 2, 3]] if corpus.tokenizer.kind == "tokens" else ["a new document flies"])
            assert corpus.count_docs() == n + 1
            corpus.delete(f"doc_id = {max(row[0] for row in db.execute(f'DOCS FROM {name}'))}")
            assert corpus.count_docs() == n
        assert differences(db, questions) == []
        db.execute("COMPACT")
        assert differences(db, questions) == []
        for name in expected["exports"]:
            db.execute(f"RESTORE CORPUS {name} TO VERSION {then}")
        assert differences(db, expected["always"]) == []
        assert db.execute("CHECK").fetchall() == []
    with ngramdb.connect(database, read_only=True) as db:
        assert differences(db, expected["always"]) == []
        assert {name: exported(db, name, database.parent) for name in expected["exports"]} == expected[
            "exports"
        ]
        assert db.execute("CHECK").fetchall() == []


def test_fields_of_a_table_have_its_types(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parent / "format_1_kept_versions" / "database.tar.gz") as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    with ngramdb.connect(tmp_path) as db:
        for compacted in (False, True):
            if compacted:
                db.execute("COMPACT typed")
            schema = db.execute("DOCS FROM typed").arrow().schema
            assert (str(schema.field("day").type), str(schema.field("n").type)) == ("date32[day]", "int8")


def test_the_records_of_a_dropped_corpus_come_back_with_it(tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parent / "format_1_dropped_corpora" / "database.tar.gz") as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    with ngramdb.connect(tmp_path) as db:
        db.settings["keep_versions"] = 1
        db.execute("COMPACT")
        db.execute("RESTORE CORPUS gone TO VERSION 'complete'")
        (row,) = db.execute("SHOW REMOVALS FROM gone").to_dicts()
        assert (row["by"], row["documents"], row["restored"]) == ("ann@example", 1, 1)


def test_compaction_finds_sentences_that_were_not_kept(folder: Path, database: Path) -> None:
    newest = json.loads((FOLDERS_OF_SENTENCES[0] / "answers.json").read_text(encoding="utf-8"))
    questions = [one for one in newest["always"] if "<s>" in one["statement"] or "</s>" in one["statement"]]
    assert questions
    with ngramdb.connect(database) as db:
        if folder not in FOLDERS_OF_SENTENCES:
            with pytest.raises(
                ngramdb.errors.PlanError, match="the sentences of words are not known: COMPACT"
            ):
                db.execute("COUNT <s> * FROM words")
        db.execute("COMPACT")
        assert not differences(db, questions)
        db.execute("CHECK")
