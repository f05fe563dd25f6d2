"""KEYWORDS of parts that share documents."""

from __future__ import annotations

import pytest

import ngramdb


@pytest.mark.parametrize("ngrams", ["", "NGRAMS 2"])
def test_documents_in_both_parts_are_noted(ngrams):
    with ngramdb.connect() as db:
        db.create_corpus("c").append([("a b", {"y": 1}), ("a b c", {"y": 2}), ("c a b", {"y": 3})])
        statement = f"KEYWORDS OF WHERE y > 1 AGAINST WHERE y < 3 {ngrams}"
        assert "1 document is in both parts" in db.execute(statement).summary["note"]
        apart = f"KEYWORDS OF WHERE y > 1 AGAINST WHERE y < 2 {ngrams}"
        assert "note" not in db.execute(apart).summary
