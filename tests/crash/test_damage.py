"""Damage to any file of a database yields an error or the right answer; never a wrong one, never a
signal."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from functools import cache

import pytest
from support.small_databases import files_of, opened, words

import ngramdb
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import StorageError

N_FLIPS = 400
N_OTHERS = 60

STATEMENTS = [
    'COUNT "w1 w2"',
    'COUNT DOCS WHERE "w3" AND NOT "w4"',
    'DIST GIVEN "w1"',
    'DOCS WHERE "w5"',
    "COUNT DOCS WHERE source = 'web'",
    'SCORE "w1 w2 w3" USING INFGRAM',
    'KWIC "w2" LIMIT 5',
]


def fill(c, rng):
    """Several segments, removals and records."""
    for _ in range(3):
        c.append(
            {"text": words(rng, 30, 40), "source": rng.choice(["web", "book"]), "n": i} for i in range(60)
        )
    c.delete('"w7 w8" OR doc_id = 3')
    c.delete("doc_id = 70")
    c.append(["w1 w2 the last one"])


@cache
def sound():
    """The files of a database, and its answers."""
    files = files_of(fill)
    return files, answers(files)


def answers(files):
    """The rows of all statements over a database of these files; raises StorageError."""
    with opened(files, read_only=True) as db:
        return [db.execute(statement).fetchall() for statement in STATEMENTS]


def verdict(files):
    """Classify the behaviour of a damaged database: "right", "detected", or "wrong"."""
    try:
        found = answers(files)
    except StorageError:
        return "detected"
    return "right" if found == sound()[1] else "wrong"


def problems(files):
    """Return the findings of CHECK; failing to open the database also counts."""
    try:
        with opened(files, read_only=True) as db:
            return db.execute("CHECK").fetchall()
    except StorageError as error:
        return [error]


def needed():
    """The files that the newest version needs."""
    files, _ = sound()
    store = Store.open(MemoryDirectory(dict(files)))
    newest = f"manifests/{store.manifest.version:010d}.manifest"
    return [*sorted(store.manifest.files()), newest, "NGRAMDB"]


def test_the_sound_database_answers():
    files, expected = sound()
    assert answers(files) == expected
    assert problems(files) == []
    assert len(needed()) > 6
    assert all(expected)


def test_flipped_bytes_are_detected_or_harmless():
    rng = random.Random(2)
    files, _ = sound()
    names = needed()
    verdicts = {"right": 0, "detected": 0, "wrong": 0}
    for k in range(N_FLIPS):
        name = names[k % len(names)]
        content = bytearray(files[name])
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        damaged = {**files, name: bytes(content)}
        verdicts[verdict(damaged)] += 1
        if k % 8 == 0:
            assert problems(damaged), f"{name} is damaged, and CHECK finds nothing"
    assert verdicts["wrong"] == 0
    assert verdicts["detected"] > N_FLIPS / 4


def test_every_byte_of_every_header_and_footer_matters():
    files, _ = sound()
    for name in needed():
        for place in (*range(0, 64, 7), *range(-64, 0, 9)):
            content = bytearray(files[name])
            content[place] ^= 0xFF
            damaged = {**files, name: bytes(content)}
            assert verdict(damaged) in ("detected", "right")
            assert problems(damaged)


@pytest.mark.parametrize("kind", ["truncated", "zeroed", "swapped", "missing", "grown"])
def test_other_damage_is_detected_or_harmless(kind):
    rng = random.Random(kind)
    files, _ = sound()
    names = needed()
    for _ in range(N_OTHERS):
        # Without its newest manifest a database is what it was one version before: FORMAT.md, "Damage".
        name = rng.choice([one for one in names if kind != "missing" or not one.startswith("manifests/")])
        damaged = dict(files)
        if kind == "truncated":
            damaged[name] = files[name][: rng.randrange(len(files[name]))]
        elif kind == "zeroed":
            start = rng.randrange(len(files[name]))
            damaged[name] = (
                files[name][:start]
                + bytes(len(files[name][start : start + 512]))
                + files[name][start + 512 :]
            )
        elif kind == "swapped":
            other = rng.choice([one for one in names if one != name])
            damaged[name], damaged[other] = files[other], files[name]
        elif kind == "grown":
            damaged[name] = files[name] + bytes(rng.randrange(1, 100))
        else:
            del damaged[name]
        if damaged != files:
            assert verdict(damaged) in ("detected", "right")


CUT_SHORT = """
import os, sys
import ngramdb
from ngramdb.segments.container import Container

with ngramdb.connect(sys.argv[1], read_only=True) as db:
    print(db.execute('COUNT "w1"').fetchall())
    (name,) = [name for name in db.snapshot.manifest.files() if name.startswith("segments/")]
    path = os.path.join(sys.argv[1], name)
    with open(path, "rb") as file:
        metadata = Container.open(memoryview(file.read()), path).sections["metadata"]
    os.chmod(path, 0o600)
    os.truncate(path, metadata.offset)
    for statement in ('COUNT "w1"', "COUNT DOCS WHERE n > 3", "CHECK"):
        try:
            print(db.execute(statement).fetchall())
        except ngramdb.errors.CorruptionError as error:
            print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="there, a mapped file cannot be cut short")
def test_a_file_that_is_cut_short_under_a_reader_is_an_error_when_the_missing_part_is_first_used(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append({"text": "w1 w2", "n": i, "s": f"{i}" * 9} for i in range(5000))
    done = subprocess.run([sys.executable, "-c", CUT_SHORT, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before, after, question, check = done.stdout.splitlines()
    assert before == after == "[(5000,)]"
    assert "was cut short while it was open" in question
    assert "has another size than when it was written" in check
