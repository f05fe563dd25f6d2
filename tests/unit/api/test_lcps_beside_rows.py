"""Segments of more than 2**27 symbols, in small: LCPs beside their rows, and none in them."""

from __future__ import annotations

import errno

import pytest
from support import builds, resealing
from support.large_segments import no_room_for_lcps
from support.small_databases import opened

import ngramdb
from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.storage.directory import MemoryDirectory, real
from ngramdb.engine.storage.store import Store
from ngramdb.segments import far_index, merged_arrays

QUESTIONS = (
    *builds.QUESTIONS,
    'COUNT "number 5 sat on the mat and"',
    'DIST GIVEN "the"',
    'DIST GIVEN "sat on the mat"',
    "NGRAMS 4 TOP 5",
    'SCORE "the cat number 3 sat on the mat" USING INFGRAM',
    "CHECK",
)


def fill(db):
    db.settings["auto_compact"] = False
    corpus = db.create_corpus("c")
    db.use("c")
    for first in range(0, 120, 40):
        corpus.append(
            [
                {
                    "text": f"the cat number {i % 7} sat on the mat and the cat number {i} slept",
                    "n": i,
                    "kind": "ab"[i % 2],
                }
                for i in range(first, first + 40)
            ]
        )
    return corpus


def lcps_of(db):
    return [segment.lcps for segment in db.corpus("c")._bound.current().segments]


def answers(db):
    return [db.execute(question).fetchall() for question in QUESTIONS]


def test_answers_are_those_of_rows_with_lcps_through_a_corpus_life(tmp_path):
    with ngramdb.connect(tmp_path / "a.ngdb") as plain, ngramdb.connect(tmp_path / "b.ngdb") as beside:
        fill(plain)
        with no_room_for_lcps(True):
            fill(beside)
        assert all(lcps is None for lcps in lcps_of(plain))
        assert all(lcps is not None for lcps in lcps_of(beside))
        assert answers(beside) == answers(plain)
        for statement in ("DELETE DOCS WHERE n = 7", "COMPACT c", "DELETE DOCS WHERE n > 60", "COMPACT c"):
            plain.execute(statement)
            with no_room_for_lcps(True):
                beside.execute(statement)
            assert answers(beside) == answers(plain), statement
        (found,) = lcps_of(beside)
        assert found is not None
    with ngramdb.connect(tmp_path / "a.ngdb") as plain, ngramdb.connect(tmp_path / "b.ngdb") as beside:
        # One that has become small has its LCPs in its rows again.
        for db in (plain, beside):
            db.use("c")
            db.execute("DELETE DOCS WHERE n = 8; COMPACT c")
        assert lcps_of(beside) == [None]
        assert answers(beside) == answers(plain)


def test_a_far_index_is_added_to_them():
    with Connection(Database(Store.open(MemoryDirectory()))) as db, no_room_for_lcps(True):
        fill(db)
        before = answers(db)
        db.execute("SET far_index = on; COMPACT c")
        (segment,) = db.corpus("c")._bound.current().segments
        assert segment.has_far_index and segment.lcps is not None
        assert answers(db) == before


def files():
    directory = MemoryDirectory()
    with Connection(Database(Store.open(directory))) as db, no_room_for_lcps(True):
        db.create_corpus("c").append([f"the cat number {i} sat" for i in range(30)])
    found = {name: bytes(directory.open_read(name)) for name in directory.list()}
    (segment,) = [name for name in found if name.startswith("segments/")]
    return found, segment


def test_wrong_lcps_beside_are_found_by_check():
    found, segment = files()
    for i in (0, 17, 119):

        def change(parts, i=i):
            data, dtype = parts.sections[far_index.LCPS]
            parts.sections[far_index.LCPS] = data[:i] + bytes([data[i] ^ 4]) + data[i + 1 :], dtype

        with opened(resealing.edited(found, segment, change), read_only=True) as db:
            assert f"row {i} of its suffix array" in str(db.execute("CHECK").fetchall())


@pytest.mark.parametrize("data", [b"", b"\0" * 149, b"\0" * 151])
def test_lcps_of_other_rows_are_damage(data):
    found, segment = files()

    def change(parts):
        parts.sections[far_index.LCPS] = data, "u1"

    with opened(resealing.edited(found, segment, change), read_only=True) as db:
        assert "far index is not that of 150 rows" in str(db.execute("CHECK").fetchall())
        with pytest.raises(ngramdb.CorruptionError, match="far index is not that of 150 rows"):
            db.corpus("c").count("the")


@pytest.mark.parametrize("where", ["scratch", "ahead"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_full_disk_is_explained_and_changes_nothing(tmp_path, monkeypatch, where, threads):
    class Full:
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

        end = close

    monkeypatch.setattr(merged_arrays, "CHUNK_ROWS", 100)
    with ngramdb.connect(tmp_path / "db.ngdb") as db, no_room_for_lcps(True):
        fill(db)
        before, version = answers(db), db.version
        db.settings.threads = threads
        monkeypatch.setattr(real.RealFile, "ahead", lambda *_: Full() if where == "ahead" else None)
        monkeypatch.setattr(real.RealFile, "scratch", lambda _: Full())
        with pytest.raises(ngramdb.StorageError, match="No space left"):
            db.execute("COMPACT c")
        assert (answers(db), db.version) == (before, version)
        monkeypatch.undo()
        db.execute("COMPACT c")
        assert answers(db) == before
    left = [path for path in (tmp_path / "db.ngdb").rglob("*") if "tmp" in path.name.lower()]
    assert left == []
