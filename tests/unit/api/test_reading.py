"""Documents and occurrences as Python takes them, and the information of texts by bytes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ngramdb


@pytest.fixture
def db():
    with ngramdb.connect() as opened:
        opened.settings["auto_compact"] = False
        c = opened.create_corpus("c")
        c.append([("a b a", {"n": 1}), ("c", {})])
        c.append([("b a", {"n": 2, "o": {"p": [1]}})])
        c.delete("doc_id = 1")
        yield opened


def test_a_document_has_its_text_metadata_and_ids(db):
    c = db.corpus("c")
    found = c.document(2)
    assert (found.doc_id, found.text, found.metadata["n"], found.metadata["o"]) == (2, "b a", 2, {"p": [1]})
    assert found.ids.tolist() == c.tokenizer.encode("b a").tolist()
    assert repr(found).startswith("StoredDocument(2, 'b a', ") and repr(found).endswith("2 tokens)")
    for wrong in (1, 3, -1, True, "2"):
        with pytest.raises(ngramdb.InvalidArgument):
            c.document(wrong)
    part = c.where("n = 2")
    assert part.document(np.int64(2)).text == "b a"
    with pytest.raises(ngramdb.InvalidArgument, match="no document with the id 0"):
        part.document(0)


def test_occurrences_are_those_of_kwic(db):
    c = db.corpus("c")
    for pattern, where in (("a", None), ("b a", None), ("a", "n = 1"), ("z", None)):
        found = c.occurrences(pattern, where)
        lines = c.kwic(pattern, where).fetchall()
        assert list(zip(found.doc_ids.tolist(), found.positions.tolist(), strict=True)) == [
            row[:2] for row in lines
        ]
        assert set(found.lengths.tolist()) <= {len(pattern.split())}
    assert "Places(" in repr(c.occurrences("a"))


def test_information_by_bytes_and_characters(db):
    c = db.corpus("c")
    found = c.perplexity(["a b", "ä"])
    assert (found.n_bytes, found.n_characters) == (5, 4)
    assert math.isclose(found.bits_per_byte, -found.logprob / math.log(2) / 5)
    assert math.isclose(found.bits_per_character, -found.logprob / math.log(2) / 4)
    assert c.perplexity([[0, 1]]).bits_per_byte is None
    letters = db.create_corpus("letters", tokenizer="bytes")
    letters.append(["abc"])
    assert letters.perplexity([[97, 98]]).n_bytes == 2


def test_a_part_is_measured_alone(db):
    c = db.corpus("c")
    alone = db.create_corpus("alone")
    alone.append([("b a", {})])
    texts = ["b a", "a b"]
    assert math.isclose(c.where("n = 2").perplexity(texts).perplexity, alone.perplexity(texts).perplexity)
    assert c.where("n = 2").agreement(texts).total == alone.agreement(texts).total


def test_lists_and_arrays_stand_for_the_values_of_in(db):
    c = db.corpus("c")
    for values in ([1, 2], (1, 2), np.array([1, 2]), np.array([1, 2], dtype=np.uint8)):
        assert c.count_docs("n IN ?", params=[values]) == 2
    assert c.count_docs("n IN ?", params=[np.array([], dtype=np.int64)]) == 0
    assert db.execute("COUNT DOCS WHERE o.p IN :some FROM c", {"some": np.array([1.0])}).fetchone() == (1,)
