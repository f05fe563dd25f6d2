"""Binding KWIC, NGRAMS and TRACE: defaults, clauses, and mistakes with their place."""

from __future__ import annotations

import pytest
from support.reference import ReferenceCatalog, ReferenceCorpus

from ngramdb.errors import BindError, PlanError
from ngramdb.language.parser import parse_statement
from ngramdb.planner import plan
from ngramdb.planner.parameters import Parameters
from ngramdb.questions.binder import Binder
from ngramdb.questions.kwic import default_window
from ngramdb.questions.kwic_plan import Concordance
from ngramdb.questions.sampling import Sampling

LETTERS = ReferenceCorpus.of(["a b a", "b"])


def bind(text, values=None):
    catalog = ReferenceCatalog({"letters": LETTERS})
    statement = parse_statement(text)
    return Binder(catalog, Parameters([statement], values, text), text).bind(statement)


def test_clauses_of_kwic_are_bound():
    found = bind(
        'KWIC "a b" WHERE "b" WINDOW ? ORDER BY right DESC LIMIT 5 OFFSET 2 SAMPLE 9 SEED 3 FROM letters', [4]
    )
    assert isinstance(found, Concordance)
    assert (found.window, found.order, found.descending) == (4, "right", True)
    assert (found.limit, found.offset, found.sample) == (5, 2, Sampling(9, 3))
    assert found.label() == (
        'concordance of "a b" (window 4, right descending, sample 9, seed 3, limit 5, offset 2)'
    )


def test_missing_clauses_have_defaults():
    found = bind('KWIC "a"')
    assert (found.window, found.order, found.descending, found.limit, found.offset) == (
        10,
        "doc_id",
        False,
        None,
        0,
    )
    assert found.sample is None and found.where == plan.AllDocs()
    assert {kind: default_window(kind) for kind in ("words", "json", "tokens", "chars", "bytes")} == {
        "words": 10,
        "json": 10,
        "tokens": 10,
        "chars": 40,
        "bytes": 40,
    }


def test_a_sample_without_a_seed_gets_one():
    seeds = {bind('KWIC "a" SAMPLE 1').sample.seed for _ in range(5)}
    assert len(seeds) > 1 and all(0 <= seed < 2**31 for seed in seeds)


def test_ngrams_and_trace_are_bound():
    found = bind('NGRAMS 3 WHERE "a" TOP 7')
    assert (found.n, found.top, found.label()) == (3, 7, "3-grams by count, top 7")
    traced = bind('TRACE "a b c" MIN LENGTH 2')
    assert (traced.min_length, traced.n_documents, len(traced.gram)) == (2, 10, 3)
    assert traced.label() == "trace 3 tokens, at least 2" and bind('TRACE "a"').min_length == 1


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('KWIC ""', '""', "KWIC needs an n-gram of at least one token"),
        (
            'KWIC "a" ORDER BY rigth',
            "rigth",
            "no document has a field 'rigth'; did you mean right?",
        ),
        (
            'KWIC "a" ORDER BY left, right',
            "right",
            "KWIC is ordered by left alone; lines that agree in it come by doc_id",
        ),
        ('KWIC "a" WINDOW ?', "?", "parameter 1: WINDOW must be a whole number of at least 0, not -1"),
        ('KWIC "a" SAMPLE 0', "0", "SAMPLE must be a whole number of at least 1, not 0"),
        ("NGRAMS 0", "0", "the length of NGRAMS must be a whole number of at least 1, not 0"),
        ('TRACE "a" MIN LENGTH 0', "0", "MIN LENGTH must be a whole number of at least 1, not 0"),
    ],
)
def test_mistakes_point_to_their_place(text, place, message):
    with pytest.raises((BindError, PlanError)) as caught:
        bind(text, [-1] if "?" in text else None)
    assert caught.value.args[0].startswith(message) or message in str(caught.value)
    assert text[caught.value.start : caught.value.stop] == place
