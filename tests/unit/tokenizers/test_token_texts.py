"""`token_texts` gives what `token_text` gives, of many ids at once."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers.chars import CharsTokenizer
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


def test_all_characters_are_not_asked_one_by_one(monkeypatch):
    """A million of them would take half a minute, in which nothing stops the statement."""
    asked = []
    one = CharsTokenizer.token_text
    monkeypatch.setattr(CharsTokenizer, "token_text", lambda self, i: asked.append(i) or one(self, i))
    tokenizer = create_tokenizer("chars")
    texts = tokenizer.token_texts(np.arange(tokenizer.n_vocabulary))
    assert asked == list(range(0xD800, 0xE000))
    assert (len(texts), texts[97], texts[0xD800], texts[-1]) == (0x110000, "a", "\\ud800", "\U0010ffff")


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


@pytest.mark.parametrize("name", TOKENIZERS)
def test_parts_of_any_length_are_decoded_as_each(name):
    make, ids = TOKENIZERS[name]
    tokenizer = make()
    every = np.array([*ids, *ids], dtype=np.uint32)
    for ends in ([0], [0, len(every)], [0, 0, 1, 3, 3, len(every)]):
        offsets = np.array(ends, dtype=np.int64)
        parts = np.split(every[: ends[-1]], ends[1:-1]) if len(ends) > 1 else []
        assert tokenizer.decode_each(every[: ends[-1]], offsets) == [tokenizer.decode(part) for part in parts]
