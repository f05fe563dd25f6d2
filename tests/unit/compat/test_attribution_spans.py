"""`chosen_spans` against its definition, and its work on texts that the corpus has as a whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.compat.infinigram.documents import chosen_spans

TOKENS = st.integers(0, 5)


def defined(ids, ends, delimiters, word_starts):
    """Apply the rules one by one: to the first delimiter, back to a word's end, not within the last."""
    spans = []
    for start, longest in enumerate(ends):
        if word_starts is not None and ids[start] not in word_starts:
            continue
        stop = next((i + 1 for i in range(start, longest) if ids[i] in delimiters), longest)
        while word_starts is not None and start < stop < len(ids) and ids[stop] not in word_starts:
            stop -= 1
        if stop > max(start, spans[-1][1] if spans else -1):
            spans.append((start, stop))
    return spans


@given(
    st.lists(st.tuples(TOKENS, st.integers(0, 9)), max_size=12),
    st.frozensets(TOKENS),
    st.none() | st.frozensets(TOKENS),
)
def test_spans_are_those_of_the_definition(tokens, delimiters, word_starts):
    ids = [token for token, _ in tokens]
    ends = np.array([min(i + length, len(ids)) for i, (_, length) in enumerate(tokens)], dtype=np.int64)
    found = chosen_spans(ids, ends, delimiters, word_starts)
    assert found == defined(ids, ends.tolist(), delimiters, word_starts)


class Counted(frozenset):
    """Counts how often a member is looked up."""

    n = 0

    def __contains__(self, token):
        self.n += 1
        return super().__contains__(token)


def test_the_work_is_linear_in_the_text():
    n = 3000
    delimiters, word_starts = Counted({1}), Counted({2})
    ids = [2] + [3] * (n - 1)
    ends = np.full(n, n - 1, dtype=np.int64)
    assert chosen_spans(ids, ends, delimiters, None) == [(0, n - 1)]
    assert chosen_spans(ids, ends, delimiters, word_starts) == []
    assert delimiters.n <= 2 * n and word_starts.n <= 2 * n
