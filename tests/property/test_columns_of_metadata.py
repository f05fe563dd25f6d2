"""Metadata that come as columns are those of the same rows one by one: values, fields and their types."""

from __future__ import annotations

import pyarrow
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.ingest.readers.columns import MetadataColumns
from ngramdb.segments import metadata_builder as stored
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_builder import MetadataBuilder

NAMES = st.sampled_from(["a", "b", "a.b", "c\\", ""])
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
SCALARS = {
    pyarrow.bool_(): st.booleans(),
    pyarrow.int64(): INTEGERS,
    pyarrow.uint8(): st.integers(0, 255),
    pyarrow.uint64(): st.integers(0, 2**64 - 1) | st.just(1),
    pyarrow.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pyarrow.float32(): st.floats(allow_nan=False, allow_infinity=False, width=32),
    pyarrow.string(): st.text("aü\0"),
    pyarrow.large_string(): st.sampled_from(["x", "y"]),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.string()): st.sampled_from(["x", "y"]),
    pyarrow.null(): st.none(),
}


def lists_of(kind_and_values):
    kind, values = kind_and_values
    lists = st.lists(values | st.none(), max_size=3)
    return st.sampled_from([pyarrow.list_, pyarrow.large_list]).map(lambda make: (make(kind), lists))


def structs_of(fields):
    names = list(dict.fromkeys(name for name, _ in fields))
    chosen = dict(fields)
    kind = pyarrow.struct([(name, chosen[name][0]) for name in names])
    return kind, st.fixed_dictionaries({name: chosen[name][1] | st.none() for name in names})


def maps_of(kind_and_values):
    kind, values = kind_and_values
    pairs = st.lists(st.tuples(st.sampled_from(["k", "a.b", ""]), values | st.none()), max_size=3)
    return pyarrow.map_(pyarrow.string(), kind), pairs


KINDS = st.recursive(
    st.sampled_from(list(SCALARS.items())),
    lambda inner: (
        inner.filter(lambda found: not pyarrow.types.is_dictionary(found[0])).flatmap(lists_of)
        | inner.filter(lambda found: not pyarrow.types.is_dictionary(found[0])).map(maps_of)
        | st.lists(st.tuples(NAMES, inner), min_size=1, max_size=3).map(structs_of)
    ),
    max_leaves=5,
)


@st.composite
def tables(draw):
    fields = dict(draw(st.lists(st.tuples(NAMES, KINDS), min_size=1, max_size=4)))
    n_rows = draw(st.integers(1, 6))
    columns = {
        name: pyarrow.array(draw(st.lists(values | st.none(), min_size=n_rows, max_size=n_rows)), kind)
        for name, (kind, values) in fields.items()
    }
    return pyarrow.RecordBatch.from_pydict(columns)


def plain(value, kind):
    """A value of a table as JSON has it: a map is an object, or a list of pairs if a key occurs twice."""
    if value is None:
        return None
    if pyarrow.types.is_map(kind):
        pairs = [(key, plain(item, kind.item_type)) for key, item in value]
        found = dict(pairs)
        return found if len(found) == len(pairs) else [list(pair) for pair in pairs]
    if pyarrow.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if isinstance(value, list):
        return [plain(item, kind.value_type) for item in value]
    return value


def rows_of(batch):
    kind = pyarrow.struct(list(batch.schema))
    return [plain(row, kind) for row in batch.to_pylist()]


def of(builder, n_documents):
    reader = MetadataReader(builder.finish(), n_documents)
    return [reader.row(i) for i in range(n_documents)], reader.fields()


@settings(deadline=None)
@given(st.lists(tables(), min_size=1, max_size=3), st.booleans())
def test_columns_are_the_rows(batches, mixed):
    by_rows, by_columns = MetadataBuilder(), MetadataBuilder()
    n_documents = 0
    for k, batch in enumerate(batches):
        n_documents += batch.num_rows
        rows = rows_of(batch)
        for row in rows:
            by_rows.add(row)
        columns, wrong = MetadataColumns(batch.schema, None).of(batch)
        assert not wrong
        if columns is None or (mixed and k % 2):
            for i in range(batch.num_rows):
                by_columns.add({} if columns is None else columns.row(i))
        else:
            by_columns.add_columns(columns.taken(range(batch.num_rows)))
    expected, found = of(by_rows, n_documents), of(by_columns, n_documents)
    assert found[0] == expected[0]
    assert found[1] == expected[1]


@given(st.lists(st.tuples(tables(), st.integers(0, 7)), min_size=1, max_size=3), st.booleans())
def test_documents_without_any_are_added_together(parts, as_columns):
    most = stored.BATCH_DOCUMENTS
    stored.BATCH_DOCUMENTS = 3
    try:
        one_by_one, together = MetadataBuilder(), MetadataBuilder()
        n_documents = 0
        for batch, n_empty in parts:
            columns, _ = MetadataColumns(batch.schema, None).of(batch)
            for builder in (one_by_one, together):
                if as_columns and columns is not None:
                    builder.add_columns(columns.taken(range(batch.num_rows)))
                else:
                    for row in rows_of(batch):
                        builder.add(row)
            for _ in range(n_empty):
                one_by_one.add({})
            together.add_empty(n_empty)
            n_documents += batch.num_rows + n_empty
        assert of(together, n_documents) == of(one_by_one, n_documents)
    finally:
        stored.BATCH_DOCUMENTS = most


@given(tables())
def test_columns_beyond_the_most_are_kept(batch):
    rows = rows_of(batch)
    columns, _ = MetadataColumns(batch.schema, None).of(batch)
    if columns is None:
        return
    most = stored.MAX_COLUMNS
    stored.MAX_COLUMNS = 1
    try:
        by_rows, by_columns = MetadataBuilder(), MetadataBuilder()
        for row in rows:
            by_rows.add(row)
        by_columns.add_columns(columns.taken(range(batch.num_rows)))
        assert of(by_columns, len(rows))[0] == of(by_rows, len(rows))[0]
    finally:
        stored.MAX_COLUMNS = most
