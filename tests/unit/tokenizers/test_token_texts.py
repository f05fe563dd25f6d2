"""`token_texts` gives what `token_text` gives, of many ids at once."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers.registry import create_tokenizer
from ngramdb.tokenizers.words import WordsTokenizer


def words():
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch(["a b ü 日本 naïve a".encode()])
    return tokenizer


TOKENIZERS = {
    "words": (words, range(5)),
    "chars": (lambda: create_tokenizer("chars"), [97, 0x1F600, 0, 10]),
    "chars that are none": (lambda: create_tokenizer("chars"), [97, 0xD800, 98]),
    "bytes": (lambda: create_tokenizer("bytes"), range(256)),
    "tokens": (lambda: create_tokenizer("tokens"), [0, 7, 2**32 - 1]),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_many_are_as_each(name):
    make, ids = TOKENIZERS[name]
    tokenizer = make()
    expected = [tokenizer.token_text(token_id) for token_id in ids]
    assert tokenizer.token_texts(list(ids)) == expected
    backwards = np.array(list(ids), dtype=np.int64)[::-1]
    assert tokenizer.token_texts(backwards) == expected[::-1]
    assert tokenizer.token_texts([]) == []


@pytest.mark.parametrize("name", ["words", "chars", "bytes"])
def test_an_id_out_of_range_is_refused(name):
    make, ids = TOKENIZERS[name]
    for wrong in ([next(iter(ids)), 2**32 - 1], [-1], ["a"]):
        with pytest.raises(InvalidArgument):
            make().token_texts(wrong)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_rows_are_decoded_as_each(name):
    make, ids = TOKENIZERS[name]
    tokenizer = make()
    every = np.array([*ids, *ids], dtype=np.uint32)
    for n in (1, 2, len(ids)):
        rows = every[: len(every) // n * n].reshape(-1, n)
        assert tokenizer.decode_rows(rows) == [tokenizer.decode(row) for row in rows]
    assert tokenizer.decode_rows(np.empty((0, 3), dtype=np.uint32)) == []
    assert tokenizer.decode_rows(np.empty((2, 0), dtype=np.uint32)) == [tokenizer.decode([])] * 2
