"""Records of removals: the statement once, the caller's reason, lists of ids as one parameter."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet
import pytest

import ngramdb
from ngramdb.engine.changes import audit


@pytest.fixture
def corpus(db):
    corpus = db.create_corpus("c")
    corpus.append([{"text": f"w{i}", "id": i, "name": f"n{i}", "half": i / 2} for i in range(300)])
    return corpus


LISTS = [
    [3, 5, 299],
    (3, 5, 299),
    np.array([3, 5, 299]),
    np.array([3, 5, 299], dtype=np.uint16),
    [3.0, 5, 299],
]


@pytest.mark.parametrize("values", LISTS, ids=str)
def test_a_list_of_values_is_one_parameter(db, corpus, values):
    assert corpus.count_docs("id IN ?", params=[values]) == 3
    assert corpus.count_docs("id NOT IN :these", params={"these": values}) == 300 - corpus.count_docs(
        "id IN (?)", params=[values]
    )
    assert corpus.count_docs(
        "doc_id IN ? OR name IN ?", params=[values, ["n1", "x"]]
    ) == 1 + corpus.count_docs("doc_id IN ?", params=[values])


def test_in_with_a_list_is_in_with_its_values(corpus):
    random = np.random.default_rng(1)
    for field, scale in (("id", 1), ("half", 0.5), ("half", 1)):
        for size in (0, 1, 2, 50):
            values = [v * scale for v in random.integers(-5, 310, size).tolist()]
            if random.random() < 0.3:
                values += [2**62 + 1, None, -0.5][: random.integers(1, 4)]
            listed = ", ".join("NULL" if v is None else str(v) for v in values) or "NULL"
            for word in ("IN", "NOT IN"):
                if not values and word == "NOT IN":
                    assert corpus.count_docs(f"{field} NOT IN ?", params=[[]]) == 300
                    continue
                expected = corpus.docs(f"{field} {word} ({listed})").fetchall()
                assert corpus.docs(f"{field} {word} ?", params=[values]).fetchall() == expected


@pytest.mark.parametrize("values", [[[1]], ["x"], {1}, [Ellipsis], np.zeros((2, 2))], ids=str)
def test_what_is_no_list_of_values_is_refused_where_it_stands(corpus, values):
    with pytest.raises(ngramdb.PlanError) as caught:
        corpus.count_docs("id IN ?", params=[values])
    assert caught.value.column == 7


def test_the_statement_is_stored_and_exported_once(db, corpus, tmp_path):
    ids = list(range(200))
    assert corpus.delete("id IN ?", params=[ids], reason="licence withdrawn") == 200
    assert corpus.delete("id IN ?", params=[np.arange(200, 250)]) == 50
    first, second = corpus.removals()
    assert first.statement == f"DELETE DOCS WHERE id IN ? -- parameter 1: {ids}"
    assert second.statement.endswith(f"parameter 1: {list(range(200, 250))}")
    assert (first.reason, second.reason) == ("licence withdrawn", "")
    stored = sum(ref.size for ref in db.snapshot.manifest.corpora["c"].audits)
    assert stored < 250 * 60 + len(first.statement) + len(second.statement) + 4000
    assert corpus.export_removals(tmp_path / "gone.jsonl") == 250
    lines = [json.loads(line) for line in (tmp_path / "gone.jsonl").read_text().splitlines()]
    assert [i for i, line in enumerate(lines) if "statement" in line["removal"]] == [0, 200]
    assert [line["doc_id"] for line in lines] == list(range(250))
    assert {line.get("reason") for line in lines[:200]} == {"licence withdrawn"}
    assert all("reason" not in line for line in lines[200:])
    assert corpus.export_removals(tmp_path / "gone.parquet") == 250
    table = pyarrow.parquet.read_table(tmp_path / "gone.parquet")
    assert table["reason"][0].as_py() == "licence withdrawn"
    rows = db.execute("SHOW REMOVALS").to_dicts()
    assert [row["reason"] for row in rows] == ["licence withdrawn", None]


def test_records_of_duplicates_and_cuts_are_complete_in_parquet(tmp_path):
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append(["a b c", "a b c", "a b c d", "x a b c d", "f g h i"])
        c.delete_duplicates(reason="copies")
        c.delete_near_duplicates(n=2, reason="a delivery")
        c.cut_spans("g h")
        c.export_removals(tmp_path / "gone.jsonl")
        c.export_removals(tmp_path / "gone.parquet")
    lines = [json.loads(line) for line in (tmp_path / "gone.jsonl").read_text().splitlines()]
    assert [(line.get("reason"), line["removal"].get("reason")) for line in lines] == [
        ("copies", None),
        ("words", "a delivery"),
        ("words", "a delivery"),
        (None, None),
    ]
    rows = pyarrow.parquet.read_table(tmp_path / "gone.parquet").to_pylist()
    for line, row in zip(lines, rows, strict=True):
        assert json.loads(row.pop("removal")) == line.pop("removal")
        assert {name: value for name, value in row.items() if value is not None} == line


def test_restored_says_how_many_removed_documents_are_back(db, corpus):
    """Wherever they are by then: restored, compacted, removed again."""

    def restored():
        return [row["restored"] for row in db.execute("SHOW REMOVALS FROM c").to_dicts()]

    corpus.delete("id < 3")
    before = db.version
    corpus.delete("id >= 3 AND id < 10")
    assert restored() == [0, 0]
    corpus.restore(before)
    assert restored() == [0, 7]
    corpus.append(["one more"])
    corpus.compact()
    assert restored() == [0, 7]
    corpus.delete("id >= 8 AND id < 12")
    assert restored() == [0, 5, 0]
    corpus.compact()
    assert restored() == [0, 5, 0]
    corpus.restore(before - 1)
    assert restored() == [3, 7, 4]


def test_a_reason_is_a_text(corpus):
    with pytest.raises(ngramdb.InvalidArgument, match="a reason must be a str"):
        corpus.delete('"w1"', reason=1)
    assert corpus.removals() == []


def test_records_of_before_are_read(db, corpus, tmp_path, monkeypatch):
    """Without a reason of the removal; each document has the statement as its own."""

    def old_fields(self):
        found = dict(vars(self))
        del found["reason"]
        return found

    with monkeypatch.context() as patched:
        patched.setattr(audit.Removal, "fields", old_fields)
        patched.setattr("ngramdb.engine.changes.removals.origin", lambda fields: {})
        patched.setattr(
            "ngramdb.questions.maintenance.notes",
            lambda view, chosen, where, costs: ({"reason": "DELETE DOCS …"} for docs in chosen for _ in docs),
        )
        corpus.delete("id < 3")
    (removal,) = corpus.removals()
    assert removal.reason == "" and removal.n_documents == 3
    assert [one.details for one in corpus.removed_documents()] == [{"reason": "DELETE DOCS …"}] * 3
    assert corpus.export_removals(tmp_path / "gone.jsonl") == 3
    assert json.loads((tmp_path / "gone.jsonl").read_text().splitlines()[2])["reason"] == "DELETE DOCS …"
    assert db.execute("CHECK").fetchall() == []


TEXTS = ["He Said, he said  that it is so; he said that.", "That is said, and that is so.", "none", "so"]
# Conditions of removals, and the patterns whose first place the record names.
MATCHED = [
    ('"said that" MATCH TEXT', ['"said that" MATCH TEXT']),
    ('"said that" MATCH TEXT IGNORE CASE', ['"said that" MATCH TEXT IGNORE CASE']),
    ('"said" [0..1] "that"', ['"said" [0..1] "that"']),
    ('/sa.d/ AND NOT "zzz"', ["/sa.d/"]),
    ('COUNT("said") > 1', ['"said"']),
    ('COUNT("said") < 2 OR "so"', ['"so"']),
    ('"said" AND "so" WITHIN 2 TOKENS', []),
    ('NOT ("none" OR "said")', []),
    ('COUNT("zzz") = 0', []),
    ("length > 3", []),
]


@pytest.mark.parametrize("tokenizer", ["words", "chars", "bytes"])
@pytest.mark.parametrize(("condition", "patterns"), MATCHED, ids=[condition for condition, _ in MATCHED])
def test_the_record_says_where_each_pattern_first_matched(db, tokenizer, condition, patterns):
    """As `occurrences` finds them; a condition met by an absence has no place."""
    corpus = db.create_corpus("c", tokenizer=tokenizer)
    for text in TEXTS:  # several segments
        corpus.append([text, f"{text} {text}"])
    expected = {}
    for pattern in patterns:
        places = corpus.occurrences(ngramdb.pattern(pattern))
        for doc_id, start in zip(places.doc_ids.tolist(), places.positions.tolist(), strict=True):
            expected[doc_id] = min(start, expected.get(doc_id, start))
    removed = {row[0] for row in corpus.docs(condition).fetchall()}
    corpus.delete(condition)
    found = {document.doc_id: document.details.get("matches", []) for document in corpus.removed_documents()}
    assert set(found) == removed
    assert {doc_id: matches[0]["position"] for doc_id, matches in found.items() if matches} == {
        doc_id: start for doc_id, start in expected.items() if doc_id in removed
    }


def test_the_record_says_where_patterns_stand_near_each_other(db):
    corpus = db.create_corpus("c")
    corpus.append(["a x x x x b x a b", "b a", "a x x x b"])
    corpus.delete('"a" AND ("b" OR "c") WITHIN 2 TOKENS')
    assert [document.details["matches"] for document in corpus.removed_documents()] == [
        [{"ngram": '"a"', "position": 7}, {"ngram": '"b"', "position": 5}],
        [{"ngram": '"a"', "position": 1}, {"ngram": '"b"', "position": 0}],
    ]


def _subtract(db, corpus, folder):
    other = db.create_corpus("other")
    other.append(["a b c", "d e f"])
    db.execute("ALTER CORPUS c SUBTRACT CORPUS other")


def _decontaminate(db, corpus, folder):
    (folder / "exam.txt").write_text("a b c\nd e f\n")
    corpus.decontaminate(folder / "exam.txt", n=3)


def _replace(db, corpus, folder):
    new = [{"text": "new", "name": {"key": 7}}, {"text": "newer", "name": {"key": "k"}}]
    assert corpus.append(new, key="name.key", on_conflict="replace").replaced == 2


def _replace_within_a_load(db, corpus, folder):
    db.execute("DELETE DOCS WHERE doc_id < 2 FROM c")
    twice = [*DOCUMENTS[:2], *({"text": "new", "name": one["name"]} for one in DOCUMENTS)]
    assert corpus.append(twice, key="name.key", on_conflict="replace").replaced == 3


WAYS = {
    "DELETE": lambda db, *_: db.execute("DELETE DOCS WHERE doc_id < 2 FROM c"),
    "DELETE of a pattern": lambda db, *_: db.execute('DELETE DOCS WHERE NOT "x" FROM c'),
    "delete": lambda db, corpus, _: corpus.delete("doc_id < 2"),
    "decontaminate": _decontaminate,
    "SUBTRACT": _subtract,
    "replace": _replace,
    "replace within a load": _replace_within_a_load,
}
DOCUMENTS = [
    {"text": "a b c", "id": "x1", "source": "s", "url": "u", "name": {"key": 7}},
    {"text": "d e f", "uuid": 2, "url": "u", "name": {"key": "k"}},
    {"text": "x", "name": {"key": "stays"}},
]


@pytest.mark.parametrize("in_segments", [1, 3])
@pytest.mark.parametrize("way", WAYS)
def test_every_removal_records_the_origin_of_its_documents(db, tmp_path, way, in_segments):
    db.settings["auto_compact"] = False
    corpus = db.create_corpus("c")
    for start in range(in_segments):
        corpus.append(DOCUMENTS[start : start + 1] if in_segments > 1 else DOCUMENTS)
    WAYS[way](db, corpus, tmp_path)
    removed = list(corpus.removed_documents())
    expected = [("x1", "s"), (2, "u")]
    assert [(one.details.get("id"), one.details.get("source")) for one in removed[:2]] == expected
    if way.startswith("replace"):
        keys = {(one.details.get("key"), one.details.get("id")) for one in removed}
        assert keys >= {(7, "x1"), ("k", 2)}
    corpus.compact()
    assert list(corpus.removed_documents()) == removed
    for name in ("gone.jsonl", "gone.jsonl.gz", "gone.parquet"):
        assert corpus.export_removals(tmp_path / name) == len(removed)
    lines = [json.loads(line) for line in (tmp_path / "gone.jsonl").read_text().splitlines()]
    table = pyarrow.parquet.read_table(tmp_path / "gone.parquet").to_pylist()
    assert [(one["id"], one["source"]) for one in lines[:2]] == expected
    assert [(one["id"], one["source"]) for one in table[:2]] == [
        (str(own), source) for own, source in expected
    ]
