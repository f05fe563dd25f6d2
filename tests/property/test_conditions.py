"""Conditions, counts of expressions and groups equal brute force: random documents, metadata and trees.

Over one, three and many segments; with all rules and choices on, all off, and each one off by itself.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st
from reference_questions import count_of, has_places, text_of, truth

import ngramdb
from ngramdb.planner.planner import rule_names

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)

IDS = (1, 2, 3)
ALL_OFF = ",".join(rule_names())
SWITCHED_OFF = st.sampled_from(["", ALL_OFF, *rule_names()])

WORDS = ("a", "b", "ab", "B", "a%b", "", "é\n")
NUMBERS = st.sampled_from([0, 1, 2, 2.0, 2.5, 2**53, 10**30, None])
STRINGS = st.one_of(st.sampled_from(WORDS), st.none())
VALUES = {
    "number": st.sampled_from([0, 1, 2, 3, 2.0, 2.5, -1, 2**53 + 1, 2**53, 10**30]),
    "text": st.sampled_from(WORDS),
    "flag": st.booleans(),
    "mixed": st.one_of(NUMBERS, STRINGS, st.booleans(), st.lists(st.integers(0, 2), max_size=2)),
    "tags": st.lists(st.sampled_from(["a", "b", None]), max_size=3),
    "years": st.lists(st.integers(0, 3), max_size=3),
}
LITERALS = {
    "text": STRINGS,
    "tags": STRINGS,
    "flag": st.booleans(),
    "mixed": NUMBERS | STRINGS | st.booleans(),
}
FIELDS = [*VALUES, "doc_id", "length"]

# One document has every field, so that none is unknown.
COMPLETE = {"number": 7, "text": "z", "flag": True, "mixed": ["m", 1], "tags": ["q"], "years": [9]}


@st.composite
def corpora(draw):
    """Documents of few tokens with some metadata each, the number of segments, documents removed."""
    document = st.tuples(
        st.lists(st.sampled_from(IDS), max_size=9),
        st.fixed_dictionaries({}, optional=VALUES),
    )
    documents = draw(st.lists(document, max_size=8))
    documents.insert(draw(st.integers(0, len(documents))), ([1, 2, 3], COMPLETE))
    removed = draw(st.sets(st.integers(0, len(documents) - 1), max_size=draw(st.sampled_from([0, 0, 3]))))
    return documents, draw(st.sampled_from([1, 3, 99])), removed


def grams(least=1):
    return st.lists(st.sampled_from(IDS), min_size=least, max_size=2)


@st.composite
def patterns(draw):
    if draw(st.integers(0, 2)):
        return "gram", draw(grams())
    parts = draw(st.lists(grams(), min_size=2, max_size=3))
    gap = st.tuples(st.integers(0, 2), st.integers(0, 2)).map(lambda pair: (pair[0], sum(pair)))
    return "gaps", parts, [draw(gap) for _ in parts[1:]]


@st.composite
def field_tests(draw):
    field = draw(st.sampled_from(FIELDS))
    literals = LITERALS.get(field, NUMBERS)
    kinds = ["is", "is", "between", "in", "null", *(["like"] if field in ("text", "tags", "mixed") else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "is":
        return kind, field, draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="])), draw(literals)
    if kind == "between":
        return kind, field, draw(literals), draw(literals)
    if kind == "in":
        return kind, field, draw(st.lists(literals, min_size=1, max_size=3))
    if kind == "like":
        return (
            kind,
            field,
            draw(st.sampled_from(["a%", "%", "_", "%b", "A%", "a_b", ""])),
            draw(st.booleans()),
        )
    return kind, field


HAS = st.tuples(st.just("has"), patterns())
TIMES = st.tuples(
    st.just("times"), patterns(), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.integers(0, 3)
)


@st.composite
def nearby(draw, of):
    first = draw(HAS)
    others = draw(st.lists(of, min_size=1, max_size=2))
    return "near", [first, *others], draw(st.integers(0, 4))


def conditions():
    near = nearby(st.one_of(HAS, HAS, HAS.map(lambda item: ("not", item)), field_tests()))
    leaves = st.one_of(HAS, HAS, TIMES, field_tests(), field_tests(), near)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
            st.tuples(st.just("not"), inner),
        ),
        max_leaves=5,
    )


@st.composite
def counted(draw):
    """What COUNT can count: a tree whose first operand, all the way down, is a pattern."""
    kind = draw(st.sampled_from(["has", "or", "and", "near", "nested"]))
    if kind == "has":
        return draw(HAS)
    if kind == "or":
        return "or", draw(st.lists(HAS, min_size=2, max_size=3))
    first = draw(counted()) if kind == "nested" else draw(HAS)
    others = draw(st.lists(conditions(), min_size=1, max_size=2))
    if kind == "near":
        return "near", [first, *others], draw(st.integers(0, 5))
    return "and", [first, *others]


@contextmanager
def loaded(corpus):
    """A connection with the documents in as many segments as the corpus says, and the oracle's documents."""
    documents, n_segments, removed = corpus
    size = max(1, math.ceil(len(documents) / n_segments))
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        c = db.create_corpus("c", tokenizer="tokens")
        for start in range(0, len(documents), size):
            c.append(documents[start : start + size])
        if removed:
            db.execute(f"DELETE DOCS WHERE doc_id IN ({', '.join(map(str, sorted(removed)))})")
        every = [(ids, metadata, i) for i, (ids, metadata) in enumerate(documents)]
        yield db, [item for item in every if item[2] not in removed]


def answer(db, disabled, statement, parameters):
    """The rows, under some rules only."""
    db.execute("SET disabled_rules = ?", [disabled])
    return db.execute(statement, parameters).fetchall()


# Loading costs more than asking: several questions of each corpus, a simple one among them.
SIMPLE = st.one_of(field_tests(), field_tests().map(lambda test: ("not", test)), nearby(HAS), TIMES)


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


def shown(value):
    """What tells groups apart."""
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
