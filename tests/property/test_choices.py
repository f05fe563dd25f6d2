"""EXPLAIN shows what runs: the rewritten condition, the order of operands and the access paths.

The executor and the kernel for plain n-grams are watched while they run, over one, three and many segments.
"""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_conditions import (
    COSTS,
    DOCUMENTS,
    HAS,
    SIMPLE,
    TREES,
    conditions,
    corpora,
    counted,
    loaded,
)
from support.reference_questions import text_of

import ngramdb
from ngramdb._cext.segment.segment_index import CONDITION_CODES
from ngramdb.api.session import DatabaseSession
from ngramdb.conditions.evaluation import Evaluator
from ngramdb.planner import choices
from ngramdb.planner.estimates import GramPath, foresee, gram_paths
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.plan import Costs, PlainDocs, PlanMeter
from ngramdb.planner.planner import optimize
from ngramdb.questions.binder import make_plan
from ngramdb.questions.docs import CountDocuments
from ngramdb.questions.parsing import parsed
from ngramdb.source import ConditionCode

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

SWITCHED_OFF = st.sampled_from(["", "order_operands", "scan_candidates", "order_operands, scan_candidates"])


@contextmanager
def watched():
    """The choices of access paths in order: (count of the n-gram, number of candidates, path)."""
    made = []
    decide = choices.gram_path

    def gram_path(costs, n_occurrences, n_candidates, extent):
        path = decide(costs, n_occurrences, n_candidates, extent)
        made.append((n_occurrences, n_candidates, path))
        return path

    with patch.object(choices, "gram_path", gram_path):
        yield made


class Watch(PlanMeter):
    """Records orders, and methods with the number of candidates of the last choice."""

    def __init__(self, made):
        super().__init__()
        self.made, self.seen = made, []

    def note(self, node, method):
        super().note(node, method)
        self.seen.append((node, method, self.made[-1][1] if self.made else None))


def test_kernel_and_planner_have_the_same_operators():
    assert {code.name: code.value for code in ConditionCode} == CONDITION_CODES


@EXAMPLES
@given(DOCUMENTS, st.integers(1, 9), TREES, st.sampled_from(COSTS), st.booleans())
def test_kernel_chooses_as_the_evaluator_does(documents, times, expr, costs, ordered):
    with ngramdb.connect() as db:
        db.create_corpus("c", "tokens").append([{"ids": document} for document in documents * times])
        view = db.snapshot.view("c")
        (plan, _) = optimize(CountDocuments(view, expr), frozenset(() if ordered else ("order_operands",)))
        plain = PlainDocs.of(plan.where, ordered)
        for segment in view.segments:
            trace = []
            segment.index.docs_where(plain.code, plain.grams, choices.kernel_costs(costs), trace)
            counts = [segment.index.find(ids) for ids in plain.grams]
            with watched() as made:
                Evaluator(view, segment, costs).evaluate(plan.where)
            assert made == [
                (counts[i][1] - counts[i][0], n, choices.SCAN if scanned else choices.LOCATE)
                for i, scanned, n in trace
            ]


def check(plan, tree, explained):
    """Runs the tree on every segment and compares with what is foreseen and printed."""
    orders = {}
    for segment in plan.corpus.segments:
        foreseen = foresee(tree, [segment], plan.costs)
        with watched() as made:
            watch = Watch(made)
            evaluator = Evaluator(plan.corpus, segment, plan.costs, watch)
            if explained.startswith("COUNT DOCS"):
                evaluator.evaluate(tree)
            else:
                evaluator.expressions.total(tree)
        for node, actual in watch.actual.items():
            if actual.orders:
                assert set(actual.orders) == set(foreseen.orders[node])
                orders.setdefault(node, []).append(foreseen.orders[node][0])
        for node, method, n_candidates in watch.seen:
            (path,) = foreseen.paths[id(node)]
            assert method == (path.at(n_candidates) if isinstance(path, GramPath) else path)
            if isinstance(path, GramPath):
                assert 1 <= n_candidates <= path.most
    return orders


def nodes(tree):
    yield tree
    for child in tree.children():
        yield from nodes(child)


@EXAMPLES
@given(
    corpora(),
    st.lists(SIMPLE | HAS, max_size=3),
    st.lists(conditions(), min_size=3, max_size=3),
    st.lists(counted(), max_size=2),
    SWITCHED_OFF,
)
def test_what_is_explained_runs(corpus, simple, nested, occurring, disabled):
    with loaded(corpus) as (db, _):
        db.execute("SET disabled_rules = ?", [disabled])
        asked = [("COUNT DOCS WHERE ", item) for item in simple + nested]
        for question, condition in asked + [("COUNT ", item) for item in occurring]:
            values = []
            (statement,), placeholders = parsed(question + text_of(condition, values))
            session = DatabaseSession(db._database, db._database.snapshot)
            shown, run = (
                make_plan(statement, session, Parameters(placeholders, values), estimated=estimated)
                for estimated in (True, False)
            )
            tree, running = shown.tree(), run.tree()
            if tree is None:
                assert type(run) is type(shown)
                continue
            if isinstance(running, PlainDocs):
                assert running == PlainDocs.of(tree, "order_operands" not in disabled)
            else:
                assert running == tree
            assert run.costs == shown.costs
            executed = check(shown, tree, question)
            for node in nodes(tree):
                if id(node) in executed:
                    assert node.estimate.order is not None
                    if len(shown.corpus.segments) == 1:
                        assert node.estimate.order == executed[id(node)][0]


SIZES = st.integers(0, 300)


@EXAMPLES
@given(SIZES, SIZES, st.integers(0, 3000), st.integers(1, 300), st.sampled_from((None, Costs(), *COSTS)))
def test_paths_are_foreseen_for_every_number_of_candidates(n_documents, n_occurrences, n_tokens, most, costs):
    class Extent:
        pass

    extent = Extent()
    extent.n_documents, extent.n_tokens = n_documents, n_tokens
    most = min(most, n_documents)
    paths = gram_paths(costs, n_occurrences, most, extent)
    for n in range(1, most + 1):
        assert paths.at(n) == choices.gram_path(costs, n_occurrences, n, extent)


def test_explain_prints_the_order_that_runs():
    # Words near each other are weighed by the work of joining them, not by the rarer one's count alone.
    with ngramdb.connect() as db:
        db.create_corpus("c", "words").append(["the cat"] * 3 + ["the the the"] * 9 + ["dogs"] * 20)
        lines = db.execute('EXPLAIN DOCS WHERE "cat" AND "the" WITHIN 3 TOKENS AND "the cat"').fetchall()
        assert [line.split("  ")[0] for line in (row[0].lstrip("│ ├└─") for row in lines[2:])] == [
            "intersection, rarest first",
            'contains "the cat"',
            "within 3 tokens, rarest first",
            'occurrences of "cat"',
            'occurrences of "the"',
        ]


def test_explain_counts_the_segments_with_another_order():
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c", "words")
        for texts in (["a b", "a"], ["a b", "a"], ["a b", "b"]):
            corpus.append(texts)
        lines = [row[0] for row in db.execute('EXPLAIN COUNT DOCS WHERE "a" AND "b"').fetchall()]
        assert "another order in 1 segment" in lines[2]
        assert 'contains "b"' in lines[3] and 'contains "a"' in lines[4]
