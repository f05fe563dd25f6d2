"""Texts without tokens, and invalid token ids."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb import InvalidArgument, PlanError


@pytest.fixture
def poems(db):
    corpus = db.create_corpus("poems")
    corpus.append([{"text": "roses are red\nviolets", "year": 1}, "are blue"])
    return corpus


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ('COUNT "\\n"', 7),
        ('COUNT " "', 7),
        ('COUNT "\\n" IGNORE CASE', 7),
        ('COUNT "\\n" MATCH TOKENS', 7),
        ('COUNT "are" AND " "', 17),
        ('COUNT " " OR "are"', 7),
        ('COUNT "are" AND " " WITHIN 3 TOKENS', 17),
        ('COUNT "are" [0..1] " "', 20),
        ('COUNT " " GROUP BY year', 7),
        ('COUNT "are" WHERE NOT "\\t"', 23),
        ('COUNT DOCS WHERE "\\n"', 18),
        ('DOCS WHERE COUNT(" ") > 1', 18),
        ('DELETE DOCS WHERE "\\n"', 19),
        ('NGRAMS 2 WHERE "\\n"', 16),
        ('KWIC "\\n"', 6),
        ('EXPLAIN COUNT "\\n"', 15),
    ],
)
def test_a_text_without_a_token_is_no_empty_ngram_and_can_be_matched_as_text(db, poems, statement, column):
    with pytest.raises(PlanError, match=r"has no token under the corpus's tokenizer") as caught:
        db.execute(statement)
    assert caught.value.column == column
    text = statement[caught.value.start : caught.value.stop]
    assert caught.value.message.endswith(f"; {text} MATCH TEXT finds it in the documents' text")
    assert poems.n_documents == 2


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ('PROB " " GIVEN "are"', 6),
        ('PROB "are" GIVEN " "', 18),
        ('DIST GIVEN "\\n"', 12),
        ('GENERATE GIVEN " " TOKENS 3', 16),
    ],
)
def test_a_context_without_a_token_is_no_empty_context(db, poems, statement, column):
    with pytest.raises(PlanError, match=r'has no token .*; the empty n-gram is ""') as caught:
        db.execute(statement)
    assert caught.value.column == column


def test_a_parameter_without_a_token_says_which_it_is(db, poems):
    with pytest.raises(PlanError, match=r'^parameter 2: " " has no token'):
        db.execute("COUNT ? AND ? WITHIN 2 TOKENS", ["are", " "])
    with pytest.raises(PlanError, match=r'^:x: "\\n" has no token'):
        db.execute("DIST GIVEN :x", {"x": "\n"})


def test_what_may_be_empty_stays_so(db, poems):
    assert db.execute('COUNT ""').fetchall() == [(6,)] and poems.count("") == poems.count([]) == 6
    assert poems.count_many(["", "are"]).tolist() == [6, 2]
    assert db.execute('COUNT DOCS WHERE ""').fetchall() == [(2,)]
    for context in ("", []):
        assert poems.dist(context, top=1).fetchall() == [("are", 1, 2, 2 / 6)]
        assert poems.prob("are", context) == 2 / 6
    assert poems.generate("", 1) != []


def test_texts_that_are_read_token_by_token_may_have_none(db, poems):
    for statement in ('SCORE "\\n"', 'TRACE "\\n"'):
        assert db.execute(statement).fetchall() == []
    assert len(poems.score(" ")) == 0 and poems.trace(" ").fetchall() == []
    assert [len(scores) for scores in poems.score_many([" ", "are"])] == [0, 1]
    assert len(poems.match_lengths("\n")) == 0 and len(poems.trace_arrays("\n").starts) == 0
    assert poems.perplexity(["\n", "are"], document=False).n_tokens == 1


def test_verbs_refuse_a_text_without_a_token(poems):
    for ask in (
        lambda: poems.count("\n"),
        lambda: poems.kwic("\n"),
        lambda: poems.count("\n", ignore_case=True),
    ):
        with pytest.raises(InvalidArgument, match=r'"\\n" has no token .*; match_text=True finds it in the'):
            ask()
    for ask in (
        lambda: poems.prob("are", " "),
        lambda: poems.prob(" ", "are"),
        lambda: poems.dist(" "),
        lambda: poems.dist_arrays(" "),
        lambda: poems.generate(" "),
        lambda: poems.draft(" ", 2),
    ):
        with pytest.raises(InvalidArgument, match=r'" " has no token .*; the empty n-gram is ""'):
            ask()
    for ask in (
        lambda: poems.count_many(["are", " "]),
        lambda: poems.prob_many(["", " "], ["are", "are"]),
        lambda: poems.prob_many(["", ""], ["are", " "]),
    ):
        with pytest.raises(InvalidArgument, match=r'n-gram 1 \(counted from 0\): " " has no token'):
            ask()
    with pytest.raises(PlanError, match="MATCH TEXT finds it") as caught:
        poems.docs('NOT "\n"')
    assert caught.value.column == 5


def test_white_space_is_found_in_the_text(db, poems):
    assert poems.count("\n", match_text=True) == 1
    assert db.execute('COUNT "\\n" MATCH TEXT').fetchall() == [(1,)]
    assert [row[0] for row in poems.docs('"d\nv" MATCH TEXT')] == [0]
    db.execute("SET match = text")
    assert db.execute('COUNT " "').fetchall() == [(3,)]
    assert poems.count("are") == 2  # the verb itself determines what is matched


def test_notes_count_no_more_than_they_say(db, subwords):
    corpus = db.create_corpus("c", tokenizer=str(subwords))
    corpus.append([{"text": "fox", "n": 1}, {"text": "a fox", "n": 2}, {"text": "a fox", "n": 3}])
    for n in (2, 4):  # the phrase occurs, and its other form more often, but not here
        for question in (f'COUNT "fox" WHERE n = {n}', f'COUNT DOCS WHERE "fox" AND n = {n}'):
            result = db.execute(question)
            assert result.fetchall() == [(0,)]
            (note,) = result.notes
            assert '" fox"' in note and "2 times in the whole corpus; " in note and "looks for both" in note
    corpus.append([{"text": "fox", "n": 1}] * 4)  # now it is the more frequent one
    (note,) = db.execute('COUNT "fox" WHERE n = 2').notes
    assert "2 times in the whole corpus" in note
    assert not db.execute('COUNT "fox" WHERE n = 1').notes and not db.execute('COUNT "fox"').notes


def test_the_setting_holds_for_what_ngrams_contain(db, subwords):
    corpus = db.create_corpus("c", tokenizer=str(subwords))
    corpus.append(["fox foxes", "a Fox and a firefox"])
    asked = 'NGRAMS 1 CONTAINING "fox"'
    by_tokens = db.execute(f"{asked} MATCH TOKENS").fetchall()
    for setting, manner in (("text", ""), ("'text ignore case'", "IGNORE CASE")):
        expected = db.execute(f"{asked} MATCH TEXT {manner}").fetchall()
        db.execute(f"SET match = {setting}")
        assert db.execute(asked).fetchall() == expected != by_tokens
        assert db.execute("NGRAMS 1 CONTAINING ?", ["fox"]).fetchall() == expected
        assert db.execute(f"{asked} MATCH TOKENS").fetchall() == by_tokens
        assert corpus.ngrams(1, containing="fox").fetchall() == expected
        db.execute("SET match = tokens")


def test_where_white_space_is_a_token_nothing_is_refused(db, subwords):
    for tokenizer in ("chars", "bytes", str(subwords)):
        corpus = db.create_corpus("blanks", tokenizer=tokenizer)
        corpus.append(["a b\nc"])
        assert corpus.count("\n") == corpus.count(" ") == 1
        db.drop_corpus("blanks")


def test_count_matches_text_and_ignores_case_as_kwic_does(db, subwords):
    words = db.create_corpus("words")
    pieces = db.create_corpus("pieces", tokenizer=str(subwords))
    for corpus in (words, pieces):
        corpus.append(["fox and a Fox", "foxes; a fox", "FOX"])
        for options in ({}, {"match_text": True}, {"ignore_case": True, "match_text": True}):
            assert corpus.count("fox", **options) == len(corpus.kwic("fox", **options).fetchall()), options
        assert corpus.count("", match_text=True) == corpus.n_tokens
        with pytest.raises(PlanError, match="MATCH TEXT and IGNORE CASE take text, not token ids"):
            corpus.count([1], match_text=True)
    assert (words.count("fox"), words.count("fox", True), words.count("fox", ignore_case=True)) == (2, 3, 4)


# ---- token ids --------------------------------------------------------------------------------------------


def test_a_truth_value_is_no_token_id(db, poems):
    for ids in ([True], (False,), [1, True], np.array([True]), [np.True_], [2**40, True]):
        for ask in (poems.count, lambda one: poems.count_many([one, [1]]), lambda one: poems.prob(1, one)):
            with pytest.raises(InvalidArgument, match=r"integers?, not (of type )?bool|outside"):
                ask(ids)
    with pytest.raises(PlanError, match="parameter 1: a token id must be an integer, not bool True"):
        db.execute("COUNT ?", [[1, True]])


@pytest.mark.parametrize("order_by", [None, "left", "right"])
def test_a_window_wider_than_any_document_is_the_whole_document(poems, order_by):
    wide = poems.kwic([1], window=2**63 - 1, order_by=order_by).fetchall()
    assert wide == poems.kwic([1], window=100, order_by=order_by).fetchall()
    assert len(wide) > 0
