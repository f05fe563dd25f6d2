"""`bytes`, `chars` and `tokens`: vocabularies that are given, not learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers import Tokenizer, as_ids, create_tokenizer

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6)


@pytest.mark.parametrize(("kind", "ids"), [("bytes", [97, 0xC3, 0xA9]), ("chars", [97, 0xE9])])
def test_ids_are_byte_values_and_code_points(kind: str, ids: list[int]) -> None:
    tokenizer = create_tokenizer(kind)
    assert tokenizer.encode("aé").tolist() == ids
    found, offsets = tokenizer.encode_batch(["aé".encode(), b"", b"a"])
    assert found.tolist() == [*ids, 97] and found.dtype == np.uint32
    assert offsets.tolist() == [0, len(ids), len(ids), len(ids) + 1]
    assert tokenizer.n_vocabulary == {"bytes": 256, "chars": 0x110000}[kind]


@pytest.mark.parametrize("kind", ["bytes", "chars"])
@given(texts=TEXTS)
def test_every_text_comes_back_byte_for_byte(kind: str, texts: list[str]) -> None:
    tokenizer = create_tokenizer(kind)
    documents = [text.encode() for text in texts]
    ids, offsets = tokenizer.encode_batch(documents)
    assert tokenizer.reproduces(documents, ids, offsets).tolist() == [True] * len(texts)
    for k, text in enumerate(texts):
        of_document = ids[offsets[k] : offsets[k + 1]]
        assert tokenizer.decode_exact(of_document) == documents[k]
        assert tokenizer.decode(of_document) == text
        assert tokenizer.encode(text).tolist() == of_document.tolist()


@pytest.mark.parametrize("kind", ["bytes", "chars"])
def test_a_text_that_does_not_come_back_is_found_out(kind: str) -> None:
    tokenizer = create_tokenizer(kind)
    ids, offsets = tokenizer.encode_batch([b"same", b"this", b""])
    assert tokenizer.reproduces([b"same", b"that", b"x"], ids, offsets).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("kind", "ids"), [("bytes", [65, 256]), ("chars", [0x110000]), ("chars", [0xD800, 0x110000])]
)
def test_ids_that_spell_no_text_have_none(kind: str, ids: list[int]) -> None:
    tokenizer = create_tokenizer(kind)
    assert tokenizer.decode_exact(ids) is None
    with pytest.raises(InvalidArgument, match=str(ids[-1])):
        tokenizer.decode(ids)


def test_the_table_of_bytes_is_the_identity() -> None:
    pieces = create_tokenizer("bytes").token_bytes
    assert pieces is not None
    flat, offsets = pieces
    assert flat.tobytes() == bytes(range(256)) and offsets.tolist() == list(range(257))


@pytest.mark.parametrize(
    ("kind", "token_id", "text"),
    [("bytes", 65, "A"), ("bytes", 0xC3, "\\xc3"), ("chars", 0x6771, "東"), ("chars", 0xD800, "\\ud800"),
     ("tokens", 17, "17"), ("tokens", 2**32 - 1, "4294967295")],
)  # fmt: skip
def test_a_token_can_be_shown(kind: str, token_id: int, text: str) -> None:
    assert create_tokenizer(kind).token_text(token_id) == text


@pytest.mark.parametrize(
    ("kind", "token_id"),
    [("bytes", 256), ("chars", 0x110000), ("words", 0)],
)
def test_an_id_beyond_the_vocabulary_is_out_of_range(kind: str, token_id: int) -> None:
    with pytest.raises(InvalidArgument, match=f"token id {token_id} is out of range"):
        create_tokenizer(kind).token_text(token_id)


def test_a_corpus_of_tokens_refuses_text_and_says_how_to_write_ids() -> None:
    tokenizer = create_tokenizer("tokens")
    with pytest.raises(InvalidArgument, match=r"'the end' .* write them as \[1, 2\]"):
        tokenizer.encode("the end")
    with pytest.raises(InvalidArgument, match=r"write them as \[1, 2\]"):
        tokenizer.encode_batch([b"the end"])
    assert tokenizer.decode([3, 2**32 - 1]) == "3 4294967295"
    assert tokenizer.decode_exact([3]) is None


@pytest.mark.parametrize("tokenizer", [create_tokenizer(kind) for kind in ("bytes", "chars", "tokens")])
def test_kinds_that_do_not_grow_have_nothing_to_store(tokenizer: Tokenizer) -> None:
    assert tokenizer.fork() is tokenizer
    assert tokenizer.definition() is None
    assert tokenizer.vocabulary_since(0) is None
    tokenizer.check()


def test_surrogates_among_characters_are_shown_as_escapes() -> None:
    tokenizer = create_tokenizer("chars")
    assert tokenizer.decode([0x61, 0xD800, 0xDC00, 0x1F600]) == "a\\ud800\\udc00\U0001f600"
    assert tokenizer.decode_exact([0x61, 0xD800]) is None
    with pytest.raises(InvalidArgument, match="token id 1114112 is not a Unicode character"):
        tokenizer.decode([0x61, 0x110000])


def test_documents_must_be_valid_utf8_to_be_cut_into_characters() -> None:
    with pytest.raises(InvalidArgument, match="text 1 of the batch is not valid UTF-8 at byte 2"):
        create_tokenizer("chars").encode_batch([b"fine", b"ab\xff"])


@pytest.mark.parametrize("kind", ["bytes", "chars"])
def test_a_query_must_be_valid_unicode(kind: str) -> None:
    with pytest.raises(InvalidArgument, match="lone surrogate"):
        create_tokenizer(kind).encode("\udfff")


@pytest.mark.parametrize(
    "ids",
    [[0, 7, 2**32 - 1], (0, 7, 2**32 - 1), range(0), [], range(5, 9), [np.int8(3)],
     np.array([], dtype=float),
     *[np.array([0, 1, 127], dtype=dtype) for dtype in "bBhHiIqQ"],
     np.array([2**32 - 1], dtype=np.uint64), np.arange(6)[::2], np.array([1, 2], dtype=">u4")],
)  # fmt: skip
def test_ids_come_from_ints_and_integer_arrays(ids: Any) -> None:
    found = as_ids(ids)
    assert found.dtype == np.uint32 and found.flags.c_contiguous
    assert found.tolist() == [int(value) for value in ids]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2.0], "a token id must be an integer, not float"),
        ([True], "a token id must be an integer, not bool"),
        ([np.bool_(True)], "a token id must be an integer, not bool"),
        (["1"], "a token id must be an integer, not str"),
        ([None], "a token id must be an integer, not None"),
        ([1, -1], "token id -1 is outside 0 … 4294967295"),
        ([2**32], "token id 4294967296 is outside 0 … 4294967295"),
        ([2**80], "is outside 0 … 4294967295"),
        (np.array([1.0]), "not of type float64"),
        (np.array([True]), "not of type bool"),
        (np.array([-5, 1]), "token id -5 is outside"),
        (np.array([2**32]), "token id 4294967296 is outside 0 … 4294967295"),
        (np.array([2**63 + 1], dtype=np.uint64), "is outside 0 … 4294967295"),
        (np.array([[1, 2]]), "not 2-dimensional"),
        ("12", "a sequence of token ids, not"),
        (b"12", "a sequence of token ids, not"),
        (12, "a sequence of token ids, not"),
    ],
)
def test_anything_else_is_refused_by_name(ids: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        as_ids(ids)


def test_an_array_of_the_right_dtype_is_not_copied() -> None:
    ids = np.arange(5, dtype=np.uint32)
    assert np.shares_memory(as_ids(ids), ids)
