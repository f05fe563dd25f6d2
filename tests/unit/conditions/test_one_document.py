"""Statements limited to one document search no other document for their pattern."""

from __future__ import annotations

import numpy as np
import pytest

import ngramdb
from ngramdb.conditions.occurrences import Finder, Occurrences
from ngramdb.conditions.stored_text import TextMatches

N = 200
STATEMENTS = (
    "KWIC {} WHERE doc_id = 7",
    "COUNT {} WHERE doc_id = 7",
    "DOCS WHERE {} AND doc_id = 7",
    "COUNT {} WHERE doc_id = 7 GROUP BY length",
)


@pytest.fixture(scope="module")
def db() -> ngramdb.Connection:
    db = ngramdb.connect()
    for name, kind in (("plain", "words"), ("small", "words(lower)")):
        db.create_corpus(name, kind).append(
            [f"The others went there then and the {i} came" for i in range(N)]
        )
    return db


@pytest.mark.parametrize("corpus", ["plain", "small"])
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("pattern", ['"THE" MATCH TEXT IGNORE CASE', '"he" MATCH TEXT', '"s w" MATCH TEXT'])
def test_texts_of_other_documents_are_not_read(
    db: ngramdb.Connection, monkeypatch: pytest.MonkeyPatch, corpus: str, statement: str, pattern: str
) -> None:
    read: set[int] = set()
    for name in ("find", "count"):
        inner = getattr(TextMatches, name)

        def seen(self: TextMatches, pattern: object, docs: np.ndarray, inner: object = inner) -> object:
            read.update(docs.tolist())
            return inner(self, pattern, docs)  # type: ignore[operator]

        monkeypatch.setattr(TextMatches, name, seen)
    assert db.execute(f"{statement.format(pattern)} FROM {corpus}").fetchall()
    assert read == {7} or (read == set() and '"s w"' not in pattern)


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize(
    "pattern", ['"the" [0..3] "came"', '("The" | "there") [1..4] "the"', '"went" [0..2] /the.*/']
)
def test_parts_of_a_pattern_are_not_looked_for_in_other_documents(
    db: ngramdb.Connection, monkeypatch: pytest.MonkeyPatch, statement: str, pattern: str
) -> None:
    found: list[int] = []
    inner = Finder.occurrences

    def counted(self: Finder, *asked: object) -> Occurrences:
        answer = inner(self, *asked)  # type: ignore[arg-type]
        found.append(len(answer))
        return answer

    monkeypatch.setattr(Finder, "occurrences", counted)
    assert db.execute(f"{statement.format(pattern)} FROM plain").fetchall()
    assert sum(found) < N // 2
