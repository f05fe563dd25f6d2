"""Connections: life, statements, snapshots, threads."""

from __future__ import annotations

import contextlib
import errno
import shutil
import threading

import pytest

import ngramdb
from ngramdb import (
    BindError,
    ExecutionError,
    InvalidArgument,
    NotADatabase,
    PlanError,
    ReadOnlyError,
    StorageError,
)
from ngramdb.engine.storage.directory.base import storage_error


def test_a_database_in_a_folder_is_there_when_it_is_opened_again(tmp_path):
    path = tmp_path / "corpora.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("wiki").append(["a b a"])
    with ngramdb.connect(str(path), read_only=True) as db:
        assert db.corpora() == ["wiki"]
        assert db.execute('COUNT "a"').fetchall() == [(2,)]
        for statement in ("CREATE CORPUS x", "DROP CORPUS wiki", "COPY wiki FROM 'x'"):
            with pytest.raises((ReadOnlyError, ngramdb.LoadError)):
                db.execute(statement)
        assert db.execute("CREATE CORPUS IF NOT EXISTS wiki").summary["changed"] is False


def test_paths_that_are_no_database_are_refused(tmp_path):
    with pytest.raises(StorageError):
        ngramdb.connect(tmp_path / "missing", read_only=True)
    for path in (None, ":memory:"):
        with pytest.raises(InvalidArgument, match="in memory is new and empty"):
            ngramdb.connect(path, read_only=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        ngramdb.connect(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other").write_text("x")
    with pytest.raises(NotADatabase):
        ngramdb.connect(tmp_path / "folder")
    with pytest.raises(InvalidArgument, match="path must be a str or a path object, not int"):
        ngramdb.connect(3)


def test_a_url_without_a_place_is_refused():
    pytest.importorskip("fsspec")
    for url in ("memory://", "memory:///", "s3://"):
        with pytest.raises(StorageError, match="is not a path in the store; connect\\(\\) alone"):
            ngramdb.connect(url)


def test_a_store_in_memory_is_there_while_the_process_is(tmp_path):
    pytest.importorskip("fsspec")
    url = f"memory://{tmp_path.name}/a.ngdb"
    with ngramdb.connect(url) as db:
        db.create_corpus("c").append(["a b a"])
    with ngramdb.connect(url, read_only=True) as db:
        assert db.corpus("c").count("a") == 2


def test_flags_are_true_or_false(db, tmp_path):
    with pytest.raises(InvalidArgument, match="read_only must be True or False, not 'no'"):
        ngramdb.connect(tmp_path / "x", read_only="no")
    with pytest.raises(InvalidArgument, match="if_not_exists must be True or False, not 1"):
        db.create_corpus("c", if_not_exists=1)
    with pytest.raises(InvalidArgument, match="if_exists must be True or False, not None"):
        db.drop_corpus("c", None)
    assert not (tmp_path / "x").exists() and db.corpora() == []


def test_a_closed_connection_says_so_everywhere(wiki, db):
    result = db.execute("DOCS")
    db.close()
    db.close()
    for use in (
        lambda: db.execute('COUNT "a"'),
        lambda: db.corpus("wiki"),
        lambda: db.corpora(),
        lambda: db.create_corpus("x"),
        lambda: wiki.count("natural"),
        lambda: wiki.prob("natural"),
        lambda: wiki.count_many([[0]]),
        lambda: wiki.append(["x"]),
        lambda: wiki.n_tokens,
    ):
        with pytest.raises(ExecutionError, match="the connection is closed"):
            use()
    assert repr(db) == "<ngramdb.Connection, closed>"
    assert len(result.fetchall()) == 3


def test_several_statements_give_the_last_ones_result(db):
    result = db.execute("CREATE CORPUS a; CREATE CORPUS b TOKENIZER 'tokens'; USE b; COUNT [1, 2]")
    assert result.fetchall() == [(0,)] and db.corpora() == ["a", "b"]
    assert db.corpus().name == "b"


def test_an_error_in_a_later_statement_is_found_when_its_turn_comes(db):
    with pytest.raises(BindError) as caught:
        db.execute('CREATE CORPUS a;\nCOUNT "x" FROM b')
    assert (caught.value.line, caught.value.column) == (2, 16) and db.corpora() == ["a"]


def test_a_syntax_error_anywhere_runs_nothing(db):
    with pytest.raises(ngramdb.ParseError):
        db.execute("CREATE CORPUS a; COUNT")
    assert db.corpora() == []


def test_no_statement_is_an_empty_result(db):
    for text in ("", "  ;", "-- nothing"):
        assert db.execute(text).fetchall() == []
    with pytest.raises(InvalidArgument, match="a statement must be a str, not bytes"):
        db.execute(b"SHOW CORPORA")


def test_results_know_their_version_and_time(wiki, db):
    result = db.execute('COUNT "natural"')
    assert (result.snapshot, result.exact) == (db.version, True) and result.elapsed > 0
    assert db.execute("CREATE CORPUS other").snapshot == db.version == result.snapshot + 1


def test_a_result_keeps_reading_the_version_it_began_with(wiki, db):
    result = db.execute("DOCS")
    result.fetchone()
    db.execute("DROP CORPUS wiki")
    assert [row[0] for row in result] == [1, 2]
    with pytest.raises(BindError, match="no corpus 'wiki'"):
        wiki.count("natural")


def test_own_commits_are_visible_at_once_in_all_threads(wiki, db):
    other = db.corpus("wiki")
    assert other.count("natural") == 2
    thread = threading.Thread(target=lambda: wiki.append(["natural gas"]))
    thread.start()
    thread.join()
    assert other.count("natural") == 3 and other.n_documents == 4
    assert other.count_many(["natural", "gas"]).tolist() == [3, 1]


def test_commits_of_another_connection_are_seen_by_the_next_statement(tmp_path):
    with ngramdb.connect(tmp_path / "db") as writer, ngramdb.connect(tmp_path / "db") as reader:
        corpus = writer.create_corpus("wiki")
        seen = reader.corpus("wiki")
        corpus.append(["a b"])
        assert seen.count("a") == 0
        assert reader.execute('COUNT "a"').fetchall() == [(1,)]
        assert seen.count("a") == 1
        corpus.append(["a"])
        assert reader.refresh() and not reader.refresh() and seen.count("a") == 2


def test_views_of_unchanged_corpora_outlive_a_commit(wiki, db):
    view = db.snapshot.view("wiki")
    db.create_corpus("other")
    assert db.snapshot.view("wiki") is view


def test_threads_share_a_connection(wiki, db):
    failures = []

    def ask():
        try:
            for _ in range(30):
                n = wiki.count("natural")
                m = db.execute("COUNT DOCS FROM wiki").fetchone()[0]
                if not (n >= 2 and m >= 3):
                    failures.append((n, m))
        except Exception as error:
            failures.append(error)

    def write():
        try:
            for i in range(5):
                wiki.append([f"natural number {i}"])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=target) for target in (ask, ask, ask, write, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and wiki.count("natural") == 12


def test_corpora_are_created_and_dropped(db):
    assert repr(db.create_corpus("a", tokenizer="bytes")).startswith(
        "<ngramdb.Corpus a: 0 documents, 0 tokens"
    )
    with pytest.raises(BindError, match="corpus a exists already"):
        db.create_corpus("a")
    with pytest.raises(BindError, match="corpus a exists already"):
        db.execute("CREATE CORPUS a")
    assert db.create_corpus("a", if_not_exists=True).tokenizer.kind == "bytes"
    assert db.drop_corpus("a") and not db.drop_corpus("a", if_exists=True)
    with pytest.raises(BindError, match="no corpus 'a'"):
        db.drop_corpus("a")
    db.create_corpus("full").append(["a"])
    db.create_corpus("bare")
    assert not db.drop_corpus("full", if_empty=True) and db.drop_corpus("bare", if_empty=True)
    assert db.corpora() == ["full"] and db.drop_corpus("full")
    assert db.execute("DROP CORPUS IF EXISTS a").summary == {
        "message": "there is no corpus a",
        "changed": False,
    }
    for name in ("", None, 3):
        with pytest.raises(InvalidArgument, match="non-empty str"):
            db.create_corpus(name)
    with pytest.raises(InvalidArgument, match="unknown tokenizer 'wrds'"):
        db.create_corpus("b", tokenizer="wrds")
    with pytest.raises(InvalidArgument, match="no option 'colour'"):
        db.create_corpus("b", colour="red")
    assert db.corpora() == []


def test_the_current_corpus(db):
    with pytest.raises(BindError, match="CREATE CORPUS"):
        db.corpus()
    db.create_corpus("a")
    assert db.corpus().name == "a"
    db.create_corpus("b")
    with pytest.raises(BindError, match="known: a, b"):
        db.corpus()
    db.use("b")
    assert db.corpus().name == "b" and db.execute("SHOW CORPORA").fetchall()[1][:2] == ("b", True)
    db.execute("USE a; DROP CORPUS a")
    with pytest.raises(BindError, match=r"the current corpus, 'a', no longer exists.*; known: b"):
        db.corpus()
    assert db.current_corpus is None and db.execute("SHOW CORPORA").fetchall()[0][:2] == ("b", False)
    db.create_corpus("a")
    assert db.corpus().name == "a"
    db.execute("DROP CORPUS a; USE b")
    assert db.corpus().name == "b"
    with pytest.raises(BindError, match="no corpus 'c'"):
        db.use("c")
    with pytest.raises(InvalidArgument):
        db.corpus(3)


def test_a_current_corpus_that_others_drop_is_not_exchanged_for_another_one(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db, ngramdb.connect(tmp_path / "db") as other:
        db.create_corpus("draft").append(["spam one", "good"])
        precious = db.create_corpus("precious")
        precious.append(["spam two", "spam three", "good"])
        db.use("draft")
        other.drop_corpus("draft")
        for statement in ('COUNT "spam"', 'DELETE DOCS WHERE "spam"', 'EXPLAIN COUNT "spam"'):
            with pytest.raises(BindError, match="the current corpus, 'draft', no longer exists"):
                db.execute(statement)
        assert precious.n_documents == 3


def test_objects_are_shown_whatever_their_state(tmp_path):
    db = ngramdb.connect(tmp_path / "db")
    corpus, dropped = db.create_corpus("c"), db.create_corpus("d")
    corpus.append(["a b"])
    part = corpus.where('"a"')
    db.drop_corpus("d")
    assert repr(dropped).startswith("<ngramdb.Corpus d: no corpus 'd'")
    (tmp_path / "db").rename(tmp_path / "away")
    with contextlib.suppress(ngramdb.DatabaseGone):
        db.refresh()
    for one, name in ((db, "Connection"), (corpus, "Corpus c"), (part, "Corpus c")):
        assert repr(one).startswith(f"<ngramdb.{name}: {tmp_path / 'db'}: the database that was opened is no")
    db.close()
    assert repr(db) == "<ngramdb.Connection, closed>"
    assert repr(corpus) == repr(part) == "<ngramdb.Corpus c: the connection is closed>"


def _made_anew(path):
    with ngramdb.connect(path) as made:
        made.create_corpus("c").append(["new new"])


def _emptied(path):
    path.mkdir()


def _a_file(path):
    path.write_text("not a database")


def _diverged(path, *texts):
    """Put a copy of the database that was moved away at `path`, with other commits than the last one."""
    shutil.copytree(path.parent / "away", path)
    max((path / "manifests").iterdir()).unlink()
    for text in texts:
        with ngramdb.connect(path) as db:
            db.corpus("c").append([text])


@pytest.mark.parametrize(
    ("replace", "said"),
    [
        (lambda path: None, "is no longer here: it was moved or removed"),
        (_emptied, "is no longer here: it was moved or removed"),
        (_a_file, "is no longer here: it was moved or removed"),
        (lambda path: ngramdb.connect(path).close(), "is not the one that was opened: .*; connect again"),
        (_made_anew, "is not the one that was opened: it was replaced; connect again"),
        (_diverged, "is not the one that was opened"),  # an older copy
        (lambda path: _diverged(path, "new"), "is not the one that was opened"),
        (lambda path: _diverged(path, "new", "newer"), "is not the one that was opened"),
    ],
)
@pytest.mark.parametrize(
    "notice",
    [
        lambda db, c: db.refresh(),
        lambda db, c: db.execute('COUNT "old" FROM c'),
        lambda db, c: db.execute('COUNT "old" FROM c AT VERSION 2'),
        lambda db, c: c.append(["more"]),
        lambda db, c: c.delete('"old"'),
        lambda db, c: db.drop_corpus("c"),
        lambda db, c: db.create_corpus("d"),
        lambda db, c: db.execute("SHOW VERSIONS"),
    ],
)
def test_a_database_that_is_gone_from_its_path_is_no_damage(tmp_path, replace, said, notice):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["old"])
        path.rename(tmp_path / "away")
        replace(path)
        before = sorted((file, file.stat().st_mtime_ns) for file in path.rglob("*"))
        assert corpus.count("old") == 1  # verbs look for nothing
        with pytest.raises(ngramdb.DatabaseGone, match=said) as caught:
            notice(db, corpus)
        assert caught.value.path == str(path)
        assert sorted((file, file.stat().st_mtime_ns) for file in path.rglob("*")) == before
        with contextlib.suppress(ngramdb.DatabaseGone):
            db.refresh()
        asked = (
            lambda: corpus.count("old"),
            lambda: corpus.count_many(["old"]),
            lambda: corpus.where("doc_id = 0").n_documents,
            lambda: db.corpora(),
        )
        for ask in asked:
            with pytest.raises(ngramdb.DatabaseGone, match=said):
                ask()
        if path.is_dir():
            path.rename(tmp_path / "other")
        elif path.exists():
            path.unlink()
        (tmp_path / "away").rename(path)
        assert corpus.count("old") == corpus.where("doc_id = 0").n_documents == 1
        corpus.append(["old again"])
        assert corpus.count("old") == 2 and db.corpora() == ["c"]


def test_a_copy_with_the_same_versions_may_take_the_place_of_an_open_database(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["old"])
        path.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", path)
        assert not db.refresh()
        assert db.execute('COUNT "old"').fetchone() == (1,)
        corpus.append(["old"])
        assert db.execute('COUNT "old"').fetchone() == (2,)
        assert db.execute("CHECK").fetchall() == []
    with ngramdb.connect(tmp_path / "away") as db:
        assert db.corpus("c").count("old") == 1


def test_a_database_that_is_replaced_during_a_load_is_not_written(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["old"])

        def documents():
            path.rename(tmp_path / "away")
            _diverged(path, "new")
            yield "more"

        with pytest.raises(ngramdb.DatabaseGone, match="is not the one that was opened"):
            corpus.append(documents())
    with ngramdb.connect(path) as db:
        assert db.execute("DOCS RETURNING text").fetchall() == [("new",)]
        assert db.execute("CHECK").fetchall() == []


def test_a_version_of_the_same_number_in_place_of_the_one_in_use_is_read(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["old"])
        max((path / "manifests").iterdir()).unlink()  # as if its commit had failed halfway
        with ngramdb.connect(path) as other:
            other.corpus("c").append(["new"])
        assert db.refresh()
        assert (corpus.count("old"), corpus.count("new")) == (0, 1)


def test_a_forked_child_keeps_reading_a_database_that_was_replaced(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["old"])
        path.rename(tmp_path / "away")
        _diverged(path, "new")
        db._database.renew()
        assert corpus.count("old") == 1


def test_a_database_that_is_gone_may_still_be_closed_and_its_results_read(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c").append(["old"] * 5000)
        rows = iter(db.execute('DOCS WHERE "old"'))
        assert next(rows)[0] == 0
        shutil.rmtree(tmp_path / "db")
        with pytest.raises(ngramdb.DatabaseGone):
            db.refresh()
        assert sum(1 for _ in rows) == 4999
    with pytest.raises(ngramdb.ExecutionError, match="closed"):
        db.refresh()
    with pytest.raises(ngramdb.ExecutionError, match="closed"):
        db.corpora()


def test_failed_documents_that_write_to_the_same_database_meet_an_error_and_no_deadlock(db):
    corpus = db.create_corpus("a")

    def documents():
        db.create_corpus("b")
        yield "x"

    with pytest.raises(ngramdb.LockedError):
        corpus.append(documents())
    assert db.corpora() == ["a"] and corpus.n_documents == 0


def test_settings_by_statement(db):
    db.execute("SET threads = 1")
    assert db.settings.threads == 1 == db.settings["threads"]
    db.execute("RESET threads; SET progress = off")
    assert db.settings.progress is False
    with pytest.raises(PlanError, match="threads must be from 1 to 1,024, not 0") as caught:
        db.execute("SET threads = 0")
    assert caught.value.column == 15
    with pytest.raises(PlanError, match="did you mean flatten"):
        db.execute("EXPLAIN SET disabled_rules = 'flaten'")
    db.execute("SET disabled_rules = ' flatten, order_operands ,flatten'")
    assert db.settings.disabled_rules == {"flatten", "order_operands"}


AS_STATEMENTS = {
    "count": lambda corpus: corpus.count("zebra"),
    "count_many": lambda corpus: int(corpus.count_many(["zebra"])[0]),
    "n_documents": lambda corpus: corpus.n_documents - 1,
    "dist": lambda corpus: corpus.dist("zebra").summary["context_count"],
    "dist_arrays": lambda corpus: corpus.dist_arrays("zebra").context_count,
    "prob": lambda corpus: corpus.prob("zebra").cont_count if corpus.prob("zebra") else 0,
    "kwic": lambda corpus: len(corpus.kwic("zebra").fetchall()),
    "part": lambda corpus: corpus.where("length > 0").count("zebra"),
    "connection": lambda corpus: 0,
}


@pytest.mark.parametrize("name", AS_STATEMENTS)
def test_verbs_see_others_commits_as_statements_do_if_the_setting_says_so(tmp_path, name):
    ask = AS_STATEMENTS[name]
    with ngramdb.connect(tmp_path / "x.ngdb") as db, ngramdb.connect(tmp_path / "x.ngdb") as other:
        corpus = db.create_corpus("c")
        corpus.append(["a"])
        part = corpus.where("length > 0")
        other.corpus("c").append(["zebra"])
        before = db.version
        ask(corpus)
        assert db.version == before  # one version for many questions
        db.settings["auto_refresh"] = True
        assert db.version == before + 1 and ask(corpus) == (name != "connection") and part.count("zebra") == 1
        other.corpus("c").append(["zebra"])
        assert ask(corpus) == 2 * (name != "connection") and part.count("zebra") == 2
        db.settings.reset("auto_refresh")
        seen = db.version
        other.corpus("c").append(["zebra"])
        ask(corpus)
        assert db.version == seen


@pytest.mark.parametrize("seconds", [-204212791.6, 1e15])
def test_a_wrong_clock_is_named(db, monkeypatch, seconds):
    corpus = db.create_corpus("c")
    corpus.append(["a", "b"])
    monkeypatch.setattr("time.time", lambda: seconds)
    for write in (
        lambda: corpus.append(["c"]),
        lambda: corpus.delete('"a"'),
        lambda: corpus.analyze(),
        lambda: ngramdb.connect(),
    ):
        with pytest.raises(ngramdb.ExecutionError, match=r"the system's clock is wrong: .* set it"):
            write()
    assert corpus.n_documents == 2


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize(("doing", "is_reading"), [("open the file", True), ("commit version 3", False)])
def test_reading_is_not_advised_to_those_who_read(number, doing, is_reading):
    message = str(storage_error(OSError(number, "refused"), doing, "db"))
    assert ("read_only=True" in message) is not is_reading
