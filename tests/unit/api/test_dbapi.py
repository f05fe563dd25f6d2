"""The requirements of PEP 249 on a module, a connection and a cursor."""

from __future__ import annotations

import pytest

import ngramdb

CLASSES = {
    "Warning": Exception,
    "Error": Exception,
    "InterfaceError": ngramdb.Error,
    "DatabaseError": ngramdb.Error,
    "DataError": ngramdb.DatabaseError,
    "OperationalError": ngramdb.DatabaseError,
    "IntegrityError": ngramdb.DatabaseError,
    "InternalError": ngramdb.DatabaseError,
    "ProgrammingError": ngramdb.DatabaseError,
    "NotSupportedError": ngramdb.DatabaseError,
}


def test_module_constants():
    assert (ngramdb.apilevel, ngramdb.threadsafety, ngramdb.paramstyle) == ("2.0", 2, "qmark")


@pytest.mark.parametrize("name", CLASSES)
def test_exceptions_have_their_names_and_their_order_and_stand_on_connections(name, db):
    found = getattr(ngramdb, name)
    assert issubclass(found, CLASSES[name]) and getattr(db, name) is found
    assert name in ngramdb.__all__


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("ParseError", "ProgrammingError"),
        ("BindError", "ProgrammingError"),
        ("PlanError", "ProgrammingError"),
        ("ExecutionError", "OperationalError"),
        ("TimeoutExceeded", "OperationalError"),
        ("StorageError", "OperationalError"),
        ("LoadError", "DataError"),
        ("InvalidArgument", "InterfaceError"),
    ],
)
def test_our_errors_are_of_these_classes(name, base):
    assert issubclass(getattr(ngramdb, name), getattr(ngramdb, base))


def test_a_statement_is_committed_by_itself(db):
    version = db.version
    db.cursor().execute("CREATE CORPUS c")
    db.commit()
    with pytest.raises(ngramdb.NotSupportedError, match="RESTORE CORPUS"):
        db.rollback()
    assert db.version == version + 1


def test_a_closed_connection_does_nothing_of_it(db):
    db.close()
    for use in (db.cursor, db.commit, db.rollback):
        with pytest.raises(ngramdb.Error, match="the connection is closed"):
            use()


def test_fetching(db, wiki):
    with db.cursor() as cursor:
        assert cursor.execute("DOCS").fetchone()[0] == 0
        assert cursor.rownumber == 1 and cursor.arraysize == 1
        assert [row[0] for row in cursor.fetchmany()] == [1]
        assert [row[0] for row in cursor.fetchall()] == [2]
        assert cursor.fetchone() is None and cursor.fetchmany(5) == [] and cursor.fetchall() == []
        assert cursor.rowcount == 3 and cursor.rownumber == 3
        assert [row[0] for row in cursor.execute("DOCS LIMIT 2")] == [0, 1]
        cursor.arraysize = 2
        assert len(cursor.execute("DOCS").fetchmany()) == 2


def test_both_styles_of_parameters(db, wiki):
    cursor = db.cursor()
    assert cursor.execute("COUNT ?", ["natural language"]).fetchall() == [(2,)]
    assert cursor.execute("COUNT :ngram", {"ngram": "natural language"}).fetchall() == [(2,)]


def test_description_names_columns_and_their_types_where_they_are_certain(db, wiki):
    cursor = db.cursor()
    assert cursor.description is None and cursor.rowcount == -1 and cursor.rownumber is None
    cursor.execute('DIST GIVEN "natural"')
    assert [(column[0], column[1]) for column in cursor.description] == [
        ("token", "str"),
        ("token_id", "int"),
        ("count", "int"),
        ("prob", "float"),
    ]
    assert {len(column) for column in cursor.description} == {7} and cursor.lastrowid is None


def test_a_statement_without_rows_has_nothing_to_fetch(db):
    cursor = db.cursor()
    cursor.execute("CREATE CORPUS c")
    assert cursor.description is None and cursor.rowcount == -1
    assert cursor.result.summary["message"] == "corpus c created"
    for read in (cursor.fetchone, cursor.fetchmany, cursor.fetchall):
        with pytest.raises(ngramdb.InterfaceError, match="no rows"):
            read()


def test_executemany_runs_a_statement_for_each_set(db):
    cursor = db.cursor()
    cursor.executemany("SET threads = ?", [[1], [3], [2]])
    assert db.settings["threads"] == 2
    with pytest.raises(ngramdb.InterfaceError, match="no statement has been executed"):
        cursor.fetchall()


def test_a_closed_cursor_cannot_be_used(db, wiki):
    cursor = db.cursor()
    result = cursor.execute("DOCS").result
    cursor.close()
    cursor.close()
    for use in (cursor.fetchone, lambda: cursor.execute("DOCS"), lambda: cursor.executemany("DOCS", [])):
        with pytest.raises(ngramdb.InterfaceError, match="the cursor is closed"):
            use()
    with pytest.raises(ngramdb.ExecutionError, match="the result is closed"):
        result.fetchone()


def test_sizes_are_accepted(db):
    cursor = db.cursor()
    assert cursor.setinputsizes([1]) is None and cursor.setoutputsize(10, 1) is None
    assert cursor.connection is db


def test_a_cursor_passes_timeouts_on(db, wiki):
    with pytest.raises(ngramdb.InvalidArgument, match="timeout"):
        db.cursor().execute("DOCS", timeout=-1)


def test_connections_show_verbs_and_no_plumbing():
    shown = {name for name in dir(ngramdb.Connection) if not name.startswith("_") and name not in CLASSES}
    plumbing = {"session", "run_plan", "create", "drop", "load", "append"}
    assert not shown & plumbing
    assert {"execute", "interrupt", "cursor", "commit", "rollback", "close", "corpus"} <= shown


def test_documents_stream_as_arrow_whatever_their_metadata(db):
    corpus = db.create_corpus("c")
    corpus.append([{"text": "a"}, {"text": "b", "n": 1, "x": 1, "s": "t", "o": {"k": 1}, "l": [1]}])
    corpus.append([{"text": "c", "n": 2, "x": 2.5, "any": 1}, {"text": "d", "any": "one"}])
    whole = db.execute("DOCS").arrow()
    batches = list(db.execute("DOCS").arrow_batches(1))
    assert [batch.num_rows for batch in batches] == [1] * 4 and batches[0].schema == batches[3].schema
    kinds = {field.name: str(field.type) for field in batches[0].schema}
    assert kinds["n"] == "int64" and kinds["x"] == "double" and kinds["any"] == kinds["text"] == "string"
    assert whole["any"].to_pylist() == [None, None, "1", "one"]
    assert [batch.to_pydict()["any"][0] for batch in batches] == [None, None, "1", "one"]
