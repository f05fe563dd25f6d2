"""Names, numbers and n-grams are bound, or refused with their place."""

from __future__ import annotations

import numpy as np
import pytest
from support.reference import ReferenceCatalog, ReferenceCorpus

from ngramdb.errors import BindError, PlanError
from ngramdb.formats import READ
from ngramdb.language.parser import parse, parse_statement
from ngramdb.lm.spec import ModelSpec
from ngramdb.patterns import Gram
from ngramdb.planner.parameters import Parameters
from ngramdb.questions.binder import Binder
from ngramdb.questions.corpora import CreateCorpus, Load
from ngramdb.questions.count_plan import CountGram

WIKI = ReferenceCorpus.of(["a b"], name="wiki")
BOOKS = ReferenceCorpus.of(["c"], name="books")


def bind(text, values=None, corpora=(WIKI,), current=None):
    catalog = ReferenceCatalog({corpus.name: corpus for corpus in corpora}, current)
    statement = parse_statement(text)
    return Binder(catalog, Parameters([statement], values, text), text).bind(statement)


def test_the_only_corpus_is_the_default():
    assert bind('COUNT "a b"') == CountGram(WIKI, Gram(np.array([0, 1]), ""))
    assert bind('COUNT "a"').corpus is WIKI


def test_current_corpus_comes_before_the_others():
    assert bind('COUNT "a"', corpora=(WIKI, BOOKS), current="books").corpus is BOOKS
    assert bind('COUNT "a" FROM wiki', corpora=(WIKI, BOOKS), current="books").corpus is WIKI


def test_a_current_corpus_that_is_gone_is_an_error_and_no_other_one_meant():
    gone = r"the current corpus, 'dropped', no longer exists. Write FROM name, or USE name once; known: "
    for corpora, known in (((WIKI, BOOKS), "books, wiki"), ((WIKI,), "wiki")):
        for text in ('COUNT "a"', 'KEYWORDS OF WHERE "a" AGAINST REST', 'DELETE DOCS WHERE "a"'):
            with pytest.raises(BindError, match=gone + known):
                bind(text, corpora=corpora, current="dropped")


def test_an_empty_database_says_how_to_begin():
    with pytest.raises(BindError, match="CREATE CORPUS"):
        bind('COUNT "a"', corpora=())


@pytest.mark.parametrize(
    ("text", "message", "column", "nearest"),
    [
        ('COUNT "a" FROM wikki', "no corpus 'wikki'; did you mean wiki?", 16, "wiki"),
        ('COUNT "a" FROM other', "no corpus 'other'; known: wiki", 16, None),
        ("DESCRIBE wik", "no corpus 'wik'; did you mean wiki?", 10, "wiki"),
        ("USE zzz", "no corpus 'zzz'; known: wiki", 5, None),
        ("DROP CORPUS Wiki", "no corpus 'Wiki'; did you mean wiki?", 13, "wiki"),
        ("CHECK wikis", "no corpus 'wikis'; did you mean wiki?", 7, "wiki"),
        ("COPY wki FROM 'x'", "no corpus 'wki'; did you mean wiki?", 6, "wiki"),
        ("SET thread = 2", "no setting 'thread'; did you mean threads?", 5, "threads"),
        ("RESET threds", "no setting 'threds'; did you mean threads?", 7, "threads"),
        ("COPY wiki FROM 'x' (fromat jsonl)", "no option 'fromat'; did you mean format?", 21, "format"),
        (
            "CREATE CORPUS x WITH (tokens 3)",
            "no option 'tokens'; did you mean segment_tokens?",
            23,
            "segment_tokens",
        ),
    ],
)
def test_misspelt_names_are_errors_that_name_the_nearest(text, message, column, nearest):
    with pytest.raises(BindError) as caught:
        bind(text)
    error = caught.value
    assert (error.message, error.line, error.column, error.nearest) == (message, 1, column, nearest)
    assert str(error).endswith("^")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('DIST GIVEN "a" USING NGRAM ORDER 0', "ORDER must be a whole number of at least 1, not 0"),
        ('PROB "" GIVEN "a"', "PROB needs a continuation of at least one token"),
        ("COPY wiki FROM 'x' (FORMAT xml)", f"FORMAT must be one of {', '.join(READ)}, not 'xml'"),
        ("COPY wiki FROM 'x' (LIMIT 'many')", "LIMIT must be a whole number, not 'many'"),
        (
            "CREATE CORPUS x WITH (segment_tokens 3)",
            "SEGMENT_TOKENS must be from 1,024 to 4,294,967,295, not 3",
        ),
    ],
)
def test_values_that_make_no_sense_are_plan_errors(text, message):
    with pytest.raises(PlanError) as caught:
        bind(text)
    assert caught.value.message == message and caught.value.column is not None


def test_parameters_may_be_text_ids_and_numbers():
    bound = bind("DIST GIVEN ? USING NGRAM ORDER ? TOP ?", ["a b", 3, np.int64(7)])
    assert (bound.context.key, bound.model, bound.top) == ((0, 1), ModelSpec("ngram", 3), 7)
    for ids in ([0, 1], (0, 1), np.array([0, 1], dtype=np.uint32)):
        assert bind("COUNT :x", {"x": ids}).gram.key == (0, 1)


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("COUNT ?", None, "no value was given for parameter 1 of 1"),
        ("PROB ? GIVEN ?", ["a"], "no value was given for parameter 2 of 2"),
        ("COUNT ?", ["a", "b"], "2 parameter values were given, but the statement has 1 placeholder"),
        ('COUNT "a"', ["a"], "1 parameter value was given, but the statement has no placeholders"),
        ("COUNT :word", {"wrod": "a"}, "no value was given for :word"),
        (
            "COUNT :word",
            {"word": "a", "wrd": 1},
            "a value was given for :wrd, which is not in the statement; did you mean :word?",
        ),
        ("COUNT :word", ["a"], ":word takes its value by name: give a dict"),
        ("COUNT ?", {"a": 1}, "? takes its value by position: give a list or a tuple, not a dict"),
        ("PROB ? GIVEN :x", ["a"], "use either ? or :name in one text, not both"),
        ("COUNT ?", "a", "parameters must be a list, a tuple or a dict, not str"),
        ("COUNT ?", [3], "parameter 1: an n-gram must be text or a sequence of token ids, not int 3"),
        ("COUNT ?", [None], "parameter 1: an n-gram must be text or a sequence of token ids, not None"),
        ("COUNT ?", [b"a"], "parameter 1: an n-gram must be text or a sequence of token ids, not bytes b'a'"),
        ("COUNT ?", [[1, "a"]], "parameter 1: a token id must be an integer, not str 'a'"),
        ("COUNT ?", [[True]], "parameter 1: a token id must be an integer, not bool True"),
        ("COUNT ?", [[1.0]], "parameter 1: a token id must be an integer, not float 1.0"),
        ("COUNT ?", [[[1], [2]]], "parameter 1: token ids must be a flat sequence, not a nested one"),
        ("COUNT ?", [[[1], [2, 3]]], "parameter 1: token ids must be a flat sequence, not a nested one"),
        ("COUNT ?", [[-2]], "parameter 1: token id -2 is outside 0 … 4294967295"),
        ("COUNT :x", {"x": [2**70]}, ":x: token id 1180591620717411303424 is outside 0 … 4294967295"),
        ("DOCS LIMIT ?", ["3"], "parameter 1: LIMIT must be a whole number of at least 0, not '3'"),
        ("DOCS LIMIT ?", [True], "parameter 1: LIMIT must be a whole number of at least 0, not True"),
        ("DOCS OFFSET ?", [-1], "parameter 1: OFFSET must be a whole number of at least 0, not -1"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_plan_errors_that_say_which(text, values, message):
    with pytest.raises(PlanError) as caught:
        bind(text, values)
    assert caught.value.message == message


def test_parameters_are_numbered_through_all_statements():
    text = "COUNT ?; COUNT ?"
    statements = parse(text)
    parameters = Parameters(statements, ["a", "b"], text)
    binder = Binder(ReferenceCatalog({"wiki": WIKI}), parameters, text)
    assert [binder.bind(statement).gram.key for statement in statements] == [(0,), (1,)]


def test_copy_and_create_take_their_options():
    load = bind(
        r"COPY wiki FROM 'x.jsonl' (FORMAT jsonl, TEXT 'body', METADATA (year, 'm.a'), LIMIT 5) ON ERROR SKIP"
    )
    assert load == Load(
        "wiki",
        ("x.jsonl",),
        {"format": "jsonl", "text": "body", "metadata": ("year", "m.a"), "limit": 5},
        skip_errors=True,
    )
    made = bind("CREATE CORPUS IF NOT EXISTS new TOKENIZER 'chars' WITH (segment_tokens = 2048)")
    assert made == CreateCorpus("new", "chars", True, {"segment_tokens": 2048})
