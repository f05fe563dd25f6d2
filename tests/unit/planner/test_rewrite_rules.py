"""Each rewrite rule: its effect, cases without effect, and switching it off."""

from __future__ import annotations

import numpy as np
import pytest
from support.reference import ReferenceCatalog, ReferenceCorpus

from ngramdb.language.parser import parse_statement
from ngramdb.patterns import Gram, Variants
from ngramdb.planner.plan import Constant, DocsMatching, OccurrencesOf
from ngramdb.planner.planner import CHOICES, rule_names
from ngramdb.planner.rewrite_rules import RULES, rewrite
from ngramdb.questions.binder import Binder
from ngramdb.questions.count_plan import CountOccurrences
from ngramdb.questions.docs import CountDocuments

CORPUS = ReferenceCorpus.of(["a b c", "b c d", "a"], ["e f"])


def rewritten(text, disabled=()):
    catalog = ReferenceCatalog({"letters": CORPUS})
    return rewrite(Binder(catalog, None, text).bind(parse_statement(text)), frozenset(disabled))


def shape(expr):
    """A document expression on one line."""
    inner = ", ".join(shape(child) for child in expr.children())
    return f"{expr.label()}({inner})" if inner else expr.label()


CASES = [
    (
        "fold_unknown_words",
        'DOCS WHERE "a" OR "xyz"',
        'union(contains "a", no documents ("xyz" has a word that is not in the vocabulary))',
    ),
    ("double_negation", 'DOCS WHERE NOT NOT "a"', 'contains "a"'),
    (
        "flatten",
        'DOCS WHERE ("a" AND "b") AND ("d" AND "a")',
        'intersection(contains "a", contains "b", contains "d")',
    ),
    ("flatten", 'DOCS WHERE "a" OR "a"', 'contains "a"'),
    (
        "fold_contradictions",
        'DOCS WHERE "d" AND "a" AND NOT "a"',
        'no documents (contains "a" and its negation)',
    ),
    ("fold_contradictions", 'DOCS WHERE "a" OR NOT "a"', "all documents"),
    (
        "absorb_implied",
        'DOCS WHERE "a b c" AND "b c" AND "e"',
        'intersection(contains "a b c", contains "e")',
    ),
    ("absorb_implied", 'DOCS WHERE "a b c" OR "b c"', 'contains "b c"'),
    ("fold_constants", 'DOCS WHERE "" AND "a"', 'contains "a"'),
    ("fold_constants", 'DOCS WHERE NOT "" OR "a"', 'contains "a"'),
    ("fold_constants", 'DOCS WHERE NOT ""', "no documents (NOT of all documents)"),
    (
        "fold_fields",
        'DOCS WHERE length < 0 OR "a"',
        'union(no documents (length is never below 0), contains "a")',
    ),
    ("fold_fields", "DOCS WHERE NOT doc_id >= 0", "no documents (doc_id is never below 0)"),
    ("fold_fields", "DOCS WHERE doc_id >= 0", "all documents"),
    (
        "fold_fields",
        "DOCS WHERE length BETWEEN 9 AND 3",
        "no documents (no value is between 9 and 3)",
    ),
    (
        "fold_fields",
        "DOCS WHERE doc_id NOT IN (1, NULL)",
        "no documents (NOT IN is never true with NULL in the list)",
    ),
    ("fold_one_nearby", 'DOCS WHERE "a" AND "a" WITHIN 3 TOKENS', 'contains "a"'),
    ("fold_unknown_words", 'DOCS WHERE COUNT("xyz") < 1', "all documents"),
    (
        "fold_unknown_words",
        'DOCS WHERE "a" [1..2] "xyz"',
        'no documents ("xyz" has a word that is not in the vocabulary)',
    ),
]

# Occurrences: the result for the tree below COUNT.
COUNTED = [
    (
        "flatten",
        'COUNT "a" AND "b" WHERE "d"',
        'in documents(occurrences of "a", intersection(contains "b", contains "d"))',
    ),
    ("fold_constants", 'COUNT "a" AND ""', 'occurrences of "a"'),
    (
        "fold_unknown_words",
        'COUNT "a" OR "xyz"',
        'all of these together(occurrences of "a", '
        'no occurrences ("xyz" has a word that is not in the vocabulary))',
    ),
]

UNTOUCHED = [
    ("fold_unknown_words", 'DOCS WHERE "a z"'),
    ("double_negation", 'DOCS WHERE NOT "a"'),
    ("flatten", 'DOCS WHERE "a" AND ("b" OR "d")'),
    ("fold_contradictions", 'DOCS WHERE "a" AND NOT "b"'),
    ("absorb_implied", 'DOCS WHERE "a b" AND "b c" AND NOT "b"'),
    ("absorb_implied", 'DOCS WHERE "a c" OR "a b c"'),
    ("fold_constants", 'DOCS WHERE "a" AND NOT "b"'),
    ("fold_fields", "DOCS WHERE length < 1 AND NOT doc_id BETWEEN 9 AND 3"),
    ("fold_one_nearby", 'DOCS WHERE "a" AND "b" WITHIN 3 TOKENS'),
    ("flatten", 'COUNT "a" AND "b" WITHIN 3 TOKENS'),
    ("cut_context", 'DIST GIVEN "a b" USING NGRAM ORDER 3'),
    ("cut_context", 'DIST GIVEN "a xyz b"'),
]


@pytest.mark.parametrize(("rule", "text", "expected"), CASES)
def test_rule_rewrites(rule, text, expected):
    others = {other.name for other in RULES} - {rule}
    plan, fired = rewritten(text, others)
    assert (shape(plan.where), fired) == (expected, (rule,))


@pytest.mark.parametrize(("rule", "text", "expected"), COUNTED)
def test_rule_rewrites_what_is_counted(rule, text, expected):
    others = {other.name for other in RULES} - {rule}
    plan, fired = rewritten(text, others)
    assert (shape(plan.tree()), fired) == (expected, (rule,))


@pytest.mark.parametrize(
    "text", ['COUNT "xyz" AND "a"', 'COUNT "a" AND "xyz" WITHIN 3 TOKENS', 'COUNT "a" AND NOT ""']
)
def test_a_count_that_is_known_needs_no_index(text):
    plan, _ = rewritten(text)
    assert isinstance(plan, Constant) and plan.rows == ((0,),)


def test_the_only_variant_stands_for_the_pattern():
    one = Gram(np.array([1]), '"b"')
    two = Gram(np.array([2]), '"c"')
    cases = [
        (Variants("b", (one,), (1,), (3,)), one),
        (Variants("b", (one,), (2,), (3,)), None),
        (Variants("b", (one, two), (1, 1), (3, 1)), None),
    ]
    for pattern, expected in cases:
        plans = (
            CountOccurrences(CORPUS, OccurrencesOf(pattern)),
            CountDocuments(CORPUS, DocsMatching(pattern)),
        )
        for before in plans:
            plan, fired = rewrite(before)
            found = getattr(plan.tree(), "pattern", None) or getattr(plan.tree(), "gram", None)
            assert found == (expected or pattern)
            assert fired == (("single_variant",) if expected else ())


@pytest.mark.parametrize(("rule", "text"), UNTOUCHED)
def test_rule_leaves_alone_what_it_does_not_mean(rule, text):
    others = {other.name for other in RULES} - {rule}
    before, _ = rewritten(text, {other.name for other in RULES})
    assert rewritten(text, others) == (before, ())


@pytest.mark.parametrize(("rule", "text", "_"), CASES)
def test_rule_that_is_switched_off_does_nothing(rule, text, _):
    assert rule not in rewritten(text, {rule})[1]


def test_unknown_word_decides_a_count_without_the_index():
    plan, fired = rewritten('COUNT "a xyz"')
    assert isinstance(plan, Constant) and plan.rows == ((0,),) and fired == ("fold_unknown_words",)


def test_unknown_context_decides_a_probability_under_ngram_only():
    plan, _ = rewritten('PROB "a" GIVEN "xyz b"')
    assert isinstance(plan, Constant) and plan.rows == ((None, 0, 0, 3, False),)
    plan, fired = rewritten('PROB "a" GIVEN "b xyz c d" USING INFGRAM')
    assert plan.context.key == (2, 3) and fired == ("cut_context",)


def test_context_outside_the_order_is_cut_before_it_is_called_unknown():
    plan, fired = rewritten('PROB "a" GIVEN "xyz b" USING NGRAM ORDER 2')
    assert plan.context.key == (1,) and fired == ("cut_context",)


def test_unknown_continuation_is_left_to_the_index():
    assert rewritten('PROB "xyz" GIVEN "a"')[1] == ()


def test_distribution_of_an_unknown_context_has_no_rows():
    plan, _ = rewritten('DIST GIVEN "xyz"')
    assert isinstance(plan, Constant) and plan.rows == ()
    assert plan.summary == {"total": 0, "context_count": 0, "effective_n": 2, "sparse": False}


def test_rules_work_together_until_nothing_changes():
    plan, fired = rewritten('DOCS WHERE ("a" AND ("b" OR NOT ("xyz" AND "c"))) AND NOT NOT "a"')
    assert shape(plan.where) == 'contains "a"'
    assert set(fired) == {"fold_unknown_words", "double_negation", "flatten", "fold_constants"}


def test_every_rule_and_choice_has_its_own_name():
    names = rule_names()
    assert len(set(names)) == len(names) == len(RULES) + len(CHOICES)
