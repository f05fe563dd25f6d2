"""Tables in files are the documents that the same rows are as JSON lines, whatever wrote them."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json

import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.readers import tables

ROWS = [
    {
        "text": f"document {k} of ünï {'x ' * (k % 5)}",
        "n": None if k % 4 == 0 else k,
        "share": k / 3,
        "big": 2**60 + k,
        "kind": ["song", "joke", None][k % 3],
        "ok": k % 2 == 0,
        "tags": [["a", "b"], [], None, [None, "c"]][k % 4],
        "numbers": [k, k + 1],
        "m": {"k": None if k % 5 else k, "deep": {"x": f"{k}"}} if k % 3 else None,
        "nothing": None,
        "people": [{"name": "x", "age": k}],
    }
    for k in range(23)
]
TABLE = pyarrow.Table.from_pylist(ROWS)


def write_stream(table, path):
    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def write_file(table, path):
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


WRITERS = {
    "one.parquet": pyarrow.parquet.write_table,
    "groups.parquet": lambda table, path: pyarrow.parquet.write_table(
        table, path, row_group_size=4, compression="zstd"
    ),
    "old.parquet": lambda table, path: pyarrow.parquet.write_table(
        table, path, version="1.0", compression="gzip", use_dictionary=False, data_page_version="2.0"
    ),
    "f.feather": lambda table, path: pyarrow.feather.write_feather(table, path, chunksize=7),
    "f.arrow": write_file,
    "s.arrows": write_stream,
}


def content(db, name):
    """Return the content of a corpus: all its documents, and its fields with their types."""
    described = {row for row in db.execute(f"DESCRIBE {name}") if row[0].startswith("field")}
    return db.execute(f"DOCS FROM {name}").to_dicts(), described


@pytest.fixture
def expected(db, tmp_path):
    with open(tmp_path / "rows.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)
    db.create_corpus("rows").load(tmp_path / "rows.jsonl")
    return content(db, "rows")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("n_rows", [3, 1024])
def test_rows_are_the_documents_that_lines_of_json_are(db, tmp_path, monkeypatch, expected, name, n_rows):
    monkeypatch.setattr(tables, "BATCH_ROWS", n_rows)
    path = tmp_path / name
    WRITERS[name](TABLE, str(path))
    report = db.create_corpus("c").load(path)
    assert report.documents == len(ROWS) and report.skipped == 0
    found = content(db, "c")
    assert found[1] == expected[1]
    assert found[0] == [{key: row[key] for key in found[0][0]} for row in expected[0]]
    assert db.execute("CHECK").fetchall() == []
    # Chosen by the first bytes if the name is ambiguous, and by the format that is given.
    if not name.endswith(".arrows"):
        assert db.create_corpus("other").load(path.rename(tmp_path / "other.data")).documents == len(ROWS)


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_chosen_by_the_options_of_json_fields(db, tmp_path, name):
    table = TABLE.rename_columns(["body", *TABLE.column_names[1:]]).append_column(
        "page", pyarrow.array([{"html": f"<{k}>", "lang": "en"} for k in range(23)])
    )
    path = tmp_path / name
    WRITERS[name](table, str(path))
    corpus = db.create_corpus("c")
    with pytest.raises(LoadError, match=r"no column 'text'; the columns are 'body', 'n', .*'m\.deep\.x'"):
        corpus.load(path)
    corpus.load(path, text="page.html", metadata=["n", "page", "m.deep"], limit=4)
    assert [row["text"] for row in corpus.docs().to_dicts()] == ["<0>", "<1>", "<2>", "<3>"]
    assert set(corpus.docs().to_dicts()[1]) == {"doc_id", "n", "page.lang", "m.deep.x", "length", "text"}
    assert corpus.load(path, text="body", metadata=[]).documents == 23


@pytest.mark.parametrize("name", WRITERS)
def test_lists_of_ids_are_documents(db, tmp_path, name):
    ids = pyarrow.array([[1, 2, 3], [], [4, 5], [2**32 - 1]], pyarrow.list_(pyarrow.uint32()))
    WRITERS[name](pyarrow.table({"ids": ids, "n": [1, 2, 3, 4]}), str(tmp_path / name))
    corpus = db.create_corpus("c", tokenizer="tokens")
    assert corpus.load(tmp_path / name).tokens == 6
    assert corpus.count([4, 5]) == 1
    signed = pyarrow.array([[1], None, [-1], [2**40]], pyarrow.list_(pyarrow.int64()))
    WRITERS[name](pyarrow.table({"ids": signed}), str(tmp_path / name))
    report = corpus.load(tmp_path / name, on_error="skip")
    assert (report.documents, report.skipped) == (1, 3)
    assert [reason.partition(": ")[2][:30] for reason in report.reasons] == [
        "the list of ids in column 'ids",
        "field 'ids', item 0 (from 0): ",
        "field 'ids', item 0 (from 0): ",
    ]


def test_times_decimals_maps_and_bytes(db, tmp_path):
    table = pyarrow.table(
        {
            "text": pyarrow.array([b"a b", "ü".encode()]),
            "at": [datetime.datetime(2024, 1, 31, 12, 30), None],
            "day": [datetime.date(2024, 1, 31), datetime.date(1, 1, 1)],
            "price": [decimal.Decimal("0.50"), decimal.Decimal("7.25")],
            "whole": pyarrow.array([decimal.Decimal(2**53 + 1), None], pyarrow.decimal128(20, 0)),
            "wide": pyarrow.array([decimal.Decimal(10**19), decimal.Decimal(1)], pyarrow.decimal128(20, 0)),
            "wholes": pyarrow.array(
                [[decimal.Decimal(2**53 + 1)], []], pyarrow.list_(pyarrow.decimal128(20, 0))
            ),
            "map": pyarrow.array([[("k", 1)], []], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
            "huge": pyarrow.array([2**64 - 1, 1], pyarrow.uint64()),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    corpus = db.create_corpus("c")
    corpus.load(tmp_path / "t.parquet")
    first, second = corpus.docs().to_dicts()
    assert (first["text"], second["text"]) == ("a b", "ü")
    assert first["at"] == "2024-01-31T12:30:00" and second["day"] == "0001-01-01"
    assert (first["price"], second["price"]) == (0.5, 7.25)
    assert (first["whole"], first["wide"], first["wholes"]) == (2**53 + 1, 10**19, [2**53 + 1])
    fields = dict(db.execute("DESCRIBE c").fetchall())
    assert [fields[f"field {name}"] for name in ("whole", "wide", "wholes")] == [
        "int64",
        "json",
        "list<int64>",
    ]
    assert (first["map.k"], second["map.k"], second["huge"]) == (1, None, 1) and first["huge"] == 2**64 - 1


BAD = {
    "no column": ({"body": ["a"]}, {}, r"no column 'text'; the columns are 'body'"),
    "of numbers": ({"text": [1]}, {}, r"the column 'text' is int64, but a text must be a string"),
    "of another type": ({"text": ["a"], "x": [b"1"]}, {}, r"'x' is binary, which metadata cannot hold"),
    "ids": (
        {"text": ["a"]},
        {"ids": "text"},
        r"the column 'text' is string, but a document's ids must be a list",
    ),
    "NULL": ({"text": ["a", None]}, {}, r"(group|batch) 1, row 2: the text in column 'text' is NULL"),
    "infinity": ({"text": ["a", "b"], "x": [1.0, float("inf")]}, {}, r"row 2: metadata field 'x' has an inf"),
    "time": (
        {"text": ["a", "b"], "x": pyarrow.array([0, -62135596801], pyarrow.timestamp("s"))},
        {},
        r"row 2: metadata field 'x' has a time outside",
    ),
    "long": ({"text": ["a", "b" * 9]}, {"max_document_bytes": 8}, r"row 2: longer than 8 bytes"),
    "bytes": (
        {"text": [b"a", b"b\xff"]},
        {},
        r"row 2: invalid UTF-8: byte 0xff at offset 1 of the column 'text'",
    ),
}


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("columns, options, message", BAD.values(), ids=BAD)
def test_what_is_no_document_is_named_with_its_place(db, tmp_path, name, columns, options, message):
    path = tmp_path / name
    write = pyarrow.parquet.write_table if name.endswith("parquet") else pyarrow.feather.write_feather
    write(pyarrow.table(columns), str(path))
    corpus = db.create_corpus("c")
    version = db.version
    with pytest.raises(ngramdb.NgramdbError, match=rf"{name}.*{message}"):
        corpus.load(path, **options)
    assert db.version == version
    if "row 2" in message:
        report = corpus.load(path, on_error="skip", **options)
        assert (report.documents, report.skipped) == (1, 1) and "row 2" in report.reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_files_cut_short_or_damaged_are_load_errors_or_read_right(db, tmp_path, name):
    path = tmp_path / name
    WRITERS[name](TABLE, str(path))
    whole = path.read_bytes()
    corpus = db.create_corpus("c")
    expected = [row["text"] for row in ROWS]
    for n in [0, 1, 4, 9, len(whole) // 2, len(whole) - 9, len(whole) - 1]:
        path.write_bytes(whole[:n])
        with pytest.raises(LoadError, match=name):
            corpus.load(path)
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x20]) + whole[place + 1 :])
        with ngramdb.connect() as other, contextlib.suppress(ngramdb.NgramdbError):
            other.create_corpus("c").load(path, metadata=[])
            assert other.execute("COUNT DOCS FROM c").fetchone()[0] <= len(expected)
    assert corpus.n_documents == 0


@pytest.mark.parametrize("written, named", [("a.parquet", "b.feather"), ("a.feather", "b.parquet")])
def test_a_mislabelled_file_is_called_what_it_is(db, tmp_path, written, named):
    write = pyarrow.parquet.write_table if written.endswith("parquet") else pyarrow.feather.write_feather
    write(TABLE, str(tmp_path / written))
    (tmp_path / written).rename(tmp_path / named)
    corpus = db.create_corpus("c")
    kind = {"a.parquet": "parquet", "a.feather": "arrow"}[written]
    with pytest.raises(LoadError, match=rf"{named}: is an? \w+ file, not .*; give the format {kind}"):
        corpus.load(tmp_path / named)
    (tmp_path / named).rename(tmp_path / "c.jsonl")
    with pytest.raises(LoadError, match=rf"c\.jsonl.*: is an? \w+ file; give the format {kind}"):
        corpus.load(tmp_path / "c.jsonl")
    assert corpus.load(tmp_path / "c.jsonl", format=kind).documents == len(ROWS)
    (tmp_path / "d.parquet").write_text('{"text": "a"}\n')
    with pytest.raises(LoadError, match=r"d\.parquet: cannot be read as a Parquet file"):
        corpus.load(tmp_path / "d.parquet")
    with pytest.raises(LoadError, match=r"standard input: .*not read from beginning to end"):
        corpus.load("-", format=kind)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("every", [1, 4, 9])
def test_a_load_goes_on_where_it_stopped(db, tmp_path, name, every):
    path = tmp_path / name
    WRITERS[name](TABLE, str(path))
    corpus = db.create_corpus("c")
    for n in range(every, 24, every):
        corpus.load(path, commit_every=every, limit=n, resume=True)
        assert corpus.n_documents == min(n, 23)
    report = corpus.load(path, resume=True)
    assert [row["text"] for row in corpus.docs().to_dicts()] == [row["text"] for row in ROWS]
    assert report.documents == 23 % every
    assert corpus.load(path, resume=True).documents == 0


def test_a_folder_is_read_for_its_tables(db, tmp_path):
    for k in range(3):
        pyarrow.parquet.write_table(TABLE, tmp_path / f"{k}.parquet")
    (tmp_path / "README.md").write_text("about these")
    (tmp_path / "info.json").write_text("{}")
    assert db.create_corpus("c").load(tmp_path).documents == 3 * len(ROWS)
    (tmp_path / "x.jsonl").write_text('{"text": "a"}')
    with pytest.raises(
        LoadError, match=r"several formats \(jsonl: .*x\.jsonl, parquet: .*0\.parquet\): give the one to load"
    ):
        db.corpus("c").load(tmp_path)
    assert db.corpus("c").load(tmp_path, format="parquet").documents == 3 * len(ROWS)


@pytest.mark.parametrize("name", [*WRITERS, "a table"])
def test_metadata_names_fields_of_maps_as_those_of_objects(db, tmp_path, name):
    kind = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    deep = pyarrow.map_(pyarrow.string(), kind)
    table = pyarrow.table(
        {
            "text": ["a", "b", "c"],
            "m": pyarrow.array([[("k", 1), ("z", 2)], [("z", 3)], [("k", 4), ("k", 5)]], kind),
            "d": pyarrow.array([[("x", [("y", 6), ("z", 7)])], None, []], deep),
            "s": pyarrow.array([{"m": [("k", 8)]}, None, None], pyarrow.struct([("m", kind)])),
            "m.own": ["e", "f", "g"],
        }
    )
    corpus = db.create_corpus("c")
    source = table if name == "a table" else tmp_path / name
    if name != "a table":
        WRITERS[name](table, str(source))
    report = corpus.load(source, metadata=["m.k", "d.x.y", "s.m.k", "m.own", "m.none"])
    assert report.notes == ("no loaded document has the metadata field 'm.none'",)
    assert [corpus.document(i).metadata for i in range(3)] == [
        {"m": {"k": 1}, "d": {"x": {"y": 6}}, "s": {"m": {"k": 8}}, "m.own": "e"},
        {"m.own": "f"},
        {"m.own": "g"},
    ]
    with pytest.raises((LoadError, InvalidArgument), match=r"no column 'text\.k'"):
        corpus.load(source, metadata=["text.k"])
