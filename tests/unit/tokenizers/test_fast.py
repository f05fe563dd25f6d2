"""The fast way to ids: believed only as far as it was compared, closed at the first difference, never noticed
otherwise.
"""

from __future__ import annotations

import json
import random
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.tokenizers import fast, json_definitions
from ngramdb.tokenizers.fast import hard_texts
from ngramdb.tokenizers.huggingface import HuggingFaceTokenizer

pytest.importorskip("fastokens")

TEXT = st.text(
    st.one_of(
        st.sampled_from("the quick fox's dog\n\t 12é東👩<|end|>\r\u00a0\u0301\u200d'sS"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "WORTHWHILE_BYTES", 0)


def changed(definition: bytes, **parts: Any) -> bytes:
    return json.dumps(json.loads(definition) | parts).encode()


def as_lists(found: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    return [array.tolist() for array in found]


class Lying:
    """The library, except for texts that `lies` selects."""

    def __init__(self, library: Any, lies: Any) -> None:
        self._library = library
        self._lies = lies
        self.calls: list[list[str]] = []

    def encode_batch_flat(self, texts: list[str]) -> tuple[bytes, bytes]:
        self.calls.append(texts)
        return self._library.encode_batch_flat([self._lies(text) for text in texts])


def lie(monkeypatch: pytest.MonkeyPatch, lies: Any) -> None:
    opened = fast._open
    monkeypatch.setattr(fast, "_open", lambda *of: Lying(opened(*of), lies))


@pytest.fixture(scope="module")
def shared(byte_level_json: bytes) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(byte_level_json)


@given(texts=st.lists(TEXT, max_size=5))
@settings(deadline=None)
def test_the_fast_way_gives_the_ids_of_tokenizers(shared: HuggingFaceTokenizer, texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fast, "WORTHWHILE_BYTES", 0)
        encoder = shared.encoder()
        documents = [text.encode() for text in texts]
        assert as_lists(encoder.encode_batch(documents)) == as_lists(shared.encode_batch(documents))
        assert (encoder.note, encoder.in_doubt) == (None, False)


PATTERNS = ["ByteLevel", *sorted(json_definitions._CUTTING_PATTERNS)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("normalizer", [None, "NFC", "NFKC", "Lowercase"])
def test_what_is_not_closed_gives_the_same_ids_for_random_text(
    byte_level_json: bytes, pattern: str, normalizer: str | None
) -> None:
    library = tokenizers.Tokenizer.from_buffer(byte_level_json)
    library.add_special_tokens(["<|user|>", "<|user|>\n"])
    library.add_tokens(["two words", tokenizers.AddedToken("stripped", lstrip=True, rstrip=True), "sing"])
    if pattern != "ByteLevel":
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
        level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        library.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    if normalizer is not None:
        library.normalizer = getattr(tokenizers.normalizers, normalizer)()
    tokenizer = HuggingFaceTokenizer(library.to_str().encode())
    draw = random.Random(3)
    parts = [
        *"abAB 019.\n\t'é東",
        "<|user|>",
        "two words",
        "stripped",
        "sing",
        "  ",
        "'S",
        "\u0301",
        "ſ",
        "<|",
    ]
    texts = ["".join(draw.choices(parts, k=draw.randrange(30))).encode() for _ in range(3000)]
    encoder = tokenizer.encoder()
    assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))


def test_little_text_does_not_open_the_library(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "WORTHWHILE_BYTES", 30)
    opened: list[object] = []
    really = fast._open
    monkeypatch.setattr(fast, "_open", lambda *of: opened.append(of) or really(*of))
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    for n_opened in (0, 0, 1, 1):  # ten characters each, in several loads
        tokenizer.encoder().encode_batch([b"the quick "])
        assert len(opened) == n_opened
    tokenizer.encoder(fast=False).encode_batch([b"the quick " * 10])
    tokenizer.encode("the quick " * 10)
    assert len(opened) == 1


def test_a_large_load_closes_the_library_and_the_next_one_opens_it_without_comparing_again(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "WORTH_CLOSING_BYTES", 100)
    opened: list[Lying] = []
    really = fast._open
    monkeypatch.setattr(
        fast, "_open", lambda *of: opened.append(Lying(really(*of), lambda text: text)) or opened[-1]
    )
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    for n_opened, n_texts in ((1, 5), (1, 20), (2, 1), (2, 20), (3, 20)):
        encoder, texts = tokenizer.encoder(), [b"the quick "] * n_texts
        assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))
        encoder.end()
        assert len(opened) == n_opened
    assert max(map(len, opened[0].calls)) > 1000  # hard texts
    assert [len(texts) for texts in opened[1].calls if texts] == [1, 20]
    # As at first, little text does not open it.
    monkeypatch.setattr(fast, "WORTHWHILE_BYTES", 30)
    tokenizer.encoder().encode_batch([b"the quick "])
    assert len(opened) == 3


@pytest.mark.parametrize("wrong", ["'re", "\u3000", "12345", "東", "ΣΑΣ", "<|end|>", "aaaaaaaa"])
def test_a_library_that_gets_one_hard_text_wrong_is_not_used(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    lie(monkeypatch, lambda text: text.replace(wrong, "x"))
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    encoder = tokenizer.encoder()
    texts = [b"plain", b"text"]
    assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))
    assert "fastokens returned other ids than tokenizers" in (encoder.note or "") and not encoder.in_doubt


def test_a_character_that_comes_for_the_first_time_is_compared(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, lambda text: text.replace("\ua9cf", "x"))
    monkeypatch.setattr(fast, "SAMPLE_SHARE", 0)
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    encoder = tokenizer.encoder()
    for texts in ([b"plain"], ["a\ua9cfb".encode(), b"more"], [b"and more"]):
        assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))
    assert encoder.in_doubt and "\ua9cf" in (encoder.note or "")


def test_a_difference_in_the_sample_closes_the_way_for_good(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, lambda text: text.replace("vexed", "waxed"))
    monkeypatch.setattr(fast, "SAMPLE_SHARE", 1)
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    encoder, other = tokenizer.encoder(), tokenizer.encoder()
    good, bad = [b"a fox", b"jumps"], [b"a vexed fox", b"jumps"]
    assert as_lists(encoder.encode_batch(good)) == as_lists(tokenizer.encode_batch(good))
    assert not encoder.in_doubt
    assert as_lists(encoder.encode_batch(bad)) == as_lists(tokenizer.encode_batch(bad))
    assert encoder.in_doubt
    # Another load that has used it is in doubt as well, at its next batch; a later one is not.
    assert as_lists(other.encode_batch(good)) == as_lists(tokenizer.encode_batch(good))
    assert not other.in_doubt and other.note is not None
    later = tokenizer.encoder()
    later.encode_batch(good)
    assert not later.in_doubt


def test_a_long_text_is_compared_by_a_part_of_it(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, lambda text: text.replace("zq", "qz") if "zqzqzq" in text else text)
    # No seam: the text is one piece.
    made = tokenizers.Tokenizer.from_buffer(byte_level_json)
    made.add_tokens(["two words"])
    tokenizer = HuggingFaceTokenizer(made.to_str().encode())
    assert tokenizer._seam is None
    encoder = tokenizer.encoder()
    exact: list[list[str]] = []
    way = tokenizer._fast_way
    assert way is not None
    encoder.encode_batch([b"fox"])
    assert way.closed_because is None
    library = way._exact
    monkeypatch.setattr(way, "_exact", lambda texts: exact.append(texts) or library(texts))
    encoder.encode_batch([b"zq" * 100_000])
    assert way.closed_because is not None and all(len(text) <= fast.SAMPLE_CHARS for text in exact[0])


class Panic(BaseException):
    """The form of panics of Rust in Python."""


@pytest.mark.parametrize("fault", [Panic("index out of bounds"), ValueError("no"), "short", "descending"])
def test_a_library_that_fails_is_not_used_any_more(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    encoder = tokenizer.encoder()
    texts = [b"the fox", b"jumps"]
    encoder.encode_batch(texts)
    assert tokenizer._fast_way is not None and tokenizer._fast_way.closed_because is None

    def fails(texts: list[str]) -> tuple[bytes, bytes]:
        if isinstance(fault, BaseException):
            raise fault
        ends = [0, 1] if fault == "short" else [0, 4, 2]
        return np.arange(2, dtype="<u4").tobytes(), np.array(ends, dtype="<u8").tobytes()

    monkeypatch.setattr(tokenizer._fast_way, "_library", SimpleNamespace(encode_batch_flat=fails))
    assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))
    assert encoder.in_doubt and "fastokens" in (encoder.note or "")


def test_without_the_library_a_note_says_what_it_would_give(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastokens", None)
    encoder = HuggingFaceTokenizer(byte_level_json).encoder()
    encoder.encode_batch([b"the fox"])
    assert encoder.note == fast.NOT_INSTALLED and not encoder.in_doubt


def test_interrupts_and_lack_of_memory_are_no_faults_of_the_library(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stop in (KeyboardInterrupt, MemoryError):
        tokenizer = HuggingFaceTokenizer(byte_level_json)
        encoder = tokenizer.encoder()
        encoder.encode_batch([b"fox"])
        way = tokenizer._fast_way
        assert way is not None

        def stopped(texts: list[str], stop: type[BaseException] = stop) -> tuple[bytes, bytes]:
            raise stop

        monkeypatch.setattr(way, "_library", SimpleNamespace(encode_batch_flat=stopped))
        with pytest.raises(stop):
            encoder.encode_batch([b"fox"])
        assert way.closed_because is None


@pytest.mark.parametrize("what", ["word pieces", "no decoder", "bytes missing"])
def test_only_byte_level_tokenizers_of_all_bytes_have_a_fast_way(
    byte_level_json: bytes, word_piece_json: bytes, what: str
) -> None:
    definition = word_piece_json if what == "word pieces" else changed(byte_level_json, decoder=None)
    if what == "bytes missing":
        parts = json.loads(byte_level_json)
        del parts["model"]["vocab"]["Ā"]
        definition = json.dumps(parts).encode()
    assert HuggingFaceTokenizer(definition)._fast_way is None
    assert HuggingFaceTokenizer(byte_level_json)._fast_way is not None


def test_dropout_and_truncation_are_not_followed_either(byte_level_json: bytes) -> None:
    library = tokenizers.Tokenizer.from_buffer(byte_level_json)
    library.enable_truncation(4)
    library.enable_padding(length=40)
    definition = json.loads(library.to_str())
    definition["model"]["dropout"] = 0.5
    tokenizer = HuggingFaceTokenizer(json.dumps(definition).encode())
    encoder = tokenizer.encoder()
    texts = [b"the quick brown fox jumps over the lazy dog", b"fox"]
    for _ in range(3):
        assert as_lists(encoder.encode_batch(texts)) == as_lists(tokenizer.encode_batch(texts))
    assert encoder.note is not None and encoder.note.startswith("the tokenizer's BPE dropout of 0.5")


@pytest.mark.parametrize("size", [1, 5, 60])
def test_batches_of_any_size_give_the_same_ids(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(fast, "BATCH_CHARS", size)
    tokenizer = HuggingFaceTokenizer(byte_level_json)
    texts = [b"the fox", b"", b"jumps over" * 5, b"", b"12,345 reasons"]
    for some in (texts, texts[:1], []):
        assert as_lists(tokenizer.encoder().encode_batch(some)) == as_lists(tokenizer.encode_batch(some))


def test_hard_texts_have_every_added_token_or_many_of_them() -> None:
    added = [f"<|{k}|>" for k in range(1000)]
    texts = hard_texts(added, ["ab", " cd"], random.Random(0))
    assert {added[0], added[-1]} <= set(texts) and len(set(added) & set(texts)) == 64
    assert set(added[:5]) <= set(hard_texts(added[:5], [], random.Random(0)))
    assert all(text == text.encode().decode() for text in texts)
