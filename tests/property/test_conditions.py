"""Conditions, counts of expressions and groups equal brute force: random documents, metadata and trees.

Over one, three and many segments; with all rules and choices on, all off, and each one off by itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_conditions import (
    FIELDS,
    HAS,
    SIMPLE,
    conditions,
    corpora,
    counted,
    field_tests,
    loaded,
    loaded_for_crew,
    nearby,
)
from support.reference_questions import count_of, has_places, text_of, truth

from ngramdb.planner.planner import rule_names

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

ALL_OFF = ",".join(rule_names())
SWITCHED_OFF = st.sampled_from(["", ALL_OFF, *rule_names()])


def answer(db, disabled, statement, parameters):
    """The rows, under some rules only."""
    db.execute("SET disabled_rules = ?", [disabled])
    return db.execute(statement, parameters).fetchall()


# Loading costs more than asking: several questions of each corpus, a simple one among them.
@EXAMPLES
@given(corpora(), st.lists(SIMPLE, min_size=4, max_size=4), st.lists(conditions(), max_size=3), SWITCHED_OFF)
def test_documents_equal_brute_force(corpus, simple, nested, disabled):
    with loaded(corpus) as (db, documents):
        for condition in simple + nested:
            expected = [item[2:] for item in documents if truth(condition, item) is True]
            parameters = []
            where = text_of(condition, parameters)
            assert answer(db, disabled, f"COUNT DOCS WHERE {where}", parameters) == [(len(expected),)]
            rows = db.execute(f"DOCS WHERE {where}", parameters).fetchall()
            assert [row[:1] for row in rows] == expected
            (first, *_) = db.execute(f"EXPLAIN ANALYZE DOCS WHERE {where}", parameters).fetchall()
            assert f"actual {len(expected):,} row" in first[0]


@EXAMPLES
@given(corpora(), st.lists(field_tests(), min_size=20, max_size=20), SWITCHED_OFF)
def test_tests_of_fields_and_their_negations_equal_brute_force(corpus, tests, disabled):
    with loaded(corpus) as (db, documents):
        for test in tests:
            for condition in (test, ("not", test), ("not", ("not", test))):
                parameters = []
                where = text_of(condition, parameters)
                found = answer(db, disabled, f"DOCS WHERE {where} RETURNING doc_id", parameters)
                assert found == [(item[2],) for item in documents if truth(condition, item) is True], where


@EXAMPLES
@given(
    corpora(),
    st.lists(nearby(HAS) | HAS, min_size=3, max_size=3),
    st.lists(counted(), max_size=3),
    st.none() | conditions(),
    SWITCHED_OFF,
)
def test_counts_equal_brute_force(corpus, simple, nested, where, disabled):
    with loaded(corpus) as (db, documents):
        chosen = [item for item in documents if where is None or truth(where, item) is True]
        for what in simple + nested:
            assert has_places(what)
            parameters = []
            statement = f"COUNT {text_of(what, parameters)}"
            if where is not None:
                statement += f" WHERE {text_of(where, parameters)}"
            found = answer(db, disabled, statement, parameters)
            assert found == [(count_of(what, chosen),)]
            sampled = db.execute(f"{statement} SAMPLE 1000", parameters)
            assert (sampled.fetchall(), sampled.exact) == (found, True)
            if what in simple:
                assert set(reported_of_root(db, statement, parameters)) <= {f"{found[0][0]:,}"}


@settings(EXAMPLES, max_examples=25)
@given(corpora(), st.lists(SIMPLE | conditions(), min_size=3, max_size=3), HAS, st.none() | conditions())
def test_answers_over_a_crew_equal_brute_force(corpus, asked, what, where):
    with loaded_for_crew(corpus) as (db, documents):
        for condition in asked:
            parameters = []
            statement = f"DOCS WHERE {text_of(condition, parameters)}"
            rows = db.execute(statement, parameters).fetchall()
            assert [row[:1] for row in rows] == [
                item[2:] for item in documents if truth(condition, item) is True
            ]
        chosen = [item for item in documents if where is None or truth(where, item) is True]
        parameters = []
        statement = f"COUNT {text_of(what, parameters)}"
        if where is not None:
            statement += f" WHERE {text_of(where, parameters)}"
        assert db.execute(statement, parameters).fetchall() == [(count_of(what, chosen),)]
        grouped = db.execute(f"{statement} GROUP BY doc_id", parameters).fetchall()
        expected = [(item[2], count_of(what, [item])) for item in chosen if count_of(what, [item])]
        assert grouped == expected
        assert any(db._crew.transport.asked)


def reported_of_root(db, statement, parameters):
    """The occurrences that the topmost node found according to EXPLAIN ANALYZE, if it ran."""
    lines = [line for (line,) in db.execute(f"EXPLAIN ANALYZE {statement}", parameters).fetchall()]
    root = next((i for i, line in enumerate(lines) if line.startswith("└─ ")), len(lines))
    return re.findall(r"actual ([\d,]+) occurrences", " ".join(lines[root : root + 1]))


def shown(value):
    """Return a key that distinguishes groups."""
    return json.dumps(value) if isinstance(value, (bool, list)) else value


@EXAMPLES
@given(
    corpora(),
    HAS | counted(),
    st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True),
    st.none() | st.integers(0, 3),
    SWITCHED_OFF,
)
def test_groups_equal_brute_force(corpus, what, fields, top, disabled):
    with loaded(corpus) as (db, documents):
        occurrences, docs = Counter(), Counter()
        for item in documents:
            ids, metadata, doc_id = item
            values = {**metadata, "doc_id": doc_id, "length": len(ids)}
            group = tuple(shown(values.get(field)) for field in fields)
            occurrences[group] += count_of(what, [item])
            docs[group] += count_of(what, [item]) > 0
        by = f" GROUP BY {', '.join(fields)}"
        best_first = f"ORDER BY count DESC TOP {top or 0}"
        parameters = []
        inner = text_of(what, parameters)
        for question, expected in (("COUNT ", occurrences), ("COUNT DOCS WHERE ", docs)):
            if question != "COUNT " and what[0] == "near":
                continue  # as a condition WITHIN is about all operands, not about the first one
            found = answer(db, disabled, question + inner + by, parameters)
            counts = Counter({tuple(map(shown, row[:-1])): row[-1] for row in found})
            assert counts == +expected and len(counts) == len(found)
            best = answer(db, disabled, f"{question}{inner}{by} {best_first}", parameters)
            assert [row[-1] for row in best] == sorted((+expected).values(), reverse=True)[: top or 0]


def order_key(value):
    rank = {bool: 0, int: 1, float: 1, str: 2, list: 3}[type(value)]
    return rank, json.dumps(value) if rank == 3 else value


@EXAMPLES
@given(
    corpora(),
    st.lists(st.tuples(st.sampled_from(FIELDS), st.booleans()), min_size=1, max_size=3),
    st.integers(0, 9),
    st.integers(0, 3),
)
def test_documents_come_in_the_order_of_their_fields(corpus, keys, limit, offset):
    with loaded(corpus) as (db, documents):
        expected = list(documents)
        for field, descending in reversed(keys):
            values = [{**item[1], "doc_id": item[2], "length": len(item[0])}.get(field) for item in expected]
            pairs = list(zip(values, expected, strict=True))
            known = sorted(
                (p for p in pairs if p[0] is not None), key=lambda p: order_key(p[0]), reverse=descending
            )
            expected = [item for _, item in known] + [item for value, item in pairs if value is None]
        order = ", ".join(field + (" DESC" if descending else "") for field, descending in keys)
        rows = answer(db, "", f"DOCS ORDER BY {order} LIMIT {limit} OFFSET {offset}", [])
        assert [row[0] for row in rows] == [item[2] for item in expected[offset : offset + limit]]
