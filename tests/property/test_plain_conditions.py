"""Conditions on plain n-grams, which a kernel answers in one call, select what the evaluator selects node by
node, and what brute force does: whatever locating and scanning cost, operands in order or as written.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_conditions import COSTS, DOCUMENTS, GRAMS, TREES, joined

import ngramdb
from ngramdb.conditions.evaluation import Evaluator
from ngramdb.planner import choices
from ngramdb.planner.plan import AllDocs, Complement, DocsWith, Intersection, PlainDocs
from ngramdb.questions.parsing import parsed_condition

EXAMPLES = settings(max_examples=80, deadline=None, derandomize=True)


def holds(expr, document):
    if isinstance(expr, DocsWith):
        ids, n = list(expr.gram.key), len(expr.gram)
        return any(document[i : i + n] == ids for i in range(len(document) - n + 1))
    if isinstance(expr, Complement):
        return not holds(expr.operand, document)
    if isinstance(expr, Intersection):
        return all(holds(operand, document) for operand in expr.operands)
    return isinstance(expr, AllDocs) or any(holds(operand, document) for operand in expr.operands)


def numbers(docs, negated, n_documents):
    return sorted(set(range(n_documents)) - set(docs.tolist())) if negated else docs.tolist()


@EXAMPLES
@given(DOCUMENTS, st.integers(1, 9), TREES, st.sampled_from(COSTS), st.booleans())
def test_kernel_evaluator_and_brute_force_select_the_same_documents(documents, times, expr, costs, ordered):
    # Many documents, so that candidates are few of them and rows are sifted.
    documents = documents * times
    with ngramdb.connect() as db:
        db.create_corpus("c", "tokens").append([{"ids": document} for document in documents])
        view = db.snapshot.view("c")
        plain = PlainDocs.of(expr, ordered)
        for segment in view.segments:
            answer = segment.index.docs_where(plain.code, plain.grams, choices.kernel_costs(costs))
            found = numbers(*answer, segment.n_documents)
            assert found == [i for i, document in enumerate(documents) if holds(expr, document)]
            slow = Evaluator(view, segment, costs).evaluate(expr)
            assert slow.numbers().tolist() == found


def written(expr, values):
    """The condition in the language, with placeholders; their values are appended."""
    if isinstance(expr, DocsWith):
        values.append(list(expr.gram.key))
        return "?"
    if isinstance(expr, Complement):
        return f"NOT ({written(expr.operand, values)})"
    word = " AND " if isinstance(expr, Intersection) else " OR "
    return "(" + word.join(written(operand, values) for operand in expr.operands) + ")"


@EXAMPLES
@given(DOCUMENTS, st.recursive(GRAMS, joined, max_leaves=8))
def test_conditions_that_were_planned_before_they_had_values_are_the_same(documents, expr):
    values = []
    where = written(expr, values)
    expected = [i for i, document in enumerate(documents) if holds(expr, document)]
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "tokens")
        corpus.append([{"ids": document} for document in documents])
        assert parsed_condition(where).template is not None
        # The second time everything goes the whole way: what a template gives leaves no rule to switch off.
        for disabled in ("", "absorb_implied"):
            db.settings["disabled_rules"] = disabled
            assert [row[0] for row in corpus.docs(where, params=values)] == expected
            assert corpus.count_docs(where, params=values) == len(expected)


def test_values_that_are_no_token_ids_are_bound_as_ever():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", "words")
        corpus.append(["the cat", "the dog", "a cat"])
        the, cat = corpus.tokenizer.encode("the cat").tolist()
        assert corpus.count_docs("? AND NOT ?", params=["cat", [the]]) == 1
        assert corpus.count_docs("? AND ?", params=["CAT", "the"]) == 0
        db.settings["match"] = "text ignore case"
        assert corpus.count_docs("? AND ?", params=["CAT", "the"]) == 1
        assert corpus.count_docs(":a OR :b", params={"a": [cat], "b": (the, cat)}) == 2
        for bad in ([1.5], [-2], 3, None, [[1]], [True]):
            with pytest.raises(ngramdb.Error, match=r"n-gram|token id"):
                corpus.count_docs("? OR ?", params=[[cat], bad])
        with pytest.raises(ngramdb.PlanError, match="no value was given for parameter 2 of 2"):
            corpus.docs("? AND ?", params=[[cat]])


@pytest.mark.parametrize(
    ("code", "grams"),
    [([], []), ([0], []), ([2, 2, 0], [(1,)]), ([2, 0], []), ([1], []), ([9], []), ([0, 0], [(1,), (1,)])],
)
def test_what_is_no_condition_is_refused(code, grams):
    with ngramdb.connect() as db:
        db.create_corpus("c", "tokens").append([{"ids": [1, 2]}])
        (segment,) = db.snapshot.view("c").segments
        with pytest.raises(ValueError, match="condition"):
            segment.index.docs_where(code, grams, (1.0, 1.0, 1.0, 8))
