"""Which of several equal documents a subtraction takes: one with the same text and metadata, else one with
the same text, else any with the same tokens; against brute force, through ALTER CORPUS and `FROM a - b`.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.polls import cpu_below

import ngramdb
from ngramdb.errors import ExecutionError

# Three texts with the same tokens, and others; metadata of several types.
TEXTS = ["a b", "a  b", "a b ", "b", ""]
METADATA = [{}, {"k": 1}, {"k": 2}, {"k": 1.5, "l": ["x"]}, {"l": ["x"], "k": 1.5}]
documents = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(METADATA)), max_size=12)


def loaded(db, name, pieces, tokenizer="words"):
    corpus = db.create_corpus(name, tokenizer)
    for piece in pieces:
        corpus.append(piece)
    return corpus


def best(rest, wanted):
    """The documents that are left, in order: brute force, a rank after the other."""
    ranks = (
        lambda one: (one[0], repr(sorted(one[1].items()))),
        lambda one: one[0],
        lambda one: tuple(one[0].split()),
    )
    left, wanted = list(enumerate(rest)), list(wanted)
    for rank in ranks:
        for asked in list(wanted):
            same = [item for item in left if rank(item[1]) == rank(asked)]
            if same:
                left.remove(same[0])
                wanted.remove(asked)
    return None if wanted else left


def listed(rows):
    return sorted(row["doc_id"] for row in rows)


@settings(deadline=None)
@given(st.lists(documents, min_size=1, max_size=3), st.lists(documents, min_size=1, max_size=2))
def test_the_most_alike_documents_are_taken(pieces, gone):
    rest, wanted = ([one for piece in several for one in piece] for several in (pieces, gone))
    expected = best(rest, wanted)
    with ngramdb.connect() as db:
        db.execute("SET auto_compact = FALSE")
        corpus = loaded(db, "c", pieces)
        loaded(db, "gone", gone)
        if expected is None:
            with pytest.raises(ExecutionError, match="nothing was removed"):
                corpus.subtract("gone")
            return
        left = [number for number, _ in expected]
        assert listed(db.execute("DOCS FROM c - gone").to_dicts()) == left
        assert corpus.subtract("gone").documents == len(wanted)
        assert listed(corpus.docs().to_dicts()) == left


@pytest.mark.parametrize("tokenizer", ["words", "chars"])
def test_the_exact_document_goes_whatever_the_order(tokenizer):
    same = [("a b", {"n": n}) for n in range(50)]
    with ngramdb.connect() as db:
        corpus = loaded(db, "c", [same[:20], same[20:]], tokenizer)
        loaded(db, "gone", [[same[7], same[33], same[49]]], tokenizer)
        corpus.subtract("gone")
        kept = Counter(row["n"] for row in corpus.docs().to_dicts())
        assert kept == Counter(set(range(50)) - {7, 33, 49})


def test_thousands_of_equal_documents_take_linear_time():
    with ngramdb.connect() as db:
        corpus = loaded(db, "c", [[("a b c", {"n": n}) for n in range(8000)]])
        loaded(db, "gone", [[("a b c", {"n": n}) for n in range(7999, 4000, -1)]])
        with cpu_below(60):  # a second; 32 million comparisons would take minutes
            corpus.subtract("gone")
        assert corpus.docs("n > 4000").fetchall() == [] and corpus.n_documents == 4001
