"""Bytes of tokens."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.conditions.byte_places import sizes_of
from ngramdb.errors import CorruptionError


def test_a_token_id_beyond_the_vocabulary_is_damage() -> None:
    sizes = np.array([3, 1, 2])
    assert sizes_of(np.array([2, 0]), sizes).tolist() == [2, 3]
    assert sizes_of(np.array([], dtype=np.uint32), sizes).tolist() == []
    with pytest.raises(CorruptionError, match="token id 3, beyond the 3 tokens"):
        sizes_of(np.array([1, 3]), sizes)
