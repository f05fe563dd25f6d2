"""COPY of a statement that removes: the ranges, applied to the texts, give the texts after the removal."""

from __future__ import annotations

import json
import struct

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import BindError, ExecutionError, PlanError

WORDS = ("the", "naïve", "日本", "fox", "fox.", "\n", "é")
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def applied(text, ranges):
    for start, stop in reversed(ranges):
        text = text[:start] + text[stop:]
    return text


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ranges_of_google(path, contents):
    """The ranges of each document, as finish_dedup_wiki40b.py finds them in the file of load_dataset.py."""
    lines = path.read_text().splitlines()
    assert lines[0] == "out"
    ranges = [tuple(map(int, line.split())) for line in lines[1:]]
    file, bounds = b"", []
    for k, content in enumerate(contents, start=1):
        begin = len(file) + 6
        file += b"\xff\xff" + struct.pack("<I", k) + content
        bounds.append((begin, len(file)))
    return [
        [(start - first, stop - first) for start, stop in ranges if first <= start < last]
        for first, last in bounds
    ]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(texts, min_size=1, max_size=4), min_size=1, max_size=3),
    st.sets(st.integers(0, 11), max_size=3),
    st.sampled_from(["words", "chars", "bytes"]),
    st.sampled_from(
        [
            "CUT DUPLICATES LENGTH >= 2",
            "CUT DUPLICATES LENGTH >= 3 KEEP NONE GAP SHARE 0.5 MIN REST 0.3",
            "CUT DUPLICATES LENGTH >= 2 ON WORDS MAX PIECES 2",
            'CUT SPANS WHERE "fox" CONTEXT 1',
            "CUT SPANS WHERE TEXT ~ /o?x\\.?/",
            'DELETE DOCS WHERE "fox"',
            "DELETE DUPLICATES NORMALIZE SPACE",
            "DELETE NEAR DUPLICATES CONTAINED >= 0.5 NGRAM 1 WORDS",
            "DECONTAMINATE AGAINST 'EXAM' BY gpt3(2) WHERE doc_id > 0 DELETE",
        ]
    ),
)
def test_ranges_give_the_texts_after_the_removal(tmp_path_factory, pieces, gone, tokenizer, statement):
    folder = tmp_path_factory.mktemp("files")
    (folder / "exam.txt").write_text("the fox\n")
    statement = statement.replace("EXAM", str(folder / "exam.txt"))
    with ngramdb.connect() as db:
        db.execute("SET auto_compact = FALSE")
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        for piece in pieces:
            first = corpus.n_documents
            corpus.append([{"text": text, "id": f"d{first + k}"} for k, text in enumerate(piece)])
        if gone:
            corpus.delete("doc_id IN ?", params=[sorted(gone)])
        before = {row[0]: row[1] for row in db.execute("DOCS RETURNING id, text").fetchall()}
        for name in ("dolma", "bsade", "google"):
            db.execute(f"COPY ({statement}) TO ? (FORMAT {name})", [str(folder / name)])
        db.execute(f"COPY ({statement}) TO ?", [str(folder / "table.parquet")])
        version = db.version
        db.execute(statement)
        after = {row[0]: row[1] for row in db.execute("DOCS RETURNING id, text").fetchall()}
        assert db.version > version or after == before

    dolma = {one["id"]: next(iter(one["attributes"].values())) for one in read(folder / "dolma")}
    assert list(dolma) == list(before)  # one line per document, in order
    found = {name: applied(before[name], [span[:2] for span in spans]) for name, spans in dolma.items()}
    assert {name: text for name, text in found.items() if name in after or text} == after

    bsade = read(folder / "bsade")
    assert {one["id"]: one["text"] for one in bsade} == before
    contents = [before[one["id"]].encode() for one in bsade]
    of_bytes = [one["sa_remove_ranges"] for one in bsade]
    cut = [applied(content, ranges).decode() for content, ranges in zip(contents, of_bytes, strict=True)]
    assert cut == list(found.values())
    assert ranges_of_google(folder / "google", contents) == [list(map(tuple, one)) for one in of_bytes]

    rows = pyarrow.parquet.read_table(folder / "table.parquet").to_pylist()
    if statement.startswith(("DELETE", "DECONTAMINATE")):
        assert [row["id"] for row in rows] == [name for name in before if name not in after]
    else:
        names = list(before)
        for unit, ranges in (("", [dolma[name] for name in names]), ("_byte", of_bytes)):
            told = [[row["id"], row[f"start{unit}"], row[f"stop{unit}"]] for row in rows]
            assert told == [[n, *span[:2]] for n, spans in zip(names, ranges, strict=True) for span in spans]


def test_options_and_refusals(tmp_path):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "a b", "n": 7, "source": "web"}, {"text": "a b", "url": "u"}])
        path = tmp_path / "x.jsonl"
        copy = "COPY (DELETE DUPLICATES) TO ?"
        done = db.execute(f"{copy} (FORMAT dolma, ATTRIBUTE 'seen', ID doc_id)", [str(path)])
        assert done.summary == {"rows": 2, "documents": 1, "ranges": 1}
        assert read(path) == [
            {"id": "0", "source": "web", "attributes": {"seen": []}},
            {"id": "1", "attributes": {"seen": [[0, 3, 1.0]]}},
        ]
        db.execute(copy, [str(path)])
        assert read(path) == [{"id": 1, "doc_id": 1}]
        assert corpus.n_documents == 2
        explained = str(db.execute(f"EXPLAIN {copy}", [str(path)]).fetchall())
        assert f"would be removed to {path}: delete duplicates" in explained
        for options, error, message in (
            ("(ID n)", ExecutionError, "document 1 has no n"),
            ("(ID wrong)", BindError, "wrong"),
            ("(SEPARATOR 1)", BindError, "separator"),
            ("(FORMAT nanogpt)", PlanError, "FORMAT"),
        ):
            with pytest.raises(error, match=message):
                db.execute(f"{copy} {options}", [str(path)])
        with pytest.raises(PlanError, match="RETURNING"):
            db.execute("COPY (DELETE DOCS WHERE n = 7 RETURNING n) TO ?", [str(path)])
        with pytest.raises(PlanError, match="FORMAT must be one of"):
            db.execute("COPY (DOCS) TO ? (FORMAT dolma)", [str(path)])
        ids = db.create_corpus("ids", tokenizer="tokens")
        ids.append([[1, 2], [1, 2]])
        db.execute("COPY (DELETE DUPLICATES FROM ids) TO ?", [str(path)])
        assert read(path) == [{"id": 1, "doc_id": 1}]
        with pytest.raises(PlanError, match="token ids without a text"):
            db.execute("COPY (DELETE DUPLICATES FROM ids) TO ? (FORMAT google)", [str(path)])
