"""The Arrow types of a table's columns come back in all files and tables of Arrow's."""

from __future__ import annotations

import datetime
import decimal
import itertools
import re
import warnings

import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

import ngramdb

UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2020, 2, 29, 12, 30, 15, 123456)
VALUES = {
    "int8": [-(2**7), 2**7 - 1],
    "int16": [1, -1],
    "int32": [1, -1],
    "int64": [2**53 + 1, -1],
    "uint8": [0, 255],
    "uint32": [0, 2**32 - 1],
    "uint64": [0, 2**63 - 1],
    "float32": [0.1, -1.5],
    "float64": [0.1, 1e300],
    "bool": [True, False],
    "string": ["a", "b"],
}
TYPES = {
    **{name: (getattr(pyarrow, name)() if name != "bool" else pyarrow.bool_()) for name in VALUES},
    **{f"timestamp[{unit}]": pyarrow.timestamp(unit) for unit in ("s", "ms", "us", "ns")},
    **{f"timestamp[{unit}] in Oslo": pyarrow.timestamp(unit, "Europe/Oslo") for unit in ("s", "us", "ns")},
    "date32": pyarrow.date32(),
    "date64": pyarrow.date64(),
    "time32[s]": pyarrow.time32("s"),
    "time32[ms]": pyarrow.time32("ms"),
    "time64[us]": pyarrow.time64("us"),
    "time64[ns]": pyarrow.time64("ns"),
    "decimal(9, 2)": pyarrow.decimal128(9, 2),
    "decimal(18, 0)": pyarrow.decimal128(18, 0),
    "decimal256(9, 2)": pyarrow.decimal256(9, 2),
    "list of int16": pyarrow.list_(pyarrow.int16()),
    "list of dates": pyarrow.list_(pyarrow.date32()),
    "large list of float32": pyarrow.large_list(pyarrow.float32()),
}


def values(name):
    kind = TYPES[name]
    types = pyarrow.types
    if name in VALUES:
        found = VALUES[name]
    elif types.is_timestamp(kind):
        moment = MOMENT if kind.unit in ("us", "ns") else MOMENT.replace(microsecond=0)
        found = [moment, moment.replace(year=1996, microsecond=0)]
        found = [one.replace(tzinfo=UTC) for one in found] if kind.tz else found
    elif types.is_date(kind):
        found = [MOMENT.date(), datetime.date(1001, 1, 1)]
    elif types.is_time(kind):
        found = [MOMENT.time().replace(microsecond=0), datetime.time(0)]
    elif types.is_decimal(kind):
        found = [decimal.Decimal(1234567), decimal.Decimal(-1) / (10**kind.scale)]
    elif kind.value_type == pyarrow.date32():
        found = [[MOMENT.date(), None], []]
    else:
        found = [[1, 2], []]
    return pyarrow.array([*found, None], kind)


def read(path):
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    with pyarrow.memory_map(str(path)) as source:
        opened = pyarrow.ipc.open_stream if path.suffix == ".arrows" else pyarrow.ipc.open_file
        return opened(source).read_all()


def in_parquet(kind):
    """The type that Parquet has for it: no times in seconds, one type of dates."""
    if pyarrow.types.is_date64(kind):
        return pyarrow.date32()
    if pyarrow.types.is_timestamp(kind) and kind.unit == "s":
        return pyarrow.timestamp("ms", kind.tz)
    return pyarrow.time32("ms") if kind == pyarrow.time32("s") else kind


WAYS = ["a.parquet", "a.arrow", "a.arrows", "a.feather", "arrow", "arrow_batches"]


def brought_out(corpus, way, folder):
    if way in ("arrow", "arrow_batches"):
        result = corpus.docs()
        return result.arrow() if way == "arrow" else result.arrow_batches(2).read_all()
    path = folder / way
    corpus.export(path)
    return read(path)


@pytest.fixture(params=["loaded", "merged", "compacted", "beside others"])
def made(request, tmp_path):
    """Return a function that makes a corpus of a table."""

    def make(table):
        db = ngramdb.connect()
        corpus = db.create_corpus("c")
        if request.param == "loaded":
            corpus.append(table)
            return corpus
        for start in range(len(table)):
            corpus.append(table.slice(start, 1))
        if request.param == "merged":
            return corpus
        if request.param == "compacted":
            corpus.append(table)
            corpus.delete("doc_id >= ?", params=[len(table)])
            corpus.compact()
            return corpus
        # Documents without the field do not change its type.
        corpus.append([{"text": "last"}])
        corpus.delete("doc_id = ?", params=[len(table)])
        corpus.compact()
        return corpus

    return make


@pytest.mark.parametrize("way", WAYS)
def test_types_and_values_are_those_that_came_in(made, way, tmp_path):
    columns = {name: values(name) for name in TYPES}
    table = pyarrow.table({"text": ["a", "b", "c"], **columns})
    found = brought_out(made(table), way, tmp_path)
    assert {name: found.schema.field(name).type for name in TYPES} == {
        name: in_parquet(kind) if way == "a.parquet" else kind for name, kind in TYPES.items()
    }
    for name in TYPES:
        assert found[name].to_pylist() == table[name].to_pylist(), name


@pytest.mark.parametrize("way", ["a.parquet", "a.arrow"])
def test_a_second_round_changes_nothing(way, tmp_path):
    table = pyarrow.table({"text": ["a", "b", "c"], **{name: values(name) for name in TYPES}})
    schemas = []
    for _ in range(2):
        db = ngramdb.connect()
        corpus = db.create_corpus("c")
        if isinstance(table, pyarrow.Table):
            corpus.append(table)
        corpus.export(tmp_path / way)
        table = read(tmp_path / way).select(["text", *TYPES])
        schemas.append(table.schema.remove_metadata())
    assert schemas[0] == schemas[1]


@pytest.mark.parametrize(
    ("first", "second", "common", "note"),
    [
        ("int8", "int16", "int16", None),
        ("float32", "float64", "double", None),
        ("timestamp[s]", "timestamp[ms]", "timestamp[ms]", None),
        ("date32", "timestamp[us]", "string", r"x \(date32\[day\], timestamp\[us\]\): these fields"),
        ("date32", "string", "string", r"x \(date32\[day\], as stored\): these fields"),
        ("decimal(9, 2)", None, "double", r"x \(decimal128\(9, 2\), as stored\): these fields"),
    ],
)
def test_of_several_types_the_widest_is_written(first, second, common, note, tmp_path):
    db = ngramdb.connect()
    db.settings["auto_compact"] = False
    corpus = db.create_corpus("c")
    corpus.append(pyarrow.table({"text": ["a", "b", "c"], "x": values(first)}))
    if second is None:
        corpus.append([{"text": "a", "x": 1.5}])
    else:
        corpus.append(pyarrow.table({"text": ["a", "b", "c"], "x": values(second)}))
    before = corpus.docs().fetchall()
    for name in ("before", "compacted"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            corpus.export(tmp_path / f"{name}.parquet")
        said = [str(one.message) for one in caught if "these fields" in str(one.message)]
        assert str(read(tmp_path / f"{name}.parquet").schema.field("x").type) == common
        assert len(said) == (note is not None)
        assert all(re.search(note if name == "before" else r"x \(several types", one) for one in said)
        corpus.compact()
        assert corpus.docs().fetchall() == before


def test_decimals_beyond_what_floats_hold_stay_floats_with_a_note(tmp_path):
    kind = pyarrow.decimal128(38, 10)
    corpus = ngramdb.connect().create_corpus("c")
    corpus.append(pyarrow.table({"text": ["a"], "x": pyarrow.array([decimal.Decimal("0.1")], kind)}))
    with pytest.warns(ngramdb.ExportWarning, match=r"x \(decimal128\(38, 10\)\): these fields came"):
        corpus.export(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").schema.field("x").type == pyarrow.float64()


def test_fields_within_structs_have_their_types_too(tmp_path):
    inner = pyarrow.array(
        [{"day": datetime.date(2020, 1, 1), "n": 3}],
        pyarrow.struct([("day", pyarrow.date32()), ("n", pyarrow.int8())]),
    )
    corpus = ngramdb.connect().create_corpus("c")
    corpus.append(pyarrow.table({"text": ["a"], "m": inner}))
    with pytest.warns(ngramdb.ExportWarning, match="nested fields"):
        corpus.export(tmp_path / "a.parquet")
    schema = read(tmp_path / "a.parquet").schema
    assert (schema.field("m.day").type, schema.field("m.n").type) == (pyarrow.date32(), pyarrow.int8())


MAPS = {
    "int64": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
    "uint8": pyarrow.map_(pyarrow.string(), pyarrow.uint8()),
    "dates": pyarrow.map_(pyarrow.string(), pyarrow.date32()),
    "decimals": pyarrow.map_(pyarrow.string(), pyarrow.decimal128(9, 2)),
    "lists": pyarrow.map_(pyarrow.string(), pyarrow.list_(pyarrow.float32())),
    "objects": pyarrow.map_(pyarrow.string(), pyarrow.struct([("n", pyarrow.int8())])),
}
ITEMS = {
    "int64": [1, 2],
    "uint8": [0, 255],
    "dates": [datetime.date(2020, 1, 1), datetime.date(1001, 1, 1)],
    "decimals": [decimal.Decimal("1.25"), decimal.Decimal(3)],
    "lists": [[0.5], []],
    "objects": [{"n": 1}, {}],
}


@pytest.mark.filterwarnings("ignore:.*nested fields")
@pytest.mark.parametrize("way", ["a.parquet", "arrow", "arrow_batches"])
def test_maps_leave_other_columns_their_types_and_their_fields_have_theirs(made, way, tmp_path):
    columns = {name: values(name) for name in TYPES}
    for name, (first, second) in ITEMS.items():
        maps = [[("k", first)], [("k", second), ("z", first)], []]
        columns[f"m_{name}"] = pyarrow.array(maps, MAPS[name])
    table = pyarrow.table({"text": ["a", "b", "c"], **columns})
    found = brought_out(made(table), way, tmp_path)
    for name in TYPES:
        expected = in_parquet(TYPES[name]) if way == "a.parquet" else TYPES[name]
        assert found.schema.field(name).type == expected, name
        assert found[name].to_pylist() == table[name].to_pylist(), name
    for name, (first, second) in ITEMS.items():
        if name != "objects":
            fields = [found[f"m_{name}.{key}"] for key in "kz"]
            assert {str(field.type).replace("element", "item") for field in fields} == {
                str(MAPS[name].item_type)
            }
            assert [field.to_pylist() for field in fields] == [[first, second, None], [None, first, None]]


RETURNED = [
    "DOCS RETURNING {}",
    'KWIC "a" RETURNING {}',
    'KWIC "a" RETURNING {} ORDER BY LEFT 1 DESC',
    'TRACE "a a" RETURNING {}',
    "COUNT DOCS GROUP BY {}",
    'COUNT "a" GROUP BY {}',
    'COUNT "a", "b" GROUP BY {}',
    'COUNT "a" PER MILLION GROUP BY {}',
    'COUNT "a" GROUP BY LEFT 1, {}',
]
# COPY does not write the rows of these.
CHANGES = ["DELETE DOCS WHERE doc_id >= 0 RETURNING {}"]


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        *itertools.product([*RETURNED, *CHANGES], ["arrow", "arrow_batches"]),
        *itertools.product(RETURNED, ["a.parquet", "a.arrow"]),
    ],
)
def test_every_statement_returns_fields_with_their_types(statement, way, tmp_path):
    """The types and values are those of DOCS, whatever statement returns a field or groups by it."""
    names = [name for name in TYPES if not pyarrow.types.is_list(TYPES[name])]
    fields = ", ".join(f"`{name}`" for name in names)
    db = ngramdb.connect()
    corpus = db.create_corpus("c")
    table = pyarrow.table({"text": ["a"] * 3, **{name: values(name) for name in names}}).slice(0, 1)
    corpus.append(table)
    if way in ("arrow", "arrow_batches"):
        result = db.execute(statement.format(fields))
        found = result.arrow() if way == "arrow" else result.arrow_batches(1).read_all()
    else:
        path = tmp_path / way
        db.execute(f"COPY ({statement.format(fields)}) TO '{path}'")
        found = read(path)
    for name in names:
        expected = in_parquet(TYPES[name]) if way == "a.parquet" else TYPES[name]
        assert found.schema.field(name).type == expected, name
        assert found[name].to_pylist()[:1] == table[name].to_pylist(), name


def test_elements_of_lists_have_their_type_and_computed_values_their_own():
    db = ngramdb.connect()
    columns = {name: values(name) for name in ("list of dates", "date32", "int8")}
    db.create_corpus("c").append(pyarrow.table({"text": ["a", "b", "c"], **columns}))
    keys = "UNNEST(`list of dates`), YEAR(date32), int8 / 10"
    found = db.execute(f"COUNT DOCS GROUP BY {keys}").arrow()
    assert [str(kind) for kind in found.schema.types] == ["date32[day]", "int64", "int64", "int64"]


def test_columns_that_are_returned_have_their_types():
    corpus = ngramdb.connect().create_corpus("c")
    corpus.append(pyarrow.table({"text": ["a", "b", "c"], "x": values("date32"), "n": values("int8")}))
    found = corpus.docs(returning=["n", "doc_id", "x"]).arrow().schema
    assert [str(kind) for kind in found.types] == ["int8", "int64", "date32[day]"]
    assert corpus.docs("x IS NULL AND x IS NOT NULL").arrow().schema.field("x").type == pyarrow.date32()
