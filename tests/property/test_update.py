"""UPDATE and `Corpus.update` against dictionaries in Python."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import BindError, ExecutionError, InvalidArgument, PlanError
from ngramdb.segments import fields_file, metadata_builder

# In place of 256: objects with more fields have a column of JSON.
FEW_COLUMNS = 9
Record = dict[str, Any]

OWN = st.fixed_dictionaries(
    {"text": st.sampled_from(["a b", "b c d", "a", "e e e"])},
    optional={
        "n": st.integers(-3, 30),
        "x": st.sampled_from([0.5, -7.25, 3]),
        "lang": st.sampled_from(["en", "de", "it's"]),
        "date": st.sampled_from(["2001-05-17", "1999-12", "soon"]),
        "meta": st.fixed_dictionaries({}, optional={"a": st.integers(0, 3), "b": st.just("own")}),
        "mixed": st.sampled_from([1, "s", True, [1, "x"], {"y": 1}]),
        "many": st.just({f"f{i}": i for i in range(FEW_COLUMNS)}),
    },
)


def value_at(record: Record, path: tuple[str, ...]) -> Any:
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def of_field(name: str) -> Callable[[int, Record], Any]:
    """An object is not a value, but its fields are."""

    def compute(_: int, record: Record) -> Any:
        found = value_at(record, tuple(name.split(".")))
        return None if isinstance(found, dict) else found

    return compute


def number_of(value: Any) -> Any:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def divided(name: str, divisor: int, factor: int = 1) -> Callable[[int, Record], Any]:
    def compute(_: int, record: Record) -> Any:
        value = number_of(of_field(name)(0, record))
        return None if value is None else int(value // divisor) * factor

    return compute


def part_of_date(first: int, last: int) -> Callable[[int, Record], Any]:
    def compute(_: int, record: Record) -> Any:
        date = record.get("date", "")
        return int(date[first:last]) if len(date) >= last and date[0] in "12" else None

    return compute


#: Expressions, the fields that they need, and their values for a document.
EXPRESSIONS: list[tuple[str, str, Callable[[int, Record], Any]]] = [
    ("'new'", "", lambda *_: "new"),
    ("-2.5", "", lambda *_: -2.5),
    ("7", "", lambda *_: 7),
    ("TRUE", "", lambda *_: True),
    ("n", "n", of_field("n")),
    ("x", "x", of_field("x")),
    ("lang", "lang", of_field("lang")),
    ("mixed", "mixed", of_field("mixed")),
    ("meta.a", "meta.a", of_field("meta.a")),
    ("n / 4 * 4", "n", divided("n", 4, 4)),
    ("x / 2", "x", divided("x", 2)),
    ("YEAR(date)", "date", part_of_date(0, 4)),
    ("MONTH(date)", "date", part_of_date(5, 7)),
    ("doc_id", "", lambda doc, _: doc),
    ("length", "", lambda _, record: len(record["text"].split())),
    ("DUP_NGRAM_SHARE(1)", "", lambda _, record: 2 / 3 if record["text"] == "e e e" else 0.0),
]
TARGETS = ["n", "x", "lang", "meta.a", "meta.new.k", "fresh", "other.k", "m"]
CONDITIONS: list[tuple[str | None, str, Callable[[int, Record], bool]]] = [
    (None, "", lambda *_: True),
    ('"a"', "", lambda _, record: "a" in record["text"].split()),
    ("n > 5", "n", lambda _, record: (number_of(record.get("n")) or 0) > 5),
    ("lang IS NULL", "lang", lambda _, record: record.get("lang") is None),
    ("doc_id BETWEEN 1 AND 3", "", lambda doc, _: 1 <= doc <= 3),
]


def placed(record: Record, path: tuple[str, ...], value: Any) -> None:
    """Set a field of a record; None removes it, with the objects that are empty then."""
    if len(path) > 1:
        inner = record.get(path[0])
        inner = inner if isinstance(inner, dict) else {}
        placed(inner, path[1:], value)
        record[path[0]] = inner
        if not inner:
            del record[path[0]]
    elif value is None:
        record.pop(path[0], None)
    else:
        record[path[0]] = copy.deepcopy(value)


def plain(found: Any) -> str:
    """Values and their types, whatever the order of fields; an object without fields counts as missing."""

    def emptied(value: Any) -> Any:
        if isinstance(value, dict):
            inner = {key: emptied(item) for key, item in value.items()}
            return {key: item for key, item in inner.items() if item != {}}
        return value

    return json.dumps(emptied(found), sort_keys=True)


def has(documents: dict[int, Record], name: str) -> bool:
    """Return True if a document has a value of the field."""
    return not name or any(of_field(name)(0, record) is not None for record in documents.values())


def has_within(documents: dict[int, Record], name: str) -> bool:
    return any(record.get(name) not in (None, {}) for record in documents.values())


@pytest.fixture(autouse=True)
def few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_builder, "MAX_COLUMNS", FEW_COLUMNS)
    monkeypatch.setattr(fields_file, "MAX_COLUMNS", FEW_COLUMNS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], phases=[Phase.generate])
@given(st.data())
def test_fields_have_the_values_of_expressions(data: Any) -> None:
    loads = data.draw(st.lists(st.lists(OWN, min_size=1, max_size=5), min_size=1, max_size=3))
    with ngramdb.connect(":memory:") as db:
        corpus = db.create_corpus("c", tokenizer="words")
        db.execute("SET auto_compact = FALSE")
        documents: dict[int, Record] = {}
        for load in loads:
            corpus.append(load)
            documents.update(enumerate(load, start=len(documents)))
        documents = copy.deepcopy(documents)
        versions = {db.execute("SHOW VERSIONS").fetchall()[-1][0]: copy.deepcopy(documents)}
        for _ in range(data.draw(st.integers(1, 4))):
            step = data.draw(st.sampled_from(["update", "update", "update", "delete", "compact", "restore"]))
            if step == "update":
                update(data, db, corpus, documents)
            elif step == "delete":
                gone = [doc for doc, record in documents.items() if record["text"] == "a"]
                assert corpus.delete('"a" AND length = 1') == len(gone)
                for doc in gone:
                    del documents[doc]
            elif step == "compact":
                db.execute("COMPACT")
            else:
                version = data.draw(st.sampled_from(sorted(versions)))
                corpus.restore(version)
                documents = copy.deepcopy(versions[version])
            versions[db.execute("SHOW VERSIONS").fetchall()[-1][0]] = copy.deepcopy(documents)
            found = {
                doc: {"text": r["text"], **corpus.document(doc).metadata} for doc, r in documents.items()
            }
            assert plain(found) == plain(documents)
            assert corpus.n_documents == len(documents)
        assert db.execute("CHECK").fetchall() == []


def update(data: Any, db: ngramdb.Connection, corpus: ngramdb.Corpus, documents: dict[int, Record]) -> None:
    """Run an update on the corpus and on the dictionaries; it may also be invalid."""
    known = [one for one in EXPRESSIONS if has(documents, one[1])]
    targets = data.draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3, unique=True))
    chosen = {target: data.draw(st.sampled_from(known)) for target in targets}
    removed = data.draw(st.sampled_from(["", "n", "lang", "meta", "mixed"]))
    is_free = not any(target == removed or target.startswith(f"{removed}.") for target in chosen)
    if is_free and has_within(documents, removed):
        chosen[removed] = ("NULL", "", lambda *_: None)
    where, _, meets = data.draw(st.sampled_from([one for one in CONDITIONS if has(documents, one[1])]))
    assignments = ", ".join(f"{target} = {one[0]}" for target, one in chosen.items())
    met = {doc: record for doc, record in documents.items() if meets(doc, record)}
    if data.draw(st.booleans()):
        n_documents = corpus.update(assignments, where)
    else:
        clause = "" if where is None else f" WHERE {where}"
        n_documents = db.execute(f"UPDATE c SET {assignments}{clause}").fetchall()[0][0]
    assert n_documents == len(met)
    for doc, record in met.items():
        before = copy.deepcopy(record)
        for target, (_, _, compute) in chosen.items():
            placed(record, tuple(target.split(".")), compute(doc, before))


@pytest.fixture
def corpus() -> Any:
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append([{"text": "a b", "n": 1, "a\\.b": 2}, {"text": "b", "length": 5, "lang": "en"}])
        yield corpus


def test_values_of_a_dict_are_taken_as_they_are(corpus: ngramdb.Corpus) -> None:
    assert corpus.update({"lang": "n'; x", "meta.k": 2.5, "ok": False, "n": None}, "n > ?", params=[0]) == 1
    assert corpus.document(0).metadata == {"a\\.b": 2, "lang": "n'; x", "meta": {"k": 2.5}, "ok": False}
    assert corpus.update("lang = ? -- a comment", "lang = ?", params=["de", "en"]) == 1
    assert corpus.document(1).metadata == {"length": 5, "lang": "de"}


def test_fields_with_names_of_columns_are_those_of_the_metadata(corpus: ngramdb.Corpus) -> None:
    assert corpus.update("metadata.length = metadata.length / 5, metadata.text = length") == 2
    assert [corpus.document(i).metadata.get("length") for i in (0, 1)] == [None, 1]
    assert [corpus.document(i).metadata["text"] for i in (0, 1)] == [2, 1]


def test_a_field_that_no_document_has_any_more_is_known(corpus: ngramdb.Corpus) -> None:
    corpus.update("n = NULL")
    assert corpus.count_docs("n IS NULL") == 2
    corpus.compact()
    assert corpus.count_docs("n IS NULL") == 2


def test_nothing_is_committed_if_no_document_meets_the_condition(corpus: ngramdb.Corpus) -> None:
    before = corpus.update("m = 1", "n = 1"), corpus.document(0).metadata
    assert corpus.update("m = 2", "n > 5") == 0
    assert (1, corpus.document(0).metadata) == before


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({}, InvalidArgument, "a dict of values"),
        (3, InvalidArgument, "a dict of values"),
        ({"n": [1]}, InvalidArgument, "n must be a str, a finite number, a bool or None"),
        ({"n": float("inf")}, InvalidArgument, "finite"),
        ({3: 1}, InvalidArgument, "paths of fields as keys, not 3"),
        ("n = 1; DROP CORPUS c", InvalidArgument, "without a condition"),
        ("n = 1 WHERE n = 1", InvalidArgument, "without a condition"),
        ("n = 1, n = 2", PlanError, "n cannot be set twice"),
        ("m = 1, m.k = 2", PlanError, "m and m.k, one inside the other,"),
        ("doc_id = 1", PlanError, "doc_id is not a metadata field"),
        ("m = nn", BindError, "no document has a field 'nn'"),
        ("m = NULL", BindError, "no document has a field 'm'"),
        ("m = lang / 2", PlanError, "only numbers can be divided"),
        ("n.k = 1", (InvalidArgument, ExecutionError), "n has values that are not objects"),
    ],
)
def test_what_cannot_be_set(corpus: ngramdb.Corpus, fields: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        corpus.update(fields)
    assert corpus.document(0).metadata == {"n": 1, "a\\.b": 2}
