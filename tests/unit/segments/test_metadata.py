"""Metadata come back as they came, whatever JSON they are, from typed columns."""

from __future__ import annotations

import enum
import json
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.segments import metadata_builder
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_builder import MAX_COLUMNS, MetadataBuilder
from ngramdb.segments.metadata_columns import join_path, split_path


def built(rows):
    builder = MetadataBuilder()
    for row in rows:
        builder.add(row)
    return MetadataReader(memoryview(builder.finish()), len(rows))


def without_nulls(value):
    """Return the part that must survive a round trip: objects without their null fields; arrays unchanged."""
    return {
        key: without_nulls(item) if isinstance(item, dict) else item
        for key, item in value.items()
        if item is not None
    }


def same(left, right):
    """Compare as JSON does, distinguishing 1 from 1.0 and from true."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


keys = st.text(alphabet=st.sampled_from("ab.\\é"), max_size=3) | st.text(max_size=3)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63 - 1, 2**63, -(10**30)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
rows_of_json = st.lists(st.dictionaries(keys, values, max_size=4), max_size=12)


@settings(deadline=None, max_examples=100)
@given(rows_of_json, st.integers(1, 5))
def test_any_json_object_comes_back(rows, batch):
    before = metadata_builder.BATCH_DOCUMENTS
    metadata_builder.BATCH_DOCUMENTS = batch
    try:
        reader = built(rows)
    finally:
        metadata_builder.BATCH_DOCUMENTS = before
    for i, row in enumerate(rows):
        assert same(reader.row(i), without_nulls(row))
    for chosen in (range(len(rows)), range(0, len(rows), 2), range(len(rows) - 1, len(rows))):
        numbers = [i for i in chosen if i >= 0]
        assert same(list(reader.rows(numbers)), [reader.row(i) for i in numbers])


@settings(deadline=None)
@given(st.lists(st.dictionaries(keys, st.integers(), max_size=6), max_size=12))
def test_fields_beyond_the_most_columns_come_back_all_the_same(rows):
    before = metadata_builder.MAX_COLUMNS
    metadata_builder.MAX_COLUMNS = 3
    try:
        reader = built(rows)
    finally:
        metadata_builder.MAX_COLUMNS = before
    assert len(reader.fields()) <= 3
    assert [reader.row(i) for i in range(len(rows))] == rows


@given(st.lists(st.text(max_size=4), min_size=1, max_size=4))
def test_a_path_splits_into_the_keys_it_was_made_of(keys):
    path = None
    for key in keys:
        path = join_path(path, key)
    assert split_path(path) == tuple(keys)


@pytest.mark.parametrize(
    ("column", "type_name"),
    [
        ([True, None, False], "bool"),
        ([1, -(2**63), 2**63 - 1], "int64"),
        ([1.5, -0.0], "float64"),
        ([1, 1.5, 2.0], "float64"),
        (["a", ""], "string"),
        ([[1, None], [], [2]], "list<int64>"),
        ([["a"], [None]], "list<string>"),
        ([[1.5], []], "list<float64>"),
        ([[True]], "list<bool>"),
        ([[], [None]], "list<null>"),
        ([2**63], "json"),
        ([2**53 + 1, 0.5], "json"),
        ([1, "1"], "json"),
        ([1, True], "json"),
        ([[1, 2.5]], "json"),
        ([[1], ["a"]], "json"),
        ([[1], 1], "json"),
        ([[{"a": 1}]], "json"),
        ([[[1]]], "json"),
        ([[2**63]], "json"),
    ],
)
@pytest.mark.parametrize("batch", [1, 100])
def test_a_column_has_the_narrowest_type_that_is_exact(monkeypatch, column, type_name, batch):
    monkeypatch.setattr(metadata_builder, "BATCH_DOCUMENTS", batch)
    rows = [{"x": value} for value in column]
    reader = built(rows)
    assert reader.fields() == {"x": type_name}
    assert all(same(reader.row(i), without_nulls(row)) for i, row in enumerate(rows))


def test_a_path_may_be_a_value_here_and_an_object_there():
    rows = [{"a": 1}, {"a": {"b": "x"}}, {"a": {}}, {"a": {"b": None}}, {"a": None}, {}]
    reader = built(rows)
    assert reader.fields() == {"a": "int64", "a.b": "string"}
    assert [reader.row(i) for i in range(6)] == [{"a": 1}, {"a": {"b": "x"}}, {"a": {}}, {"a": {}}, {}, {}]


def test_a_dot_in_a_key_is_no_path():
    rows = [{"a.b": 1, "a": {"b": 2, "\\": 3}, "": {"": 4}}]
    reader = built(rows)
    assert list(reader.fields()) == ["a\\.b", "a.b", "a.\\\\", "."]
    assert reader.row(0) == rows[0]


def test_objects_nested_very_deep_come_back():
    deep = {"x": 1}
    for _ in range(60):
        deep = {"in": deep}
    assert built([deep]).row(0) == deep


def test_documents_without_metadata_take_no_bytes():
    builder = MetadataBuilder()
    for row in ({}, {"a": None}):
        builder.add(row)
    assert builder.finish() == b""
    reader = MetadataReader(b"", 2)
    assert reader.fields() == {}
    assert reader.row(1) == {}
    with pytest.raises(IndexError):
        reader.row(2)
    with pytest.raises(KeyError):
        reader.column("a")
    assert MetadataBuilder().finish() == b""
    assert MetadataReader(b"", 0).fields() == {}


def test_columns_have_an_entry_for_every_document(monkeypatch):
    monkeypatch.setattr(metadata_builder, "BATCH_DOCUMENTS", 4)
    rows = [{"n": i} if i % 3 else {"late": "x"} if i > 8 else {} for i in range(20)]
    reader = built(rows)
    assert reader.column("n").to_pylist() == [row.get("n") for row in rows]
    assert reader.column("late").to_pylist() == [row.get("late") for row in rows]


def test_few_distinct_strings_are_stored_once():
    rows = [{"source": f"web{i % 5}", "id": f"document {i}"} for i in range(20_000)]
    builder = MetadataBuilder()
    for row in rows:
        builder.add(row)
    content = builder.finish()
    reader = MetadataReader(content, len(rows))
    assert str(reader.column("source").type).startswith("dictionary<values=string, indices=int8")
    assert str(reader.column("id").type) == "string"
    assert bytes(content).count(b"web3") == 1
    assert reader.fields() == {"source": "string", "id": "string"}
    assert all(reader.row(i) == rows[i] for i in (0, 8191, 8192, 19_999))
    assert reader.column("source").to_pylist() == [row["source"] for row in rows]


@pytest.mark.parametrize(("n_distinct", "index"), [(128, "int8"), (129, "int16"), (40_000, "int32")])
def test_dictionary_indices_are_as_narrow_as_can_be(n_distinct, index):
    rows = [{"s": str((i // 5) % n_distinct)} for i in range(5 * n_distinct)]
    reader = built(rows)
    assert f"indices={index}" in str(reader.column("s").type)
    assert reader.row(len(rows) - 1) == rows[-1]


def test_reading_copies_nothing():
    builder = MetadataBuilder()
    for i in range(5000):
        builder.add({"n": i})
    content = np.frombuffer(builder.finish(), dtype=np.uint8).copy()
    column = MetadataReader(memoryview(content), 5000).column("n")
    address = content.ctypes.data
    assert address <= column.chunk(0).buffers()[1].address < address + len(content)


def test_more_fields_than_columns_are_kept_out_of_the_schema():
    rows = [{f"word{i}": i, "always": "x"} for i in range(MAX_COLUMNS + 50)]
    reader = built(rows)
    assert len(reader.fields()) == MAX_COLUMNS
    assert [reader.row(i) for i in range(len(rows))] == rows


def test_numpy_values_and_subclasses_are_stored_as_what_they_are():
    class Colour(str, enum.Enum):
        RED = "red"

    row = {
        "i": np.int32(3),
        "f": np.float32(0.5),
        "a": np.array([1, 2]),
        "t": (1, 2),
        "e": Colour.RED,
        "d": {"deep": [{"n": np.int64(1)}]},
    }
    expected = {"i": 3, "f": 0.5, "a": [1, 2], "t": [1, 2], "e": "red", "d": {"deep": [{"n": 1}]}}
    assert same(built([row]).row(0), expected)


def test_floats_that_json_lacks_are_kept():
    reader = built([{"x": math.nan}, {"x": math.inf}, {"x": "mixed"}])
    assert math.isnan(reader.row(0)["x"])
    assert reader.row(1) == {"x": math.inf}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"when": object()}, "'when' holds a object"),
        ({"a": {"b": {1, 2}}}, "'a.b' holds a set"),
        ({1: "x"}, "key 1 is a int"),
        ({"a": [{1: 2}]}, "key 1 in the field 'a' is a int"),
        ({"s": "\ud800"}, "unpaired surrogate at character 0"),
        ({"\udfff": 1}, "unpaired surrogate"),
        ({"l": ["ok", "x\ud800"]}, "unpaired surrogate at character 1"),
        ({"n": 10**5000}, "too many digits"),
    ],
)
def test_what_json_cannot_hold_is_refused_and_the_document_not_added(row, message):
    builder = MetadataBuilder()
    builder.add({"a": {"b": 1}})
    with pytest.raises(InvalidArgument, match=message):
        builder.add({"first": 1, **row})
    builder.add({"a": {"b": 2}})
    reader = MetadataReader(builder.finish(), 2)
    assert reader.fields() == {"a.b": "int64"}
    assert [reader.row(0), reader.row(1)] == [{"a": {"b": 1}}, {"a": {"b": 2}}]


def test_a_value_that_is_nested_beyond_reason_is_refused():
    value = []
    for _ in range(200):
        value = [value]
    with pytest.raises(InvalidArgument, match="'v' is nested more than 100 levels"):
        MetadataBuilder().add({"v": value})


def test_the_number_of_documents_must_fit():
    builder = MetadataBuilder()
    builder.add({"a": 1})
    with pytest.raises(CorruptionError, match="metadata of 1 documents in a segment of 2"):
        MetadataReader(builder.finish(), 2, path="x.segment").row(0)


def test_arrow_is_not_imported_before_it_is_needed():
    code = (
        "import sys\n"
        "from ngramdb.segments.metadata import MetadataReader\n"
        "from ngramdb.segments.metadata_builder import MetadataBuilder\n"
        "MetadataReader(b'', 0); MetadataBuilder().add({'a': 1})\n"
        "sys.exit('pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_damaged_file_gives_an_error_or_values_and_never_a_crash():
    # Bits flipped inside values are for the container to find; here nothing may be followed astray.
    builder = MetadataBuilder()
    for i in range(300):
        builder.add(
            {"s": f"v{i % 3}", "u": str(i), "l": [i, None], "j": [i, "x"], "f": i / 2 if i % 2 else i}
        )
    content = builder.finish()
    MetadataReader(content, 300).check()
    rng = random.Random(11)
    n_errors = 0
    for trial in range(600):
        damaged = bytearray(content)
        if trial % 3:
            for _ in range(rng.choice([1, 1, 8])):
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        else:
            start = rng.randrange(len(damaged))
            damaged[start : start + 64] = bytes(len(damaged[start : start + 64]))
        reader = MetadataReader(bytes(damaged), 300)
        try:
            for path in reader.fields():
                reader.column(path)
            reader.row(7)
            reader.row(299)
        except CorruptionError:
            n_errors += 1
    assert n_errors > 50
