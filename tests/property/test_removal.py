"""After removals a corpus answers every question as one that was loaded without the documents, before and
after compaction."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb

EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)

WORDS = "abc"
SOURCES = ["web", "book", None]

STATEMENTS = [
    'COUNT "a b"',
    'COUNT ""',
    'COUNT "zz"',
    'COUNT ("a" OR "b c")',
    'COUNT "a" AND "c"',
    'COUNT "a" AND NOT "b b"',
    'COUNT "a" AND "c" WITHIN 2 TOKENS',
    'COUNT "a" [1..2] "b"',
    'COUNT DOCS WHERE "a"',
    'COUNT DOCS WHERE NOT "a" OR "b b"',
    "COUNT DOCS WHERE source = 'web' AND length > 2",
    "COUNT DOCS WHERE source IS NULL",
    'COUNT DOCS WHERE COUNT("a") >= 2',
    'COUNT "a" GROUP BY source',
    'COUNT DOCS WHERE "b" GROUP BY source',
    'PROB "b" GIVEN "a"',
    'PROB "b c" GIVEN "a" USING INFGRAM',
    'DIST GIVEN "a b"',
    'DIST GIVEN "c c a" USING INFGRAM',
    'SCORE "a b c a b"',
    'SCORE "a b zz c a b" USING INFGRAM',
    "DOCS",
    'DOCS WHERE "a b" AND NOT "c c"',
    "DOCS WHERE n BETWEEN 3 AND 9 ORDER BY n DESC LIMIT 4",
    'KWIC "a" WINDOW 2',
    "NGRAMS 2 TOP 5",
    "NGRAMS 1 WHERE source = 'web' TOP 3",
    'TRACE "a b c a c b b a" MIN LENGTH 2',
]


@st.composite
def histories(draw):
    """Documents, where commits end, and which documents are removed in which step."""
    words = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
    documents = draw(st.lists(st.tuples(words, st.sampled_from(SOURCES)), min_size=1, max_size=14))
    # The first one stays, so that its fields are known.
    documents.insert(0, ("a b", "web"))
    n_commits = draw(st.sampled_from([1, 3, 99]))
    removed = draw(st.lists(st.sets(st.integers(1, len(documents) - 1), max_size=4), min_size=1, max_size=3))
    return documents, n_commits, removed


def append(corpus, documents, n_commits):
    size = max(1, -(-len(documents) // n_commits))
    for start in range(0, len(documents), size):
        corpus.append(
            {"text": text, "n": n, **({} if source is None else {"source": source})}
            for n, (text, source) in documents[start : start + size]
        )


def answers(db, ids):
    """The rows of every statement; ids of documents are replaced by their places in `ids`."""
    places = {doc_id: place for place, doc_id in enumerate(ids)}

    def shown(column, value):
        if column == "doc_id":
            return places[value]
        return [places[one] for one in value] if column == "doc_ids" else value

    found = {}
    for statement in STATEMENTS:
        result = db.execute(statement)
        rows = result.fetchall()
        found[statement] = [
            tuple(shown(column, value) for column, value in zip(result.columns, row, strict=True))
            for row in rows
        ]
    return found


@EXAMPLES
@given(histories(), st.booleans())
def test_every_answer_is_that_of_a_corpus_without_the_removed_documents(history, auto_compact):
    documents, n_commits, removed = history
    numbered = list(enumerate(documents))
    with ngramdb.connect() as db, ngramdb.connect() as rebuilt:
        db.execute(f"SET auto_compact = {auto_compact}")
        c = db.create_corpus("c")
        append(c, numbered, n_commits)
        # Both know the same words.
        r = rebuilt.create_corpus("c")
        r.append([" ".join(text for text, _ in documents)])
        r.delete("doc_id >= 0")
        r.compact()
        gone = set()
        for step in removed:
            gone |= step
            if step:
                c.delete(" OR ".join(f"doc_id = {i}" for i in step))
        left = [one for one in numbered if one[0] not in gone]
        append(r, left, 1)
        expected = answers(rebuilt, range(1, len(left) + 1))
        ids = [number for number, _ in left]
        assert answers(db, ids) == expected
        db.execute("CHECK c")
        c.compact()
        assert answers(db, ids) == expected
        assert len(db.snapshot.view("c").segments) <= 1
        assert db.execute("CHECK").fetchall() == []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements_of_this_test_are_questions_with_answers(statement):
    with ngramdb.connect() as db:
        db.create_corpus("c").append([{"text": "a b c a b", "n": 5, "source": "web"}])
        assert db.execute(statement).fetchall() is not None
