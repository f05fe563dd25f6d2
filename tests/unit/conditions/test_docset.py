"""Sets of documents with a lazily negated flag behave as Python's sets do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.conditions.docset import DocSet

N = 12


@st.composite
def docsets(draw):
    members = draw(st.sets(st.integers(0, N - 1)))
    docs = DocSet(np.array(sorted(members), dtype=np.uint32), N, draw(st.booleans()))
    return docs, set(range(N)) - members if docs.negated else members


@settings(max_examples=200, deadline=None, derandomize=True)
@given(docsets(), docsets())
def test_set_algebra(a, b):
    for made, expected in (
        (a[0] & b[0], a[1] & b[1]),
        (a[0] | b[0], a[1] | b[1]),
        (~a[0], set(range(N)) - a[1]),
    ):
        made.check()
        assert (set(made.numbers().tolist()), len(made)) == (expected, len(expected))
        assert (np.diff(made.numbers().astype(np.int64)) > 0).all()
        assert np.flatnonzero(made.mask()).tolist() == sorted(expected)


def test_all_and_none_hold_no_numbers():
    assert len(DocSet.all(10**9)) == 10**9 and len(DocSet.all(10**9).docs) == 0
    assert len(DocSet.none(10**9)) == 0 and len(~DocSet.none(5)) == 5


@pytest.mark.parametrize("docs", [[1, 0], [0, 0], [N]])
def test_check_refuses_sets_that_are_none(docs):
    with pytest.raises(ValueError, match="ascending, unique and in range"):
        DocSet(np.array(docs, dtype=np.uint32), N).check()
