"""Statements about the catalog, and EXPLAIN, as tables."""

from __future__ import annotations

import re

import pytest

import ngramdb
from ngramdb import PlanError


def test_show_corpora(wiki, db):
    db.create_corpus("ids", tokenizer="tokens")
    result = db.execute("SHOW CORPORA")
    assert result.columns == ("corpus", "current", "tokenizer", "documents", "tokens", "segments")
    assert result.fetchall() == [("ids", False, "tokens", 0, 0, 0), ("wiki", False, "words", 3, 8, 1)]


def test_show_segments(wiki, db):
    db.settings["auto_compact"] = False
    wiki.append(["more"])
    db.create_corpus("other").append(["x y"])
    rows = db.execute("SHOW SEGMENTS").to_dicts()
    assert [(row["corpus"], row["documents"], row["tokens"], row["first_doc_id"]) for row in rows] == [
        ("other", 1, 2, 0),
        ("wiki", 3, 8, 0),
        ("wiki", 1, 1, 3),
    ]
    assert all(row["bytes"] > 0 and row["sign"] == 1 for row in rows)
    assert len(db.execute("SHOW SEGMENTS FROM wiki").fetchall()) == 2


def test_show_versions(wiki, db):
    db.create_corpus("other")
    rows = db.execute("SHOW VERSIONS").to_dicts()
    assert [row["action"] for row in rows] == [
        "create database",
        "create corpus wiki",
        "append to wiki",
        "create corpus other",
    ]
    assert [row["current"] for row in rows] == [False, False, False, True]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", rows[0]["created"])
    of_wiki = db.execute("SHOW VERSIONS FROM wiki").to_dicts()
    assert [row["action"] for row in of_wiki] == ["create corpus wiki", "append to wiki"]


def test_show_settings(db):
    db.execute("SET segment_tokens = 5000")
    result = db.execute("SHOW SETTINGS")
    assert result.columns == ("name", "value", "default", "type", "description")
    rows = {row[0]: row for row in result}
    assert list(rows) == sorted(rows)
    assert {"auto_compact", "keep_versions", "memory_limit", "segment_tokens", "threads"} <= rows.keys()
    assert rows["segment_tokens"][1:4] == ("5000", "4294967294", "integer")
    assert rows["progress"][1] == "true" and all(row[4] for row in rows.values())


def test_describe(wiki, db):
    rows = dict(db.execute("DESCRIBE wiki").fetchall())
    assert rows.pop("bytes") > 0
    assert rows == {
        "corpus": "wiki",
        "tokenizer": "words",
        "vocabulary": 6,
        "documents": 3,
        "tokens": 8,
        "segments": 1,
        "version": 3,
        "field year": "int64",
        "field m.lang": "string",
    }


def test_describe_names_every_type_of_a_field_and_the_options(db):
    db.settings["auto_compact"] = False
    corpus = db.create_corpus("c", segment_tokens=1024)
    corpus.append([{"text": "a", "x": 1}])
    corpus.append([{"text": "a", "x": "one"}])
    rows = dict(db.execute("DESCRIBE c").fetchall())
    assert (rows["field x"], rows["option segment_tokens"]) == ("int64 or string", 1024)


def test_check_finds_nothing_in_a_sound_database(wiki, db):
    result = db.execute("CHECK")
    assert result.columns == ("corpus", "file", "offset", "problem") and result.fetchall() == []
    assert result.summary == {"problems": 0, "corpora": 1, "message": "no problems found"}


def test_check_names_corpus_and_file_of_damage(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("good").append(["a b"])
        db.create_corpus("bad").append(["a b c"])
        name = db.execute("SHOW SEGMENTS FROM bad").fetchone()[1]
    path = tmp_path / "db" / name
    content = bytearray(path.read_bytes())
    content[100] ^= 255
    path.write_bytes(content)
    with ngramdb.connect(tmp_path / "db", read_only=True) as db:
        ((corpus, file, _, problem),) = db.execute("CHECK").fetchall()
        assert corpus == "bad" and file == name and problem
        assert db.execute("CHECK good").fetchall() == []
        assert db.execute("CHECK bad").summary["problems"] == 1


def test_explain_does_not_run(db):
    db.execute("EXPLAIN CREATE CORPUS wiki")
    assert db.corpora() == []
    db.create_corpus("wiki")
    assert db.execute("EXPLAIN COPY wiki FROM '/nowhere'").fetchone() == ("load into wiki from /nowhere",)
    db.execute("EXPLAIN DROP CORPUS wiki")
    assert db.corpora() == ["wiki"]


def test_explain_analyze_of_an_action_is_refused(db):
    with pytest.raises(PlanError, match="allows queries only") as caught:
        db.execute("EXPLAIN ANALYZE CREATE CORPUS wiki")
    assert db.corpora() == [] and caught.value.text == "EXPLAIN ANALYZE CREATE CORPUS wiki"


def test_explain_analyze_measures_every_operator(wiki, db):
    result = db.execute('EXPLAIN ANALYZE DOCS WHERE "natural" AND NOT "understanding"')
    lines = [row[0] for row in result]
    assert re.search(r"actual 1 row, \d+\.\d{3} ms$", lines[0])
    assert re.search(r'contains "natural" +count 2, ~1 docs, \w+; actual 2 docs, .* ms, 1 probe,', lines[3])
    assert re.search(r'contains "understanding" +count 1, .*; actual 1 docs', lines[5])


def actual_occurrences(db, statement):
    """Return the number of occurrences found by each node according to EXPLAIN ANALYZE, from the top."""
    lines = "\n".join(line for (line,) in db.execute(f"EXPLAIN ANALYZE {statement}"))
    return [int(n) for n in re.findall(r"actual (\d+) occurrences", lines)]


def test_explain_analyze_counts_each_occurrence_once(db):
    corpus = db.create_corpus("flights")
    corpus.append(["time flies", *["flies like flies"] * 20])
    near = '"flies" AND "like" WITHIN 3 TOKENS'
    assert corpus.count("flies") == 41
    assert actual_occurrences(db, f"COUNT {near}") == [40, 20, 40]
    # All occurrences less those in the documents with "time".
    assert db.execute('COUNT "flies" AND NOT "time"').fetchone() == (40,)
    assert actual_occurrences(db, 'COUNT "flies" AND NOT "time"') == [40, 41]
    assert actual_occurrences(db, 'COUNT ("flies" OR "like") AND NOT "time"') == [60, 61, 41, 20]


def test_explain_analyze_says_what_was_never_reached(wiki, db):
    lines = [
        row[0] for row in db.execute('EXPLAIN ANALYZE DOCS WHERE "language" AND "the" AND "end natural"')
    ]
    assert sum("never reached" in line for line in lines) == 3


def test_disabled_rules_show_in_the_plan(wiki, db):
    text = 'EXPLAIN COUNT "nowhere"'
    assert "not in the vocabulary" in db.execute(text).fetchone()[0]
    db.execute("SET disabled_rules = 'fold_unknown_words'")
    assert db.execute(text).fetchall() == [
        ('count "nowhere" (1 token)',),
        ("   corpus wiki: 1 segment, 3 documents, 8 tokens",),
    ]


def test_copy_from_reports_what_it_loaded(db, tmp_path):
    db.create_corpus("c")
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a b", "n": 1}\nno json\n{"text": "c", "n": 2}\n')
    with pytest.raises(ngramdb.LoadError, match=r"x\.jsonl, line 2"):
        db.execute("COPY c FROM ?", [path])
    assert db.execute("COUNT DOCS").fetchall() == [(0,)]
    result = db.execute("COPY c FROM ? (FORMAT jsonl, LIMIT 10) ON ERROR SKIP", [str(path)])
    assert result.columns == ("documents", "tokens", "segments", "skipped", "version")
    assert result.fetchall() == [(2, 3, 1, 1, db.version)]
    assert "line 2" in result.summary["reasons"][0]
    assert db.execute("DOCS").fetchall() == [(0, 1, 2, "a b"), (1, 2, 1, "c")]


def test_copy_tells_the_connections_progress_callback(db, tmp_path):
    db.create_corpus("c")
    path = tmp_path / "x.txt"
    path.write_text("a b c")
    told = []
    db.progress = told.append
    db.execute("COPY c FROM ?", [path])
    assert told and told[-1].documents == 1 and told[-1].tokens == 3
    told.clear()
    db.execute("SET progress = FALSE; COPY c FROM :path", {"path": path})
    assert told == []
