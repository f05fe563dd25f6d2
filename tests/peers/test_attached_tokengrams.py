"""Indexes that tokengrams makes, attached: our answers and its own. Needs the package `tokengrams`."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngramdb

tokengrams = pytest.importorskip("tokengrams")


@pytest.mark.parametrize(("dtype", "vocabulary"), [("<u2", 2**16), ("<u4", 2**17)])
def test_counts_and_next_tokens_are_its_own(tmp_path: Path, dtype: str, vocabulary: int) -> None:
    rng = np.random.default_rng(0)
    tokens = np.minimum(rng.zipf(1.4, 30_000), vocabulary - 1).astype(dtype)
    tokens.tofile(tmp_path / "t.bin")
    theirs: Any = tokengrams.MemmapIndex.build(str(tmp_path / "t.bin"), str(tmp_path / "t.idx"), vocabulary)
    with ngramdb.connect() as db:
        pile = db.attach(tmp_path / "t.bin", "pile", type="tokengrams")
        assert pile.n_tokens == len(tokens)
        grams = [tokens[at : at + length].tolist() for at in range(0, 29_000, 97) for length in (1, 2, 5)]
        grams += [[vocabulary - 1, 1], [3, 1, 4, 1, 5, 9, 2, 6]]
        assert pile.count_many(grams).tolist() == [theirs.count(gram) for gram in grams]
        for gram in grams[:60]:
            ours = pile.dist_arrays(gram)
            dense = np.zeros(vocabulary, dtype=np.int64)
            dense[ours.token_ids] = ours.counts
            assert dense.tolist() == theirs.count_next(gram)


@pytest.mark.parametrize(("dtype", "vocabulary"), [("<u2", 2**16), ("<u4", 2**17)])
def test_a_text_that_ends_in_the_id_0(tmp_path: Path, dtype: str, vocabulary: int) -> None:
    tokens = np.append(np.random.default_rng(0).integers(0, 3, 98), [0, 0]).astype(dtype)
    tokens.tofile(tmp_path / "t.bin")
    theirs: Any = tokengrams.MemmapIndex.build(str(tmp_path / "t.bin"), str(tmp_path / "t.idx"), vocabulary)
    with ngramdb.connect() as db:
        pile = db.attach(tmp_path / "t.bin", "pile", type="tokengrams")
        grams = [list(gram) for length in range(1, 6) for gram in product(range(3), repeat=length)]
        assert pile.count_many(grams).tolist() == [theirs.count(gram) for gram in grams]
