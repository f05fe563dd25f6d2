"""`SET far_index`: COMPACT copies segments and adds indexes for remote queries."""

from __future__ import annotations

import numpy as np
import pytest
from support import resealing
from support.small_databases import opened

import ngramdb
from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.cli.main import main
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store

SECTIONS = ("far.lcps", "far.keys")


def far_segments(db, name="c"):
    return [segment.has_far_index for segment in db.corpus(name)._bound.current().segments]


def filled(path):
    db = ngramdb.connect(path)
    db.settings["auto_compact"] = False
    corpus = db.create_corpus("c")
    corpus.append([{"text": f"the cat number {i} sat on the mat", "n": i} for i in range(200)])
    corpus.append(["a dog", {"text": "another dog sat", "n": 500}])
    db.execute("DELETE DOCS WHERE n = 7 FROM c")
    return db


QUESTIONS = (
    'COUNT "the cat"',
    "DOCS WHERE n > 150",
    'KWIC "dog"',
    "NGRAMS 2 TOP 5",
    'DIST GIVEN "the"',
    "CHECK",
)


def test_compact_adds_a_far_index_where_that_is_set_and_answers_stay(tmp_path):
    with filled(tmp_path / "db") as db:
        db.use("c")
        before = [db.execute(question).fetchall() for question in QUESTIONS]
        db.execute("COMPACT c")
        assert far_segments(db) == [False]
        db.execute("SET far_index = on; COMPACT c")
        assert far_segments(db) == [True]
        version = db.version
        db.execute("COMPACT c")
        assert db.version == version, "nothing is left to be done"
        assert [db.execute(question).fetchall() for question in QUESTIONS] == before
        db.execute("RESET far_index")
        db.corpus("c").append([f"one more {i}" for i in range(300)])
        db.execute("COMPACT c")
        assert far_segments(db) == [False], "a merged segment has none"


def test_segments_of_removed_documents_and_ids_with_gaps_are_copied_with_their_flags(tmp_path):
    with filled(tmp_path / "db") as db:
        db.execute("SET far_index = on; COMPACT c")
        db.execute("DELETE DOCS WHERE n = 9 FROM c")
        ids = [row[0] for row in db.execute("DOCS FROM c").fetchall()]
    with ngramdb.connect(tmp_path / "db") as db:
        assert [row[0] for row in db.execute("DOCS FROM c").fetchall()] == ids
        assert not {7, 9} & set(ids) and 201 in ids
        assert db.execute("CHECK").fetchall() == []


def test_the_command_has_a_flag(tmp_path, capsys):
    filled(tmp_path / "db").close()
    assert main(["compact", str(tmp_path / "db"), "c", "--far-index"]) == 0
    with ngramdb.connect(tmp_path / "db", read_only=True) as db:
        assert far_segments(db) == [True]


@pytest.mark.parametrize("section", SECTIONS)
def test_check_finds_a_far_index_of_another_suffix_array(section):
    directory = MemoryDirectory()
    with Connection(Database(Store.open(directory))) as db:
        db.create_corpus("c").append([f"the cat number {i} sat" for i in range(30)])
        db.execute("SET far_index = on; COMPACT c")
    files = {name: bytes(directory.open_read(name)) for name in directory.list()}
    (name,) = [
        name
        for name, content in files.items()
        if name.startswith("segments/") and section in resealing.unsealed(content).sections
    ]

    def change(parts):
        data, dtype = parts.sections[section]
        parts.sections[section] = bytes([data[0] ^ 1, *data[1:]]), dtype

    with opened(resealing.edited(files, name, change), read_only=True) as db:
        assert "far index" in str(db.execute("CHECK").fetchall())
        assert db.corpus("c").count("the cat") == 30, "queries on a local file do not use it"


def test_wrong_properties_are_damage(tmp_path):
    rng = np.random.default_rng(1)
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.create_corpus("c", tokenizer="tokens")
        corpus.append([rng.integers(0, 50, 200).astype(np.uint16) for _ in range(5)])
        db.execute("SET far_index = on; COMPACT c")
        (segment,) = corpus._bound.current().segments
        segment._container.properties["far_rows"] = 0
        with pytest.raises(ngramdb.CorruptionError, match="far_rows"):
            segment.check()
