"""`TEXT ~` against Python's `re`, under several tokenizers, on segments of broken documents."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected

import ngramdb
from ngramdb.errors import PlanError

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

characters = st.sampled_from([*"abAB1 .\n", "é", "e\u0301", "日", "本", "🎉", "ſ", "ß"])
texts = st.lists(characters, max_size=12).map("".join)
pieces = st.lists(texts.filter(str.strip), min_size=1, max_size=3)
segments = st.lists(st.lists(pieces, min_size=1, max_size=5), min_size=1, max_size=3)
EXPRESSIONS = [
    "a",
    "ab|b1|日本",
    r"\bA\w",
    r"(?i)s+",
    r"[ab]{2,3}",
    r"a.*?b",
    r"(?s)a.b",
    r"(?m)^[^ ]|\d$",
    r"\s\S",
    r"é|e\u0301",
    r"x*",
    r"$",
]


def matches(documents, expression):
    """The matches of each document, by its number: the text of each, in order; none crosses a break."""
    found = {}
    for number, document in enumerate(documents):
        each = [match for piece in document for match in re.finditer(expression, piece)]
        if each:
            found[number] = [match[0] for match in each if match[0]]
    return found


@EXAMPLES
@given(segments, st.sampled_from(EXPRESSIONS), st.sampled_from(["words", "chars", "bytes"]))
def test_documents_and_matches_are_those_of_re(segments, expression, tokenizer):
    with connected(tokenizer) as db:
        for segment in segments:
            append_broken(db, [(document, {}) for document in segment])
        every = [document for segment in segments for document in segment]
        expected = matches(every, expression)

        def answer(statement):
            return db.execute(statement, [expression]).fetchall()

        assert answer("DOCS WHERE TEXT ~ ? RETURNING doc_id") == [(number,) for number in expected]
        assert answer("COUNT DOCS WHERE NOT TEXT ~ ?") == [(len(every) - len(expected),)]
        assert answer("COUNT TEXT ~ ?") == [(sum(map(len, expected.values())),)]
        lines = [(number, match) for number, each in expected.items() for match in each]
        assert [(line[0], line[3]) for line in answer("KWIC TEXT ~ ? LIMIT 1000")] == lines


@EXAMPLES
@given(segments, st.sampled_from(EXPRESSIONS), st.sampled_from(["chars", "bytes"]))
def test_matches_are_cut_out_of_documents(segments, expression, tokenizer):
    with connected(tokenizer) as db:
        for segment in segments:
            append_broken(db, [(document, {}) for document in segment])
        every = [document for segment in segments for document in segment]
        left = ["".join(re.sub(expression, "", piece) for piece in document) for document in every]
        db.execute("CUT SPANS WHERE TEXT ~ ?", [expression])
        assert dict(db.execute("DOCS RETURNING doc_id, text").fetchall()) == {
            number: text for number, text in enumerate(left) if text
        }


def test_white_space_between_words_is_not_cut():
    with connected("words") as db:
        append_broken(db, [(["a  b", "c\n"], {}), ([" \n"], {}), (["d .. e"], {})])
        (row,) = db.execute(r"CUT SPANS WHERE TEXT ~ /\s+|\.\s/").fetchall()
        assert row[:3] == (1, 0, 1)
        texts = dict(db.execute("DOCS RETURNING doc_id, text").fetchall())
        assert texts == {0: "a  bc\n", 1: " \n", 2: "d . e"}


def test_white_space_between_words_is_refused():
    with connected("words") as db:
        append_broken(db, [(["a b"], {})])
        for pattern in ('" " MATCH TEXT', '"a" OR "  " MATCH TEXT', '" " MATCH TEXT AND "b"'):
            with pytest.raises(PlanError, match="white space between tokens, which cannot be cut"):
                db.execute(f"CUT SPANS WHERE {pattern}")
        assert db.execute('CUT SPANS WHERE " b" MATCH TEXT').fetchall()[0][2] == 1


@pytest.mark.filterwarnings("error")
def test_a_note_tells_that_all_texts_are_read():
    with connected("words") as db:
        append_broken(db, [(["write to a@b.org"], {}), (["nothing"], {})])
        for statement in ("COUNT TEXT ~ ?", "KWIC TEXT ~ ?", "DOCS WHERE doc_id = 0 AND TEXT ~ ?"):
            note = db.execute(statement, [r"\w+"]).summary["note"]
            assert note.startswith(r"TEXT ~ /\w+/ has no string that the index can look up: the texts of all")
            assert "note" not in db.execute(statement, [r"write \w+"]).summary
        assert db.corpus("c").count(ngramdb.pattern(r"TEXT ~ /\w+/")) == 6


def test_expressions_are_patterns_of_verbs():
    with connected("words") as db:
        append_broken(db, [(["write to a@b.org", "or call 555 555-1234 now"], {}), (["nothing"], {})])
        corpus = db.corpus("c")
        email, phone = ngramdb.pattern("TEXT ~ EMAIL"), ngramdb.pattern(r" text ~ /\d{3}-\d+/")
        assert corpus.count(email) == corpus.count(phone) == 1
        assert [row[3] for row in corpus.kwic(email)] == ["a@b.org"]
        with pytest.raises(PlanError, match="stands alone"):
            corpus.count(email, ignore_case=True)
        corpus.cut_spans(phone)
        assert corpus.count(phone) == 0
        assert corpus.count("call 555") == 1
