"""Words of the text under sub-word tokenizers: as `words` finds them, whatever the tokens are."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.trained import word_pieces
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import ngramdb
from ngramdb.tokenizers.words import WordsTokenizer

EXAMPLES = settings(max_examples=20, deadline=None, derandomize=True)

# Letters, marks, joiners, words of one character, marks of punctuation, white space of one byte and of three.
PIECES = (
    *("woman", "women", "wom", "an", "w", "é", "e\u0301", "\u0301", "\u200d", "\u200c", "字", "あ", "don't"),
    *("...", ".", "café", "CAFE", "😀", "ſ", "Über", "x", " ", " ", " ", "  ", "\n", "\u3000"),
)
TEXTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), min_size=1, max_size=6)

PATTERNS = (
    *("/wom[ae]n/", "/.*/", "/./", "/caf.*/ IGNORE CASE", "/cafe/ IGNORE DIACRITICS IGNORE CASE"),
    *('"wom" PREFIX', '"caf" PREFIX IGNORE CASE', '"café" IGNORE DIACRITICS', "/\\./", "/[^a-z]+/"),
    *(
        '"don\'t" IGNORE DIACRITICS',
        '"x wom" PREFIX',
        '"an an" IGNORE DIACRITICS',
        '"字" PREFIX',
        "/.*\u200d.*/",
    ),
    *("/e.*/ IGNORE DIACRITICS", '"uber" IGNORE CASE IGNORE DIACRITICS'),
)

TRAINING = [
    "woman women wom an don't ... café CAFE 字あ Über x\n woman",
    "the women of the woman ... an an",
] * 3


def byte_pairs(n_tokens, splits):
    """Return a byte-level model; without `splits` its tokens extend over the ends of words."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=splits)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=n_tokens, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(TRAINING, trainer)
    return made


# Single bytes, pieces of words, words with the space before them, several words.
TOKENIZERS = [byte_pairs(256, True), byte_pairs(275, True), byte_pairs(400, True), byte_pairs(400, False)]
# The same, and one whose tokens do not spell the text.
EVERY = [*TOKENIZERS, word_pieces(TRAINING)]


@st.composite
def corpora(draw, tokenizers=TOKENIZERS):
    """Documents, where segments end, the number of a tokenizer."""
    texts = draw(TEXTS)
    return texts, draw(st.sampled_from([1, 2, 99])), draw(st.integers(0, len(tokenizers) - 1))


def loaded(db, name, tokenizer, texts, size):
    corpus = db.create_corpus(name, tokenizer)
    for start in range(0, len(texts), size):
        corpus.append(texts[start : start + size])
    return corpus


def rows(db, statement):
    return sorted(db.execute(statement).fetchall())


@pytest.mark.parametrize("pattern", PATTERNS)
@EXAMPLES
@given(made=corpora(EVERY))
@example(made=(["\u0301"], 1, 4))
@example(made=(["x woman", "wo", "", "man's women..."], 99, 2))
def test_words_are_those_of_the_tokenizer_words(pattern, made):
    texts, size, number = made
    with ngramdb.connect() as db:
        loaded(db, "a", EVERY[number], texts, size)
        loaded(db, "w", "words", texts, size)
        answers = []
        for name in "aw":
            lines = db.execute(f"KWIC {pattern} WINDOW 1000 FROM {name}").fetchall()
            answers.append(
                (
                    db.execute(f"COUNT {pattern} FROM {name}").fetchall(),
                    sorted((doc, len(left), match) for doc, _, left, match, _ in lines),
                    rows(db, f"DOCS WHERE {pattern} RETURNING doc_id FROM {name}"),
                    rows(db, f"DOCS WHERE NOT {pattern} RETURNING doc_id FROM {name}"),
                    rows(db, f"DOCS WHERE COUNT({pattern}) >= 2 RETURNING doc_id FROM {name}"),
                )
            )
            db.execute(f"DELETE DOCS WHERE {pattern} FROM {name}")
            answers[-1] += (db.execute(f"COUNT DOCS FROM {name}").fetchall(),)
        assert answers[0] == answers[1]


# ---- patterns of several parts, by brute force over tokens


def places_of_words(tokenizer, text):
    """The ids of a text, and for each the words that begin in it: (word, the token after its last one)."""
    ids = tokenizer.encode(text).ids
    pieces = [bytes_of(tokenizer, i) for i in ids]
    content, at, spans = text.encode(), 0, []
    for word in WordsTokenizer().split(text):
        at = content.index(word.encode(), at)
        spans.append((at, at + len(word.encode()), word))
        at += len(word.encode())
    ends = [sum(map(len, pieces[: i + 1])) for i in range(len(pieces))]
    found = [[] for _ in ids]
    for begin, end, word in spans:
        first = next(i for i, stop in enumerate(ends) if stop > begin)
        found[first].append((word, next(i for i, stop in enumerate(ends) if stop >= end) + 1))
    return ids, found


def bytes_of(tokenizer, token):
    characters = {c: b for b, c in byte_characters().items()}
    return bytes(characters[c] for c in tokenizer.id_to_token(token))


def byte_characters():
    """The character that byte-level models write for each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{b: chr(b) for b in shown}, **{b: chr(256 + n) for n, b in enumerate(hidden)}}


def ends_of(parts, ids, words, at):
    """Return the possible ends of the parts that begin at a token."""
    if not parts:
        return {at}
    kind, what = parts[0]
    if kind == "any":
        after = {at + 1} if at < len(ids) else set()
    elif kind == "ngram":
        after = {at + len(what)} if ids[at : at + len(what)] == what else set()
    elif kind == "twice":
        after = {b for a in ends_of([what], ids, words, at) for b in ends_of([what], ids, words, a)}
    else:
        here = words[at] if at < len(ids) else []
        after = {stop for word, stop in here if re.fullmatch(what, word)}
    return {end for middle in after for end in ends_of(parts[1:], ids, words, middle)}


PARTS = st.one_of(
    st.just(("any", None)),
    st.sampled_from(["wom[ae]n", ".*", "[a-z]+", "\\.", "x|an"]).map(lambda source: ("word", source)),
    st.sampled_from([" woman", "x", ".", " "]).map(lambda text: ("ngram", text)),
)


def written(part):
    kind, what = part
    if kind == "twice":
        return f"{written(what)}{{2}}"
    return "*" if kind == "any" else f"/{what}/" if kind == "word" else f'"{what}"'


@settings(EXAMPLES, max_examples=100)
@given(
    made=corpora(),
    parts=st.lists(PARTS | PARTS.map(lambda part: ("twice", part)), min_size=2, max_size=4).filter(
        lambda parts: "word" in str(parts)
    ),
)
def test_parts_stand_in_tokens_that_follow_each_other(made, parts):
    texts, size, number = made
    tokenizer = TOKENIZERS[number]

    def in_ids(part):
        kind, what = part
        if kind == "twice":
            return kind, in_ids(what)
        return kind, tokenizer.encode(what).ids if kind == "ngram" else what

    expected = []
    for doc_id, text in enumerate(texts):
        ids, words = places_of_words(tokenizer, text)
        expected += [(doc_id, i) for i in range(len(ids)) if ends_of(list(map(in_ids, parts)), ids, words, i)]
    pattern = " ".join(map(written, parts))
    with ngramdb.connect() as db:
        loaded(db, "a", tokenizer, texts, size)
        lines = db.execute(f"KWIC {pattern} WINDOW 0").fetchall()
        assert [(line[0], line[1]) for line in lines] == expected
        assert db.execute(f"COUNT {pattern}").fetchall() == [(len(expected),)]


# ---- patterns of several parts where tokens do not spell the text: over the words of stored texts


def by_threes():
    """A function that gives three characters a token: words begin and end anywhere within."""

    def cut(text):
        return [(i, min(i + 3, len(text))) for i in range(0, len(text), 3)]

    def encode(texts):
        return [[sum(map(ord, text[i:j])) % 5000 for i, j in cut(text)] for text in texts]

    return ngramdb.CallableTokenizer("threes", encode, 5000, spans=cut)


UNSPELLED = [word_pieces(TRAINING), by_threes()]

# Words of the text, and their possible contexts.
WORDS = (
    *("/wom[ae]n/", "/.*/", "/[a-z]+/", "/\\./", "/x|an/", '"wom" PREFIX', '"café" IGNORE DIACRITICS'),
    '"x wom" PREFIX IGNORE CASE',
)
LEAVES = st.sampled_from(
    [
        *WORDS,
        "*",
        '"woman"',
        '"x"',
        '"x."',
        '"don\'t"',
        '"字あ"',
        '"X" IGNORE CASE',
        '"not there"',
        "<s>",
        "</s>",
    ]
)


@st.composite
def patterns(draw, least=1):
    """A pattern of some parts, as the language writes it."""
    parts = []
    for _ in range(draw(st.integers(least, 4))):
        part = draw(LEAVES)
        kind = draw(st.sampled_from(["plain"] * 3 + ["times", "choice", "gap"]))
        if kind == "times" and not part.endswith("s>"):
            part = f"({part})" + draw(st.sampled_from(["{2}", "{1,3}", "{0,1}", "{1,}"]))
        elif kind == "choice":
            part = f"({part} | {draw(LEAVES)})"
        elif kind == "gap":
            part += draw(st.sampled_from([" *{0,2}", " *{0,}"]))
        parts.append(part)
    return " ".join(parts)


def answers(db, name, pattern, dispersion):
    """Return the answers of a corpus that do not depend on its tokens."""
    lines = db.execute(f"KWIC {pattern} WINDOW 1000 FROM {name}").fetchall()
    found = [
        db.execute(f"COUNT {pattern} FROM {name}").fetchall(),
        sorted((doc, len(left), match) for doc, _, left, match, _ in lines),
        rows(db, f"DOCS WHERE {pattern} RETURNING doc_id FROM {name}"),
        rows(db, f"DOCS WHERE NOT {pattern} AND /w.*/ RETURNING doc_id FROM {name}"),
        rows(db, f"DOCS WHERE COUNT({pattern}) >= 2 RETURNING doc_id FROM {name}"),
        rows(db, f"COUNT {pattern} WHERE /x/ FROM {name}"),
        rows(db, f"COUNT {pattern} WITHIN SENTENCE FROM {name}"),
        db.execute(f"COLLOCATES OF {pattern} MIN COUNT 1 FROM {name}").summary["occurrences"],
        rows(db, f"DISPERSION OF {pattern} FROM {name}")[0][:1] if dispersion else (),
    ]
    db.execute(f"DELETE DOCS WHERE {pattern} FROM {name}")
    return [*found, db.execute(f"COUNT DOCS FROM {name}").fetchall()]


@settings(EXAMPLES, max_examples=40)
@given(made=corpora(UNSPELLED), pattern=patterns(), word=st.sampled_from(WORDS))
@example(made=(["woman x", "", "x", "women  x. an"], 99, 0), pattern='"x"', word="/wom[ae]n/")
@example(made=(["\u0301"], 1, 0), pattern="*{0,2}", word="/.*/")
def test_parts_are_words_where_tokens_do_not_spell_the_text(made, pattern, word):
    texts, size, number = made
    # At least one part refers to words: without any, a pattern is about tokens.
    whole = f"{word} {pattern}"
    with ngramdb.connect() as db:
        loaded(db, "a", UNSPELLED[number], texts, size)
        loaded(db, "w", "words", texts, size)
        # A text without tokens has no share of the tokens, and so none in the dispersion.
        has_shares = not rows(db, "DOCS WHERE length = 0 AND /.*/ RETURNING doc_id FROM a")
        assert answers(db, "a", whole, has_shares) == answers(db, "w", whole, has_shares)


WORD_PARTS = st.sampled_from(["any", "wom[ae]n", ".*", "[a-z]+", "\\.", "x|an", "=woman", "=x", "=."])


def match_words(part, word):
    return part == "any" or (word == part[1:] if part[0] == "=" else re.fullmatch(part, word) is not None)


@settings(EXAMPLES, max_examples=20)
@given(made=corpora(UNSPELLED), parts=st.lists(WORD_PARTS, min_size=2, max_size=4))
def test_words_that_follow_each_other(made, parts):
    """By brute force over the texts."""
    texts, size, number = made
    parts = ["[a-z]+", *parts]
    expected = 0
    for text in texts:
        words = WordsTokenizer().split(text)
        for i in range(len(words) - len(parts) + 1):
            expected += all(map(match_words, parts, words[i : i + len(parts)]))
    written = ["*" if part == "any" else f'"{part[1:]}"' if part[0] == "=" else f"/{part}/" for part in parts]
    with ngramdb.connect() as db:
        loaded(db, "a", UNSPELLED[number], texts, size)
        assert db.execute(f"COUNT {' '.join(written)}").fetchall() == [(expected,)]
