"""Order and methods follow the exact counts; EXPLAIN shows them."""

from __future__ import annotations

import re

from support.reference import ReferenceCatalog, ReferenceCorpus

from ngramdb.language.parser import parse_statement
from ngramdb.planner.plan import Costs, DocsWith
from ngramdb.questions.binder import make_plan
from ngramdb.questions.show import explain_lines

# a: 40 times in 40 documents, b: 4 in 4, c: 1; x is common enough that locating it costs more than scanning.
DOCUMENTS = ["a x x x x x x x"] * 36 + ["a b"] * 3 + ["a b c"]
CORPUS = ReferenceCorpus.of(DOCUMENTS[:20], DOCUMENTS[20:])


def planned(text, disabled=()):
    catalog = ReferenceCatalog({"letters": CORPUS}, disabled=frozenset(disabled))
    return make_plan(parse_statement(text), catalog)


def grams(expr):
    """The n-grams in the order in which EXPLAIN prints them."""
    found = [expr.gram.shown] if isinstance(expr, DocsWith) else []
    children = expr.children()
    order = expr.estimate.order or range(len(children))
    return found + [gram for i in order for gram in grams(children[i])]


def test_operands_come_rarest_first_and_negations_last():
    plan = planned('DOCS WHERE NOT "x" AND "a" AND ("b" OR "c") AND "c"')
    assert grams(plan.where) == ['"c"', '"b"', '"c"', '"a"', '"x"']


def test_order_stays_as_written_when_the_choice_is_switched_off():
    plan = planned('DOCS WHERE NOT "x" AND "a" AND "c"', ["order_operands"])
    assert grams(plan.where) == ['"x"', '"a"', '"c"'] and not plan.where.ordered


def test_frequent_ngrams_are_scanned_for_among_few_candidates():
    plan = planned('DOCS WHERE "a" AND "c"')
    frequent, rare = plan.where.operands
    assert plan.where.estimate.order == (1, 0)
    assert (rare.estimate.count, rare.estimate.method) == (1, "locate")
    assert (frequent.estimate.count, frequent.estimate.method) == (40, "scan")
    assert plan.costs == Costs()


def test_nothing_is_scanned_when_the_choice_is_switched_off():
    plan = planned('DOCS WHERE "a" AND "c"', ["scan_candidates"])
    assert plan.costs is None
    assert [operand.estimate.method for operand in plan.where.operands] == ["locate", "locate"]


def test_estimates_never_exceed_what_is_possible():
    plan = planned('DOCS WHERE ("a" OR "b" OR "") AND NOT ("c" AND "b")')
    stack = [plan.where]
    while stack:
        expr = stack.pop()
        assert 0 <= expr.estimate.rows <= CORPUS.n_documents
        stack.extend(expr.children())


def test_explain_prints_the_tree_with_estimates_and_rules():
    plan = planned('EXPLAIN DOCS WHERE "b" AND NOT "c" AND "a" AND "xyz c" LIMIT 3')
    assert explain_lines(plan) == [
        "documents (doc_id ascending, limit 3)",
        "│  corpus letters: 2 segments, 40 documents, 297 tokens",
        '└─ no documents ("xyz c" has a word that is not in the vocabulary)  ~0 docs',
        "rules: fold_unknown_words, fold_constants",
    ]
    plan = planned('EXPLAIN DOCS WHERE NOT "c" AND "a" AND "b"')
    assert [re.split(r"(?<=\S)  ", line)[0] for line in explain_lines(plan)] == [
        "documents (doc_id ascending)",
        "│",
        "└─ intersection, rarest first",
        '   ├─ contains "b"',
        '   ├─ contains "a"',
        "   └─ not",
        '      └─ contains "c"',
    ]


def test_explain_of_actions_says_what_they_would_do():
    assert explain_lines(planned("EXPLAIN CREATE CORPUS new TOKENIZER 'chars'")) == [
        "create corpus new, tokenizer chars"
    ]
    assert explain_lines(planned("EXPLAIN COPY letters FROM 'x.gz' (LIMIT 3) ON ERROR SKIP")) == [
        "load into letters from x.gz",
        "   limit 3",
        "   on error skip",
    ]
