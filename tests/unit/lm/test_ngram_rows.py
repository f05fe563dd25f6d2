"""n-grams of classes beside counting them one by one, over corpora stored in several ways."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from support.language_corpora import corpora

from ngramdb.errors import InvalidArgument, StorageError
from ngramdb.lm import Backoff, make
from ngramdb.lm.ngram_rows import classes_of, ngram_rows


def counted(documents, n, class_of):
    found = Counter()
    for document in documents:
        for start in range(len(document) - n + 1):
            ngram = tuple(class_of.get(token, -1) for token in document[start : start + n])
            if -1 not in ngram:
                found[ngram] += 1
    return found


@settings(max_examples=60, deadline=None)
@given(corpora())
def test_counts_are_those_of_the_mapped_documents(drawn):
    kept, view = drawn
    model = make(Backoff(order=2), view)
    types = model.index.types()[0]
    for class_of in ({0: 0, 1: 1, 2: 2, 3: 3, 4: 4}, {0: 7, 1: 7, 2: 0, 4: 3}, {}):
        classes = classes_of(types, class_of, str)
        for least, lengths in ((1, range(1, 4)), (2, range(2, 4)), (1, range(1, 2))):
            rows = list(ngram_rows(model, lengths, classes, min_count=least, slots=5))
            assert [one.about.n for one in rows] == list(lengths)
            for one in rows:
                expected = counted(kept, one.about.n, class_of)
                found = dict(zip(map(tuple, one.classes.tolist()), one.counts.tolist(), strict=True))
                assert found == {ngram: k for ngram, k in expected.items() if k >= least}
                assert sorted(one.counts.tolist(), reverse=True) == one.counts.tolist()
                about, total = one.about, max(1, expected.total())
                assert (about.occurrences, about.distinct) == (expected.total(), len(expected))
                assert about.written == len(found)
                assert about.written_share == pytest.approx(sum(found.values()) / total)
                assert about.collisions >= len(found) - 5
                assert 0 <= about.collided_share <= 1
                assert all(m == len(expected) and share == 1.0 for m, share in about.coverage.items())


def test_coverage_and_collisions():
    rng = np.random.default_rng(3)
    from support.language_corpora import View

    documents = [(rng.zipf(1.3, 400) % 5000).tolist() for _ in range(50)]
    view = View(documents)
    model = make(Backoff(order=2), view)
    classes = classes_of(model.index.types()[0], None, str)
    [rows] = ngram_rows(model, range(2, 3), classes, slots=2**40)
    counts = sorted(counted(documents, 2, {token: token for token in range(5000)}).values(), reverse=True)
    assert rows.about.coverage[1000] == pytest.approx(sum(counts[:1000]) / sum(counts))
    assert list(rows.about.coverage) == [1000, len(counts)]
    assert rows.about.collisions == 0
    [rows] = ngram_rows(model, range(2, 3), classes, slots=1000)
    # Of k n-grams in M slots M(1 - (1 - 1/M)^k) are expected to be used.
    expected = len(counts) - 1000 * (1 - (1 - 1 / 1000) ** len(counts))
    assert rows.about.collisions == pytest.approx(expected, rel=0.02)


def test_maps(tmp_path):
    types = np.array([0, 2, 3])
    texts = {0: "The", 2: "the", 3: "fox"}

    def text_of(ids):
        return [texts[token] for token in ids.tolist()]

    (tmp_path / "list.json").write_text("[5, 6, 7]")
    (tmp_path / "object.json").write_text(json.dumps({"0": 1, "3": 1, "2": None}))
    for map_, expected in (
        (None, [0, 2, 3]),
        ([4, 4, 4, 9], [4, 4, 9]),
        (np.array([4, 4, 4]), [4, 4, -1]),
        ({2: 0}, [-1, 0, -1]),
        (str.lower, [0, 0, 3]),
        (str(tmp_path / "list.json"), [5, 7, -1]),
        (str(tmp_path / "object.json"), [1, -1, 1]),
    ):
        assert classes_of(types, map_, text_of).tolist() == expected
    (tmp_path / "bad.json").write_text("{")
    for map_, message in (
        (5, "a map of classes must be"),
        ([0.5] * 4, "whole numbers"),
        ({0: "x"}, "whole numbers"),
        ({0: -2}, "whole numbers"),
        ({0: 2**31}, "whole numbers"),
        (str(tmp_path / "bad.json"), "not a JSON file"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            classes_of(types, map_, text_of)
    with pytest.raises(StorageError, match="cannot be read"):
        classes_of(types, str(tmp_path / "none.json"), text_of)
