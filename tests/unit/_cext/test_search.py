"""Finding rows through the directory: tree sizes at the edges, long common prefixes, extreme keys."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from support.indexes import FAR, WIDTHS, arrays_of, far_lcps_of, packed, segment_of, with_lcps

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex
from ngramdb._cext.sort.construction import key_directory, tree_words

# Rows: one below, at and above the sizes at which the directory gains a sample, a padded node, or a level.
EDGES = [64 * 8**k + d for k in range(4) for d in (-1, 0, 1)] + [1, 2, 128, 129, 64 * 9, 64 * 64 + 65]


class SortedRows:
    """The rows as Python sorts them, searched by bisection over whole suffixes."""

    def __init__(self, arrays):
        self.stream, self.rows, *_ = arrays
        self.symbols = self.stream.tolist()

    def find(self, symbols):
        """Return the rows that begin with these symbols, as (lo, hi), or (0, 0)."""
        n = len(symbols)

        def start_of(row):
            cut = self.symbols[row : row + n]
            return cut[: cut.index(0)] if 0 in cut else cut

        rows = self.rows.tolist()
        lo = bisect_left(rows, symbols, key=start_of)
        hi = bisect_right(rows, symbols, key=start_of)
        return (lo, hi) if hi > lo else (0, 0)


def compare_all(arrays, asked):
    """Every n-gram (ids) has the rows that bisection finds, alone and in a batch, with LCPs and without."""
    oracle, gap, asked = SortedRows(arrays), arrays[5], list(asked)
    segments = {width: SuffixIndex(*with_lcps(arrays, width), "", width) for width in (0, 5, 6, 7)}
    segments[FAR] = SuffixIndex(*arrays, far=(None, far_lcps_of(arrays), 1))
    expected = [oracle.find([token + 1 if token < gap else token for token in ngram]) for ngram in asked]
    for width, segment in segments.items():
        for ngram, rows in zip(asked, expected, strict=True):
            lo, hi = segment.find(ngram)
            assert ((lo, hi) if hi > lo else (0, 0)) == rows, (width, len(arrays[1]), ngram)
        counts = Index([segment], [1]).count_many(*packed(asked))
        assert counts.tolist() == [hi - lo for lo, hi in expected]


def pieces(rng, document, n, lengths, alphabet):
    """Pieces of a document, every third with its last token changed."""
    for i in range(n):
        length = int(rng.choice(lengths))
        start = int(rng.integers(0, len(document)))
        piece = document[start : start + length]
        if i % 3 == 0 and piece:
            piece = [*piece[:-1], int(rng.integers(0, alphabet))]
        yield piece


@pytest.mark.parametrize("n_rows", EDGES)
@pytest.mark.parametrize(("dtype", "alphabet"), [(np.uint8, 4), (np.uint16, 40), (np.uint32, 3)])
def test_ranges_are_exact_whatever_the_size_of_the_directory(n_rows, dtype, alphabet):
    rng = np.random.default_rng(n_rows)
    document = rng.integers(0, alphabet, n_rows).tolist()
    arrays = arrays_of([document], dtype)
    assert len(arrays[2]) == tree_words(n_rows) and len(arrays[1]) == n_rows
    compare_all(arrays, pieces(rng, document, 60, [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 30], alphabet))
    compare_all(arrays, [[token] for token in range(alphabet + 1)])


def test_a_directory_of_five_levels_finds_every_sampled_row():
    rng = np.random.default_rng(0)
    document = rng.integers(0, 250, 64 * 8**4 + 1).tolist()
    arrays = arrays_of([document], np.uint8)
    segment = SuffixIndex(*arrays)
    for row in [*range(0, len(document), 4096 + 64), *range(63, len(document), 8192), len(document) - 1]:
        position = int(arrays[1][row])
        ngram = document[position : position + 12]
        lo, hi = segment.find(ngram)
        assert lo <= row < hi and position in segment.positions(lo, hi)
    compare_all(arrays, pieces(rng, document, 60, [1, 2, 3, 8, 16], 250))


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("top", [True, False])
def test_tokens_whose_symbols_fill_the_key_with_ones_are_found(dtype, top):
    # The largest symbol has all bits set: whole keys of it look like the directory's padding.
    largest = int(np.iinfo(dtype).max) - 1
    below = largest - 1 if top else 0
    for n in (1, 63, 64, 65, 500, 64 * 64 + 1):
        documents = [[largest] * n, [below] * n, [largest] * (n // 2)]
        arrays = arrays_of(documents, dtype)
        asked = [[largest] * k for k in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 40, n, n + 1)]
        asked += [[below] * k for k in (1, 8, 16, n)] + [[largest, below], [below, largest]]
        compare_all(arrays, asked)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_many_equal_prefixes_longer_than_a_key_span_many_samples(dtype):
    # 300 passages share 40 tokens and differ behind them: the keys of whole blocks are equal in both words.
    rng = np.random.default_rng(1)
    shared = rng.integers(0, 9, 40).tolist()
    documents = [shared + rng.integers(0, 3, 6).tolist() for _ in range(300)] + [shared[:17]] * 150
    arrays = arrays_of(documents, dtype)
    segment = SuffixIndex(*arrays)
    asked = [document[:n] for document in documents[:25] for n in (16, 17, 39, 40, 41, 43, 46)]
    asked += [document[3:n] for document in documents[:25] for n in (12, 20, 46)]
    asked += [[*shared, 3], [*shared, 0, 9], shared[:17], [*shared[:17], 8], [*shared[:39], 9], shared[20:]]
    compare_all(arrays, asked)
    assert segment.find(shared[:17])[1] - segment.find(shared[:17])[0] == 450


def test_separators_inside_a_key_do_not_match_what_stands_behind_them():
    documents = [[1], [1], [1, 1], [], [1, 2], [1]] * 50
    arrays = arrays_of(documents, np.uint8)
    compare_all(arrays, [[1], [1, 1], [1, 2], [1, 1, 1], [1, 1, 2], [2], [2, 1]])


def test_ids_that_no_segment_can_have_match_nothing():
    for dtype in WIDTHS:
        segment = segment_of([[0, 1, 2], [5]], dtype)
        limit = int(np.iinfo(dtype).max)
        for token in {-1, limit, min(limit + 1, 2**32 - 1), min(limit + 2, 2**32 - 1), 2**32 - 1}:
            for ngram in ([token], [0, token], [token, 1], [0, 1, token]):
                lo, hi = segment.find(ngram)
                assert hi == lo and len(segment.docs_containing(ngram)) == 0
                assert len(segment.filter_docs(np.arange(2, dtype=np.uint32), ngram)) == 0


@pytest.mark.parametrize("gap", [0, 1, 7, 100, 254, 255])
def test_the_gap_is_the_one_id_that_is_not_there(gap):
    document = [token for token in range(256) if token != gap]
    segment = segment_of([document, document[::-1]], np.uint8, gap)
    assert segment.document(0).tolist() == document and segment.document(1).tolist() == document[::-1]
    for token in range(256):
        lo, hi = segment.find([token])
        assert hi - lo == (0 if token == gap else 2)


def test_the_empty_ngram_is_in_every_row_and_every_document():
    segment = segment_of([[1, 2], [], [3]], np.uint16)
    assert segment.find([]) == (0, 3)
    assert segment.docs_containing([]).tolist() == [0, 1, 2]
    assert segment.filter_docs(np.array([1, 2], dtype=np.uint32), []).tolist() == [1, 2]
    nothing = segment_of([], np.uint16)
    assert nothing.find([]) == nothing.find([1]) == (0, 0)
    assert nothing.docs_containing([]).tolist() == [] == nothing.docs_containing([1]).tolist()


def test_documents_of_every_length_are_found_by_their_rows():
    rng = np.random.default_rng(7)
    for shape in ([0] * 300, [1] * 300, [5000], [3, 0, 0, 400, 1] * 40):
        documents = [rng.integers(0, 5, n).tolist() for n in shape]
        segment = segment_of(documents, np.uint8)
        expected = [i for i, document in enumerate(documents) for _ in document]
        order = np.argsort(segment.positions(0, segment.n_tokens), kind="stable")
        found = [int(segment.docs_of(row, row + 1)[0]) for row in order.tolist()]
        assert found == expected
        assert segment.docs_of(0, segment.n_tokens).tolist() == sorted(set(expected))
        assert [segment.document_length(i) for i in range(len(shape))] == shape


def test_the_directory_of_no_rows_is_empty():
    tree, rest = key_directory(np.zeros(3, dtype=np.uint8), np.empty(0, dtype=np.uint32))
    assert len(tree) == len(rest) == tree_words(0) == 0
    with pytest.raises(ValueError, match="outside"):
        key_directory(np.zeros(3, dtype=np.uint8), np.array([3], dtype=np.uint32))


@pytest.mark.parametrize("n_segments", [2, 5, 13, 30])
def test_segments_searched_side_by_side_add_up(n_segments):
    rng = np.random.default_rng(n_segments)
    segments = [
        segment_of([rng.integers(0, 5, int(rng.integers(0, 300))).tolist() for _ in range(5)], dtype)
        for dtype in (WIDTHS * n_segments)[:n_segments]
    ]
    signs = [1, *rng.choice([-1, 1], n_segments - 1).tolist()]
    index = Index(segments, signs)
    lengths = [0, 1, 2, 3, 6, 40, 64, 65, 120]
    for ngram in pieces(rng, segments[0].document(0).tolist() * 3, 60, lengths, 7):
        expected = sum(
            sign * (hi - lo)
            for sign, (lo, hi) in zip(signs, (segment.find(ngram) for segment in segments), strict=True)
        )
        assert index.count(ngram) == expected
        context_count, count = index.count(ngram[:-1]), expected
        if ngram and context_count > 0:
            assert index.prob(ngram[:-1], ngram[-1])[:2] == (count, context_count)


def test_documents_among_many_are_found_by_sifting_rows():
    rng = np.random.default_rng(11)
    documents = [[*rng.integers(0, 3, 40).tolist(), i] for i in range(3, 803)]
    segment = segment_of(documents)
    for few in ([5], [3, 4, 5], list(range(20, 60))):
        rare = [[5, 3, 7][i % 3] if i < 3 else i for i in few]
        ors = [4, len(rare), *[0] * len(rare)]
        code = [3, 2, *ors, 0]
        grams = [*[(token,) for token in rare], (1, 2, 0)]
        found, negated = segment.docs_where(code, grams, (1.0, float("inf"), 1.0, 8))
        read, _ = segment.docs_where(code, grams, (1e9, 1.0, 1e9, 8))
        assert not negated and found.tolist() == read.tolist()
        expected = [
            d - 3 for d in sorted(rare) if any(documents[d - 3][i : i + 3] == [1, 2, 0] for i in range(39))
        ]
        assert found.tolist() == expected
