"""The growing vocabulary: ids, forks, files, limits, damage, threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb._cext.text import words as kernel
from ngramdb.errors import CorruptionError, FormatVersionError, InvalidArgument, ResourceError
from ngramdb.tokenizers import UNKNOWN, FileContent, open_tokenizer
from ngramdb.tokenizers.words import WordsTokenizer

WORD = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=3)
TEXTS = st.lists(st.lists(WORD, max_size=30).map(" ".join), max_size=8)
ToFile = Callable[[FileContent], Any]


def test_ids_are_given_by_first_appearance_and_known_words_keep_theirs() -> None:
    tokenizer = WordsTokenizer()
    ids, offsets = tokenizer.encode_batch([b"to be or not to be", b"", b"be it so"])
    assert ids.dtype == np.uint32 and offsets.dtype == np.int64
    assert ids.tolist() == [0, 1, 2, 3, 0, 1, 1, 4, 5]
    assert offsets.tolist() == [0, 6, 6, 9]
    assert tokenizer.encode_batch([b"so it be"])[0].tolist() == [5, 4, 1]
    assert tokenizer.n_vocabulary == 6


def test_a_query_adds_nothing_and_an_unknown_word_is_minus_one() -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"natural language processing"])
    ids = tokenizer.encode("Natural language, processing")
    assert ids.dtype == np.int64
    assert ids.tolist() == [UNKNOWN, 1, UNKNOWN, 2]
    assert tokenizer.encode("").tolist() == []
    assert tokenizer.n_vocabulary == 3


@given(TEXTS)
def test_query_ids_are_document_ids(texts: list[str]) -> None:
    tokenizer = WordsTokenizer()
    ids, offsets = tokenizer.encode_batch([text.encode() for text in texts])
    for k, text in enumerate(texts):
        assert tokenizer.encode(text).tolist() == ids[offsets[k] : offsets[k + 1]].tolist()


@given(TEXTS)
def test_the_vocabulary_is_a_dict_in_order_of_insertion(texts: list[str]) -> None:
    tokenizer = WordsTokenizer()
    number: dict[str, int] = {}
    expected = [number.setdefault(word, len(number)) for text in texts for word in text.split()]
    ids, _ = tokenizer.encode_batch([text.encode() for text in texts])
    assert ids.tolist() == expected
    assert [tokenizer.token_text(k) for k in range(tokenizer.n_vocabulary)] == list(number)
    assert tokenizer.decode(ids) == " ".join(word for text in texts for word in text.split())
    tokenizer.check()


def test_documents_do_not_come_back_from_their_ids() -> None:
    tokenizer = WordsTokenizer()
    texts = [b"a b", b"a  b"]
    ids, offsets = tokenizer.encode_batch(texts)
    assert tokenizer.reproduces(texts, ids, offsets).tolist() == [False, False]
    assert tokenizer.decode_exact(ids) is None
    assert tokenizer.token_bytes is None and not tokenizer.lossless


def test_what_a_fork_learns_the_original_never_sees() -> None:
    committed = WordsTokenizer()
    committed.encode_batch([b"one two"])
    load = committed.fork()
    assert load.encode_batch([b"two three four"])[0].tolist() == [1, 2, 3]
    assert committed.n_vocabulary == 2
    assert committed.encode("three one").tolist() == [UNKNOWN, 0]
    with pytest.raises(InvalidArgument, match="token id 2 is out of range: the vocabulary has 2 ids"):
        committed.token_text(2)
    assert committed.encode_batch([b"five"])[0].tolist() == [2]  # the failed load's ids are free again
    assert load.encode("five").tolist() == [UNKNOWN]


@pytest.mark.parametrize("n_loads", [1, 3, 50])
def test_a_vocabulary_of_many_files_is_the_one_that_was_written(n_loads: int, as_file: ToFile) -> None:
    rng = random.Random(n_loads)
    written = WordsTokenizer()
    files = []
    for _ in range(n_loads):
        load = written.fork()
        words = [f"w{rng.randrange(4000)}" for _ in range(rng.choice([1, 50, 900]))]
        load.encode_batch([" ".join(words).encode()])
        content = load.vocabulary_since(written.n_vocabulary)
        if content is not None:
            files.append(as_file(content))
        written = load
    opened = open_tokenizer("words", vocabulary=files)
    n_words = written.n_vocabulary
    assert opened.n_vocabulary == n_words
    assert [opened.token_text(k) for k in range(n_words)] == [written.token_text(k) for k in range(n_words)]
    everything = " ".join(f"w{k}" for k in range(4000))
    assert opened.encode(everything).tolist() == written.encode(everything).tolist()
    opened.check()
    assert opened.fork().encode_batch([b"quite new"])[0].tolist() == [n_words, n_words + 1]


def test_a_load_stores_only_what_is_new(as_file: ToFile) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch(["zwölf Boxkämpfer jagen".encode()])
    content = tokenizer.vocabulary_since(1)
    assert content is not None and content.kind == "VOCB"
    assert content.sections["entries"].tobytes().decode() == "Boxkämpferjagen"
    assert content.sections["offsets"].tolist() == [0, 11, 16]
    assert content.sections["offsets"].dtype == content.sections["slots"].dtype == np.uint64
    assert content.properties["first_id"] == 1 and content.properties["n_words"] == 2
    assert tokenizer.vocabulary_since(3) is None
    with pytest.raises(InvalidArgument):
        tokenizer.vocabulary_since(4)


def test_files_without_a_hash_table_or_with_one_of_another_hash_are_read_too(as_file: ToFile) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"one two three"])
    content = tokenizer.vocabulary_since(0)
    assert content is not None
    bare, foreign = as_file(content), as_file(content)
    del bare.sections["slots"]
    foreign.properties["hash"] = 99
    foreign.sections["slots"] = np.zeros(16, dtype=np.uint64)
    for file in (bare, foreign):
        assert open_tokenizer("words", vocabulary=[file]).encode("three two one").tolist() == [2, 1, 0]


def test_the_stored_hash_table_is_the_one_of_the_format(as_file: ToFile) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"a international-isation Donaudampfschifffahrt \xe6\x9d\xb1 1234567 12345678"])
    content = tokenizer.vocabulary_since(0)
    assert content is not None
    slots = [0] * 16
    for number in range(tokenizer.n_vocabulary):
        word_hash = hash_of_the_format(tokenizer.token_text(number).encode())
        at = word_hash % 16
        while slots[at]:
            at = (at + 1) % 16
        slots[at] = (word_hash >> 32 << 32) + number + 1
    assert content.sections["slots"].tolist() == slots


def hash_of_the_format(word: bytes) -> int:
    def mix(value: int) -> int:
        value = value * 0x9E3779B97F4A7C15 % 2**64
        return value ^ value >> 32

    state = len(word) * 0xD6E8FEB86659FD93 % 2**64
    pieces = [word[at : at + 8] for at in range(0, len(word), 8)]
    for piece in pieces:
        state = mix(state ^ int.from_bytes(piece, "little"))
    return mix(state)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("properties", lambda file: file.properties.update(first_id=1)),
        ("properties", lambda file: file.properties.update(n_words=4)),
        ("offsets", lambda file: file.sections.update(offsets=file.sections["offsets"][:0])),
        ("offsets", lambda file: file.sections.update(offsets=file.sections["offsets"] + np.uint64(1))),
        ("offsets", lambda file: file.sections.update(offsets=file.sections["offsets"].astype(np.int64))),
        ("entries", lambda file: file.sections.update(entries=file.sections["entries"][:-1])),
        ("slots", lambda file: file.sections.update(slots=np.zeros(24, dtype=np.uint64))),
        ("slots", lambda file: file.sections.update(slots=np.zeros(2, dtype=np.uint64))),
        ("slots", lambda file: file.sections.update(slots=np.zeros(0, dtype=np.uint64))),
    ],
)
def test_a_file_that_cannot_be_a_vocabulary_is_refused(
    name: str, damage: Callable[[Any], None], as_file: ToFile
) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"one two three"])
    content = tokenizer.vocabulary_since(0)
    assert content is not None
    file = as_file(content)
    damage(file)
    with pytest.raises(CorruptionError) as raised:
        open_tokenizer("words", vocabulary=[file])
    assert raised.value.path == "memory"


def test_a_rule_from_the_future_is_refused_by_number(as_file: ToFile) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"one"])
    content = tokenizer.vocabulary_since(0)
    assert content is not None
    file = as_file(content)
    file.properties["rule"] = 2
    with pytest.raises(FormatVersionError, match="rule 2") as raised:
        open_tokenizer("words", vocabulary=[file])
    assert (raised.value.found, raised.value.supported) == (2, 1)


@given(st.data())
def test_random_damage_inside_the_arrays_never_crashes_and_check_sees_lost_words(data: st.DataObject) -> None:
    good = kernel.Vocabulary()
    good.encode_batch([b"one two three four five six seven"])
    entries, offsets = good.export()
    slots = kernel.build_slots(entries, offsets)
    target = data.draw(st.sampled_from([slots, offsets[1:-1]]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(target) - 1))
        target[at] = data.draw(
            st.sampled_from([0, 1, 2**32 - 1, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
        )
    damaged = kernel.Vocabulary()
    damaged.append(entries, offsets, slots)
    wanted = b"one two three four five six seven eight"
    found = damaged.encode(wanted)
    damaged.encode_batch([wanted])
    all_there = damaged.encode(wanted).tolist() == [*range(7), damaged.lookup(b"eight")]
    assert len(found) == 8
    assert (damaged.first_wrong() == -1) <= all_there


def test_check_names_the_first_word_that_stands_twice(as_file: ToFile) -> None:
    tokenizer = WordsTokenizer()
    tokenizer.encode_batch([b"one two three"])
    first, second = tokenizer.vocabulary_since(0), tokenizer.vocabulary_since(1)
    assert first is not None and second is not None
    twice = as_file(second)
    twice.properties["first_id"] = 3
    with pytest.raises(CorruptionError, match="word 3"):
        open_tokenizer("words", vocabulary=[as_file(first), twice]).check()


def test_a_full_vocabulary_is_an_error_and_known_words_still_work() -> None:
    tokenizer = WordsTokenizer(kernel.Vocabulary(max_words=2))
    tokenizer.encode_batch([b"one two one"])
    with pytest.raises(ResourceError, match="vocabulary is full"):
        tokenizer.encode_batch([b"two three"])
    assert tokenizer.encode_batch([b"two one"])[0].tolist() == [1, 0]
    with pytest.raises(ResourceError):
        tokenizer.fork().encode_batch([b"three"])
    entries, offsets = tokenizer._vocabulary.export()
    with pytest.raises(OverflowError):
        kernel.Vocabulary(max_words=1).append(entries, offsets)


def test_a_word_may_be_of_any_length() -> None:
    tokenizer = WordsTokenizer()
    texts = [b"x" * size for size in (*range(1, 40), 10_000_000)]
    ids, _ = tokenizer.encode_batch(texts)
    assert ids.tolist() == list(range(40))
    assert tokenizer.token_text(39) == "x" * 10_000_000
    tokenizer.check()


def test_a_vocabulary_grows_past_a_million_words() -> None:
    n_words = 2**20 + 5
    text = " ".join(map(str, range(n_words))).encode()
    tokenizer = WordsTokenizer()
    ids, _ = tokenizer.encode_batch([text])
    assert np.array_equal(ids, np.arange(n_words, dtype=np.uint32))
    assert tokenizer.encode("0 1048580 1048581").tolist() == [0, n_words - 1, UNKNOWN]
    tokenizer.check()


def test_threads_may_encode_at_once() -> None:
    tokenizer = WordsTokenizer()
    rng = random.Random(7)
    texts = [" ".join(f"w{rng.randrange(3000)}" for _ in range(2000)).encode() for _ in range(40)]

    def encode(text: bytes) -> bool:
        ids, _ = tokenizer.encode_batch([text])
        return (
            tokenizer.decode(ids).encode()
            == text
            == tokenizer.decode(tokenizer.encode(text.decode())).encode()
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(encode, texts))
    tokenizer.check()
    assert tokenizer.n_vocabulary == len({word for text in texts for word in text.split()})


@pytest.mark.parametrize("bad", ["text", None, bytearray(b"text")])
def test_a_document_must_be_bytes(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be bytes"):
        WordsTokenizer().encode_batch([b"fine", bad])


def test_a_query_must_be_valid_unicode() -> None:
    with pytest.raises(InvalidArgument, match=r"lone surrogate \(U\+D800\) at character 2"):
        WordsTokenizer().encode("ab\ud800")
