"""Beginnings of sentences: the rules of Unicode against a slow implementation, and their tokens."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.subwords import word_level, write_tokenizer
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import ngramdb
from ngramdb import interrupts
from ngramdb._cext.text.sentences import boundaries, mark_places, mark_words, mark_words_at
from ngramdb.tokenizers.chars import BytesTokenizer, CharsTokenizer, TokensTokenizer
from ngramdb.tokenizers.huggingface import HuggingFaceTokenizer
from ngramdb.tokenizers.sentences import sentence_starts
from ngramdb.tokenizers.words import LowerNfcWords, LowerWords, WordsTokenizer

# A few characters of each class of Sentence_Break.
SAMPLES = {
    "cr": "\r",
    "lf": "\n",
    "sep": "\x85\u2029",
    "extend": "\u0301\u200d\u3099",
    "format": "\xad\u200b",
    "sp": " \t\u3000",
    "lower": "aß\u03b1ª",
    "upper": "AÉΣǅ",
    "oletter": "中あ\u05d0",
    "numeric": "07\u0663",
    "aterm": ".\uff0e",
    "sterm": "!?。\u061f",
    "scontinue": ",-:\u3001",
    "close": "\"')(”«",
    "other": "@#€\u2026\U0001f600",
}
CLASS = {character: name for name, some in SAMPLES.items() for character in some}
CODE = dict(zip(SAMPLES, "rnsxx_lUo9.!,)@", strict=True))
TEXTS = st.text(st.sampled_from(sorted(CLASS)), max_size=14)


def by_the_rules(text):
    """The boundaries inside a text, in characters: SB3 to SB11 of UAX #29, in order, at each place."""
    codes = "".join(CODE[CLASS[character]] for character in text)
    found = []
    for at in range(1, len(text)):
        before, after = codes[:at], codes[at:]
        if before[-1] in "nrs":
            if not (before[-1] == "r" and after[0] == "n"):
                found.append(at)
            continue
        if after[0] == "x":
            continue
        # SB5: what is extended counts as one; not after a paragraph separator.
        before = regex.sub("(?<=[^nrsx])x+", "", before)
        after = regex.sub("(?<=[^nrsx])x+", "", after)
        if regex.search(r"\.$", before) and after[0] == "9":
            continue
        if regex.search(r"[Ul]\.$", before) and after[0] == "U":
            continue
        ended = regex.search(r"([.!])(\)*)(_*)$", before)
        if not ended:
            continue
        if ended[1] == "." and regex.match("[^oUlnrs.!]*l", after):
            continue
        if after[0] in ",.!":
            continue
        if not ended[3] and after[0] in ")_nrs":
            continue
        if after[0] in "_nrs":
            continue
        found.append(at)
    return found


@pytest.mark.parametrize(("name", "characters"), SAMPLES.items())
def test_samples_have_the_class(name, characters):
    for character in characters:
        assert name == "other" or regex.match(rf"\p{{Sentence_Break={name}}}", character)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("a.\u0301)\u0301 \xadA")
@example("a.) @,a")
@example("A.\xadA.0. \r\na")
def test_boundaries_are_those_of_the_rules(text):
    expected = [len(text[:at].encode()) for at in by_the_rules(text)]
    assert boundaries(text.encode()).tolist() == expected


@pytest.mark.parametrize(
    "sentences",
    [
        ["Hello there.  ", "Is it 3.4 or U.S.A. size? ", '"No!" ', "(Well...)\n", "\n", "Next"],
        ["He said e.g. nothing (etc.) and went on. ", "End"],
        ["これは文です。「", "はい。」", "次。"],
        ["x" * 30 + ". ", "Y" * 30 + "!\r\n", "z"],
        [""],
    ],
)
def test_texts_are_cut_into_sentences(sentences):
    text = "".join(sentences)
    ends = np.cumsum([len(sentence.encode()) for sentence in sentences])[:-1]
    assert boundaries(text.encode()).tolist() == ends.tolist()


@given(st.binary(max_size=40))
def test_any_bytes_have_boundaries(content):
    found = boundaries(content).tolist()
    assert all(a < b for a, b in pairwise([0, *found, len(content) + 1]))


def cut(tokenizer, text):
    """The sentences of a text as the tokenizer marks them, each as its tokens are shown."""
    ids, offsets = tokenizer.encode_batch([text.encode()])
    flags = sentence_starts(tokenizer, [text.encode()], ids, offsets)
    assert flags is not None and flags.dtype == np.bool_ and len(flags) == len(ids)
    assert not len(ids) or flags[0]
    begins = np.flatnonzero(flags).tolist()
    return [tokenizer.decode(ids[a:b]) for a, b in pairwise([*begins, len(ids)])]


@pytest.fixture
def subwords(tmp_path):
    return HuggingFaceTokenizer(write_tokenizer(tmp_path / "t.json").read_bytes())


KINDS = [WordsTokenizer, LowerWords, LowerNfcWords, CharsTokenizer, BytesTokenizer]


@pytest.mark.parametrize("make", [*KINDS, None])
def test_sentences_are_those_of_the_text(make, subwords):
    tokenizer = subwords if make is None else make()
    text = "\n Go. 'Stop!' he said.  It is 3.5\xa0km.\n\nΣ ÉTÉ e\u0301t\u00e9. 東京。次\n"
    expected = ["go.", "'stop!'", "he said.", "it is 3.5\xa0km.", "σ été été.", "東京。", "次"]
    found = [sentence.lower().replace("e\u0301", "é").strip() for sentence in cut(tokenizer, text)]
    if isinstance(tokenizer, WordsTokenizer):
        found = [sentence.replace(" ", "") for sentence in found]
        expected = [sentence.replace(" ", "").replace("\xa0", "") for sentence in expected]
    assert found == expected


# Without what makes words, and white space, in other ways than sentences: marks, and controls beyond ASCII.
@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("\r\n \taAÉ中09.!。,\"')@"), max_size=14))
def test_tokenizers_agree(text):
    characters = cut(CharsTokenizer(), text)
    assert cut(BytesTokenizer(), text) == characters
    solid = ["".join(sentence.split()) for sentence in characters]
    if text.strip():
        solid = list(filter(None, solid))
        assert ["".join(sentence.split()) for sentence in cut(WordsTokenizer(), text)] == solid


def test_tokens_that_do_not_spell_the_text_are_found_in_it(tmp_path):
    definition = word_level(tmp_path / "w.json", ["Go.", "Étés", "it", "is!"]).read_bytes()
    tokenizer = HuggingFaceTokenizer(definition)
    assert cut(tokenizer, " Go.  Étés it is! Étés é. Go.") == ["Go.", "Étés it is!", "Étés ?", "Go."]


def byte_level(normalizer=None, add_prefix_space=False, added=()):
    """A tokenizer whose tokens are bytes, and some words of what it makes of a text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(["Hello there. Good bye. cafe\u0301 Yes! 300 \u212a and it is so."] * 3, trainer)
    made.add_tokens(list(added))
    return made


CHANGING = {
    "nothing": byte_level,
    "composing": lambda: byte_level(normalizers.NFC()),
    "decomposing": lambda: byte_level(normalizers.NFD()),
    "compatible": lambda: byte_level(normalizers.NFKC()),
    "small letters": lambda: byte_level(normalizers.Lowercase()),
    "stripping": lambda: byte_level(normalizers.Strip()),
    "without accents": lambda: byte_level(
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    ),
    "blank before": lambda: byte_level(add_prefix_space=True),
    "composing, blank before": lambda: byte_level(normalizers.NFC(), True),
    "small letters, blank before": lambda: byte_level(normalizers.Lowercase(), True),
    "compatible, blank before": lambda: byte_level(normalizers.NFKC(), True),
    "tokens that take blanks": lambda: byte_level(added=[AddedToken("Yes", lstrip=True, rstrip=True)]),
}
SENTENCES = [
    "Hello there. Good bye.",
    "The room has 300 \u212a. Good bye.",
    "\u00bd cup. Add 2\u00a0g of it. Then 3\u00a0g and 4\u00a0g. End.",
    "Yes!cafe\u0301",
    "「はい」。そう。cafe\u0301",
    "It is so. Yes it is. No.",
    " \n\nOne.  İt is ﬁne. ÉTÉ\u0301! Good.\t",
]


def begins_by_offsets(library, text):
    """The tokens that are the first in a sentence of the text, by the library's own offsets."""
    cuts = [0, *(len(text.encode()[:at].decode()) for at in boundaries(text.encode()).tolist())]
    found, last = [], None
    for start, stop in library.encode(text, add_special_tokens=False).offsets:
        solid = [i for i in range(start, stop) if not text[i].isspace()]
        sentence = sum(cut <= solid[0] for cut in cuts) if solid else last
        # White space before the first sentence is part of it.
        found.append(not found or (last is not None and sentence != last))
        last = sentence
    return found


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("together", [True, False])
def test_sentences_of_texts_that_a_tokenizer_changes_are_those_of_the_texts(name, together):
    library = CHANGING[name]()
    tokenizer = HuggingFaceTokenizer(library.to_str().encode())
    texts = [text.encode() for text in SENTENCES]
    ids, offsets = tokenizer.encode_batch(texts)
    if together:
        flags = sentence_starts(tokenizer, texts, ids, offsets)
    else:
        each = [
            sentence_starts(tokenizer, [text], ids[a:b], np.array([0, b - a]))
            for text, (a, b) in zip(texts, pairwise(offsets.tolist()), strict=True)
        ]
        flags = np.concatenate(each)
    for text, (a, b) in zip(SENTENCES, pairwise(offsets.tolist()), strict=True):
        assert flags[a:b].tolist() == begins_by_offsets(library, text), text


def test_words_that_no_sentence_begins_with_are_inside():
    # A line of white space is a sentence of the text, and has no word.
    assert cut(WordsTokenizer(), "a\n \n\nb") == ["a", "b"]


def test_documents_without_their_text_are_read_as_they_are_shown():
    tokenizer = WordsTokenizer()
    ids, offsets = tokenizer.encode_batch([b"One. Two", b"Three", b""])
    for texts in ([None, None, None], [b"other", b"Three", b""]):
        flags = sentence_starts(tokenizer, texts, ids, offsets)
        assert flags is not None and flags.tolist() == [True, False, True, True]
    assert sentence_starts(TokensTokenizer(), [None], ids, np.array([0, len(ids)])) is None


def test_wrong_arguments_are_refused():
    offsets = np.array([0, 2], dtype=np.int64)
    with pytest.raises(ValueError, match="another number of words"):
        mark_words([b"one"], offsets)
    with pytest.raises(ValueError, match="has 1 words, not 2"):
        mark_words_at(b"one", np.empty(0, dtype=np.int64), 2)
    with pytest.raises(ValueError, match="offsets"):
        mark_words([b"one", b"two"], offsets)
    with pytest.raises(ValueError, match="ascend"):
        mark_words([b"a", b"b"], np.array([0, 2, 1], dtype=np.int64))
    with pytest.raises(TypeError, match="must be bytes"):
        mark_words(["one two"], offsets)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="places"):
        mark_places([b"one two"], offsets, np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("tokenizer", [BytesTokenizer(), CharsTokenizer()])
def test_the_sentences_of_one_long_text_take_a_few_bytes_per_token(tokenizer):
    text = b"One. Two. " * 50_000
    ids, offsets = tokenizer.encode_batch([text])
    sentence_starts(tokenizer, [b"a"], *tokenizer.encode_batch([b"a"]))  # makes the tables of the tokenizer
    tracemalloc.start()
    try:
        flags = sentence_starts(tokenizer, [text], ids, offsets)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert flags is not None and int(flags.sum()) == 100_000
    assert peak < 12 * len(ids)


@pytest.mark.parametrize("tokenizer", [BytesTokenizer(), CharsTokenizer()])
def test_sentences_of_one_long_text_can_be_interrupted(tokenizer):
    text = b"One. Two. " * 50_000
    ids, offsets = tokenizer.encode_batch([text])
    for ask in (tokenizer.mark_sentences, tokenizer.reproduces):
        with pytest.raises(ngramdb.TimeoutExceeded), interrupts.Interrupt(timeout=0.0):
            ask([text], ids, offsets)
