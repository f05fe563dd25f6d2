"""Tables as documents, by Arrow's stream protocol; what iterates over names is refused by every verb."""

from __future__ import annotations

import datetime
import decimal
import json

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
import pytest
from support.connections import connection_of

import ngramdb

ROWS = [
    {
        "text": "time flies like an arrow",
        "year": 1930,
        "kind": "proverb",
        "tags": ["a", "b"],
        "m": {"k": 0.5},
    },
    {"text": "", "year": None, "kind": "joke", "tags": [], "m": {"k": None}},
    {"text": "fruit flies", "year": -(2**62), "kind": None, "tags": None, "m": {"k": 1.5}},
]


class Relation:
    """An object with only the protocol, as a relation of DuckDB may be."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def pandas_frame(table):
    pandas = pytest.importorskip("pandas")
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_frame(table):
    return pytest.importorskip("polars").from_arrow(table)


KINDS = {
    "table": lambda table: table,
    "record batch": lambda table: table.to_batches()[0],
    "stream": lambda table: table.to_reader(max_chunksize=1),
    "relation": Relation,
    "chunks": lambda table: pyarrow.concat_tables([table.slice(0, 2), table.slice(2)]),
    "strings as views": lambda table: table.set_column(
        0,
        "text",
        table["text"].cast(pyarrow.string_view()) if hasattr(pyarrow, "string_view") else table["text"],
    ),
    "categories": lambda table: table.set_column(2, "kind", table["kind"].dictionary_encode()),
    "pandas": pandas_frame,
    "polars": polars_frame,
}


def content(rows, tokenizer="words"):
    """Return the content of a corpus of the documents: all of them, and its fields with their types."""
    with ngramdb.connect() as db:
        report = db.create_corpus("c", tokenizer=tokenizer).append(rows)
        described = [row for row in db.execute("DESCRIBE c") if row[0].startswith("field")]
        return report.documents, db.execute("DOCS").fetchall(), described


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_table_are_the_documents_that_dicts_make(kind, monkeypatch):
    monkeypatch.setattr("ngramdb.ingest.readers.tables.BATCH_ROWS", 2)
    expected = content(ROWS)
    assert expected[0] == 3
    assert content(KINDS[kind](pyarrow.Table.from_pylist(ROWS))) == expected


@pytest.mark.parametrize("lists", [pyarrow.list_, pyarrow.large_list, lambda item: pyarrow.list_(item, 2)])
@pytest.mark.parametrize("item", [pyarrow.uint16(), pyarrow.int64()])
def test_lists_of_ids_are_documents(lists, item):
    ids = [[3, 1], [4, 1], [5, 9]]
    table = pyarrow.table({"ids": pyarrow.array(ids, lists(item)), "n": [1, 2, 3], "text": ["x"] * 3})
    rows = [{"ids": one, "n": n, "text": "x"} for n, one in enumerate(ids, start=1)]
    for given in (table, table.slice(1)):
        assert content(given, "tokens") == content(rows[3 - given.num_rows :], "tokens")


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_column_of_texts_is_documents(name):
    library = pytest.importorskip(name)
    assert content(library.Series(["a b", "c"])) == content(["a b", "c"])
    assert content(pyarrow.chunked_array([["a b"], ["c"]])) == content(["a b", "c"])


def test_times_are_texts_and_decimals_floats():
    moment = datetime.datetime(2024, 1, 31, 12, 30, tzinfo=datetime.timezone.utc)
    row = {
        "text": "a",
        "t": moment,
        "d": datetime.date(2024, 1, 31),
        "price": decimal.Decimal("0.5"),
        "in": [{"d": datetime.date(2024, 1, 31)}, None],
    }
    table = pyarrow.Table.from_pylist([row])
    table = table.append_column("ns", pyarrow.array([1], pyarrow.timestamp("ns")))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(table)
        (found,) = corpus.docs().to_dicts()
    assert (found["t"], found["d"], found["price"]) == ("2024-01-31T12:30:00+00:00", "2024-01-31", 0.5)
    assert found["ns"] == "1970-01-01T00:00:00.000000001"


def test_nothing_of_a_time_is_lost_and_zones_do_not_break_the_order():
    nanoseconds = [0, 999, -1, None, 1_706_704_200_000_000_000, 1_706_704_200_123_456_789]
    table = pyarrow.table(
        {
            "text": ["a"] * 6,
            "ns": pyarrow.array(nanoseconds, pyarrow.timestamp("ns")),
            "zone": pyarrow.array(nanoseconds, pyarrow.timestamp("ns", "Europe/Berlin")),
            "us": pyarrow.array([0, 1, 2, 3, 4, 5], pyarrow.timestamp("us", "Europe/Berlin")),
        }
    )
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(table)
        found = corpus.docs().to_dicts()
    assert [row["ns"] for row in found] == [
        "1970-01-01T00:00:00",
        "1970-01-01T00:00:00.000000999",
        "1969-12-31T23:59:59.999999999",
        None,
        "2024-01-31T12:30:00",
        "2024-01-31T12:30:00.123456789",
    ]
    assert [row["zone"] for row in found] == [
        None if row["ns"] is None else row["ns"] + "+00:00" for row in found
    ]
    assert found[1]["us"] == "1970-01-01T00:00:00.000001+00:00"


def test_times_of_day_keep_their_nanoseconds(db):
    times = pyarrow.array([0, 86_399_999_999_999, None], pyarrow.time64("ns"))
    values = [[86_399_999_999_999, None, 1], None, []]
    lists = pyarrow.array([[5], *values], pyarrow.list_(pyarrow.time64("ns")))[1:]
    corpus = db.create_corpus("c")
    corpus.append(pyarrow.table({"text": ["a", "b", "c"], "t": times, "l": lists}))
    rows = corpus.docs().to_dicts()
    assert [row["t"] for row in rows] == ["00:00:00", "23:59:59.999999999", None]
    assert [row["l"] for row in rows] == [["23:59:59.999999999", None, "00:00:00.000000001"], None, []]


NAN = float("nan")
GAPS = pyarrow.table(
    {
        "text": ["a", "b"],
        "x": [1.5, NAN],
        "list": [[1.0, NAN], None],
        "struct": [{"y": NAN, "z": 1}, {"y": 2.0, "z": None}],
        "map": pyarrow.array([[("k", NAN)], [("k", 2.0)]], pyarrow.map_(pyarrow.string(), pyarrow.float32())),
        "half": pyarrow.array(np.array([NAN, 0.5], np.float16)),
    }
)
FILLED = [
    {"x": 1.5, "list": [1.0, None], "struct.y": None, "struct.z": 1, "map.k": None, "half": None},
    {"x": None, "list": None, "struct.y": 2.0, "struct.z": None, "map.k": 2.0, "half": 0.5},
]


@pytest.mark.parametrize("way", ["append", "load", "a.parquet", "a.arrow"])
def test_nan_is_no_value_and_a_note_says_so(db, tmp_path, way):
    corpus = db.create_corpus("c")
    if way in ("append", "load"):
        report = getattr(corpus, way)(GAPS)
    else:
        path = tmp_path / way
        write = parquet.write_table if way == "a.parquet" else _write_arrow
        write(GAPS, str(path))
        report = corpus.load(path)
    found = [
        {name: value for name, value in row.items() if name not in ("doc_id", "length", "text")}
        for row in corpus.docs().to_dicts()
    ]
    assert [{name: row.get(name) for name in FILLED[0]} for row in found] == FILLED
    said = [f"NaN in the field {name} was read as NULL" for name in ("x", "list", "struct.y", "map", "half")]
    assert list(report.notes) == said
    assert corpus.count_docs("x IS NULL") == 1 and corpus.count_docs("NOT x > 2") == 1


def test_nan_of_python_is_no_value_either(db):
    corpus = db.create_corpus("c")
    report = corpus.append(
        [{"text": "a", "x": NAN, "o": {"l": [np.float64("nan"), 1]}}, {"text": "b", "x": 2.0}]
    )
    assert [row.metadata for row in map(corpus.document, (0, 1))] == [
        {"o": {"l": [None, 1]}},
        {"x": 2.0},
    ]
    assert len(report.notes) == 2 and "field x" in report.notes[0]
    with pytest.raises(ngramdb.LoadError, match="'x' has an infinite number"):
        corpus.append([{"text": "a", "x": [1, float("-inf")]}])


def test_fields_called_as_what_documents_have_are_noted(db, tmp_path):
    corpus = db.create_corpus("c")
    corpus.append([{"text": "a b", "k": 1}])
    db.execute(f"COPY (DOCS FROM c) TO '{tmp_path / 'a.csv'}'")
    again = db.create_corpus("again")
    doc_id, length = again.load(tmp_path / "a.csv").notes
    assert "metadata.doc_id in conditions" in doc_id and "metadata.length in conditions" in length
    assert again.append(pyarrow.table({"text": ["a"], "length": [7]})).notes == (length,)
    assert again.load(tmp_path / "a.csv", metadata=["k"]).notes == ()
    assert again.count_docs("metadata.length = 7 AND length = 1") == 1


def _write_arrow(table, path):
    with pyarrow.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def test_a_map_with_a_key_twice_keeps_both_values():
    kind = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    maps = pyarrow.array([[("a", 1), ("b", 2)], [("a", 2), ("a", 3)]], kind)
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(pyarrow.table({"text": ["x", "y"], "m": maps}))
        for _ in range(2):
            rows = [(row["m"], row["m.a"], row["m.b"]) for row in corpus.docs().to_dicts()]
            assert rows == [(None, 1, 2), ([["a", 2], ["a", 3]], None, None)]
            assert corpus.document(0).metadata == {"m": {"a": 1, "b": 2}}
            corpus.append(["z"])
            corpus.delete('"z"')
            corpus.compact()


@pytest.mark.parametrize("way", ["append", "a.parquet", "a.arrow"])
def test_maps_have_the_fields_that_objects_have(tmp_path, way):
    """From tables, from objects, and after a segment has been rewritten."""
    maps = [[("k", 1)], [("j", 2), ("k", None)], None, []]
    table = pyarrow.table(
        {
            "text": ["a", "b", "c", "d"],
            "m": pyarrow.array(maps, pyarrow.map_(pyarrow.string(), pyarrow.int64())),
            "n": [1, 2, 3, 4],
        }
    )
    objects = [
        {"text": text, "n": n, **({} if one is None else {"m": dict(one)})}
        for text, n, one in zip("abcd", (1, 2, 3, 4), maps, strict=True)
    ]
    with ngramdb.connect() as db:
        db.execute("SET auto_compact = off")
        expected = db.create_corpus("objects")
        expected.append(objects)
        corpus = db.create_corpus("tables")
        if way == "append":
            corpus.append(table)
        else:
            (parquet.write_table if way == "a.parquet" else _write_arrow)(table, str(tmp_path / way))
            corpus.load(tmp_path / way)
        for _ in range(2):
            assert set(corpus.docs().columns) == set(expected.docs().columns)
            assert corpus.docs(limit=4).to_dicts() == [
                {name: row[name] for name in corpus.docs().columns} for row in expected.docs().to_dicts()
            ]
            assert corpus.count_docs("m.k = 1") == 1
            corpus.append(["z"])
            corpus.delete('"z"')
            corpus.compact()


def test_an_index_without_a_name_is_no_field():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a", "b"], "n": [1, 2]})
    assert content(frame[frame.n > 1])[2] == [("field n", "int64")]


BAD = {
    "no text": ({"body": ["a"]}, r"a column 'text' or 'ids'; the columns here are body"),
    "no string": ({"text": [1]}, r"column 'text' is int64"),
    "bytes": ({"text": ["a"], "x": [b"1"]}, r"column 'x' is binary"),
    "bytes within": ({"text": ["a"], "x": [{"y": [b"1"]}]}, r"column 'x\.y' is binary"),
    "ids": ({"ids": [0.5]}, r"column 'ids' is double"),
    "NULL": ({"text": ["a", None]}, r"document 2: the text in column 'text' is NULL"),
    "infinity": ({"text": ["a"], "x": [float("inf")]}, r"document 1: metadata field 'x' has an infinite"),
    "year 10000": (
        {"text": ["a"], "x": pyarrow.array([253402300800], pyarrow.timestamp("s"))},
        r"document 1: metadata field 'x' has a time outside of the years 1 to 9999",
    ),
    "id": ({"ids": [[], [-1]]}, r"document 2: field 'ids', item 0"),
}


@pytest.mark.parametrize("columns, message", BAD.values(), ids=BAD)
def test_tables_that_are_no_documents_are_refused_before_anything_is_written(db, columns, message):
    corpus = db.create_corpus("c")
    version = db.version
    with pytest.raises((ngramdb.InvalidArgument, ngramdb.LoadError), match=message):
        corpus.append(pyarrow.table(columns))
    assert db.version == version


def test_a_table_that_breaks_off_is_a_load_error(db):
    def batches():
        yield pyarrow.record_batch({"text": ["a"]})
        raise OSError("the network is gone")

    schema = pyarrow.schema({"text": pyarrow.string()})
    with pytest.raises(ngramdb.LoadError, match="the network is gone"):
        db.create_corpus("c").append(pyarrow.RecordBatchReader.from_batches(schema, batches()))


def test_strings_that_are_no_utf8_are_refused(db):
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, pyarrow.py_buffer(b"\0\0\0\0\1\0\0\0"), pyarrow.py_buffer(b"\xff")]
    )
    with pytest.raises(ngramdb.LoadError, match="UTF"):
        db.create_corpus("c").append(pyarrow.table({"text": broken}))


def test_tables_are_measured_as_texts_are(wiki):
    texts = ["natural language", "the end of it"]
    table = pyarrow.table({"text": texts, "n": [1, 2]})
    assert wiki.perplexity(table).perplexity == wiki.perplexity(texts).perplexity
    assert wiki.agreement(table).total == wiki.agreement(texts).total


class OldFrame:
    """A frame of before the protocol: it iterates over the names of its columns."""

    columns = ("text", "y")
    dtypes = ("str", "int")

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize("given", [OldFrame(), {"text": ["a"]}], ids=["frame", "dict"])
@pytest.mark.parametrize(
    "verb",
    ["append", "load", "perplexity", "agreement", "decontaminate", "count_many", "dist_many", "score_many"],
)
def test_what_iterates_over_names_is_refused_by_every_verb(wiki, verb, given):
    version = connection_of(wiki).version
    with pytest.raises(ngramdb.InvalidArgument, match=type(given).__name__):
        getattr(wiki, verb)(given)
    assert connection_of(wiki).version == version
    with pytest.raises(ngramdb.InvalidArgument):
        wiki.prob_many(given, given)


def test_verbs_that_take_files_refuse_tables(wiki):
    with pytest.raises(ngramdb.InvalidArgument, match="not Table"):
        wiki.decontaminate(pyarrow.table({"text": ["a"]}))


@pytest.mark.parametrize("kind", KINDS)
def test_load_takes_tables_with_the_options_of_those_in_files(db, kind):
    corpus = db.create_corpus("c")
    given = KINDS[kind](pyarrow.Table.from_pylist(ROWS))
    report = corpus.load(given, text="kind", metadata=["year", "m"], on_error="skip")
    assert (report.documents, report.skipped) == (2, 1)
    assert "row 3: the text in column 'kind' is NULL" in report.reasons[0]
    assert [row["text"] for row in corpus.docs().to_dicts()] == ["proverb", "joke"]
    assert set(corpus.docs().columns) == {"doc_id", "year", "m.k", "length", "text"}


def test_what_goes_with_files_does_not_go_with_tables(db):
    corpus, table = db.create_corpus("c"), pyarrow.table({"text": ["a", "b"]})
    for options in ({"resume": True}, {"commit_every": 1}, {"format": "csv"}, {"separator": "-"}):
        with pytest.raises(ngramdb.InvalidArgument, match="applies to files"):
            corpus.load(table, **options)
    with pytest.raises(ngramdb.InvalidArgument, match="no column 'body'; the columns are 'text'"):
        corpus.load(table, text="body")
    assert corpus.load(table, limit=1).documents == 1


def test_iterables_of_batches_and_frames_are_documents():
    table = pyarrow.Table.from_pylist(ROWS)
    assert content(iter(table.to_batches(max_chunksize=2))) == content(ROWS)
    assert content([table.slice(0, 1), ROWS[1], table.slice(2)]) == content(ROWS)
    polars = pytest.importorskip("polars")
    assert content([polars.from_arrow(table)]) == content(ROWS)
    with ngramdb.connect() as db, pytest.raises(ngramdb.LoadError, match="document 2: the text"):
        db.create_corpus("c").append([pyarrow.table({"text": ["a", None]})])


@pytest.mark.parametrize("name", ["length", "doc_id", "text"])
def test_a_field_and_one_of_an_object_metadata_of_the_same_name_are_two_columns(db, tmp_path, name):
    outer, inner = f"metadata.{name}", f"metadata.metadata.{name}"
    rows = [
        {"text": "a", "body": "a", "metadata": {name: "x"}},
        {"text": "b", "body": "b", "metadata": {name: "y"}},
    ]
    rows = [{**row, name: "yx"[i]} for i, row in enumerate(rows)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = db.create_corpus("c")
    corpus.load(tmp_path / "a.jsonl", text="body" if name == "text" else "text")
    assert [row[outer] for row in corpus.docs().to_dicts()] == ["y", "x"]
    assert [row[inner] for row in corpus.docs().to_dicts()] == ["x", "y"]
    with pytest.warns(ngramdb.ConditionWarning, match=f"{outer} is the field {name} here"):
        assert corpus.docs(f"{outer} = 'x'").fetchall()[0][0] == 1
    assert corpus.docs(f"{inner} = 'x'").fetchall()[0][0] == 0
    corpus.export(tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert (table[outer], table[inner]) == (["y", "x"], ["x", "y"])


def test_a_condition_on_a_field_of_numbers_and_texts_says_which_it_meets(db):
    corpus = db.create_corpus("c")
    corpus.append([{"text": "a", "id": 1001}])
    corpus.append([{"text": "b", "id": "x-17"}, {"text": "c", "id": "1001"}])
    for condition, n in (("id = '1001'", 1), ("id = 1001", 1), ("id IN ('1001', 'x-17')", 2), ("id > 5", 1)):
        with pytest.warns(ngramdb.ConditionWarning, match=r"id has values .*: '?(1001|5)'? is a"):
            assert corpus.count_docs(condition) == n
    for condition, n in (("id IN (1001, '1001')", 2), ("id = 'x-17'", 1), ("id IS NULL", 0)):
        assert corpus.count_docs(condition) == n


@pytest.mark.parametrize("values", [[0.5, 2**53 + 1], [1, 2**63], [1, [2, 3]], [True, 1]])
def test_nobody_is_told_of_texts_that_are_not_there(db, values):
    corpus = db.create_corpus("c")
    corpus.append([{"text": "a", "n": value} for value in values])
    assert corpus.count_docs("n = 1") == (1 in [value for value in values if value is not True])


@pytest.mark.parametrize("verb", ["append", "load", "file"])
@pytest.mark.parametrize("place", ["itself", "in a list", "in a struct", "in a map"])
def test_a_struct_with_two_fields_of_one_name_is_refused(tmp_path, verb, place):
    twice = pyarrow.StructArray.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["x", "x"])
    places = {
        "itself": twice,
        "in a list": pyarrow.ListArray.from_arrays([0, 1], twice),
        "in a struct": pyarrow.StructArray.from_arrays([twice], names=["inner"]),
        "in a map": pyarrow.MapArray.from_arrays([0, 1], ["k"], twice),
    }
    given = pyarrow.table({"text": ["a"], "s": places[place]})
    if verb == "file":
        with pyarrow.ipc.new_file(tmp_path / "a.arrow", given.schema) as file:
            file.write(given)
        given = tmp_path / "a.arrow"
    corpus = ngramdb.connect().create_corpus("c")
    with pytest.raises(ngramdb.NgramdbError, match=r"column 's[^']*' is a struct with several fields 'x'"):
        getattr(corpus, "load" if verb == "file" else verb)(given)
    if verb != "append":
        assert corpus.load(given, metadata=[]).documents == 1
