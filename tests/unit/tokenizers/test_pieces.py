"""The kernel of byte-level decoding, against concatenation in Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb._cext.text.pieces import PieceTable, gather

PIECES = [b"a", b"b", b"ab", b"", b"\xc3", b"\xa9", b"abc" * 50]


def table_of(pieces: list[bytes]) -> PieceTable:
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return PieceTable(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)


IDS = st.lists(st.integers(0, len(PIECES) - 1), max_size=12)


@given(st.lists(IDS, max_size=6), st.randoms(use_true_random=False))
def test_texts_are_compared_with_the_concatenation_of_their_pieces(documents: list[list[int]], rng) -> None:
    table = table_of(PIECES)
    spelled = [b"".join(PIECES[k] for k in ids) for ids in documents]
    texts = [rng.choice([text, text + b"a", text[:-1], text.replace(b"a", b"b", 1)]) for text in spelled]
    flat, offsets = gather(documents)
    assert [table.decode(np.array(ids, dtype=np.uint32)) for ids in documents] == spelled
    assert table.reproduces(texts, flat, offsets).tolist() == [
        a == b for a, b in zip(texts, spelled, strict=True)
    ]


@pytest.mark.parametrize("token_id", [len(PIECES), 2**31, 2**32 - 1])
def test_an_id_beyond_the_table_spells_nothing(token_id: int) -> None:
    ids = np.array([0, token_id], dtype=np.uint32)
    assert table_of(PIECES).decode(ids) is None
    assert not table_of(PIECES).reproduces([b"a"], ids, np.array([0, 2])).any()
    assert table_of([]).decode(ids) is None


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [1, 3], [0, 2], [0, 4], [], [0, -1, 3]])
def test_a_table_needs_offsets_that_ascend_over_its_bytes(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        PieceTable(np.zeros(3, dtype=np.uint8), np.array(offsets, dtype=np.int64))


@pytest.mark.parametrize("offsets", [[0], [0, 3], [-1, 1], [0, 1, 1]])
def test_document_offsets_must_fit_the_ids(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        table_of(PIECES).reproduces([b"a"], np.zeros(2, dtype=np.uint32), np.array(offsets, dtype=np.int64))
    with pytest.raises(ValueError, match="descend"):
        table_of(PIECES).reproduces(
            [b"", b"", b""], np.zeros(2, dtype=np.uint32), np.array([0, 2**40, -(2**40), 2], dtype=np.int64)
        )


def test_texts_must_be_bytes() -> None:
    with pytest.raises(TypeError, match="must be bytes, not str"):
        table_of(PIECES).reproduces(["a"], np.zeros(1, dtype=np.uint32), np.array([0, 1]))


def test_lists_are_gathered_from_a_generator() -> None:
    flat, offsets = gather(ids for ids in [[1, 2**32 - 1], [], [0]])
    assert flat.dtype == np.uint32 and flat.tolist() == [1, 2**32 - 1, 0]
    assert offsets.dtype == np.int64 and offsets.tolist() == [0, 2, 2, 3]
    assert [array.tolist() for array in gather([])] == [[], [0]]
    for wrong in (-1, 2**32):
        with pytest.raises(OverflowError):
            gather([[wrong]])


@given(st.lists(IDS, max_size=6))
def test_many_texts_are_decoded_in_one_call(documents: list[list[int]]) -> None:
    text, starts = table_of(PIECES).decode_each(*gather(documents))
    parts = [text[start:stop] for start, stop in pairwise(starts.tolist())]
    assert parts == [b"".join(PIECES[k] for k in ids) for ids in documents]
    assert len(starts) == len(documents) + 1


@pytest.mark.parametrize("offsets", [[], [0], [0, 1], [0, 3], [1, 2], [0, 2**40, 2], [0, -1, 2]])
def test_parts_must_be_all_of_the_ids(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="must ascend"):
        table_of(PIECES).decode_each(np.zeros(2, dtype=np.uint32), np.array(offsets, dtype=np.int64))
    beyond = np.array([0, len(PIECES)], dtype=np.uint32)
    assert table_of(PIECES).decode_each(beyond, np.array([0, 1, 2])) is None
