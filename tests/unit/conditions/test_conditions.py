"""Conditions are evaluated per segment, candidates pushed down, by whichever method is cheaper."""

from __future__ import annotations

import pytest
from support.reference import ReferenceCatalog, ReferenceCorpus, ReferenceSegment

from ngramdb.conditions.evaluation import Evaluator, PlanMeter
from ngramdb.language.parser import parse_condition
from ngramdb.planner.plan import Costs, DocsWith
from ngramdb.planner.planner import optimize
from ngramdb.questions.binder import Binder
from ngramdb.questions.docs import Documents

NEVER_SCAN = None
ALWAYS_SCAN = Costs(locate_ns=1e9, scan_ns=0.001)
NEVER_CHEAPER = Costs(locate_ns=0.001, scan_ns=1e9)


def corpus():
    return ReferenceCorpus.of(["a b", "a c", "b c", "", "a b c", "d"])


def bound(text, over):
    binder = Binder(ReferenceCatalog({"letters": over}))
    return binder.condition(parse_condition(text), over)


def evaluated(text, costs, ordered=True):
    over = corpus()
    plan, _ = optimize(
        Documents(over, bound(text, over)), frozenset() if ordered else frozenset({"order_operands"})
    )
    segment = over.segments[0]
    found = Evaluator(over, segment, costs).evaluate(plan.where)
    found.check()
    return found.numbers().tolist(), segment.calls


CONDITIONS = [
    ('"a"', [0, 1, 4]),
    ('NOT "a"', [2, 3, 5]),
    ('"a" AND "b"', [0, 4]),
    ('"a" AND NOT "b"', [1]),
    ('NOT "a" AND NOT "b"', [3, 5]),
    ('NOT ("a" OR "b")', [3, 5]),
    ('"a" OR NOT "b"', [0, 1, 3, 4, 5]),
    ('"a" AND ("b" OR "c")', [0, 1, 4]),
    ('"c" AND NOT ("a" AND "b")', [1, 2]),
    ('"a b" AND "b c"', [4]),
    ('"" AND "d"', [5]),
    ('""', [0, 1, 2, 3, 4, 5]),
    ('NOT ""', []),
    ('"a" AND "e"', []),
    ('"xyz" OR "d"', [5]),
    ('NOT "xyz" AND "d"', [5]),
]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("costs", [NEVER_SCAN, ALWAYS_SCAN, NEVER_CHEAPER, Costs()])
@pytest.mark.parametrize(("text", "expected"), CONDITIONS)
def test_answers_do_not_depend_on_order_or_method(text, expected, costs, ordered):
    assert evaluated(text, costs, ordered)[0] == expected


@pytest.mark.parametrize(("text", "expected"), CONDITIONS)
def test_unrewritten_conditions_have_the_same_answers(text, expected):
    over = corpus()
    found = Evaluator(over, over.segments[0], Costs()).evaluate(bound(text, over))
    assert found.numbers().tolist() == expected


def test_costs_choose_between_scanning_and_locating():
    assert evaluated('"a" AND "b"', ALWAYS_SCAN)[1] == {"filter_docs": 2}
    assert evaluated('"a" AND "b"', NEVER_CHEAPER)[1] == {"docs_of": 2}
    assert evaluated('"a" AND "b"', NEVER_SCAN)[1] == {"docs_of": 2}


def test_an_absent_operand_ends_a_conjunction_before_anything_is_located():
    assert evaluated('"a" AND "b" AND "e"', Costs())[1] == {}


def test_a_rare_operand_spares_the_work_of_a_frequent_one():
    over = ReferenceCorpus.of(["a"] * 50 + ["a b"])
    plan, _ = optimize(Documents(over, bound('"a" AND "b"', over)))
    segment = over.segments[0]
    read = []
    segment.filter_docs = lambda docs, ids: (
        read.extend(docs.tolist()) or ReferenceSegment.filter_docs(segment, docs, ids)
    )
    assert Evaluator(over, segment, Costs()).evaluate(plan.where).numbers().tolist() == [50]
    assert read == [50] and segment.calls["docs_of"] == 1


def test_an_empty_segment_has_no_documents():
    for text, _ in CONDITIONS:
        over = ReferenceCorpus([ReferenceSegment([])])
        assert len(Evaluator(over, over.segments[0], Costs()).evaluate(bound(text, over))) == 0


def test_meter_sums_rows_probes_and_methods_per_node():
    over = corpus()
    plan, _ = optimize(Documents(over, bound('"a" AND NOT "b"', over)))
    meter = PlanMeter()
    for _ in range(2):
        Evaluator(over, over.segments[0], NEVER_SCAN, meter).evaluate(plan.where)
    leaf, negation = plan.where.operands
    assert isinstance(leaf, DocsWith)
    assert (meter.of(leaf).rows, meter.of(leaf).probes, meter.of(leaf).methods) == (6, 2, {"locate": 2})
    assert (meter.of(negation).rows, meter.of(plan.where).rows) == (2, 2)
    assert meter.of(plan.where).seconds >= meter.of(leaf).seconds > 0
