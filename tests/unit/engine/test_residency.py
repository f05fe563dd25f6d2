"""Parts of an index in memory, and the time when they are read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ngramdb
from ngramdb._cext.base.checksums import FileChecksums
from ngramdb.engine.corpus import grouped
from ngramdb.interrupts import Interrupt
from ngramdb.segments.container import SMALL_BLOCK_SIZE as BLOCK_SIZE

pytestmark = pytest.mark.skipif(
    not hasattr(os, "posix_fadvise"), reason="files cannot be dropped from memory"
)

N_TOKENS, DOCUMENT = 4_000_000, 1000
IDS = np.random.default_rng(1).integers(0, 5000, N_TOKENS).astype(np.uint16)
# Of a cold file: its frame, and pages that the system does not release.
COLD = 0.05


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("residency") / "db"
    with ngramdb.connect(folder) as db:
        db.create_corpus("c", tokenizer="tokens").append(np.split(IDS, N_TOKENS // DOCUMENT))
        db.create_corpus("small", tokenizer="tokens").append([[1, 2, 3]])
    return folder


def drop(path: Path) -> None:
    for file in path.rglob("*.segment"):
        fd = os.open(file, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


@pytest.fixture
def db(path: Path) -> Iterator[ngramdb.Connection]:
    """The database, none of it in memory."""
    drop(path)
    with ngramdb.connect(path, read_only=True) as db:
        if share(db) > COLD:
            pytest.skip("the file system keeps files in memory")
        yield db


def share(db: ngramdb.Connection) -> float:
    """Return the share of the corpus's index in memory."""
    (segment,) = db.snapshot.view("c").segments
    return segment.resident_bytes() / segment.size_bytes


def ask(db: ngramdb.Connection, n: int) -> None:
    corpus = db.corpus("c")
    for i in range(n):
        corpus.count([i * 17 % 5000, i * 29 % 5000])


def test_a_few_questions_read_a_few_pages(db: ngramdb.Connection) -> None:
    ask(db, 5)
    assert 0 < share(db) < COLD


def test_who_goes_on_asking_has_the_whole_index_in_memory(db: ngramdb.Connection) -> None:
    ask(db, 1500)
    assert share(db) > 0.95


def checksums(db: ngramdb.Connection) -> FileChecksums:
    (segment,) = db.snapshot.view("c").segments
    found: FileChecksums = segment._container.checksums
    return found


def n_blocks(sums: FileChecksums) -> int:
    return -(-sums.n_bytes // BLOCK_SIZE)


def test_and_verified(db: ngramdb.Connection) -> None:
    sums = checksums(db)
    ask(db, 40)
    assert 40 < sums.n_verified < n_blocks(sums) / 10
    ask(db, 5000)
    assert sums.n_verified == n_blocks(sums)


def test_damage_is_told_to_those_who_meet_it(path: Path, tmp_path: Path) -> None:
    """Blocks that are verified ahead of time are not needed yet."""
    copy = tmp_path / "db"
    shutil.copytree(path, copy)
    with ngramdb.connect(copy, read_only=True) as db:
        (segment,) = db.snapshot.view("c").segments
        at = segment._container.sections["tokens"].offset + 2 * 2000 * (DOCUMENT + 1)
    (file,) = [file for file in copy.rglob("*.segment") if file.stat().st_size > N_TOKENS]
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    with ngramdb.connect(copy, read_only=True) as db:
        sums, corpus, n_told = checksums(db), db.corpus("c"), 0
        for i in range(5000):  # each looks at some text, one block of 2,000
            try:
                corpus.count([i, i * 7 % 5000])
            except ngramdb.errors.CorruptionError as error:
                assert error.offset == at // BLOCK_SIZE * BLOCK_SIZE
                n_told += 1
        assert n_told < 30
        assert 0.98 * n_blocks(sums) < sums.n_verified < n_blocks(sums)
        for _ in range(2):
            with pytest.raises(ngramdb.errors.CorruptionError):
                corpus.count(IDS[2000 * DOCUMENT :][:10].tolist())


def test_not_where_that_is_switched_off(db: ngramdb.Connection) -> None:
    db.execute("SET prewarm = 'off'")
    ask(db, 20)
    assert share(db) < 0.3


def test_not_where_memory_has_no_room_for_it(db: ngramdb.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "memory_bytes", lambda: 2 * N_TOKENS)
    ask(db, 20)
    assert share(db) < 0.3


@pytest.mark.parametrize(
    "statement", ["NGRAMS 2 TOP 3 FROM c", "PROB [1] GIVEN [2, 3] USING KNESER_NEY FROM c"]
)
def test_what_reads_all_rows_has_all_of_it_read_before(db: ngramdb.Connection, statement: str) -> None:
    db.execute(statement).fetchall()
    assert share(db) > 0.99


def test_the_first_question_reads_everything_where_that_is_wished(db: ngramdb.Connection) -> None:
    db.execute("SET prewarm = on")
    ask(db, 1)
    assert share(db) > 0.99


def test_an_index_is_read_when_that_is_asked_for(db: ngramdb.Connection) -> None:
    seen: list[float | None] = []
    warmed = db.corpus("c").warm(progress=lambda work: seen.append(work.fraction))
    assert warmed.bytes_in_memory > 0.99 * warmed.bytes > 4 * N_TOKENS
    assert checksums(db).n_verified == n_blocks(checksums(db))
    assert share(db) > 0.99
    assert db.corpus("small").warm().bytes > 0


def test_of_an_index_larger_than_memory_the_directory_is_read_first(
    db: ngramdb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "memory_bytes", lambda: 4 * N_TOKENS)
    warmed = db.corpus("c").warm()
    assert 0.2 < warmed.bytes_in_memory / warmed.bytes < 0.6
    (segment,) = db.snapshot.view("c").segments
    parts = segment.parts_to_read(2 * N_TOKENS)
    assert sum(stop - start for start, stop in parts) == 2 * N_TOKENS
    place = segment._container.sections["directory.tree"]
    assert parts[0] == (place.offset, place.offset + place.length)


def test_reading_can_be_stopped(db: ngramdb.Connection) -> None:
    work = Interrupt()
    work.set()
    view = db.snapshot.view("c")
    with pytest.raises(ngramdb.errors.QueryCancelled), work:
        view.warm()


def test_databases_in_memory_have_nothing_to_read() -> None:
    with ngramdb.connect() as db:
        db.execute("SET prewarm = on")
        corpus = db.create_corpus("c")
        corpus.append(["a b c"])
        warmed = corpus.warm()
        assert corpus.count("a b") == 1 and warmed.bytes == warmed.bytes_in_memory > 0


def test_show_segments_says_how_much_is_in_memory(db: ngramdb.Connection) -> None:
    def shown() -> tuple[int, int]:
        (row,) = db.execute("SHOW SEGMENTS FROM c").to_dicts()
        return row["in_memory"], row["bytes"]

    cold, total = shown()
    assert cold <= COLD * total
    db.corpus("c").warm()
    assert shown() == (total, total)


def test_show_segments_shows_a_segment_whose_file_is_gone(path: Path) -> None:
    with ngramdb.connect(path) as db:
        db.create_corpus("gone", tokenizer="tokens").append([[1, 2, 3]])
        (row,) = db.execute("SHOW SEGMENTS FROM gone").to_dicts()
        file = path / row["segment"]
    content = file.read_bytes()
    file.unlink()
    with ngramdb.connect(path, read_only=True) as db:
        (row,) = db.execute("SHOW SEGMENTS FROM gone").to_dicts()
        assert row["in_memory"] is None and row["bytes"] == len(content)
    with ngramdb.connect(path) as db:
        db.drop_corpus("gone")
