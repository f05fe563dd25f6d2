"""Successors of many rows: more than one pass reads, so that the directory gives the ends of runs."""

from collections import Counter

import numpy as np
import pytest
from support.indexes import FAR, WIDTHS, arrays_of, far_lcps_of, with_lcps

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SuffixIndex

ROWS = 150_000
DOCUMENT = 40
CONTEXTS = [(), (3,), (3, 3), (3, 3, 3), (3, 3, 3, 3), (4,), (3, 4)]


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(7)
    tokens = rng.zipf(1.3, size=ROWS) % 200
    # One token beside half of the others.
    tokens[rng.random(ROWS) < 0.5] = 3
    return [tokens[i : i + DOCUMENT].tolist() for i in range(0, ROWS, DOCUMENT)]


def opened(arrays, width):
    if width == FAR:
        return SuffixIndex(*arrays, far=(None, far_lcps_of(arrays), 1))
    return SuffixIndex(*with_lcps(arrays, width), "", width)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_all_continuations_are_counted(documents, dtype):
    expected = {context: Counter() for context in CONTEXTS}
    ends = Counter()
    for document in documents:
        for context, found in expected.items():
            n = len(context)
            for i in range(n, len(document) + 1):
                if tuple(document[i - n : i]) == context:
                    if i < len(document):
                        found[document[i]] += 1
                    else:
                        ends[context] += 1
    arrays = arrays_of(documents, dtype)
    for width in (0, 5, 7, FAR):
        index = Index([opened(arrays, width)], [1])
        for context, counts in expected.items():
            ids, found, n_end, n, _ = index.dist(context)
            assert dict(zip(ids.tolist(), found.tolist(), strict=True)) == dict(counts), (width, context)
            assert ids.tolist() == sorted(ids.tolist())
            if context:
                assert (n_end, n) == (ends[context], counts.total() + ends[context])


@pytest.mark.parametrize("n_rows", [63, 64, 65, 255, 256, 257, 258, 320, 1023, 1024, 1025, 4096, 4097])
def test_ranges_of_any_size(n_rows):
    following = (6 + np.random.default_rng(n_rows).zipf(1.2, size=n_rows) % 30).tolist()
    # 37 rows of smaller tokens come first, so that no sampled row begins the range.
    arrays = arrays_of([[1] * 37, *([5, token] for token in following)], np.uint16)
    for width in (0, 5, FAR):
        ids, found, *_ = Index([opened(arrays, width)], [1]).dist([5])
        assert dict(zip(ids.tolist(), found.tolist(), strict=True)) == dict(Counter(following))
