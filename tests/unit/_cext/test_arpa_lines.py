"""Lines of ARPA files equal those that Arrow and Python make."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb._cext.text.formats import ArpaWords

WORDS = ["a", "", "übel", "\U0001f600", "</s>"]
EDGES = [0.0, 1e-8, -9e-8, -1e-7, -1.2e-7, -9.9e-7, -1e-6, -1.1e-6, 1e-5, -0.5, -10.0, 3.0]
EDGES += [-np.inf, np.inf, np.nan]

logs = st.lists(st.floats(-400, 400) | st.sampled_from(EDGES), min_size=1, max_size=20)


def all_lines(probs, backoffs, codes, limit):
    """The lines, and how many pieces they come in."""
    made, done, n = ArpaWords(WORDS), 0, 0
    text = b""
    while done < len(probs):
        piece, after = made.lines(probs, backoffs, codes, done, limit)
        assert after > done and piece.count(b"\n") == after - done
        text, done, n = text + piece, after, n + 1
    return text.decode(), n


@given(logs, st.integers(1, 4), st.booleans(), st.sampled_from([1, 30, 1 << 20]), st.randoms())
def test_lines_are_those_of_arrow(values, order, is_top, limit, random):
    probs = np.array(values).round(8) + 0.0
    backoffs = probs[::-1].copy()
    codes = np.array([[random.randrange(len(WORDS)) for _ in values] for _ in range(order)])
    decimals = pa.array(probs).cast(pa.string()).to_pylist()
    expected = ""
    for i, (prob, backoff) in enumerate(zip(decimals, decimals[::-1], strict=True)):
        fields = [prob, " ".join(WORDS[code] for code in codes[:, i]), *([] if is_top else [backoff])]
        expected += "\t".join(fields) + "\n"
    text, n_pieces = all_lines(probs, None if is_top else backoffs, codes, limit)
    assert text == expected
    assert n_pieces == len(values) if limit == 1 else n_pieces == 1 if limit == 1 << 20 else True


def test_arrays_that_do_not_fit_are_refused():
    words, zeros = ArpaWords(WORDS), np.zeros(3)
    fitting = np.zeros((2, 3), dtype=np.int64)
    for probs, backoffs, codes in (
        (zeros[:2], None, fitting),
        (zeros, zeros[:2], fitting),
        (zeros, None, fitting[:, :2].copy()),
    ):
        with pytest.raises(ValueError, match="different lengths"):
            words.lines(probs, backoffs, codes, 0, 10)
    for code in (-1, len(WORDS), 2**40):
        with pytest.raises(IndexError, match="n-gram 1 has a code"):
            words.lines(zeros, None, np.array([[0, code, 0]]), 0, 1 << 20)
    for first, codes in ((3, fitting), (0, fitting[:0])):
        with pytest.raises(IndexError, match="no n-gram"):
            words.lines(zeros, None, codes, first, 10)
    with pytest.raises(UnicodeEncodeError):
        ArpaWords(["\ud800"])


def test_no_words_are_fine():
    with pytest.raises(IndexError, match="not below 0"):
        ArpaWords([]).lines(np.zeros(1), None, np.zeros((1, 1), dtype=np.int64), 0, 1)
