"""A `tokenizer.json`: byte-level ones restore the text, all others report that they cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.tokenizers import huggingface, json_definitions, open_tokenizer
from ngramdb.tokenizers.huggingface import HuggingFaceTokenizer

TEXT = st.text(
    st.one_of(
        st.sampled_from("the quick fox's dog\n\t 12é東👩<|end|>"), st.characters(exclude_categories=["Cs"])
    )
)


def changed(definition: bytes, **parts: Any) -> bytes:
    return json.dumps(json.loads(definition) | parts).encode()


@given(texts=st.lists(TEXT, max_size=5))
@settings(deadline=None)
def test_byte_level_text_comes_back_byte_for_byte(byte_level_json: bytes, texts: list[str]) -> None:
    tokenizer = shared(byte_level_json)
    documents = [text.encode() for text in texts]
    ids, offsets = tokenizer.encode_batch(documents)
    assert ids.dtype == np.uint32 and offsets.dtype == np.int64
    assert tokenizer.reproduces(documents, ids, offsets).all()
    for k, text in enumerate(texts):
        of_document = ids[offsets[k] : offsets[k + 1]]
        assert tokenizer.decode_exact(of_document) == documents[k]
        assert tokenizer.decode(of_document) == text
        assert tokenizer.encode(text).tolist() == of_document.tolist()
        rows = of_document[: len(of_document) // 2 * 2].reshape(-1, 2)
        assert tokenizer.decode_rows(rows) == [tokenizer.decode(row) for row in rows]
        bounds = [0, 0, len(of_document) // 2, len(of_document)]
        parts = np.split(of_document, bounds[1:-1])
        assert tokenizer.decode_each(of_document, np.array(bounds)) == [tokenizer.decode(p) for p in parts]


_SHARED: dict[bytes, HuggingFaceTokenizer] = {}


def shared(definition: bytes) -> HuggingFaceTokenizer:
    return _SHARED.setdefault(definition, HuggingFaceTokenizer(definition))


def test_the_ids_are_the_librarys(byte_level_json: bytes) -> None:
    text = "The quick brown fox<|end|> isn't 東京 at\n\n 12,345"
    expected = tokenizers.Tokenizer.from_buffer(byte_level_json).encode(text, add_special_tokens=False).ids
    assert shared(byte_level_json).encode(text).tolist() == expected
    assert shared(byte_level_json).encode_batch([text.encode()])[0].tolist() == expected
    assert expected.count(0) == 1  # <|end|>


def test_a_text_that_was_changed_on_the_way_is_found_out(byte_level_json: bytes) -> None:
    lowering = HuggingFaceTokenizer(changed(byte_level_json, normalizer={"type": "Lowercase"}))
    texts = [b"fox", b"Fox", b"", "É".encode()]
    assert lowering.reproduces(texts, *lowering.encode_batch(texts)).tolist() == [True, False, True, False]


def test_a_prefixed_blank_is_found_out(byte_level_json: bytes) -> None:
    before = json.loads(byte_level_json)["pre_tokenizer"] | {"add_prefix_space": True}
    prefixing = HuggingFaceTokenizer(changed(byte_level_json, pre_tokenizer=before))
    texts = [b"fox", b" fox"]
    assert prefixing.reproduces(texts, *prefixing.encode_batch(texts)).tolist() == [False, True]


def test_tokenizers_that_lose_text_say_so(word_piece_json: bytes) -> None:
    tokenizer = HuggingFaceTokenizer(word_piece_json)
    texts = [b"the quick fox", b"The  fox jumps, jumping."]
    ids, offsets = tokenizer.encode_batch(texts)
    assert ids.tolist() == [1, 2, 3, 1, 3, 4, 5, 9, 4, 6, 8]
    assert not tokenizer.lossless and tokenizer.token_bytes is None
    assert tokenizer.reproduces(texts, ids, offsets).tolist() == [False, False]
    assert tokenizer.decode_exact(ids) is None
    assert tokenizer.decode(ids[:3]) == "the quick fox"
    assert tokenizer.token_text(5) == "##s"
    assert tokenizer.encode("the cat").tolist() == [1, 0]


def test_truncation_padding_special_tokens_and_dropout_are_not_followed(byte_level_json: bytes) -> None:
    library = tokenizers.Tokenizer.from_buffer(byte_level_json)
    library.enable_truncation(4)
    library.enable_padding(length=40)
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|end|> $A <|end|>", special_tokens=[("<|end|>", 0)]
    )
    definition = json.loads(library.to_str())
    definition["model"]["dropout"] = 0.5
    plain, odd = shared(byte_level_json), HuggingFaceTokenizer(json.dumps(definition).encode())
    text = "the quick brown fox jumps over the lazy dog"
    for _ in range(5):
        assert odd.encode(text).tolist() == plain.encode(text).tolist()
        assert odd.encode_batch([text.encode(), b"fox"])[0].tolist() == plain.encode(text + "fox").tolist()


def test_an_added_token_is_its_text_even_where_it_looks_like_bytes(byte_level_json: bytes) -> None:
    library = tokenizers.Tokenizer.from_buffer(byte_level_json)
    library.add_tokens(["éé", "two words", "ĠĠ"])
    tokenizer = HuggingFaceTokenizer(library.to_str().encode())
    first = tokenizer.n_vocabulary - 3
    text = "éé two wordsĠĠ é"
    ids = tokenizer.encode(text)
    assert {first, first + 1, first + 2} < set(ids.tolist())
    assert tokenizer.decode_exact(ids) == text.encode()
    assert tokenizer.token_text(first) == "éé" and tokenizer.token_text(first + 2) == "ĠĠ"


def test_every_byte_has_a_character_of_its_own() -> None:
    byte_of = {code: byte for byte, code in json_definitions.BYTE_CHARACTERS.items()}
    assert sorted(byte_of.values()) == list(range(256))
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    assert {chr(code) for code in byte_of} == set(alphabet)
    assert byte_of[ord("Ġ")] == ord(" ") and byte_of[ord("Ċ")] == ord("\n") and byte_of[ord("A")] == ord("A")


def test_tokens_are_shown_with_what_is_no_utf8_escaped(byte_level_json: bytes) -> None:
    tokenizer = shared(byte_level_json)
    parts = tokenizer.encode("\U0001f98a").tolist()
    assert "".join(tokenizer.token_text(part) for part in parts) == "\\xf0\\x9f\\xa6\\x8a"
    assert tokenizer.token_text(0) == "<|end|>"
    assert " fox" in {tokenizer.token_text(k) for k in range(tokenizer.n_vocabulary)}


@pytest.mark.parametrize("fixture", ["byte_level_json", "word_piece_json"])
def test_an_id_beyond_the_vocabulary_is_out_of_range(fixture: str, request: pytest.FixtureRequest) -> None:
    tokenizer = HuggingFaceTokenizer(request.getfixturevalue(fixture))
    n_ids = tokenizer.n_vocabulary
    for act in (tokenizer.token_text, lambda token_id: tokenizer.decode([0, token_id])):
        with pytest.raises(
            InvalidArgument, match=f"token id {n_ids} is out of range: the vocabulary has {n_ids} ids"
        ):
            act(n_ids)


def test_an_id_that_the_vocabulary_leaves_out_has_no_text(word_piece_json: bytes) -> None:
    definition = json.loads(word_piece_json)
    definition["model"]["vocab"]["gap"] = 20
    tokenizer = HuggingFaceTokenizer(json.dumps(definition).encode(), "gappy.json")
    assert tokenizer.n_vocabulary == 21 and tokenizer.token_text(20) == "gap"
    with pytest.raises(
        InvalidArgument, match=r"no token has the id 15: the vocabulary of gappy\.json leaves it out"
    ):
        tokenizer.token_text(15)


def test_text_that_the_library_cannot_tokenize_is_our_error(word_piece_json: bytes) -> None:
    definition = json.loads(word_piece_json)
    definition["model"]["unk_token"] = "[NONE]"
    tokenizer = HuggingFaceTokenizer(json.dumps(definition).encode())
    for act in (lambda: tokenizer.encode("zebra"), lambda: tokenizer.encode_batch([b"the", b"zebra"])):
        with pytest.raises(ExecutionError, match="cannot tokenize the text"):
            act()


def test_bad_text_is_refused_before_the_library_sees_it(byte_level_json: bytes) -> None:
    with pytest.raises(InvalidArgument, match="lone surrogate"):
        shared(byte_level_json).encode("\ud800")
    with pytest.raises(InvalidArgument, match="text 1 of the batch is not valid UTF-8"):
        shared(byte_level_json).encode_batch([b"a", b"\xff"])


def test_batches_of_any_size_give_the_same_ids(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [b"the fox", b"", b"jumps over" * 5, b"", b"12,345 reasons"]
    expected = [array.tolist() for array in shared(byte_level_json).encode_batch(texts)]
    for size in (1, 10, 60):
        monkeypatch.setattr(huggingface, "BATCH_CHARS", size)
        assert [array.tolist() for array in shared(byte_level_json).encode_batch(texts)] == expected
    assert [array.tolist() for array in shared(byte_level_json).encode_batch([])] == [[], [0]]


def test_the_definition_is_stored_as_it_came(byte_level_json: bytes, as_file: Callable[[Any], Any]) -> None:
    content = shared(byte_level_json).definition()
    assert content.kind == "TOKZ" and content.sections["tokenizer"].tobytes() == byte_level_json
    opened = open_tokenizer("json", as_file(content))
    assert opened.encode("the fox").tolist() == shared(byte_level_json).encode("the fox").tolist()
    assert opened.fork() is opened and opened.vocabulary_since(0) is None


BLANKY = st.text(
    st.sampled_from("abcdeT '’s.,-12\n\t\u00a0é東\u0301Ġ<|end|>" + "жñ한ͺ²İक़Σがカ\u3099々。！，、：  " * 2),
    max_size=120,
)


PRE_TOKENIZERS = [
    "ByteLevel",
    "Whitespace",
    "WhitespaceSplit",
    "BertPreTokenizer",
    *sorted(json_definitions._CUTTING_PATTERNS),
]


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
@pytest.mark.parametrize("normalizer", [None, "NFC", "NFKD", "Lowercase", "BertNormalizer"])
@given(text=BLANKY)
@settings(deadline=None, max_examples=40)
def test_pieces_cut_at_seams_have_the_tokens_of_the_whole_text(
    byte_level_json: bytes, pre_tokenizer: str, normalizer: str | None, text: str
) -> None:
    tokenizer, library = cutting(byte_level_json, pre_tokenizer, normalizer)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_definitions, "PIECE_CHARS", 5)
        cut = list(json_definitions.pieces(text, json_definitions.seam_of(json.loads(library.to_str()))))
        ids, offsets = tokenizer.encode_batch([text.encode(), b"fox"])
    assert "".join(cut) == text
    assert ids[: offsets[1]].tolist() == library.encode(text, add_special_tokens=False).ids


_CUTTING: dict[tuple[str, str | None], tuple[HuggingFaceTokenizer, tokenizers.Tokenizer]] = {}


def cutting(
    definition: bytes, pre_tokenizer: str, normalizer: str | None
) -> tuple[HuggingFaceTokenizer, tokenizers.Tokenizer]:
    """A tokenizer that texts may be cut for, and the library's own."""
    if (pre_tokenizer, normalizer) not in _CUTTING:
        library = tokenizers.Tokenizer.from_buffer(definition)
        library.pre_tokenizer = named_or_pattern(pre_tokenizer)
        if normalizer is not None:
            library.normalizer = getattr(tokenizers.normalizers, normalizer)()
        content = library.to_str().encode()
        assert json_definitions.seam_of(json.loads(content)) is not None
        _CUTTING[pre_tokenizer, normalizer] = (HuggingFaceTokenizer(content), library)
    return _CUTTING[pre_tokenizer, normalizer]


def named_or_pattern(pre_tokenizer: str) -> Any:
    if hasattr(tokenizers.pre_tokenizers, pre_tokenizer):
        return getattr(tokenizers.pre_tokenizers, pre_tokenizer)()
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pre_tokenizer), "isolated")
    to_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizers.pre_tokenizers.Sequence([split, to_bytes])


def test_a_text_is_cut_before_a_blank_between_two_letters_and_before_an_east_asian_stop(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_definitions, "PIECE_CHARS", 4)
    seam = json_definitions.seam_of(json.loads(byte_level_json))
    assert list(json_definitions.pieces("the quick, brown fox 1 2 3", seam)) == [
        "the quick, brown",
        " fox 1 2 3",
    ]
    assert list(json_definitions.pieces("быстрая лиса", seam)) == ["быстрая", " лиса"]
    assert list(json_definitions.pieces("敏捷的狐狸，棕色的狐狸。", seam)) == [
        "敏捷的狐狸",
        "，棕色的狐狸",
        "。",
    ]
    assert list(json_definitions.pieces("a b", seam)) == ["a b"]
    assert list(json_definitions.pieces("", seam)) == [""]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pre_tokenizer", None),
        (
            "pre_tokenizer",
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
        ),
        (
            "pre_tokenizer",
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        ),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, {"type": "Metaspace"}]},
        ),
        (
            "pre_tokenizer",
            {"type": "Split", "pattern": {"Regex": "x y"}, "behavior": "Isolated", "invert": False},
        ),
        ("normalizer", {"type": "Prepend", "prepend": "▁"}),
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}),
        ("added_tokens", [{"id": 0, "content": "two words"}]),
        ("added_tokens", [{"id": 0, "content": "x", "lstrip": True}]),
        ("added_tokens", [{"id": 0, "content": "x", "single_word": True}]),
    ],
)
def test_a_tokenizer_that_may_look_across_a_seam_gets_its_texts_whole(
    byte_level_json: bytes, part: str, value: Any
) -> None:
    assert json_definitions.seam_of(json.loads(byte_level_json)) is not None
    assert json_definitions.seam_of(json.loads(changed(byte_level_json, **{part: value}))) is None


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pre_tokenizer", {"type": "WhitespaceSplit"}),
        ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}),
        ("normalizer", {"type": "NFD"}),
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "StripAccents"}]}),
        ("normalizer", {"type": "BertNormalizer"}),
        ("added_tokens", [{"id": 0, "content": "好。"}]),
    ],
)
def test_where_a_full_stop_is_no_seam_blanks_are(
    byte_level_json: bytes, monkeypatch: pytest.MonkeyPatch, part: str, value: Any
) -> None:
    monkeypatch.setattr(json_definitions, "PIECE_CHARS", 4)
    seam = json_definitions.seam_of(json.loads(changed(byte_level_json, **{part: value})))
    found = list(json_definitions.pieces("敏捷的狐狸，棕色的狐狸a the fox", seam))
    assert found == ["敏捷的狐狸，棕色的狐狸a", " the", " fox"]


def words_of(tokenizer: tokenizers.Tokenizer, text: str) -> list[str]:
    """Return the pre-tokenizer's words of a text, whose boundaries single-byte tokens would hide."""
    normalized = text if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)]


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
@pytest.mark.parametrize("normalizer", [None, "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer"])
@given(text=BLANKY)
@settings(deadline=None, max_examples=40)
def test_pieces_cut_at_seams_have_the_words_of_the_whole_text(
    byte_level_json: bytes, pre_tokenizer: str, normalizer: str | None, text: str
) -> None:
    _, library = cutting(byte_level_json, pre_tokenizer, normalizer)
    seam = json_definitions.seam_of(json.loads(library.to_str()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_definitions, "PIECE_CHARS", 4)
        cut = list(json_definitions.pieces(text, seam))
    assert [word for piece in cut for word in words_of(library, piece)] == words_of(library, text)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("setting", [None, "true", "false"])
def test_a_fork_after_use_is_silent_and_the_child_can_tokenize(
    tmp_path: Path, byte_level_json: bytes, setting: str | None
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(byte_level_json)
    # A child that waits for threads that it does not have would wait forever: hence the alarm.
    script = f"""
import os, signal
from ngramdb.tokenizers import create_tokenizer
tokenizer = create_tokenizer({str(path)!r})
texts = [b"the quick fox"] * 64
tokenizer.encode_batch(texts)
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(len(tokenizer.encode_batch(texts)[1]) - 64)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) - 1)
"""
    environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    if setting is not None:
        environment["TOKENIZERS_PARALLELISM"] = setting
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],  # Python's own, about fork
        capture_output=True,
        timeout=60,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, b"")
