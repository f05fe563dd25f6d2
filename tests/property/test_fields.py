"""Fields that change after loading, against dictionaries in Python."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.segments import fields_file, metadata_builder

# In place of 256: objects with more fields have a column of JSON.
FEW_COLUMNS = 9
KEYS = st.sampled_from(["k0", "k1", "k2", "k3", 0, 1, 2, "1", "é"])
# Values of a column of a table, by the column's name.
SCALARS = {
    "edu": st.none() | st.sampled_from([0.5, 1.0, -2.25]),
    "n": st.none() | st.integers(-3, 2**60),
    "lang": st.none() | st.sampled_from(["en", "de", "", "ü"]),
    "ok": st.none() | st.booleans(),
}
NESTED = {
    "tags": st.none() | st.lists(st.sampled_from(["a", "b"]), max_size=2),
    "meta": st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 3), "b": SCALARS["lang"]}),
}
# Numbers and texts that CSV distinguishes.
OF_TEXT = {
    "edu": st.none() | st.sampled_from([0.5, -2.25]),
    "lang": st.none() | st.sampled_from(["en", "ü"]),
    "ok": SCALARS["ok"],
}
TYPES = {
    "edu": pa.float64(),
    "n": pa.int64(),
    "lang": pa.string(),
    "ok": pa.bool_(),
    "tags": pa.list_(pa.string()),
    "meta": pa.struct([("a", pa.int64()), ("b", pa.string())]),
}
MIXED = st.none() | st.integers(0, 3) | st.sampled_from(["s", 0.5, True, [1, "x"], {}, {"y": 1}])
OWN = st.fixed_dictionaries(
    {"text": st.sampled_from(["a b", "b c d", "e"])},
    optional={
        "id": KEYS,
        "edu": SCALARS["edu"],
        "year": st.integers(1990, 2000),
        "meta": st.fixed_dictionaries({}, optional={"a": st.integers(0, 3), "c": st.just("own")}),
        "mixed": MIXED,
        "many": st.just({f"f{i}": i for i in range(FEW_COLUMNS)}),
    },
)


@st.composite
def tables(draw: st.DrawFn, columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows with different keys of one type, and all of the columns."""
    names = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True))
    kind = draw(st.sampled_from([str, int]))
    keys = draw(st.lists(KEYS.filter(lambda key: type(key) is kind), unique=True, max_size=6))
    return [{"id": key, **{name: draw(columns[name]) for name in names}} for key in keys]


def without_nulls(value: Any) -> Any:
    """Return metadata as they come back: a null in an object counts as no field."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


def placed(record: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a field of a record; None removes it."""
    *outer, last = path
    for key in outer:
        if value is None and key not in record:
            return
        record = record.setdefault(key, {})
    if value is None:
        record.pop(last, None)
    else:
        record[last] = value


def leaves(row: dict[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """The columns of a row of a table with structs."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, value in row.items():
        if name == "meta":
            found += [((name, key), (value or {}).get(key)) for key in ("a", "b")]
        elif name != "id":
            found.append(((name,), value))
    return found


def as_given(table: pa.Table, kind: str, folder: Any) -> Any:
    """The table as one of the things that `add_fields` takes."""
    if kind == "stream":
        return table.to_reader(max_chunksize=2)
    if kind == "pandas":
        return table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table)
    path = folder / f"labels-{len(list(folder.iterdir()))}.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path if kind != "table" else table


class Reference:
    """A corpus, and the metadata that its documents should have, by document id."""

    def __init__(self, corpus: ngramdb.Corpus, loads: list[list[dict[str, Any]]], folder: Any) -> None:
        self.corpus = corpus
        self.metadata: dict[int, dict[str, Any]] = {}
        for i, documents in enumerate(loads):
            if i % 2:
                corpus.append(documents)
            else:
                (folder / f"{i}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
                corpus.load(folder / f"{i}.jsonl")
            for document in documents:
                own = {key: value for key, value in document.items() if key != "text"}
                self.metadata[len(self.metadata)] = without_nulls(own)

    def add(self, rows: list[dict[str, Any]], kind: str) -> int:
        """Add the fields of rows with structs; return the number of documents that have one."""
        matched = 0
        # A line of JSON without a value lacks the field, which another line must have then.
        known = {path for row in rows for path, value in leaves(row) if value is not None or kind != "jsonl"}
        for row in rows:
            for record in self.metadata.values():
                if type(record.get("id")) is type(row["id"]) and record["id"] == row["id"]:
                    matched += 1
                    for path, value in leaves(row):
                        if path in known:
                            placed(record, path, value)
        return matched

    def check(self, db: ngramdb.Connection) -> None:
        expected = dict(sorted(self.metadata.items()))
        found = {doc: self.corpus.document(doc).metadata for doc in expected}
        assert plain(found) == plain(expected)
        rows = db.execute("DOCS RETURNING doc_id").fetchall()
        assert [doc for (doc,) in rows] == list(expected)
        for name in ("edu", "lang"):
            with_it = sorted(doc for doc, record in expected.items() if record.get(name) is not None)
            if any(name in record for record in expected.values()):
                found_docs = db.execute(f"DOCS WHERE {name} IS NOT NULL RETURNING doc_id").fetchall()
                assert [doc for (doc,) in found_docs] == with_it
        assert db.execute("CHECK").fetchall() == []


def plain(found: Any) -> str:
    """Values and their types, whatever the order of fields; an object without fields counts as missing."""

    def emptied(value: Any) -> Any:
        if isinstance(value, dict):
            inner = {key: emptied(item) for key, item in value.items()}
            return {key: item for key, item in inner.items() if item != {}}
        return value

    return json.dumps(emptied(found), sort_keys=True)


KINDS = ("table", "stream", "pandas", "polars", "parquet", "arrow", "csv", "jsonl")


@pytest.fixture(autouse=True)
def few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_builder, "MAX_COLUMNS", FEW_COLUMNS)
    monkeypatch.setattr(fields_file, "MAX_COLUMNS", FEW_COLUMNS)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[__import__("hypothesis").Phase.generate],
    report_multiple_bugs=False,
)
@given(st.data())
def test_added_fields_are_those_of_the_rows(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("fields")
    loads = data.draw(st.lists(st.lists(OWN, min_size=1, max_size=5), min_size=1, max_size=3))
    with ngramdb.connect(":memory:") as db:
        corpus = db.create_corpus("c", tokenizer="words")
        db.execute("SET auto_compact = FALSE")
        reference = Reference(corpus, loads, folder)
        for _ in range(data.draw(st.integers(1, 4))):
            step = data.draw(st.sampled_from(["add", "add", "drop", "delete", "compact"]))
            if step == "add":
                kind = data.draw(st.sampled_from(KINDS))
                columns = OF_TEXT if kind == "csv" else {**SCALARS, **NESTED}
                rows = data.draw(tables(columns))
                if not rows or not has_key(reference):
                    continue
                if kind == "csv" and {str(row["id"]) for row in rows} == {"1"}:
                    continue  # a number, as CSV is read
                if blocked(reference, rows):
                    continue
                kinds = {**TYPES, "id": pa.string() if isinstance(rows[0]["id"], str) else pa.int64()}
                table = pa.Table.from_pylist(rows, pa.schema([(name, kinds[name]) for name in rows[0]]))
                report = corpus.add_fields(as_given(table, kind, folder), replace=True)
                assert report.documents == reference.add(rows, kind)
                assert report.rows == len(rows)
            elif step == "drop":
                name = data.draw(st.sampled_from(["edu", "meta", "mixed", "many"]))
                if not any(record.get(name) not in (None, {}) for record in reference.metadata.values()):
                    continue
                corpus.drop_fields(name)
                for record in reference.metadata.values():
                    record.pop(name, None)
            elif step == "delete" and has_key(reference, str):
                corpus.delete("id = 'k1'")
                gone = [doc for doc, record in reference.metadata.items() if record.get("id") == "k1"]
                for doc in gone:
                    del reference.metadata[doc]
            elif step == "compact":
                db.execute("COMPACT")
            if not reference.metadata:
                return
            reference.check(db)
        check_exports(db, corpus, reference, folder)


def has_key(reference: Reference, kind: type = object) -> bool:
    return any("id" in record and isinstance(record["id"], kind) for record in reference.metadata.values())


def blocked(reference: Reference, rows: list[dict[str, Any]]) -> bool:
    """Return True if a field would be inside one that is not an object."""
    inside = any("meta" in row for row in rows)
    return inside and any(
        not isinstance(record.get("meta", {}), dict) for record in reference.metadata.values()
    )


def check_exports(db: Any, corpus: ngramdb.Corpus, reference: Reference, folder: Any) -> None:
    """Exported documents have the fields, and the same when they are loaded again."""
    path = folder / "out.jsonl"
    corpus.export(path)
    again = db.create_corpus("again", tokenizer="words")
    again.load(path)
    expected = [reference.metadata[doc] for doc in sorted(reference.metadata)]
    found = [again.document(i).metadata for i in range(len(expected))]
    for one, other in zip(found, expected, strict=True):
        assert plain(one) == plain(other)
