"""Words of a vocabulary are found by expressions as one by one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.patterns import string_to_ids
from ngramdb.patterns.string_to_ids import VocabularyText


@pytest.mark.parametrize("checked", [1, 4, 1 << 20])
@given(
    words=st.lists(st.text("ab.", max_size=4), max_size=12),
    before=st.sampled_from([b"", b"^"]),
    inner=st.text("ab.", min_size=1, max_size=2).map(lambda text: re.escape(text).encode())
    | st.sampled_from([b"(?:a|A)b", b"[ab]"]),
    behind=st.sampled_from([b"", b"$"]),
)
def test_words_that_match_are_those_that_match_alone(checked, words, before, inner, behind):
    offsets = np.cumsum([0, *map(len, words)])
    vocabulary = VocabularyText(np.frombuffer("".join(words).encode(), dtype=np.uint8), offsets)
    expression = before + inner + behind
    expected = [i for i, word in enumerate(words) if re.search(expression, word.encode())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_to_ids, "CHECK_BYTES", checked)
        assert vocabulary.matching(expression).tolist() == expected
