"""Patterns over tokens or words as plans hold them: n-grams, or a program and n-grams to look up first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from ngramdb.errors import ResourceError
from ngramdb.patterns import token_regex
from ngramdb.patterns.grams import Gram, show_text
from ngramdb.patterns.nodes import Anchor, Pattern, StoredWords, TokenPattern, Variants
from ngramdb.source import Corpus, IntArray, WordList

# Patterns of at most this many n-grams are counted n-gram by n-gram, and plans print each.
MAX_LISTED = 64

# Memory for the sets of a program: one bit per token of the vocabulary and set.
MAX_SET_BYTES = 1 << 28

# Largest set of words by which documents are selected: each word is looked up.
MAX_NEEDED = 1 << 12

# Number of tokens of a set that plans print.
SHOWN_TOKENS = 5


class Letters:
    """The words of a pattern over words, numbered in order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def one_of(self, words: Iterable[bytes]) -> token_regex.OneOf:
        """Return the set of these words."""
        numbers = [self._numbers.setdefault(word, len(self._numbers)) for word in words]
        return token_regex.OneOf(np.unique(np.array(numbers, dtype=np.int64)))

    def words(self) -> list[bytes]:
        """Return all words in order of their numbers."""
        return list(self._numbers)


def of_words(
    shape: token_regex.Shape, written: str, letters: Letters, notes: list[str], corpus: Corpus
) -> StoredWords:
    """Return a pattern over the words of stored texts. Cost: the first time, that of reading all texts."""
    words, program = letters.words(), _compiled(shape, written, len(letters.words()))
    lengths = np.cumsum(list(map(len, words)), dtype=np.uint64)
    listed = (
        np.frombuffer(b"".join(words), dtype=np.uint8),
        np.append(np.zeros(1, dtype=np.uint64), lengths),
    )
    key = hashlib.sha256(program.steps.tobytes() + program.bits.tobytes())
    key.update(_key_of([listed]))
    # A set of many words excludes few documents, and each of its words is looked up.
    sets = {ids.tobytes(): ids for ids in token_regex.needed(shape) if len(ids) <= MAX_NEEDED}
    needs = tuple(tuple(words[number] for number in ids.tolist()) for ids in sets.values())
    n_documents, most = 0, 0
    for segment in corpus.segments:
        docs = corpus.tokenizer.documents_with_words(segment, needs)
        if docs is None:
            n_documents += segment.n_documents
            most += segment.index.n_tokens + segment.n_documents
        elif len(docs):
            n_documents += len(docs)
            most += int(segment.lengths(docs).sum()) + len(docs)
    note = f"looks for words in the texts of {n_documents:,} document{'' if n_documents == 1 else 's'}"
    return StoredWords(
        written,
        key.digest(),
        listed,
        program.steps,
        program.bits,
        needs,
        most,
        (*notes, note),
        sentences=token_regex.has_edges(shape),
    )


def _compiled(shape: token_regex.Shape, written: str, n_letters: int) -> token_regex.Program:
    """Compile a pattern. Raises ResourceError if its sets would take too much memory."""
    program = token_regex.Program(shape)
    if program.n_set_bytes > MAX_SET_BYTES:
        raise ResourceError(
            f"{written} has {len(program.sets):,} different expressions, too many for a vocabulary of "
            f"{n_letters:,} tokens",
            limit=MAX_SET_BYTES,
            asked=program.n_set_bytes,
        )
    return program


def of_ngrams(listed: list[token_regex.Key], written: str, corpus: Corpus) -> Pattern:
    """Return those of the n-grams that occur, with their counts."""
    tokenizer = corpus.tokenizer
    corpus.check_difference()
    found = [
        Gram(np.array(ids, dtype=np.int64), " ".join(map(show_text, tokenizer.token_texts(list(ids)))))
        for ids in listed
    ]
    counts = corpus.index.count_many(*_packed(listed)).tolist()
    occurring = [(gram, count) for gram, count in zip(found, counts, strict=True) if count]
    return Variants(
        written,
        tuple(gram for gram, _ in occurring),
        (1,) * len(occurring),
        tuple(count for _, count in occurring),
    )


def _packed(listed: list[token_regex.Key]) -> tuple[IntArray, IntArray]:
    flat = np.array(list(chain.from_iterable(listed)), dtype=np.int64)
    return flat, np.concatenate(([0], np.cumsum(list(map(len, listed))))).astype(np.int64)


def of_tokens(shape: token_regex.Shape, written: str, notes: list[str], corpus: Corpus) -> TokenPattern:
    """Return a pattern as a program over token ids, with the n-grams that are looked up for it."""
    program = _compiled(shape, written, corpus.tokenizer.n_vocabulary)
    steps, sets = program.steps, program.bits
    key = hashlib.sha256(steps.tobytes() + sets.tobytes() + repr(sets.shape).encode())
    key.update(_key_of(program.words))
    anchor = min((_counted(found, corpus) for found in token_regex.anchors(shape)), key=_places, default=None)
    length = _common_length(shape, anchor)
    notes = [*notes, _looked_up(anchor, length)]
    return TokenPattern(
        written,
        key.digest(),
        steps,
        sets,
        anchor,
        length,
        tuple(notes),
        sentences=token_regex.has_edges(shape),
        words=tuple(program.words),
        by_word=isinstance(shape, token_regex.Words),
    )


def _key_of(lists: Iterable[WordList]) -> bytes:
    key = hashlib.sha256()
    for entries, bounds in lists:
        key.update(bounds.tobytes() + entries.tobytes())
    return key.digest()


def _counted(anchor: Anchor, corpus: Corpus) -> Anchor:
    count = 0
    for segment in corpus.segments:
        lo, hi = segment.index.ranges(anchor.flat, anchor.offsets).astype(np.int64)
        count += int((hi - lo).sum())
    return replace(anchor, count=count)


def _places(anchor: Anchor) -> int:
    return anchor.count * (anchor.most_before - anchor.least_before + 1)


def _common_length(shape: token_regex.Shape, anchor: Anchor | None) -> int | None:
    """Return the length of the anchor's n-grams if these are all matches, and equally long; else None."""
    least, most = token_regex.widths(shape)
    if anchor is None or least != most or anchor.most_before:
        return None
    lengths = np.diff(anchor.offsets)
    if not (lengths == least).all():
        return None
    n_matching = 1
    for part in shape.parts if isinstance(shape, token_regex.Series) else (shape,):
        if isinstance(part, token_regex.OneOf):
            n_matching *= len(part.ids) if part.ids is not None else 0
        else:
            return None
    return int(least) if n_matching == len(lengths) else None


def _looked_up(anchor: Anchor | None, length: int | None) -> str:
    if anchor is None:
        return "no part can be looked up: tries every token"
    n = len(anchor.offsets) - 1
    what = f"{n:,} n-gram{'' if n == 1 else 's'} at {anchor.count:,} place{'' if anchor.count == 1 else 's'}"
    if length is not None:
        return f"looks up {what}"
    before = f"{anchor.least_before:,}"
    if anchor.least_before != anchor.most_before:
        before += f" to {anchor.most_before:,}"
    tries = "there" if anchor.most_before == 0 else f"{before} token{'' if before == '1' else 's'} before"
    return f"looks up {what}, tries the pattern {tries}"


def split(words: WordList) -> list[bytes]:
    """Return the words of a list."""
    content, bounds = words[0].tobytes(), words[1].tolist()
    return [content[start:stop] for start, stop in pairwise(bounds)]


def counted_words(words: WordList) -> str:
    """Format the number of words, and the first few of them."""
    entries, bounds = words
    n = len(bounds) - 1
    shown = [
        show_text(entries[a:b].tobytes().decode("utf-8", "backslashreplace"))
        for a, b in pairwise(bounds[: SHOWN_TOKENS + 1].tolist())
    ]
    more = ", …" if n > SHOWN_TOKENS else ""
    return f"{n:,} word{'' if n == 1 else 's'} of the text" + (f" ({', '.join(shown)}{more})" if n else "")


def as_shape(gram: Gram) -> token_regex.Shape:
    """Return an n-gram as a regular expression; an unknown word matches nothing."""
    none = np.empty(0, dtype=np.int64)
    return token_regex.series(
        [token_regex.OneOf(np.array([i], dtype=np.int64) if i >= 0 else none) for i in gram.key]
    )
