"""Queries on reference corpora: each column and each total."""

from __future__ import annotations

import math

import pytest
from support.reference import ReferenceCatalog, ReferenceCorpus

from ngramdb.errors import PlanError
from ngramdb.language.parser import parse_statement
from ngramdb.questions.binder import make_plan
from ngramdb.questions.document_columns import Fields, value_at
from ngramdb.questions.plans import answer, is_question

CORPUS = ReferenceCorpus.of(["a b a b", "a b c", ""], ["b a"], ["c"])


def asked(text, corpus=CORPUS, disabled=()):
    catalog = ReferenceCatalog({"letters": corpus}, disabled=frozenset(disabled))
    return answer(make_plan(parse_statement(text), catalog))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('COUNT "a b"', [(3,)]),
        ('COUNT ""', [(10,)]),
        ('COUNT "a b a b a"', [(0,)]),
        ('COUNT "xyz"', [(0,)]),
        ("COUNT DOCS", [(5,)]),
        ('COUNT DOCS WHERE "b" AND NOT "c"', [(2,)]),
        ('PROB "b" GIVEN "a"', [(0.75, 3, 4, 2, False)]),
        ('PROB "b a" GIVEN "a"', [(0.75 * (1 / 3), 1, 3, 3, False)]),
        ('PROB "c" GIVEN "b a"', [(0.0, 0, 2, 3, False)]),
        ('PROB "c a" GIVEN "b a"', [(0.0, 0, 2, 3, False)]),
        ('PROB "a" GIVEN "c c"', [(None, 0, 0, 3, False)]),
        ('PROB "a" GIVEN "c c b" USING NGRAM ORDER 2', [(0.5, 2, 4, 2, False)]),
        ('PROB "a" GIVEN "c c b" USING INFGRAM', [(0.5, 2, 4, 2, False)]),
        ('PROB "a" GIVEN ""', [(0.4, 4, 10, 1, False)]),
        ('PROB "xyz" GIVEN "a"', [(0.0, 0, 4, 2, False)]),
        ('PROB "a" GIVEN "xyz" USING INFGRAM', [(0.4, 4, 10, 1, False)]),
        ('DIST GIVEN "b"', [("a", 0, 2, 0.5), ("c", 2, 1, 0.25), (None, None, 1, 0.25)]),
        ('DIST GIVEN "b" TOP 1', [("a", 0, 2, 0.5)]),
        ('DIST GIVEN "b" TOP 0', []),
        ('DIST GIVEN "c c"', []),
        ('DIST GIVEN "xyz"', []),
        ('DIST GIVEN "c"', [(None, None, 2, 1.0)]),
    ],
)  # fmt: skip
def test_answers(text, rows):
    for disabled in ((), ("fold_unknown_words", "cut_context")):
        result = asked(text, disabled=disabled)
        assert result.fetchall() == rows
        assert result.n_rows == len(rows)


def test_an_empty_corpus_has_natural_empty_answers():
    for empty in (ReferenceCorpus([]), ReferenceCorpus.of([""])):
        assert asked('COUNT ""', empty).fetchall() == [(0,)]
        assert asked('PROB "a" GIVEN ""', empty).fetchall() == [(None, 0, 0, 1, False)]
        assert asked('PROB "a" GIVEN "b" USING INFGRAM', empty).fetchall() == [(None, 0, 0, 1, False)]
        assert asked('DIST GIVEN ""', empty).fetchall() == []
        assert asked('SCORE "a"', empty).fetchall() == [(0, "<unk>", 0, 1, 0, 0, None, None, False)]
        assert asked('DOCS WHERE "a"', empty).fetchall() == []


def test_score_has_a_row_per_token_and_totals():
    result = asked('SCORE "a b xyz c c"')
    rows = result.fetchall()
    assert " ".join(result.columns) == (
        "position token token_id effective_n count context_count prob logprob sparse"
    )
    assert rows[0] == (0, "a", 0, 1, 4, 10, 0.4, math.log(0.4), False)
    assert rows[1] == (1, "b", 1, 2, 3, 4, 0.75, math.log(0.75), False)
    assert rows[2] == (2, "<unk>", None, 3, 0, 3, 0.0, -math.inf, False)
    assert rows[3] == (3, "c", 2, 4, 0, 0, None, None, False)
    assert result.summary == {
        "tokens": 5,
        "unknown_words": 1,
        "unseen_contexts": 2,
        "zero_probabilities": 1,
        "logprob": -math.inf,
        "perplexity": math.inf,
        "perplexity_nonzero": pytest.approx(math.exp(-(math.log(0.4) + math.log(0.75)) / 2)),
    }
    assert asked('SCORE ""').fetchall() == [] and asked('SCORE ""').summary["perplexity"] is None


def test_distribution_says_what_it_is_made_of():
    result = asked('DIST GIVEN "c c a b" USING INFGRAM TOP 2')
    assert result.summary == {"total": 3, "context_count": 3, "effective_n": 3, "sparse": False}
    assert asked('DIST GIVEN "b a b"').summary["sparse"] is False  # only ever at a document's end
    assert asked('DIST GIVEN "a b a"').summary["sparse"] is True


def test_documents_have_exact_totals_under_a_limit():
    result = asked('DOCS WHERE "b" LIMIT 1 OFFSET 1')
    assert result.columns == ("doc_id", "length", "text")
    assert (result.summary, result.n_rows) == ({"total": 3}, 1)
    assert result.fetchall() == [(1, 3, "a b c")]
    assert [row[0] for row in asked('DOCS WHERE "b" ORDER BY doc_id DESC')] == [3, 1, 0]
    assert [row[0] for row in asked("DOCS LIMIT 2 OFFSET 4")] == [4]
    assert asked("DOCS LIMIT 2 OFFSET 9").fetchall() == []
    assert asked("DOCS LIMIT 0").summary == {"total": 5}


def test_texts_are_read_with_their_rows_only():
    corpus = ReferenceCorpus.of(["a"] * 200, ["a"] * 200)
    result = asked("DOCS LIMIT 300", corpus)
    texts = [segment.calls for segment in corpus.segments]
    assert [calls["text"] for calls in texts] == [0, 0]
    result.fetchone()
    assert 0 < texts[0]["text"] < 50 and texts[1]["text"] == 0


def test_metadata_become_columns_in_the_order_of_their_first_appearance():
    corpus = ReferenceCorpus.of(["a", "b"], ["c"])
    corpus.segments[0]._metadata = [{"year": 1999}, {"text": "own", "m": {"x": [1, 2]}}]
    corpus.segments[1]._metadata = [{"lang": "en", "year": 2000}]
    result = asked("DOCS", corpus)
    assert result.columns == ("doc_id", "year", "metadata.text", "m", "lang", "length", "text")
    assert result.fetchall() == [
        (0, 1999, None, None, None, 1, "a"),
        (1, None, "own", {"x": [1, 2]}, None, 1, "b"),
        (2, 2000, None, None, "en", 1, "c"),
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", None),
        ("a.b", 1),
        (r"a.c\.d.e", None),
        ("a.b.x", None),
        ("z", None),
        ("m", {"k": [1]}),
        ("n", None),
    ],
)
def test_values_are_found_by_path(path, expected):
    values = {"a": {"b": 1, "c.d": {"e": None}}, "m": {"k": [1]}, "n": {"k": 1}}
    fields = Fields({"a.b": ["int64"], "m": ["json"], "n": ["json"], "n.k": ["int64"], "nk": ["json"]})
    assert value_at(values, path, fields) == expected


def test_only_questions_are_answered_without_a_session():
    catalog = ReferenceCatalog({"letters": CORPUS})
    plan = make_plan(parse_statement("DROP CORPUS letters"), catalog)
    assert not is_question(plan)
    with pytest.raises(PlanError, match="drop corpus letters is not a query"):
        answer(plan)
