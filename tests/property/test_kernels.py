"""The kernels equal brute force on adversarial small corpora, whatever the segments, signs and widths."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.indexes import WIDTHS, oracle_of, packed, plain, rows_of, segment_of
from support.reference import ReferenceSegment
from support.small_indexes import (
    any_id,
    corpora,
    documents_of,
    index_by_builder,
    questions,
    segment_by_builder,
)

from ngramdb._cext.corpus import joins
from ngramdb._cext.sort.construction import first_wrong_row

EXAMPLES = settings(max_examples=120, deadline=None, derandomize=True)


@EXAMPLES
@given(documents_of(max_documents=10))
def test_the_suffix_array_is_a_brute_force_sort(documents):
    segment, stream, rows = segment_by_builder(documents)
    reference = ReferenceSegment(documents)
    assert rows.tolist() == reference.positions(0, reference.n_tokens).tolist()
    assert first_wrong_row(stream, rows) is None
    assert [segment.document(i).tolist() for i in range(len(documents))] == documents


@EXAMPLES
@given(st.data(), corpora())
def test_counts_are_net_occurrences(data, corpus):
    segments, signs = corpus
    index, oracle = index_by_builder(segments, signs), oracle_of(*segments, signs=signs)
    asked = data.draw(questions(segments, max_length=24))
    expected = [oracle.count(ngram) for ngram in asked]
    assert index.n_tokens == oracle.n_tokens
    assert [index.count(ngram) for ngram in asked] == expected
    assert index.count_many(*packed(asked)).tolist() == expected
    # From 1,024 n-grams on a batch is sorted first.
    if asked:
        times = 1024 // len(asked) + 1
        assert index.count_many(*packed(asked * times)).tolist() == expected * times


@EXAMPLES
@given(st.data(), corpora(), st.booleans(), st.sampled_from([0, 1, 2, 3, 5, 100]))
def test_estimates_are_those_of_the_definition(data, corpus, infgram, order):
    segments, signs = corpus
    index, oracle = index_by_builder(segments, signs), oracle_of(*segments, signs=signs)
    contexts = data.draw(questions(segments))
    tokens = [data.draw(any_id()) for _ in contexts]
    expected = [oracle.prob(*question, infgram, order) for question in zip(contexts, tokens, strict=True)]
    assert [index.prob(*q, infgram, order) for q in zip(contexts, tokens, strict=True)] == expected
    many = index.prob_many(*packed(contexts), np.array(tokens, dtype=np.int64), infgram, order)
    assert rows_of(many) == expected


@EXAMPLES
@given(st.data(), corpora(), st.booleans(), st.sampled_from([0, 1, 2, 4, 100]))
def test_distributions_are_complete_and_net(data, corpus, infgram, order):
    segments, signs = corpus
    index, oracle = index_by_builder(segments, signs), oracle_of(*segments, signs=signs)
    for context in data.draw(questions(segments)):
        found = index.dist(context, infgram, order)
        assert plain(found) == plain(oracle.dist(context, infgram, order))
        assert int(found[1].sum()) + found[2] == found[3]


@EXAMPLES
@given(st.data(), corpora(), st.booleans(), st.sampled_from([0, 1, 2, 4, 100]))
def test_scores_are_estimates_of_every_token(data, corpus, infgram, order):
    segments, signs = corpus
    index, oracle = index_by_builder(segments, signs), oracle_of(*segments, signs=signs)
    documents = data.draw(questions(segments, max_length=60, max_questions=3))
    expected = [
        oracle.prob(document[:i], document[i], infgram, order)
        for document in documents
        for i in range(len(document))
    ]
    assert rows_of(index.score(*packed(documents), infgram, order)) == expected


@EXAMPLES
@given(st.data(), documents_of(max_documents=12), st.sampled_from(WIDTHS))
def test_documents_are_found_by_rows_and_by_reading(data, documents, dtype):
    documents = [[token % (np.iinfo(dtype).max) for token in document] for document in documents]
    segment, reference = segment_of(documents, dtype), ReferenceSegment(documents)
    for ngram in data.draw(questions([documents])):
        lo, hi = segment.find(ngram)
        expected = reference.find(ngram) if ngram else (0, reference.n_tokens)
        assert (hi - lo, lo if hi > lo else 0) == (expected[1] - expected[0], expected[0])
        assert segment.positions(lo, hi).tolist() == reference.positions(*expected).tolist()
        assert segment.docs_of(lo, hi).tolist() == reference.docs_of(*expected).tolist()
        everywhere = reference.docs_containing(ngram).tolist()
        assert segment.docs_containing(ngram).tolist() == everywhere
        for most in (0, 1, 2, len(everywhere), 1 << 40):
            assert segment.first_docs_containing(ngram, most).tolist() == everywhere[:most]
        for candidates in (range(len(documents)), range(0, len(documents), 2), range(0)):
            kept = segment.filter_docs(np.array(candidates, dtype=np.uint32), ngram)
            assert kept.tolist() == [i for i in candidates if i in everywhere]


@EXAMPLES
@given(corpora())
def test_one_index_over_all_documents_equals_one_over_segments(corpus):
    segments, _ = corpus
    together = [document for documents in segments for document in documents]
    apart = index_by_builder(segments, [1] * len(segments))
    whole = index_by_builder([together], [1])
    for document in together:
        for infgram in (False, True):
            args = (*packed([document]), infgram, 0)
            assert rows_of(apart.score(*args)) == rows_of(whole.score(*args))
            assert plain(apart.dist(document[:-1], infgram)) == plain(whole.dist(document[:-1], infgram))


SORTED = st.one_of(
    st.sets(st.integers(0, 40)), st.sets(st.integers(0, 2**32 - 1), max_size=400), st.just(set(range(1000)))
).map(lambda values: np.array(sorted(values), dtype=np.uint32))


@EXAMPLES
@given(SORTED, SORTED)
def test_set_algebra_equals_that_of_sets(a, b):
    left, right = set(a.tolist()), set(b.tolist())
    assert joins.intersect(a, b).tolist() == sorted(left & right)
    assert joins.unite(a, b).tolist() == sorted(left | right)
    assert joins.subtract(a, b).tolist() == sorted(left - right)
