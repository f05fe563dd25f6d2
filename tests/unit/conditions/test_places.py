from __future__ import annotations

import numpy as np
import pytest

from ngramdb.conditions import docset
from ngramdb.conditions.docset import PlaceSet


@pytest.mark.parametrize("n_positions", [0, 1, 8, 1000])
def test_places_come_back_once_and_in_order(n_positions, monkeypatch):
    monkeypatch.setattr(docset, "CHUNK_BYTES", 3)
    rng = np.random.default_rng(n_positions)
    found, expected = PlaceSet(n_positions), set()
    for size in (0, 1, 5, 300):
        some = rng.integers(0, n_positions, size if n_positions else 0, dtype=np.uint32)
        found.add(some)
        expected.update(some.tolist())
        assert found.ascending().tolist() == sorted(expected)
    assert found.ascending().dtype == np.uint32
