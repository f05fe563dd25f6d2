"""The small corpus, stored in several ways."""

from __future__ import annotations

import pytest
from support.language_corpora import DOCUMENTS, View


@pytest.fixture
def documents():
    return [list(document) for document in DOCUMENTS]


@pytest.fixture(params=["one segment", "three segments", "a segment subtracted"])
def view(request, documents):
    """The same corpus, stored in several ways."""
    if request.param == "one segment":
        return View(documents)
    if request.param == "three segments":
        return View(documents[:3], documents[3:4], documents[4:])
    gone = [[0, 1, 2, 3, 4], [9, 9, 1], []]
    return View(documents[:5], [*documents[5:], *gone], gone, signs=[1, 1, -1])
