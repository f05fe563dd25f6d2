"""Counts of counts, and what is kept of frequent n-grams: however work is divided, against plain counting."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import View, corpora

from ngramdb._cext.lm.models import END, LanguageIndex, Model

LONGEST = 4
BORDER = -1
separators = st.sampled_from([None, 0, 3])


def language_index(view, separator):
    return LanguageIndex(view.index.segments, view.index.signs, separator)


def plain(counts):
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in counts]


def sentences(documents, separator):
    """The tokens between borders: of documents, and at separators, which end a sentence each."""
    for document in documents:
        ends = [i for i, token in enumerate(document) if token == separator]
        cuts = [-1, *ends, len(document)]
        parts = [document[a + 1 : b] for a, b in pairwise(cuts)]
        yield from parts[:-1] if ends and not parts[-1] else parts


def expected_frequent(documents, separator, least):
    """Return the expected facts about every n-gram with that many occurrences, from lists of these."""
    counts, lefts, after = Counter(), {}, {}
    for sentence in sentences(documents, separator):
        whole = [BORDER, *sentence, END]
        for n in range(1, LONGEST):
            for i in range(1, len(whole) - n):
                gram, left, right = tuple(whole[i : i + n]), whole[i - 1], whole[i + n]
                counts[gram] += 1
                lefts.setdefault(gram, set()).add(left)
                after.setdefault(gram, {}).setdefault(right, []).append(left)
    for gram, count in counts.items():
        if count >= least:
            by_left = [len(set(found)) for found in after[gram].values()]
            by_count = [len(found) for found in after[gram].values()]
            classes = [
                sum(min(n, 3) == k for n in numbers) for numbers in (by_left, by_count) for k in (1, 2, 3)
            ]
            yield (count, len(lefts[gram]), sum(by_left), *classes, *gram)


@given(corpora(), separators, st.integers(1, 6))
def test_counts_do_not_depend_on_how_rows_are_shared_out(corpus, separator, share_rows):
    kept, view = corpus
    options = {"share_rows": share_rows, "frequent_from": 2}
    found = language_index(view, separator).counts_of_counts(LONGEST, **options)
    alone = language_index(View(kept), separator)
    assert plain(found) == plain(alone.counts_of_counts(LONGEST, frequent_from=2))


@given(corpora(), separators, st.integers(1, 3))
def test_frequent_ngrams_are_counted_as_their_occurrences_are(corpus, separator, least):
    kept, view = corpus
    *_, found = language_index(view, separator).counts_of_counts(LONGEST, frequent_from=least)
    expected = sorted(expected_frequent(kept, separator, least), key=lambda row: (-row[0], row[9:]))
    assert found == expected


@given(corpora(), separators, st.sampled_from([0, 2, 3]), st.lists(st.integers(-1, 5), max_size=8))
def test_models_that_know_frequent_ngrams_score_as_those_that_count_them(corpus, separator, order, text):
    _, view = corpus
    index = language_index(view, separator)
    continuation, _, n_types, n_left_of_end, frequent = index.counts_of_counts(LONGEST, frequent_from=1)
    ones, twos = continuation[0][:2].tolist()
    numbers = (int(n_types[1]), ones, twos, int(n_types[0]) - ones - twos)
    settings = {"empty": numbers, "n_left_of_end": n_left_of_end, "top": (0.4, 0.9, 1.3)}
    scores = [
        Model(index, "interpolated", order, frequent=known, **settings).score(text, [0, len(text)], True)
        for known in ((), frequent)
    ]
    assert str(scores[0].tolist()) == str(scores[1].tolist())


def test_frequent_ngrams_of_another_corpus_are_refused():
    index = corpus_of([[0, 1, 0, 1]])
    *_, frequent = index.counts_of_counts(2, frequent_from=2)
    assert [row[0] for row in frequent] == [2, 2]
    with pytest.raises(ValueError, match=r"the tokens \[0\] do not occur 2 times"):
        Model(corpus_of([[0, 1, 0, 1, 0]]), "interpolated", frequent=frequent)


def corpus_of(documents):
    return language_index(View(documents), None)
