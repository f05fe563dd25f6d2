"""The words of texts whose tokens are pieces of words: long texts, limits, arguments."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from support.polls import is_stopped, n_polls
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import ngramdb
from ngramdb._cext.corpus.token_patterns import Matcher, word_forms
from ngramdb.errors import InvalidArgument
from ngramdb.tokenizers import vocabulary as module
from ngramdb.tokenizers.words import WordsTokenizer

WORD = 8  # the code of steps that read words


def byte_pairs():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(["the cat and the dog", "a cat é 字 the"], trainer)
    return made


def corpus_of(texts):
    made = ngramdb.connect().create_corpus("a", byte_pairs())
    made.append(texts)
    return made


def long_text(seed):
    """Some 300 kB: words, one that is longer than what is read at once, and white space that is."""
    chosen = random.Random(seed)
    pieces = [
        "the ",
        "cat",
        " and",
        "é",
        "e\u0301",
        "字",
        "\u200d",
        ". ",
        "dog\n",
        "\u3000",
        "x" * 70_000,
        " " * 70_000,
    ]
    weights = [9, 9, 9, 5, 5, 5, 5, 9, 9, 5, 0.0002, 0.0002]
    return "".join(chosen.choices(pieces, weights, k=50_000)) + "z" * 70_000 + " " * 70_000 + "end"


def test_long_texts_have_the_words_of_the_tokenizer_words():
    texts = [long_text(1), "", long_text(2)]
    corpus = corpus_of(texts)
    segment = corpus._bound.current().segments[0]
    entries, bounds, flat, offsets = word_forms(segment.index, *corpus.tokenizer.token_bytes, 1 << 20)
    words = [entries[a:b].tobytes().decode() for a, b in pairwise(bounds)]
    expected = {word for text in texts for word in WordsTokenizer().split(text)}
    assert len(words) == len(expected) and set(words) == expected
    for start, stop in pairwise(offsets.tolist()):
        spelled = corpus.tokenizer.decode_exact(flat[start + 1 : stop])
        assert words[flat[start]].encode() in spelled


@pytest.mark.parametrize(
    ("pattern", "word"),
    [("/the/", "the"), ("/and/", "and"), ("/end/", "end"), ("/xx+/", "x" * 70_000), ("/字/", "字")],
)
def test_words_are_counted_wherever_they_stand_in_a_long_text(pattern, word):
    text = "a " + "x" * 70_000 + " " + long_text(3)
    expected = WordsTokenizer().split(text).count(word)
    assert expected and corpus_of([text]).count(ngramdb.pattern(pattern)) == expected


def test_too_many_words_are_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr(module, "MAX_SEQUENCES", 5)
    corpus = corpus_of(["the cat and the dog saw each other there"])
    with pytest.raises(InvalidArgument, match="has more than 5 different words"):
        corpus.count(ngramdb.pattern("/cat/"))


def test_the_pass_over_the_tokens_can_be_stopped():
    def fresh():
        db = ngramdb.connect()
        db.create_corpus("a", byte_pairs()).append(["the cat and the dog saw each other there " * 50_000])
        return lambda: db.execute("COUNT /cat/").fetchall()

    n = n_polls(fresh())
    assert n > 10
    assert is_stopped(fresh(), n // 2)


def test_the_kernel_refuses_what_it_cannot_read():
    corpus = corpus_of(["the cat"])
    index = corpus._bound.current().segments[0].index
    flat = np.zeros(4, dtype=np.uint8)
    for offsets in ([], [0, 5], [2, 1, 4], [-1, 2]):
        with pytest.raises(ValueError, match="token"):
            word_forms(index, flat, np.array(offsets, dtype=np.int64), 9)
    sets = np.zeros((0, 0), dtype=np.uint8)
    words = (np.frombuffer(b"cat", dtype=np.uint8), np.array([0, 3], dtype=np.uint64))
    pieces = corpus.tokenizer.token_bytes
    for step in ([WORD, 0, 2], [WORD, 1, 1], [WORD, -1, 1], [WORD, 0, 0]):
        with pytest.raises(ValueError, match="step 0 reads"):
            Matcher(np.array([step, [5, 0, 0]], dtype=np.int64), sets, [words], pieces)
    steps = np.array([[WORD, 0, 1], [5, 0, 0]], dtype=np.int64)
    with pytest.raises(ValueError, match="bytes of tokens"):
        Matcher(steps, sets, [words])
    with pytest.raises(ValueError, match="does more"):
        Matcher(steps[1:], sets).words(index, np.array([0], dtype=np.uint32))
    assert Matcher(steps, sets, [words], pieces).words(index, np.array([0, 1], dtype=np.uint32))[0].size == 1
