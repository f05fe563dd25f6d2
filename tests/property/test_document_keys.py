"""Keys of documents that are kept beside segments: answers are those of a comparison with all texts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from support.near import planted

import ngramdb
from ngramdb._cext.corpus.document_keys import find_documents
from ngramdb.curation import document_keys, near_duplicates
from ngramdb.curation.near_duplicates import Rule

RULES = (Rule(1.0, 2), Rule(0.6, 2), Rule(0.5, 2, 8, 2))


@pytest.fixture
def kept_always(monkeypatch):
    """Small segments have files as well, written in several runs and searched in several parts."""
    monkeypatch.setattr(document_keys, "FEWEST_TOKENS", 1)
    monkeypatch.setattr(document_keys, "_RUN", 12)
    monkeypatch.setattr(document_keys, "_WANTED", 5)


def texts(seed):
    return [" ".join(pieces) for pieces in planted(random.Random(seed))]


def two_corpora(db, seed):
    """A corpus of several segments with removed and cut documents, and a delivery."""
    db.settings["auto_compact"] = False
    old = db.create_corpus("old", tokenizer="words")
    for part in range(3):
        old.append(texts(seed + part))
    old.delete("doc_id IN (1, 20)")
    old.cut_spans("w3")
    db.create_corpus("new", tokenizer="words").append(texts(seed) + texts(seed + 9))


def found(db, rule, rejects=True):
    new, old = (db.corpus(name)._bound.current() for name in ("new", "old"))
    answer = near_duplicates.near_duplicates(new, rule, against=old, rejects=rejects)

    def shown(one):
        return one._replace(kept=old.segments[one.kept[0]].doc_id(one.kept[1]) if one.is_given else one.kept)

    return sorted(map(shown, answer.pairs)), sorted(map(shown, answer.rejected)), answer.n_bounded


def answers(db, monkeypatch=None):
    return [found(db, rule) for rule in RULES]


def files(folder):
    return sorted((Path(folder) / "cache").glob("*"))


@pytest.mark.parametrize("seed", range(6))
def test_equal_to_a_comparison_with_all_texts(seed, tmp_path, monkeypatch, kept_always):
    path = tmp_path / "c.ngdb"
    with ngramdb.connect(path) as db:
        two_corpora(db, seed)
        with monkeypatch.context() as without:
            without.setattr(document_keys, "FEWEST_TOKENS", 1 << 40)
            expected = answers(db)
            assert not files(path)
        assert answers(db) == expected
        assert len(files(path)) == 2 * len(db.corpus("old")._bound.current().segments)
        read = []
        whole = near_duplicates.normalized
        monkeypatch.setattr(near_duplicates, "normalized", lambda *args: read.append(args) or whole(*args))
        assert answers(db) == expected
        # The delivery's texts, and those of candidates.
        n_old = db.corpus("old").n_documents
        assert len(read) < len(RULES) * (db.corpus("new").n_documents + n_old)
        db.corpus("old").delete("doc_id = 5")
        before = found(db, RULES[0], rejects=False)
        db.corpus("old").compact()
        assert found(db, RULES[0], rejects=False) == before
    with ngramdb.connect(path, read_only=True) as db:
        assert found(db, RULES[0], rejects=False) == before


def test_a_read_only_database_is_not_written_to(tmp_path, kept_always):
    path = tmp_path / "c.ngdb"
    with ngramdb.connect(path) as db:
        two_corpora(db, 3)
    with ngramdb.connect(path, read_only=True) as db:
        expected = answers(db)
    assert not files(path)
    with ngramdb.connect(path) as db:
        assert answers(db) == expected


def test_damaged_and_stale_files_are_written_again(tmp_path, monkeypatch, kept_always):
    path = tmp_path / "c.ngdb"
    with ngramdb.connect(path) as db:
        two_corpora(db, 1)
        expected = answers(db)
        contents = {file: file.read_bytes() for file in files(path)}
        chance = random.Random(1)
        for file, content in contents.items():
            for _ in range(25):
                damaged = bytearray(content)
                damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
                file.unlink()
                file.write_bytes(chance.choice([damaged, damaged, content[: chance.randrange(len(content))]]))
                assert answers(db) == expected
        for file in contents:
            file.unlink()
        assert answers(db) == expected
        assert files(path) == sorted(contents)
        identities = {file: file.read_bytes()[32:48] for file in contents}
        assert answers(db) == expected
        assert {file: file.read_bytes()[32:48] for file in contents} == identities
        monkeypatch.setattr(document_keys, "VERSION", 2)
        assert answers(db) == expected
        assert all(file.read_bytes()[32:48] != identity for file, identity in identities.items())


def test_files_are_removed_with_their_segments(tmp_path, kept_always):
    path = tmp_path / "c.ngdb"
    with ngramdb.connect(path) as db:
        two_corpora(db, 2)
        answers(db)
        assert files(path)
        interrupted = path / "cache" / f"{'0' * 32}.words2.01234567.tmp"
        interrupted.write_bytes(b"half")
    with ngramdb.connect(path) as db:
        db.settings["keep_versions"] = 1
        db.corpus("old").compact()
        db.corpus("new").append(["more"])
        left = {file.name.partition(".")[0] for file in files(path)}
        assert not interrupted.exists()
        assert left <= {file.stem for file in (path / "segments").glob("*")}


def test_documents_are_found_by_their_keys():
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(0, 60))
        keys = np.sort(rng.integers(0, 12, n).astype(np.uint64) << np.uint64(60))
        numbers = rng.integers(0, 9, n).astype(np.uint32)
        records = np.empty(n, dtype=[("key", "<u8"), ("document", "<u4")])
        records["key"], records["document"] = keys, numbers
        ranks = np.arange(100, 109, dtype=np.uint32)
        ranks[rng.random(9) < 0.3] = document_keys.NO_RANK
        wanted = np.unique(rng.integers(0, 14, 5).astype(np.uint64) << np.uint64(60))
        most = int(rng.integers(1, 5))
        which, ranked = find_documents(records.view("<u4"), wanted, ranks, most)
        expected = []
        for i, key in enumerate(wanted):
            counted = [ranks[d] for k, d in zip(keys, numbers, strict=True) if k == key]
            expected += [(i, r) for r in counted if r != document_keys.NO_RANK][:most]
        assert list(zip(which.tolist(), ranked.tolist(), strict=True)) == expected
    with pytest.raises(ValueError, match="no document"):
        find_documents(np.array([1, 0, 9], dtype=np.uint32), np.array([1], dtype=np.uint64), ranks, 1)
    with pytest.raises(ValueError, match="records of 3"):
        find_documents(np.zeros(4, dtype=np.uint32), wanted, ranks, 1)
