"""Every kind of segment answers as the plainest one does, and as its own primitives would have it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.foreign_indexes import infini_gram_index, tokengrams_arrays
from support.indexes import FAR as FAR_LCPS
from support.indexes import WIDTHS, segment_of

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.kinds import TableIndex
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
    lcp_width=st.sampled_from((0, 5, 7, FAR_LCPS)),
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
        for lcp_width in (7, FAR_LCPS):
            check_index(segment_of(documents, width, lcp_width=lcp_width), documents, ngrams)


def test_what_follows_many_rows_in_reverse_is_counted_in_a_table():
    rng = np.random.default_rng(7)
    documents = [rng.choice([1, 1, 1, 2, 300], n).tolist() for n in (5000, 0, 2000)]
    for width in (np.uint16, np.uint32):
        index = Index([infini_gram_index(documents, width, reverse=True)], [1])
        for gram in ([1], [2, 1]):
            found, expected = (one.dist(gram, False) for one in (index, Index([plain_index(documents)], [1])))
            assert [np.array_equal(a, b) for a, b in zip(found, expected, strict=True)] == [True] * len(found)


def test_a_wrong_answer_is_named():
    documents = [[1, 2, 3], [1, 2]]
    with pytest.raises(AssertionError, match="document:"):
        check_same(plain_index(documents), plain_index([[1, 2, 2], [1, 2]]), [])
    with pytest.raises(AssertionError, match=r"document\(1\)"):
        check_index(plain_index(documents), [[1, 2, 3], [1, 3]], [])


@EXAMPLES
@given(
    documents=DOCUMENTS.filter(len),
    ngrams=NGRAMS,
    width=st.sampled_from(WIDTHS),
    times=st.sampled_from((1, 37, 256)),
    sampled=st.booleans(),
)
def test_infini_grams_tables_answer_as_the_plainest_kind(documents, ngrams, width, times, sampled):
    times = 1 if width is np.uint8 else times  # so that the order of bytes is not that of numbers
    documents = [[token * times for token in document] for document in documents]
    index = infini_gram_index(documents, width)
    if sampled:
        index.use_keys(index.sample())
    check_index(
        index, documents, [[token * times if token > 0 else token for token in ngram] for ngram in ngrams]
    )


@EXAMPLES
@given(documents=DOCUMENTS.filter(len), ngrams=NGRAMS, width=st.sampled_from(WIDTHS), sampled=st.booleans())
def test_documents_in_reverse_answer_as_the_plainest_kind(documents, ngrams, width, sampled):
    index = infini_gram_index(documents, width, reverse=True)
    assert not index.is_nested
    if sampled:
        index.use_keys(index.sample())
    check_index(index, documents, ngrams)


def test_long_documents_in_reverse_whose_passages_repeat():
    rng = np.random.default_rng(6)
    passage = rng.integers(0, 300, 60).tolist()
    documents = [rng.integers(0, 300, n).tolist() for n in (0, 300, 1, 70)]
    documents += [passage, passage[10:], passage[:25] + documents[1][:30], [], [7] * 40]
    ngrams = [passage[:n] for n in (1, 2, 9, 40)] + [documents[1][100:160], [301], [7, 7], []]
    check_index(infini_gram_index(documents, np.uint16, reverse=True), documents, ngrams)


@EXAMPLES
@given(
    documents=DOCUMENTS.filter(any),
    ngrams=NGRAMS,
    separator=st.sampled_from((0, 2, 9, None)),
    sampled=st.booleans(),
)
def test_tokengrams_tables_answer_as_the_plainest_kind(documents, ngrams, separator, sampled):
    documents = [[token for token in document if token != separator] for document in documents]
    if separator is None:
        documents = [[token for document in documents for token in document]]
    text, table = tokengrams_arrays(documents, separator=separator)
    if not len(text):
        return
    index = TableIndex(text, table, False, False, separator)
    if sampled:
        index.use_keys(index.sample())
    check_index(index, documents, ngrams)


@settings(EXAMPLES, max_examples=100)
@given(
    layout=st.sampled_from(("infini_gram", "reversed", "separated", "unended", "unseparated")),
    width=st.sampled_from(WIDTHS),
    n_ids=st.integers(1, 3),
    lengths=st.lists(st.integers(0, 90), min_size=1, max_size=4),
    n_last=st.integers(0, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_nothing_is_found_beyond_the_texts_end(layout, width, n_ids, lengths, n_last, seed):
    """The id 0 is not special: no sampled key has it after the last token."""
    rng = np.random.default_rng(seed)
    documents = [rng.integers(0, n_ids, n).tolist() for n in lengths]
    documents[-1] = (documents[-1] + [0] * n_last) or [0]
    if layout == "unseparated":
        documents = [[token for document in documents for token in document]]
    index = table_index(documents, layout, width)
    index.use_keys(index.sample())
    grams = [list(gram) for n in range(1, 5) for gram in product(range(n_ids), repeat=n)]
    for gram in [*grams, *([0] * n for n in range(5, 12))]:
        starts = [
            (i, at) for i, d in enumerate(documents) for at in range(len(d)) if d[at:][: len(gram)] == gram
        ]
        positions = index.positions(*index.find(gram))
        found = index.documents_at(positions)
        places = zip(found.tolist(), (positions - index.document_bounds(found)[0]).tolist(), strict=True)
        assert sorted(places) == starts, (layout, gram)
    check_index(index, documents, [*([0] * n for n in (1, 2, 3, 5)), [n_ids - 1, 0], [0, 0, n_ids - 1]])


def table_index(documents, layout, width):
    """A table of the documents; "unended": without a separator after the last one of them."""
    if layout in ("infini_gram", "reversed"):
        return infini_gram_index(documents, width, reverse=layout == "reversed")
    if layout == "unseparated":
        return TableIndex(*tokengrams_arrays(documents, width), False, False)
    text, table = tokengrams_arrays(documents, width, 7)
    if layout == "unended":
        text, table = tokengrams_arrays([text[:-1].tolist()], width)
    return TableIndex(text, table, False, False, 7)


def test_tables_with_many_rows_are_searched_by_sampled_keys():
    rng = np.random.default_rng(5)
    passage = rng.integers(0, 60000, 40).tolist()
    documents = [(rng.zipf(1.3, 200) % 60000).tolist() for _ in range(20)] + [passage * 3, passage, passage]
    grams = [passage[:n] for n in (1, 2, 5, 40)] + [
        d[i : i + n] for d in documents for i in (0, 7) for n in (1, 3, 5)
    ]
    index = infini_gram_index(documents, np.uint16)
    before = [index.find(gram) for gram in grams]
    index.use_keys(index.sample())
    assert [index.find(gram) for gram in grams] == before
    check_index(index, documents, grams[:6])
