"""Random documents and conditions on them, for property tests."""

from __future__ import annotations

import math
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

import ngramdb
from ngramdb.patterns import Gram
from ngramdb.planner.plan import AllDocs, Complement, Costs, DocsWith, Intersection, UnionOf
from support import crews

# ---- metadata, patterns and n-grams, as trees of reference_questions ----

IDS = (1, 2, 3)
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
        bounds = st.one_of(literals, literals, st.none())
        return kind, field, draw(bounds), draw(bounds)
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
    first = draw(HAS | in_parentheses())
    others = draw(st.lists(of, min_size=1, max_size=3))
    return "near", [first, *others], draw(st.integers(0, 4))


def in_parentheses():
    """An AND that is one operand of WITHIN: its own n-grams may be anywhere in the document."""
    beside = st.one_of(HAS, HAS.map(lambda item: ("not", item)), field_tests())
    both = st.tuples(HAS, beside)
    return st.tuples(st.just("and"), st.one_of(both, both, both.map(reversed)).map(list))


def conditions():
    operands = st.one_of(HAS, HAS, in_parentheses())
    near = nearby(st.one_of(operands, operands, operands.map(lambda item: ("not", item)), field_tests()))
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
    """Draw an expression for COUNT: a tree whose first operand, all the way down, is a pattern."""
    kind = draw(st.sampled_from(["has", "or", "and", "near", "nested"]))
    if kind == "has":
        return draw(HAS)
    if kind == "or":
        return "or", draw(st.lists(st.one_of(HAS, counted()), min_size=2, max_size=3))
    first = draw(counted()) if kind == "nested" else draw(HAS)
    others = draw(st.lists(conditions(), min_size=1, max_size=2))
    if kind == "near":
        return "near", [first, *others], draw(st.integers(0, 5))
    return "and", [first, *others]


@contextmanager
def loaded(corpus, path=None):
    """Return a connection with the documents in that many segments, and the oracle's documents."""
    documents, n_segments, removed = corpus
    size = max(1, math.ceil(len(documents) / n_segments))
    with ngramdb.connect(path) as db:
        db.settings["auto_compact"] = False
        c = db.create_corpus("c", tokenizer="tokens")
        for start in range(0, len(documents), size):
            c.append(documents[start : start + size])
        if removed:
            db.execute(f"DELETE DOCS WHERE doc_id IN ({', '.join(map(str, sorted(removed)))})")
        every = [(ids, metadata, i) for i, (ids, metadata) in enumerate(documents)]
        yield db, [item for item in every if item[2] not in removed]


@contextmanager
def loaded_for_crew(corpus):
    """The same over the three members of a crew, two of which hold each segment."""
    with (
        TemporaryDirectory() as folder,
        loaded(corpus, f"{folder}/db") as (_, documents),
        crews.connect(f"{folder}/db", 3) as db,
    ):
        yield db, documents


SIMPLE = st.one_of(field_tests(), field_tests().map(lambda test: ("not", test)), nearby(HAS), TIMES)


# ---- plain n-grams alone, as plans ----

PLAIN_IDS = (0, 1, 2, 3)
COSTS = (None, Costs(), Costs(locate_ns=1e9), Costs(scan_ns=1e9), Costs(locate_ns=1.0, scan_ns=1.0))

DOCUMENTS = st.lists(st.lists(st.sampled_from(PLAIN_IDS), max_size=8), max_size=30)
GRAMS = st.lists(st.sampled_from((*PLAIN_IDS, 9, -1)), max_size=3).map(lambda ids: DocsWith(Gram(tuple(ids))))


def joined(children):
    operands = st.lists(children, min_size=1, max_size=4).map(tuple)
    return st.one_of(children.map(Complement), operands.map(UnionOf), operands.map(Intersection))


TREES = st.recursive(st.one_of(GRAMS, GRAMS, st.just(AllDocs())), joined, max_leaves=8)
