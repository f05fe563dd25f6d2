"""Patterns over tokens as arguments of verbs."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from support.nested_patterns import LEVELS

import ngramdb
from ngramdb.errors import InvalidArgument, ParseError, PhraseWarning, PlanError
from ngramdb.language.parts import MAX_DEPTH


@pytest.fixture(scope="module")
def corpus() -> Iterator[ngramdb.Corpus]:
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append(["time flies like an arrow", "fruit flies like a banana", "time flies when you read a book"])
        yield c


FLYING = ngramdb.pattern('("time" | "fruit") "flies" *{0,1} /an?/')


def test_every_verb_takes_a_pattern(corpus: ngramdb.Corpus) -> None:
    assert corpus.count(FLYING) == 2
    assert [row[3] for row in corpus.kwic(FLYING)] == ["time flies like an", "fruit flies like a"]
    assert corpus.kwic(FLYING, "doc_id > 0", window=0).summary["total"] == 1
    assert corpus.collocates(ngramdb.pattern("/fl.*/"), window=(0, 1), top=1).fetchall()[0][0] == "like"
    assert corpus.dispersion(FLYING).fetchall()[0][:2] == (2, 2)
    assert corpus.ngrams(3, containing=ngramdb.pattern('"flies" * /an?/')).fetchall() == [
        ("flies like an", [1, 2, 3], 1),
        ("flies like a", [1, 2, 6], 1),
    ]
    assert corpus.count_docs('("a" | "an") AND NOT /.*nana/') == 2


def test_a_text_is_an_ngram_and_no_pattern(corpus: ngramdb.Corpus) -> None:
    with pytest.warns(PhraseWarning, match=r"for a pattern use ngramdb\.pattern\(…\)"):
        assert corpus.count('"flies" * "an"') == 0
    assert corpus.count(ngramdb.pattern('"flies" * "an"')) == 1


def test_an_ngram_may_be_a_pattern_of_one_part(corpus: ngramdb.Corpus) -> None:
    assert corpus.count(ngramdb.pattern('"flies like"')) == 2
    assert corpus.count(ngramdb.pattern('"a" [0..3] "book"')) == 1


def test_values_take_the_place_of_parameters(corpus: ngramdb.Corpus) -> None:
    assert corpus.count(ngramdb.pattern("? * ?", ["flies", "an"])) == 1
    assert corpus.count(ngramdb.pattern(":first * :last", {"first": [1], "last": "an"})) == 1
    # Special characters in a value have no meaning.
    assert corpus.count(ngramdb.pattern('? * "an"', ['" | "b'])) == 0
    assert ngramdb.pattern(":a * :b -- c", {"b": 'x"y', "a": [1]}).text == '[1] * "x\\"y" -- c'
    for params in (None, ["a"], ["a", "b", "c"]):
        with pytest.raises(PlanError):
            ngramdb.pattern("? * ?", params)


def test_case_may_be_ignored_in_all_of_it(corpus: ngramdb.Corpus) -> None:
    loud = ngramdb.pattern('("TIME" | "FRUIT") /FL.*/')
    assert corpus.count(loud) == 0
    assert corpus.count(loud, ignore_case=True) == 3
    piece = ngramdb.pattern('"lie"')
    assert corpus.count(piece, match_text=True) == corpus.count("lie", match_text=True) > 0
    assert corpus.kwic(loud, ignore_case=True).summary["total"] == 3


def test_mistakes_are_named(corpus: ngramdb.Corpus) -> None:
    with pytest.raises(ParseError, match="unterminated character set"):
        ngramdb.pattern("/wom[ae/")
    with pytest.raises(ParseError, match="the pattern is not complete"):
        ngramdb.pattern('("a" |')
    with pytest.raises(ParseError):
        ngramdb.pattern('"a" AND "b"')
    with pytest.raises(InvalidArgument, match="a pattern must be text"):
        ngramdb.pattern(["a"])  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="can match without any token"):
        corpus.count(ngramdb.pattern('"a"{0,1}'))


def test_it_is_a_value() -> None:
    assert repr(FLYING) == """ngramdb.pattern('("time" | "fruit") "flies" *{0,1} /an?/')"""
    assert pickle.loads(pickle.dumps(FLYING)) == FLYING
    assert len({FLYING, ngramdb.pattern(FLYING.text)}) == 1


def test_removed_documents_are_not_matched(corpus: ngramdb.Corpus) -> None:
    with ngramdb.connect() as db:
        c = db.create_corpus("d")
        c.append(["a b", "a c", "b b"])
        c.delete('/[ab]/ "b"')
        assert c.count(ngramdb.pattern("/[ab]/ *")) == 1
        assert [row[:2] for row in c.kwic(ngramdb.pattern("* *"))] == [(1, 0)]


def test_a_database_that_grew_has_the_new_words() -> None:
    with ngramdb.connect() as db:
        c = db.create_corpus("e")
        c.append(["one two"])
        assert c.count(ngramdb.pattern("/t.*/")) == 1
        c.append(["three two"])
        assert c.count(ngramdb.pattern("/t.*/")) == 3


def test_words_in_lower_case_are_words() -> None:
    with ngramdb.connect() as db:
        c = db.create_corpus("f", tokenizer="words(lower)")
        c.append(["Time flies", "time FLIES on", "Café x"])
        wanted = ['"FL" PREFIX', "/ti.*/", "/TI.*/ IGNORE CASE", '("TIME" | "x") "Flies"{1,2}']
        assert [c.count(ngramdb.pattern(text)) for text in wanted] == [2, 2, 2, 2]
        assert c.count(ngramdb.pattern('"CAFE" IGNORE DIACRITICS')) == 1


@pytest.mark.parametrize("window", [("sentence", 1), (1, "sentence"), ("sentence", "sentence")])
def test_a_side_of_a_window_is_a_number(corpus: ngramdb.Corpus, window: Any) -> None:
    with pytest.raises(ngramdb.InvalidArgument, match="window must be a whole number"):
        corpus.collocates("flies", window=window)


@pytest.mark.parametrize(("opening", "closing", "size"), LEVELS)
@pytest.mark.parametrize(
    "statement",
    [
        "COUNT {}",
        "KWIC {}",
        "COUNT DOCS WHERE COUNT({}) > 1 AND NOT {}",
        "EXPLAIN COUNT {} GROUP BY FORM",
        "COLLOCATES OF {}",
        "DISPERSION OF {}",
        "NGRAMS 2 CONTAINING {}",
    ],
)
def test_patterns_nested_up_to_the_limit_are_answered(
    statement: str, opening: str, closing: str, size: int
) -> None:
    n = MAX_DEPTH // size
    nested = opening * n + '"a"' + closing * n
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a a a"])
        db.execute(statement.format(nested, nested)).fetchall()


@pytest.mark.parametrize("params", [[[-1]], [[0, -1]], ["house"], None])
def test_copies_have_the_original_text_and_parameters(params: Any) -> None:
    made = ngramdb.pattern('? "a"' if params else '"a" *', params)
    copied = pickle.loads(pickle.dumps(made))
    assert (copied, copied.text, copied.given) == (made, made.text, made.given)


@pytest.mark.parametrize(
    "expression", ["fl(y|ies)", "a/b", r"a\/b", r"\\/b", "a b", "B", '"', "\n", "\r", "\0", "é+", "'"]
)
def test_an_expression_over_texts_is_a_parameter_of_a_pattern(expression: str) -> None:
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append(["flies fly", "a/b \\/b", "a b \"b\" 'b'", "ab\néé\r\0"])
        for clause in ("", " IGNORE CASE"):
            pattern = ngramdb.pattern(f"TEXT ~ ?{clause}", [expression])
            expected = db.execute(f"COUNT TEXT ~ ?{clause} FROM c", [expression]).fetchone()
            assert (c.count(pattern),) == expected
            assert c.count(ngramdb.pattern(pattern.text)) == expected[0]
    for wrong in (5, [1], None):
        with pytest.raises(ngramdb.errors.InvalidArgument, match="regular expression as a str"):
            ngramdb.pattern("TEXT ~ ?", [wrong])
    with pytest.raises(ngramdb.ParseError, match="invalid regular expression"):
        ngramdb.pattern("TEXT ~ ?", ["("])
