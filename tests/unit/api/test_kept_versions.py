"""Versions that are kept by name outlive `keep_versions`, compaction and the connection."""

from __future__ import annotations

import warnings

import pytest

import ngramdb
from ngramdb.engine.storage.store import Store
from ngramdb.errors import FormatVersionError
from ngramdb.segments.container import DROPPED_CORPORA, KEPT_VERSIONS
from ngramdb.segments.container.layout import KNOWN_WRITER_FLAGS


@pytest.fixture
def db(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c").append(["a b", "c d", "e f"])
        db.settings["keep_versions"] = 1
        yield db


def test_the_name_of_a_version_outlives_keep_versions_compaction_and_the_connection(db, tmp_path):
    before = db.version
    assert db.keep_version("raw") == before
    corpus = db.corpus("c")
    assert corpus.delete('"a"') == 1
    corpus.compact()
    db.close()
    with ngramdb.connect(tmp_path / "db") as again:
        listed = again.execute("SHOW VERSIONS").to_dicts()
        assert [(row["version"], row["kept_as"]) for row in listed] == [
            (before, "raw"),
            (again.version, None),
        ]
        assert again.execute("COUNT DOCS FROM c AT VERSION 'raw'").fetchone() == (3,)
        assert again.execute('COUNT "a" FROM c AT VERSION ? - c', [before]).fetchone() == (1,)
        assert dict(again.describe("c", "raw").fetchall())["documents"] == 3
        assert again.corpus("c").restore("raw").documents == 3
        assert again.corpus("c").count("a b") == 1
        assert again.execute("CHECK").fetchall() == []


def test_once_the_name_is_dropped_the_files_go(db):
    db.keep_version("raw")
    corpus = db.corpus("c")
    corpus.delete('"a"')
    corpus.compact()
    directory = db._database.store.directory
    assert len(directory.list("segments/")) == 2
    db.drop_version("raw")
    assert len(directory.list("segments/")) == 1
    with pytest.raises(ngramdb.BindError, match="no version is kept as 'raw'; kept: none"):
        corpus.restore("raw")


def test_what_reads_a_version_by_its_name_reads_on_after_the_name_was_dropped(db, tmp_path):
    db.keep_version("raw")
    corpus = db.corpus("c")
    corpus.delete('"a"')
    corpus.compact()
    with ngramdb.connect(tmp_path / "db", read_only=True) as reader:
        rows = reader.execute("DOCS FROM c AT VERSION 'raw'")
        db.drop_version("raw")
        corpus.append(["g"])
        assert [row[0] for row in rows.fetchall()] == [0, 1, 2]


def test_checks_read_the_files_of_versions_that_are_kept(db, tmp_path):
    (name,) = db._database.store.directory.list("segments/")
    db.keep_version("raw")
    corpus = db.corpus("c")
    corpus.delete('"a"')
    corpus.compact()
    db.close()
    (tmp_path / "db" / name).unlink()
    with ngramdb.connect(tmp_path / "db") as again:
        ((_, file, _, problem),) = again.execute("CHECK").fetchall()
        assert file == name and "the file is missing" in problem


def test_a_program_that_does_not_know_names_reads_and_does_not_write(db, tmp_path, monkeypatch):
    written = []
    for action in (lambda: db.keep_version("raw"), lambda: db.drop_version("raw")):
        action()
        with monkeypatch.context() as older:
            older.setattr(
                "ngramdb.engine.storage.store.KNOWN_WRITER_FLAGS", KNOWN_WRITER_FLAGS & ~KEPT_VERSIONS
            )
            with ngramdb.connect(tmp_path / "db") as again:
                assert again.corpus("c").count("a") == 1
                try:
                    again.corpus("c").append(["x"])
                    written.append(True)
                except FormatVersionError:
                    written.append(False)
    assert written == [False, True]


def test_a_version_may_have_several_names_and_a_name_one_version(db):
    before = db.version
    assert db.keep_version("one") == before
    assert db.keep_version("two", before) == before
    now = db.version
    assert db.keep_version("two", before) == before  # as it is already
    assert db.version == now
    with pytest.raises(
        ngramdb.BindError, match=rf"version {before} is kept as 'two' already: .* DROP VERSION"
    ):
        db.keep_version("two")
    (named,) = [row for row in db.execute("SHOW VERSIONS").to_dicts() if row["kept_as"]]
    assert (named["version"], named["kept_as"]) == (before, "one, two")


@pytest.mark.parametrize("name", ["", "12", "a\nb", "x" * 101, None, 3])
def test_what_cannot_be_a_name_is_refused(db, name):
    with pytest.raises(ngramdb.InvalidArgument, match=r"name|number"):
        db.keep_version(name)
    assert not db.snapshot.manifest.kept


def test_wrong_versions_are_refused(db):
    with pytest.raises(ngramdb.BindError, match="version 1 is not kept; kept versions"):
        db.corpus("c").append(["y"])
        db.keep_version("x", 1)
    with pytest.raises(ngramdb.InvalidArgument, match="version must be a whole number, not '1'"):
        db.keep_version("x", "1")
    with pytest.raises(ngramdb.InvalidArgument, match=r"a whole number, or the name of a version, not 1\.5"):
        db.corpus("c").restore(1.5)
    db.keep_version("x")
    with pytest.raises(ngramdb.BindError, match=r"version 1 is not kept; kept versions: \d+, \d+ \(x\)"):
        db.execute("RESTORE CORPUS c TO VERSION 1")


def test_a_commit_that_lets_the_first_version_go_says_so_once(db, tmp_path):
    db.close()
    with ngramdb.connect(tmp_path / "db") as again:
        first = again.version
        again.settings["keep_versions"] = 3
        corpus = again.corpus("c")
        results = [again.execute("DELETE DOCS WHERE doc_id = ?", [i]) for i in range(3)]
        assert [result.notes for result in results[:2]] == [(), ()]
        (note,) = results[2].notes
        assert f"version {first}, the newest when this session began, is no longer kept" in note
        assert "(keep_versions is 3)" in note
        assert corpus.append(["x"]) and not again.execute("DELETE DOCS WHERE doc_id = 3").notes


def test_the_verbs_warn_of_it(db, tmp_path):
    db.close()
    with ngramdb.connect(tmp_path / "db") as again:
        again.settings["keep_versions"] = 2
        corpus = again.corpus("c")
        corpus.delete('"a"')
        with pytest.warns(ngramdb.VersionWarning, match="is no longer kept"):
            corpus.delete('"c"')


def test_a_first_version_that_is_kept_or_empty_is_no_loss(db, tmp_path):
    db.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ngramdb.connect(tmp_path / "db") as again:
            again.settings["keep_versions"] = 1
            again.keep_version("first")
            for i in range(3):
                again.corpus("c").delete("doc_id = ?", params=[i])
        with ngramdb.connect() as fresh:
            fresh.settings["keep_versions"] = 1
            for text in "abc":
                fresh.create_corpus(text).append([text])


def test_a_manifest_is_read_again_as_it_was_written(db):
    db.keep_version("raw")
    store = Store.open(db._database.store.directory, read_only=True)
    assert store.manifest == db.snapshot.manifest
    assert store.manifest.kept["raw"].corpora["c"].n_documents == 3
    assert store.manifest.kept["raw"].kept == {}


REMOVED = [("c", "takedown", 1)]


def removals(corpus):
    return [(one.corpus, one.reason, one.n_documents) for one in corpus.removals()]


def made_again(db, tmp_path, steps):
    """Drop the corpus after a removal, in one of several ways, and restore it to the version raw."""
    corpus = db.corpus("c")
    number = db.version
    if "named late" not in steps:
        db.keep_version("raw")
    db.settings["keep_versions"] = 100 if "named late" in steps else 1
    corpus.delete('"a"', reason="takedown")
    corpus.append(["new"])
    db.drop_corpus("c")
    if "named late" in steps:
        db.keep_version("raw", number)
        db.settings["keep_versions"] = 1
    other = db.create_corpus("c" if "same name" in steps else "other")
    for _ in range(3):
        other.append(["x"])
    db.drop_corpus(other.name)
    if "opened again" in steps:
        db.close()
        db = ngramdb.connect(tmp_path / "db")
    db.execute("RESTORE CORPUS c TO VERSION 'raw'")
    return db


@pytest.mark.parametrize("steps", ["", "same name", "opened again", "named late"])
def test_records_ids_and_words_of_a_dropped_corpus_come_back_with_it(db, tmp_path, steps):
    db = made_again(db, tmp_path, steps)
    corpus = db.corpus("c")
    assert (corpus.n_documents, removals(corpus)) == (3, REMOVED)
    (row,) = db.execute("SHOW REMOVALS FROM c").to_dicts()
    assert (row["documents"], row["restored"]) == (1, 1)
    corpus.append(["g new"])
    assert [row[0] for row in corpus.docs().fetchall()] == [0, 1, 2, 4]
    assert db.execute("CHECK").fetchall() == []
    # The corpus itself has these again.
    assert not db.snapshot.manifest.dropped
    db.close()


def test_what_outlives_a_dropped_corpus_goes_with_the_last_version_that_has_it(db, tmp_path, monkeypatch):
    db.keep_version("raw")
    corpus = db.corpus("c")
    corpus.delete('"a"')
    db.drop_corpus("c")
    directory = db._database.store.directory
    assert len(directory.list("audits/")) == 1 and len(db.snapshot.manifest.dropped) == 1
    with monkeypatch.context() as older:
        older.setattr(
            "ngramdb.engine.storage.store.KNOWN_WRITER_FLAGS", KNOWN_WRITER_FLAGS & ~DROPPED_CORPORA
        )
        with (
            ngramdb.connect(tmp_path / "db") as again,
            pytest.raises(FormatVersionError),
        ):
            again.create_corpus("d")
    db.drop_version("raw")
    assert directory.list("audits/") == [] and not db.snapshot.manifest.dropped
