"""Segments asked in groups answer as one index over all of them does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.indexes import packed, plain, rows_of
from support.small_indexes import any_id, corpora, index_by_builder, questions

from ngramdb._cext.corpus.index import Index
from ngramdb.engine.corpus import grouped
from ngramdb.engine.corpus.grouped import GroupedIndex

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
ORDERS = st.sampled_from([0, 1, 2, 3, 100])


@pytest.fixture(autouse=True, scope="module")
def divided_however_short():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "LEAST_QUESTIONS", 1)
        patch.setattr(grouped, "LEAST_TOKENS", 1)
        yield


@st.composite
def both(draw):
    """An index, and the same in groups, each of one sign; batches are queried in one to three parts."""
    segments, signs = draw(corpora())
    whole = index_by_builder(segments, signs)
    owners = draw(st.lists(st.integers(0, 2), min_size=len(signs), max_size=len(signs)))
    groups = []
    for sign, owner in sorted(set(zip(signs, owners, strict=True))):
        own = [
            segment
            for segment, *key in zip(whole.segments, signs, owners, strict=True)
            if key == [sign, owner]
        ]
        groups.append((sign, Index(own, [1] * len(own))))
    made = GroupedIndex(whole.segments, signs)
    made.n_parts = draw(st.integers(1, 3))
    made.ask = lambda asked: [
        [(sign, getattr(group, method)(*arguments)) for sign, group in groups] for method, arguments in asked
    ]
    return segments, whole, made


@EXAMPLES
@given(st.data(), both())
def test_counts(data, asked):
    segments, whole, made = asked
    ngrams = data.draw(questions(segments))
    assert [made.count(ngram) for ngram in ngrams] == [whole.count(ngram) for ngram in ngrams]
    assert made.count_many(*packed(ngrams)).tolist() == whole.count_many(*packed(ngrams)).tolist()


@EXAMPLES
@given(st.data(), both(), st.booleans(), ORDERS)
def test_estimates(data, asked, infgram, order):
    segments, whole, made = asked
    contexts = data.draw(questions(segments))
    tokens = np.array([data.draw(any_id()) for _ in contexts], dtype=np.int64)
    pairs = list(zip(contexts, tokens.tolist(), strict=True))
    expected = rows_of(whole.prob_many(*packed(contexts), tokens, infgram, order))
    assert rows_of(made.prob_many(*packed(contexts), tokens, infgram, order)) == expected
    assert [made.prob(*pair, infgram, order) for pair in pairs] == expected
    flat, offsets = packed(contexts)
    first = data.draw(st.integers(0, max(0, len(contexts) - 1)))  # of texts in the middle, too
    for bounds in (offsets, offsets[first:]):
        found = made.score(flat, bounds, infgram, order)
        assert rows_of(found) == rows_of(whole.score(flat, bounds, infgram, order))
        assert [column.dtype for column in found] == [np.int64, np.int64, np.int32, np.bool_]


@EXAMPLES
@given(st.data(), both(), st.booleans(), ORDERS)
def test_distributions(data, asked, infgram, order):
    segments, whole, made = asked
    contexts = data.draw(questions(segments))
    for context in contexts:
        assert plain(made.dist(context, infgram, order)) == plain(whole.dist(context, infgram, order))
        most = data.draw(st.integers(0, 4))
        found, expected = (index.dist(context, infgram, order, most) for index in (made, whole))
        assert found is expected is None or plain(found) == plain(expected)
    pairs = zip(*(index.dist_many(*packed(contexts), infgram, order) for index in (made, whole)), strict=True)
    assert all(
        found.tolist() == expected.tolist() and found.dtype == expected.dtype for found, expected in pairs
    )


def test_what_is_no_batch_has_the_errors_of_an_index():
    whole = index_by_builder([[[1, 2, 3]]], [1])
    made = GroupedIndex(whole.segments, [1])
    for flat, offsets in (([1, 2], [0, 3]), ([1, 2], [2, 0]), ([1.5], [0, 1]), ([1], [0.5, 1])):
        errors = []
        for index in (made, whole):
            with pytest.raises((ValueError, TypeError)) as caught:
                index.count_many(np.array(flat), np.array(offsets))
            errors.append((caught.type, str(caught.value)))
        assert errors[0] == errors[1]
