"""Loads with a key: no two documents have the same one, however often they are loaded."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.cli.main import main
from ngramdb.errors import InvalidArgument, LoadError, TimeoutExceeded

KEYS = st.sampled_from(["a", "b", "c", 1, 2, "1"])
LOADS = st.lists(
    st.tuples(st.sampled_from(["error", "skip", "replace"]), st.lists(KEYS, max_size=6)), max_size=5
)


def documents_of(corpus):
    rows = corpus.docs(returning=["text"]).fetchall()
    return [text for (text,) in rows]


def expected_after(before, on_conflict, loaded):
    """The (key, text) pairs of a corpus after a load; None if it fails."""
    after = list(before)
    for key, text in loaded:
        if any(key == other and type(key) is type(other) for other, _ in after):
            if on_conflict == "error":
                return None
            if on_conflict == "skip":
                continue
            after = [pair for pair in after if pair[0] != key or type(pair[0]) is not type(key)]
        after.append((key, text))
    return after


@given(LOADS, st.sampled_from(["id", "meta.id", "own.id"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_loads_leave_the_documents_that_a_loop_over_a_list_leaves(loads, field, auto_compact):
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = auto_compact
        corpus = db.create_corpus("c")
        expected = []
        for number, (on_conflict, keys) in enumerate(loads):
            loaded = [(key, f"load{number} item{i}") for i, key in enumerate(keys)]
            given = [
                {"text": text, **({"meta": {"id": key}} if field == "meta.id" else {field: key})}
                for key, text in loaded
            ]
            n_before, version = corpus.n_documents, db.version
            after = expected_after(expected, on_conflict, loaded)
            if after is None:
                with pytest.raises(LoadError, match="already has a document whose"):
                    corpus.append(given, key=field, on_conflict=on_conflict)
                assert db.version == version
                continue
            report = corpus.append(given, key=field, on_conflict=on_conflict)
            expected = after
            assert documents_of(corpus) == [text for _, text in expected]
            assert report.documents + report.duplicates == len(given)
            assert corpus.n_documents == n_before + report.documents - report.replaced
            assert db.version <= version + 1  # one commit
        assert corpus.count([]) == 2 * len(expected)


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        yield db.create_corpus("c")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"text": "x"}, "document 2: no value in the field id"),
        ({"text": "x", "id": None}, "document 2: no value in the field id"),
        ({"text": "x", "id": float("nan")}, "document 2: no value in the field id"),
        (
            {"text": "x", "id": True},
            "document 2: the field id holds true; a key must be a string or an integer",
        ),
        ({"text": "x", "id": 1.0}, "document 2: the field id holds the number 1.0"),
        ({"text": "x", "id": ["a"]}, "document 2: the field id holds an array of 1 item"),
        ({"text": "x", "id": "a"}, "document 2: .* already has a document whose id is 'a'"),
    ],
)
def test_an_error_names_the_document_and_nothing_is_loaded(corpus, document, message):
    with pytest.raises(LoadError, match=message):
        corpus.append([{"text": "y", "id": "a"}, document], key="id")
    assert corpus.n_documents == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_conflict": "skip"}, "on_conflict='skip' needs key"),
        (
            {"key": "id", "on_conflict": "ignore"},
            "on_conflict must be one of error, skip, replace, not 'ignore'",
        ),
        ({"key": 3}, "key must be "),
    ],
)
def test_wrong_arguments(corpus, tmp_path, arguments, message):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "id": 1}\n')
    for load, source in ((corpus.append, ["a"]), (corpus.load, tmp_path / "a.jsonl")):
        with pytest.raises(InvalidArgument, match=message):
            load(source, **arguments)


def test_keys_of_numpy_and_of_fields_with_several_types(corpus):
    corpus.append([{"text": "a", "id": 1}, {"text": "b", "id": 2.5}, {"text": "c", "id": True}, "d"])
    given = [{"text": "e", "id": np.int64(1)}, {"text": "f", "id": "1"}, {"text": "g", "id": 2}]
    assert corpus.append(given, key="id", on_conflict="skip").duplicates == 1
    assert documents_of(corpus) == ["a", "b", "c", "d", "f", "g"]


def test_removed_documents_do_not_conflict(corpus):
    corpus.append([{"text": "a", "id": 1}, {"text": "b", "id": 2}])
    corpus.delete("id = 1")
    assert corpus.append([{"text": "c", "id": 1}], key="id").documents == 1


def test_all_documents_with_a_key_are_replaced_and_recorded(corpus):
    corpus.append([{"text": "a", "id": 1}, {"text": "b", "id": 1}])
    report = corpus.append([{"text": "c", "id": 1}], key="id", on_conflict="replace")
    assert report.replaced == 2 and "2 documents replaced by later ones with the same id" in report.notes
    assert {one.removal.reason for one in corpus.removed_documents()} == {
        "replaced by documents with the same id"
    }


@pytest.mark.parametrize("every", [None, 1, 2])
def test_files_tables_statements_and_commands(tmp_path, every, capsys):
    path = tmp_path / "a.jsonl"
    lines = [{"text": f"t{i}", "id": key} for i, key in enumerate(["a", "b", "a", "c", "b"])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = {} if every is None else {"commit_every": every}
    with ngramdb.connect(tmp_path / "db") as db:
        for name, kept in (("skip", ["t0", "t1", "t3"]), ("replace", ["t2", "t3", "t4"])):
            corpus = db.create_corpus(name)
            for _ in range(2):
                corpus.load(path, key="id", on_conflict=name, **options)
                assert documents_of(corpus) == kept
            written = "" if every is None else f", COMMIT_EVERY {every}"
            db.execute(f"COPY `{name}` FROM '{path}' (KEY id, ON_CONFLICT {name}{written})")
            assert documents_of(corpus) == kept
            frame = pytest.importorskip("pyarrow").Table.from_pylist(lines)
            corpus.load(frame, key="id", on_conflict=name)
            assert documents_of(corpus) == kept
        row = db.execute(f"COPY skip FROM '{path}' (KEY id, ON_CONFLICT skip)")
        assert row.summary["note"] == "5 documents left out, whose id occurred before"
    assert (
        main(["load", str(tmp_path / "db"), "skip", str(path), "--key", "id", "--on-conflict", "skip"]) == 0
    )
    assert "5 documents left out" in "".join(capsys.readouterr())


def test_documents_without_a_key_are_errors_that_a_load_may_skip(corpus, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "id": 1}\n{"text": "b"}\n')
    with pytest.raises(LoadError, match=r"a.jsonl, line 2: no value in the field id"):
        corpus.load(path, key="id")
    report = corpus.load(path, key="id", on_error="skip")
    assert (report.documents, report.skipped) == (1, 1)


def test_a_timeout_stops_a_load_of_which_everything_is_left_out(corpus):
    corpus.append([{"text": "a", "id": 1}])
    corpus._bound.database.settings["timeout"] = 0.001
    with pytest.raises(TimeoutExceeded):
        corpus.append(itertools.repeat({"text": "a", "id": 1}, 1_000_000), key="id", on_conflict="skip")
    assert corpus.n_documents == 1


FORMS = {
    "a.jsonl": lambda path, rows: path.write_text("".join(json.dumps(row) + "\n" for row in rows)),
    "a.csv": lambda path, rows: path.write_text(
        "text,m.id\n" + "".join(f"{row['text']},{row['m.id']}\n" for row in rows)
    ),
    "a.parquet": lambda path, rows: pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_key_is_a_field_whose_own_name_has_a_dot_as_well(corpus, tmp_path, name):
    rows = [{"text": "a", "m.id": 1}, {"text": "b", "m.id": 1}, {"text": "c", "m.id": 2}]
    FORMS[name](tmp_path / name, rows)
    for documents in (2, 0):
        assert corpus.load(tmp_path / name, key="m.id", on_conflict="skip").documents == documents
    assert corpus.append(rows, key="m.id", on_conflict="skip").documents == 0
    corpus.compact()
    # A nested field comes first, and both are keys of the corpus.
    nested = [{"text": "d", "m": {"id": 3}, "m.id": 1}, {"text": "e", "m": {"id": 2}}]
    assert corpus.append(nested, key="m.id", on_conflict="skip").documents == 1
    assert corpus.append(nested, key="m.id", on_conflict="replace").replaced == 2
    assert documents_of(corpus) == ["a", "d", "e"]


@pytest.mark.parametrize(("first", "second"), [("1", "x9"), ("x9", "1")], ids=["numbers", "strings"])
@pytest.mark.parametrize("on_conflict", ["error", "skip", "replace"])
def test_a_note_counts_keys_that_differ_from_earlier_ones_in_their_type(
    corpus, tmp_path, first, second, on_conflict
):
    path = tmp_path / "k.csv"
    path.write_text(f"id,text\n1,a\n2,b\n{first},c\n".replace("\n1,c", ""))
    assert corpus.load(path, key="id", on_conflict=on_conflict).notes == ()
    path.write_text(f"id,text\n1,a\n2,b\n{second},c\n".replace("\n1,c", ""))
    (note,) = corpus.load(path, key="id", on_conflict=on_conflict).notes
    kinds = ('"1" is the string', "the integer") if first == "1" else ("1 is the integer", "the string")
    assert note.startswith("2 documents loaded although only the type of id differs")
    assert f"{kinds[0]}, the earlier one is {kinds[1]}" in note


@pytest.mark.parametrize("key", ["01", "1.0", "+1", "1_0", "\u0661", "-", "", "-0", "9" * 5000])
def test_keys_that_are_written_otherwise_are_no_twins(corpus, key):
    corpus.append([{"text": "a", "id": number} for number in (1, 10, 0)], key="id")
    assert corpus.append([{"text": "b", "id": key}], key="id").notes == ()
