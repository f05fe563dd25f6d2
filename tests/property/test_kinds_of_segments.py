"""Every kind of segment answers as the plainest one does, and as its own primitives would have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from indexes import WIDTHS, segment_of

from ngramdb.segments.testing import check_index, check_same, plain_index

TOKENS = st.integers(0, 4)
DOCUMENTS = st.lists(st.lists(TOKENS, max_size=12), max_size=8)
NGRAMS = st.lists(st.lists(st.integers(-1, 5), max_size=5), min_size=1, max_size=4)

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
# Beyond what 32 bits hold.
FAR = 2**33


@EXAMPLES
@given(
    documents=DOCUMENTS,
    ngrams=NGRAMS,
    width=st.sampled_from(WIDTHS),
    lcp_width=st.sampled_from((0, 5, 7)),
)
def test_a_suffix_array_answers_as_its_defaults_do(documents, ngrams, width, lcp_width):
    check_index(segment_of(documents, width, lcp_width=lcp_width), documents, ngrams)


@EXAMPLES
@given(documents=DOCUMENTS, ngrams=NGRAMS)
def test_positions_may_be_beyond_32_bits(documents, ngrams):
    far = plain_index(documents, FAR)
    assert far.position_type is np.uint64
    check_same(far, plain_index(documents), ngrams)


def test_long_documents_and_passages_that_repeat():
    rng = np.random.default_rng(5)
    passage = rng.integers(0, 300, 400).tolist()
    documents = [rng.integers(0, 300, n).tolist() for n in (0, 900, 1, 70)]
    documents += [passage, passage[100:], passage[:250] + documents[1][:100], []]
    ngrams = [passage[:n] for n in (1, 2, 9, 40, 70, 200)] + [documents[1][100:300], [301], []]
    for width in WIDTHS[1:]:
        check_index(segment_of(documents, width), documents, ngrams)


def test_a_wrong_answer_is_named():
    documents = [[1, 2, 3], [1, 2]]
    with pytest.raises(AssertionError, match="document:"):
        check_same(plain_index(documents), plain_index([[1, 2, 2], [1, 2]]), [])
    with pytest.raises(AssertionError, match=r"document\(1\)"):
        check_index(plain_index(documents), [[1, 2, 3], [1, 3]], [])
