"""Batches answer as single questions do, at every size at which another path is taken."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.indexes import WIDTHS, index_of, oracle_of, packed, plain, rows_of

# Searches run in groups of 32, requests in groups of 64; from 1,024 on a batch is sorted first, from 4,096 on
# threads share it in pieces of 1,024.
SIZES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 3000, 8191, 9300)


def corpus(seed, n_segments=3, alphabet=6, n_documents=12, length=60):
    rng = np.random.default_rng(seed)
    segments = [
        [rng.integers(0, alphabet, int(rng.integers(0, length))).tolist() for _ in range(n_documents)]
        for _ in range(n_segments)
    ]
    segments[-1] += [segments[0][0]] * 5
    return segments


def occurrences_of(segments, n_max):
    """Every n-gram of up to n_max tokens, with its number of occurrences."""
    found = Counter()
    for documents in segments:
        for document in documents:
            found[()] += len(document)
            for n in range(1, n_max + 1):
                found.update(tuple(document[i : i + n]) for i in range(len(document) - n + 1))
    return found


def questions(segments, n, seed, n_max=20, alphabet=6):
    """n-grams, most of them from the corpus; every seventh is empty or changed or has an unknown token."""
    rng = np.random.default_rng(seed)
    documents = [document for documents in segments for document in documents if document]
    asked = []
    for i in range(n):
        document = documents[int(rng.integers(len(documents)))]
        start = int(rng.integers(len(document)))
        ngram = document[start : start + int(rng.integers(1, n_max + 1))]
        if i % 7 == 0:
            ngram = [[], [*ngram[:-1], int(rng.integers(alphabet))], [*ngram[:-1], -1]][i // 7 % 3]
        asked.append(ngram)
    return asked


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_a_batch_of_counts_equals_single_counts(size, dtype):
    segments = corpus(seed=1)
    index, expected = index_of(*segments, dtype=dtype), occurrences_of(segments, 20)
    asked = questions(segments, size, seed=size)
    found = index.count_many(*packed(asked))
    assert found.dtype == np.int64
    assert found.tolist() == [expected[tuple(ngram)] for ngram in asked] == [index.count(n) for n in asked]


@pytest.mark.parametrize("width", [1, 12, 17, 22, 30, 32])
def test_sorting_a_batch_loses_no_question_whatever_the_ids(width):
    # The sort looks at 33 bits of the first two tokens; here they have from 1 to 32 bits each.
    rng = np.random.default_rng(width)
    ids = np.unique(rng.integers(0, 2**width, 40)).tolist()
    documents = [rng.choice(ids, 50).tolist() for _ in range(20)]
    index, expected = index_of(documents), occurrences_of([documents], 3)
    asked = [rng.choice([*ids, -1], int(rng.integers(0, 4))).tolist() for _ in range(2000)]
    assert index.count_many(*packed(asked)).tolist() == [expected[tuple(ngram)] for ngram in asked]


def test_offsets_may_leave_ids_out():
    segments = corpus(seed=2)
    index = index_of(*segments)
    flat = np.array([9, 0, 1, 2, 9, 9], dtype=np.int64)
    assert index.count_many(flat, [1, 2, 2, 4]).tolist() == [index.count(n) for n in ([0], [], [1, 2])]
    assert rows_of(index.score(flat, [1, 4]))[1:4] == rows_of(index.score(flat[1:4], [0, 3]))
    assert rows_of(index.score(flat, [1, 4]))[0] == rows_of(index.score(flat, [1, 4]))[5] == (0, 0, 0, False)


@pytest.mark.parametrize("infgram", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 8])
def test_a_batch_of_estimates_equals_single_estimates(infgram, order):
    segments = corpus(seed=3)
    index = index_of(*segments, segments[0][:5], signs=[1, 1, 1, -1])
    for size in (0, 1, 31, 32, 33, 100):
        contexts = questions(segments, size, seed=size)
        tokens = np.random.default_rng(size).integers(-1, 7, size)
        found = index.prob_many(*packed(contexts), tokens, infgram, order)
        assert [column.dtype for column in found] == [np.int64, np.int64, np.int32, np.bool_]
        assert rows_of(found) == [
            index.prob(context, int(token), infgram, order)
            for context, token in zip(contexts, tokens, strict=True)
        ]


@pytest.mark.parametrize("infgram", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 40])
@pytest.mark.parametrize("length", [1, 23, 24, 25, 47, 48, 24 * 32 - 1, 24 * 32, 24 * 32 + 50])
def test_a_document_of_any_length_is_scored_as_its_tokens_are(infgram, order, length):
    # A document is worked on in up to 32 pieces of 24 tokens or more, side by side.
    segments = corpus(seed=4, alphabet=3, length=300)
    index = index_of(*segments, segments[1][:6], signs=[1, 1, 1, -1])
    known = [token for documents in segments for document in documents for token in document]
    document = known[:length]
    document[length // 2] = -1
    document[length // 3] = 99
    contexts = [document[:i] for i in range(length)]
    expected = index.prob_many(*packed(contexts), np.array(document, dtype=np.int64), infgram, order)
    assert rows_of(index.score(*packed([document]), infgram, order)) == rows_of(expected)


@pytest.mark.parametrize("infgram", [False, True])
def test_scores_of_documents_from_the_corpus_equal_brute_force(infgram):
    segments = corpus(seed=5, alphabet=4, n_documents=4, length=70)
    index, oracle = index_of(*segments), oracle_of(*segments)
    documents = [document for documents in segments for document in documents[:2]]
    for order in (0, 1, 3):
        args = (*packed(documents), infgram, order)
        assert rows_of(index.score(*args)) == rows_of(oracle.score(*args))


@pytest.mark.parametrize("length", [255, 256, 257, 1023, 1024, 1025, 5000])
def test_long_contexts_and_ngrams_are_read_whole(length):
    # Up to 256 tokens are read into a buffer on the stack, searches spill to the heap from 1,024 symbols on.
    rng = np.random.default_rng(length)
    document = rng.integers(0, 3, length + 300).tolist()
    index = index_of([document], [document[:-1], [0] * 10])
    ngram = document[100 : 100 + length]
    changed = [(ngram[0] + 1) % 3, *ngram[1:]]
    for as_given in (
        list,
        tuple,
        lambda ids: np.array(ids, dtype=np.int64),
        lambda ids: np.array(ids, dtype=np.uint8),
    ):
        assert index.count(as_given(ngram)) == 2
        assert index.count(as_given(changed)) == 0
        assert index.prob(as_given(ngram), document[100 + length]) == (2, 2, length + 1, True)
        assert index.prob(as_given(changed), document[100 + length]) == (0, 0, length + 1, False)
        assert index.prob(as_given(changed), document[100 + length], True) == (2, 2, length, True)
        assert plain(index.dist(as_given(changed), True)) == [[document[100 + length]], [2], 0, 2, length - 1]
    assert index.count_many(*packed([ngram, changed] * 40)).tolist() == [2, 0] * 40


def test_one_long_run_has_as_many_occurrences_as_places():
    n = 20_000
    index = index_of([[7] * n], [[7] * 10], dtype=np.uint8)
    assert [index.count([7] * k) for k in (0, 1, 2, 10, 11, n, n + 1)] == [
        n + 10,
        n + 10,
        n + 8,
        n - 8,
        n - 10,
        1,
        0,
    ]
    assert index.prob([7] * 500, 7) == (n - 500, n - 499, 501, False)
    assert index.prob([3, *[7] * (n + 5)], 7, True) == (0, 1, n + 1, False)
    scored = rows_of(index.score(*packed([[7] * 3000]), True))
    assert scored == [index.prob([7] * i, 7, True) for i in range(3000)]


def test_distributions_of_many_and_of_few_tokens_are_complete():
    rng = np.random.default_rng(6)
    many = (rng.permutation(60_000)[:30_000] + 3).tolist()
    few = rng.choice(3, 30_000, p=[0.98, 0.015, 0.005]).tolist()
    documents = [[token for one in many[:5000] for token in (65_000, one)], few, many, [65_000], [65_000]]
    index, flat = index_of(documents, dtype=np.uint16), Counter(token for d in documents for token in d)
    found = index.dist([])
    assert dict(zip(found[0].tolist(), found[1].tolist(), strict=True)) == flat and found[2:] == (
        0,
        sum(flat.values()),
        0,
    )
    ids, counts, n_end, context_count, length = index.dist([65_000])
    assert ids.tolist() == sorted(many[:5000]) and set(counts.tolist()) == {1}
    assert (n_end, context_count, length) == (2, 5002, 1)
    for context in ([0], [1], [0, 0], [0, 1, 0], [1, 1]):
        expected = Counter(
            few[i + len(context)]
            for i in range(len(few) - len(context))
            if few[i : i + len(context)] == context
        )
        ids, counts, *_ = index.dist(context)
        assert dict(zip(ids.tolist(), counts.tolist(), strict=True)) == expected


def test_no_segments_at_all_answer_nothing():
    index = index_of()
    assert index.n_tokens == index.count([]) == index.count([1]) == 0
    assert index.count_many(*packed([[1], []] * 600)).tolist() == [0] * 1200
    for infgram in (False, True):
        assert index.prob([1, 2], 3, infgram) == (0, 0, 1 if infgram else 3, False)
        assert plain(index.dist([1], infgram)) == [[], [], 0, 0, 0 if infgram else 1]
        assert rows_of(index.score(*packed([[1, 2]]), infgram))[0] == (0, 0, 1, False)


def test_subtracting_everything_leaves_nothing():
    segments = corpus(seed=7)
    everything = [document for documents in segments for document in documents]
    index = index_of(*segments, everything, signs=[1, 1, 1, -1])
    asked = questions(segments, 200, seed=8)
    assert index.n_tokens == 0 and not index.count_many(*packed(asked)).any()
    for context in asked[:40]:
        assert index.prob(context, 1, True) == (0, 0, 1, False)
        assert plain(index.dist(context, True)) == [[], [], 0, 0, 0]
        assert plain(index.dist(context)) == [[], [], 0, 0, len(context)]
