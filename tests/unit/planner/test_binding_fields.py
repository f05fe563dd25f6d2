"""Invalid conditions on fields, groups and orders are errors with their place."""

from __future__ import annotations

import pytest

import ngramdb

DOCUMENTS = [
    ("the cat", {"year": 2001, "kind": "a", "meta": {"lang": "en"}, "tags": ["x"], "any": 1, "length": 7}),
    ("the dog", {"year": 2002, "kind": "b", "any": "one"}),
]


@pytest.fixture(scope="module")
def db():
    with ngramdb.connect() as opened:
        opened.create_corpus("c").append(DOCUMENTS)
        yield opened


@pytest.mark.parametrize(
    ("statement", "message", "column"),
    [
        ("COUNT DOCS WHERE yaer = 1", "no document has a field 'yaer'; did you mean year?", 18),
        ("COUNT DOCS WHERE zzz = 1", "no document has a field 'zzz'; known: any, doc_id, kind, length", 18),
        ("COUNT DOCS WHERE meta = 1", "'meta' is an object; its fields are meta.lang", 18),
        (
            "COUNT DOCS WHERE meta.lnag IS NULL",
            "no document has a field 'meta.lnag'; did you mean meta.lang?",
            18,
        ),
        ('COUNT "the" GROUP BY knid', "no document has a field 'knid'; did you mean kind?", 22),
        ("DOCS ORDER BY yeer", "no document has a field 'yeer'; did you mean year?", 15),
        ("COUNT DOCS WHERE year > 'abc'", "year is a number and cannot be compared with 'abc'", 25),
        (
            "COUNT DOCS WHERE year > '1990'",
            "year is a number and cannot be compared with '1990'; a number takes no quotes: write 1990",
            25,
        ),
        (
            "COUNT DOCS WHERE kind IN ('a', 2)",
            "kind is a string and cannot be compared with 2; a string takes",
            32,
        ),
        ("COUNT DOCS WHERE tags = 2", "tags is a string and cannot be compared with 2", 25),
        ("COUNT DOCS WHERE year LIKE 'a%'", "LIKE compares strings, and year is a number", 28),
        ("COUNT DOCS WHERE length = 'a'", "length is a number and cannot be compared with 'a'", 27),
        (
            'COUNT DOCS WHERE COUNT("the") > 1.5',
            "COUNT(…) must be compared with a whole number, not with 1.5",
            33,
        ),
        ("COUNT DOCS ORDER BY year", "ORDER BY needs GROUP BY: a count alone is one row", 21),
        ("COUNT DOCS TOP 3", "TOP (or LIMIT) needs GROUP BY: a count alone is one row", 16),
        (
            'COUNT "the" GROUP BY kind ORDER BY year',
            "ORDER BY takes count or a field of GROUP BY, not year",
            36,
        ),
        (
            'COUNT NOT "the"',
            "COUNT cannot begin with NOT; COUNT DOCS WHERE NOT … counts the documents without",
            7,
        ),
        (
            'COUNT year = 2001 AND "the"',
            "this is a condition on whole documents, without occurrences to count: write the n-gram first, "
            "and this after AND or WHERE",
            7,
        ),
        ("COUNT [1] MATCH TEXT", "MATCH TEXT and IGNORE CASE take text, not token ids", 7),
        (
            "DOCS WHERE text LIKE '%the cat%'",
            'text is not a metadata field; WHERE "the cat" MATCH TEXT finds documents by their text',
            12,
        ),
        (
            "DOCS WHERE NOT text = 'a \"b\"'",
            'text is not a metadata field; WHERE "a \\"b\\"" MATCH TEXT finds',
            16,
        ),
        ("DOCS WHERE text LIKE 'a%b'", 'text is not a metadata field; WHERE "…" MATCH TEXT finds', 12),
        ("DOCS WHERE text IS NULL", 'text is not a metadata field; WHERE "…" MATCH TEXT finds', 12),
        ("DOCS ORDER BY text", 'text is not a metadata field; WHERE "…" MATCH TEXT finds', 15),
        ("DOCS WHERE meta.text = 'a'", "no document has a field 'meta.text'", 12),
        ('COUNT "the" [1..2] ""', "a part of a pattern with gaps needs at least one token", 20),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_place(db, statement, message, column):
    with pytest.raises(ngramdb.QueryError) as caught:
        db.execute(statement)
    error = caught.value
    assert error.message.startswith(message)
    assert (error.line, error.column) == (1, column)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("any = 1", [0]),
        ("any = 'one'", [1]),
        ("any > 0", [0]),
        ("NOT any > 0", []),
        ("any != 1", [1]),
        ("length = 2", [0, 1]),
        ("metadata.length = 7", [0]),
        ("meta.lang = 'en'", [0]),
        ("year = 2001.0", [0]),
        ("year < 2001.5", [0]),
        ("year BETWEEN 2002 AND 2001", []),
        ("tags = 'x'", [0]),
        ("NOT tags = 'y'", [0]),
        ("tags IS NULL", [1]),
        ("kind ILIKE 'A'", [0]),
        (r"kind LIKE '\a'", [0]),
        ("doc_id = 1", [1]),
        ("doc_id IN (0, 5)", [0]),
    ],
)
def test_fields_are_compared_as_in_sql(db, where, expected):
    assert [row[0] for row in db.execute(f"DOCS WHERE {where}")] == expected


def test_fields_beyond_the_columns_are_found_in_json():
    wide = {f"f{i:03}": i for i in range(300)}
    with ngramdb.connect() as db:
        db.create_corpus("c").append([("a", wide), ("b", {"f299": "x"}), ("c", {})])
        assert [row[0] for row in db.execute("DOCS WHERE f299 = 299")] == [0]
        assert [row[0] for row in db.execute("DOCS WHERE f299 = 'x'")] == [1]
        assert [row[0] for row in db.execute("DOCS WHERE f299 IS NULL")] == [2]
        assert [row[0] for row in db.execute("DOCS WHERE metadata.f299 = 299")] == [0]
        with pytest.raises(ngramdb.BindError, match="no document has a field 'nowhere'"):
            db.execute("DOCS WHERE nowhere IS NULL")
        with pytest.raises(ngramdb.BindError, match="text is not a metadata field"):
            db.execute("DOCS WHERE text LIKE 'a%'")
        assert db.execute("COUNT DOCS GROUP BY f299").fetchall() == [(299, 1), ("x", 1), (None, 1)]


def test_any_name_is_a_field_where_there_are_no_documents():
    """A script that removes by a field may run again on what COMPACT has made of its corpus."""
    questions = {
        "COUNT DOCS WHERE n = 1": [(0,)],
        "COUNT DOCS WHERE NOT a.b LIKE 'x'": [(0,)],
        "DOCS WHERE n IN (1, 2) ORDER BY n DESC RETURNING n, m": [],
        'COUNT "one" GROUP BY YEAR(day)': [],
        "COUNT DOCS GROUP BY UNNEST(n)": [],
        'KWIC "one" ORDER BY n RETURNING n': [],
        "DELETE DOCS WHERE n = 1 RETURNING n": [],
    }
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        for state in ("new", "emptied", "compacted"):
            if state == "emptied":
                corpus.append([{"text": "one", "n": 1, "m": 2, "a": {"b": "x"}}])
                corpus.delete("n >= 0")
            elif state == "compacted":
                corpus.compact()
            for question, rows in questions.items():
                assert db.execute(question).fetchall() == rows, (state, question)
        with pytest.raises(ngramdb.BindError, match="text is not a metadata field"):
            db.execute("DOCS WHERE text LIKE 'a%'")
        corpus.append(["two"])
        with pytest.raises(ngramdb.BindError, match="no document has a field 'n'"):
            db.execute("COUNT DOCS WHERE n = 1")


def test_a_field_that_is_called_text_is_a_field_and_ids_have_no_text_to_look_for():
    with ngramdb.connect() as db:
        db.create_corpus("ids", tokenizer="tokens").append([{"ids": [1], "text": "the cat"}, [2]])
        assert db.execute("DOCS WHERE text LIKE 'the%'").fetchall() == [(0, "the cat", 1, "1")]
        db.create_corpus("none", tokenizer="tokens").append([[2]])
        with pytest.raises(ngramdb.BindError, match="no document has a field 'text'; known: doc_id, length"):
            db.execute("DOCS FROM none WHERE text = 'a'")


def test_explain_lists_the_variants_that_are_counted():
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer="bytes").append([("aA aa", {})])
        lines = [row[0] for row in db.execute('EXPLAIN COUNT "aa" MATCH TEXT IGNORE CASE')]
    assert [line.split("  ")[0] for line in lines[2:3]] == ['└─ occurrences of "aa" MATCH TEXT IGNORE CASE']
    assert [line.strip() for line in lines[3:5]] == ['"a" "A" [97, 65]: 1', '"a" "a" [97, 97]: 1']
