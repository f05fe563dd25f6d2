"""The kinds of patterns that plans hold, and the texts that may find nothing by mistake.

An exact n-gram, several, parts with gaps, a string in stored texts, or a regular expression over tokens.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.lazy import dataclass, lazy_pattern
from ngramdb.patterns.grams import Gram
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.source import Corpus, IntArray, WordList


@dataclass(frozen=True)
class Variants:
    """Several exact n-grams whose occurrences are counted together: MATCH TEXT, IGNORE CASE.

    `weights[i]` is the number of positions at which the string begins within the first token of variant i
    (the string `a` begins three times in the token `aaa`): each occurrence counts that often. `counts` are
    those of the n-grams. `sought` is the string if it may be only a part of its tokens' text, None if it is
    all of it. `cuts`, if known, has for each n-gram a pair per position: the numbers of bytes at its
    beginning and end that are not part of the string.
    """

    shown: str = field(compare=False)
    grams: tuple[Gram, ...]
    weights: tuple[int, ...]
    counts: tuple[int, ...] = field(default=(), compare=False)
    sought: StoredText | None = field(default=None, compare=False)
    cuts: tuple[tuple[tuple[int, int], ...], ...] | None = field(default=None, compare=False)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return bool(self.grams)

    def details(self) -> tuple[str, ...]:
        """Return a line per variant, the most frequent first; token ids distinguish equal texts."""
        rows = sorted(zip(self.counts, self.grams, self.weights, strict=True), key=lambda row: -row[0])
        return tuple(
            f"{gram.shown} {list(gram.key)}: {count:,}" + (f", counted {weight} times" if weight > 1 else "")
            for count, gram, weight in rows
        )


@dataclass(frozen=True)
class StoredText:
    """A string that is searched for in the documents' stored texts, since tokens do not spell the text.

    Only documents that have one n-gram of each clause of `needs` can contain it.
    """

    shown: str = field(compare=False)
    text: str
    ignore_case: bool = False
    needs: tuple[tuple[Gram, ...], ...] = field(default=(), compare=False)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return all(self.needs)

    def details(self) -> tuple[str, ...]:
        """Return a line on the texts that are read."""
        return (_texts_read(self.shown, self.needs),)


@dataclass(frozen=True)
class StoredWords:
    """A regular expression over the words of the documents' stored texts.

    For tokenizers whose tokens do not spell the text. The program is that of a `TokenPattern`, with numbers
    of `words` in place of token ids, and matches in the same way. Only documents whose texts have a word of
    each of `needs` can contain a match: `most` is their number of tokens and documents together. `sentences`
    and `in_sentence` have the same meaning as in a `TokenPattern`.
    """

    shown: str = field(compare=False)
    key: bytes
    words: WordList = field(compare=False, repr=False)
    steps: IntArray = field(compare=False, repr=False)
    sets: NDArray[np.uint8] = field(compare=False, repr=False)
    needs: tuple[tuple[bytes, ...], ...] = field(compare=False, repr=False)
    most: int = field(compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    sentences: bool = False
    in_sentence: bool = False

    def in_one_sentence(self) -> StoredWords:
        """Return the pattern whose matches do not cross the end of their sentence."""
        return replace(self, sentences=True, in_sentence=True)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return self.most > 0

    def details(self) -> tuple[str, ...]:
        """Return notes on its expressions and on the texts that are read."""
        return self.notes


@dataclass(frozen=True)
class StoredExpression:
    """A regular expression that is searched for in the documents' texts, whatever their tokens.

    It is one of Python's `re`, with its flags. Only documents that have one n-gram of each clause of `needs`
    can have a match.
    """

    shown: str = field(compare=False)
    expression: str
    flags: int = 0
    needs: tuple[tuple[Gram, ...], ...] = field(default=(), compare=False)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return all(self.needs)

    def details(self) -> tuple[str, ...]:
        """Return a line on the texts that are read."""
        return (_texts_read(self.shown.removeprefix("TEXT ~ "), self.needs),)


def _texts_read(sought: str, needs: tuple[tuple[Gram, ...], ...]) -> str:
    """Describe the texts that are searched: of documents with an n-gram of each clause."""
    shown = [clause[0].shown if len(clause) == 1 else f"one of {len(clause):,} words" for clause in needs]
    where = f"documents with {' and '.join(shown)}" if shown else "all documents"
    return f"looks for {sought} in the texts of {where}"


Simple = Gram | Variants | StoredText


@dataclass(frozen=True)
class Gapped:
    """Parts with gaps: low … high tokens are between the end of part i and the start of the next."""

    parts: tuple[Simple, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def shown(self) -> str:
        """The pattern in the syntax of the language."""
        pieces = [self.parts[0].shown]
        for (low, high), part in zip(self.gaps, self.parts[1:], strict=True):
            pieces.append(f"[{low}]" if low == high else f"[{low}..{high}]")
            pieces.append(part.shown)
        return " ".join(pieces)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return all(part.known for part in self.parts)

    def details(self) -> tuple[str, ...]:
        """Return the variants of its parts."""
        return tuple(line for part in self.parts if not isinstance(part, Gram) for line in part.details())


@dataclass(frozen=True)
class Anchor:
    """N-grams flat[offsets[i]:offsets[i + 1]], one of which is in every match.

    `least_before` to `most_before` tokens of the match precede it. `count` is their number of occurrences, 0
    before they are counted.
    """

    flat: IntArray
    offsets: IntArray
    least_before: int
    most_before: int
    count: int = 0


@dataclass(frozen=True)
class TokenPattern:
    """A regular expression over tokens, as a program: see _cext/include/ngramdb/corpus/token_patterns.hpp.

    There is at most one match per position, the one that Python's `re` finds: repetitions are as long as
    possible, gaps are as short as possible, and the first alternative that leads to a match is taken.
    `anchor` is None if the index can look up no part, so that the program is run at every token. If `length`
    is set, the matches are exactly the anchor's n-grams, all of that length. `sentences`: the program depends
    on the borders of sentences, or, with `in_sentence`, no match crosses the end of its sentence. `words` are
    the sets of words that it reads in the text, if tokens are pieces of words. `by_word`: it is one such set,
    and every position of such a word counts, even if several begin in one token.
    """

    shown: str = field(compare=False)
    key: bytes
    steps: IntArray = field(compare=False, repr=False)
    sets: NDArray[np.uint8] = field(compare=False, repr=False)
    anchor: Anchor | None = field(compare=False, repr=False)
    length: int | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    sentences: bool = False
    in_sentence: bool = False
    words: tuple[WordList, ...] = field(default=(), compare=False, repr=False)
    by_word: bool = False

    def in_one_sentence(self) -> TokenPattern:
        """Return the pattern whose matches do not cross the end of their sentence."""
        return replace(self, length=None, sentences=True, in_sentence=True)

    @property
    def known(self) -> bool:
        """True if it can occur."""
        return self.anchor is None or self.anchor.count > 0

    def bound(self, whole: int) -> int:
        """Return an upper bound of the number of tokens with a match, out of `whole` tokens."""
        if self.anchor is None:
            return whole
        return min(whole, self.anchor.count * (self.anchor.most_before - self.anchor.least_before + 1))

    def details(self) -> tuple[str, ...]:
        """Return notes on its expressions and on what is looked up."""
        return self.notes


Pattern = Gram | Variants | StoredText | StoredWords | StoredExpression | Gapped | TokenPattern


# ---- Texts and conditions of a statement that may find nothing by mistake, kept for a note on the answer.


# The wildcard of other programs; a literal character in an n-gram.
STAR = "*"

# Looks like a pattern of the language: a quoted part, followed by something.
LIKE_A_PATTERN = lazy_pattern(
    r'\s*(?:"(?:[^"\\]|\\.)+"\s*(?:[\[*/{|"]|(?:MATCH|IGNORE|PREFIX|AND|OR)\b)|/[^/\s]+/|\(\s*["/*])',
    re.IGNORECASE,
)

# An n-gram in the syntax of statements, with its quotation marks.
QUOTED = lazy_pattern(r'\s*"((?:[^"\\]|\\.)+)"\s*\Z')

# Borders of a sentence in the syntax of patterns.
SENTENCE_MARKS = lazy_pattern(r"\s*(</?s>)\s*")

# A punctuation mark within a word: under `words` it is a token between two others; `n't` is a part of
# `don't`.
INNER_MARK = lazy_pattern(r"\w[^\w\s]+\w")

# A word with letters and wildcards of other programs; not `2*3`, nor addresses with `?`.
WILDCARD = lazy_pattern(r"(?<!\S)[\w*?]*(?:[^\W\d_](?:\*|\?(?=[^\W\d_]))|\*(?=[^\W\d_]))[\w*?]*(?!\S)")

# The wildcards of regular expressions.
EXPRESSION = lazy_pattern(
    r"\.[*+]|\\[wdWD]|\w\[[^\]\s]*[^\W\d_][^\]\s]*\]|\[[^\]\s]*[^\W\d_][^\]\s]*\][\w*+]|\w\|\w"
)

# Wildcards of other programs that often are characters of a text: `*` alone between words, `*` at an end of a
# word with a letter, the `%` of LIKE, `?` before a word.
MAYBE_WILDCARD = lazy_pattern(
    r"(?<!\S)\*(?!\S)|(?<=\S) \?(?= \S)|(?<!\S)\*\S*[^\W\d_]|[^\W\d_]\S*\*(?!\S)"
    r"|[^\W\d_]%(?!\S)|(?<!\S)%[^\W\d_]|(?<!\S)\?[^\W\d_]"
)

# Every text that matches one of these expressions has one of these characters.
_SUSPECT = lazy_pattern(r"""["/(*?<%|\[\\]|\w[^\w\s]|\.\+""")

# Longer texts are passages, not phrases.
MAX_PHRASE_CHARACTERS = 200


class Phrase(NamedTuple):
    """A text that was tokenized on its own.

    corpus, gram : the corpus in which it is searched for, and its tokens
    matched : the text in the form that matches it regardless of tokens, for messages; None if there is none
    before : the preceding context, in PROB
    as_text : True if it was matched as text already
    narrowed : True if the statement has other conditions on documents, so that its count decides nothing
    is_pattern : True if a pattern is allowed in its place
    is_passage : True for a text to read, in which `*` is Markdown rather than a wildcard
    is_stored : True if stored texts are searched, so that counts of tokens decide nothing
    """

    corpus: Corpus
    gram: Gram
    matched: str | None = None
    before: Gram | None = None
    as_text: bool = False
    narrowed: bool = False
    is_pattern: bool = False
    is_passage: bool = False
    is_stored: bool = False

    @property
    def takes_match_text(self) -> bool:
        """Return True if MATCH TEXT is allowed after it; `matched` can be words beside other parts."""
        return self.as_text or (self.matched is not None and not self.matched.startswith("/"))


class Doubt(NamedTuple):
    """A message on a condition that is true of no document, or of every one, whatever the documents are."""

    message: str


class Slow(NamedTuple):
    """A message on a part of a statement that takes long for a reason that the user can change."""

    message: str


class FieldText(NamedTuple):
    """A text that a field is compared with for equality; the field may have it in another spelling only."""

    corpus: Corpus
    path: str
    text: str


Noted = Phrase | Doubt | Slow | FieldText


def has_wildcard(text: str | None) -> bool:
    """Return True if a text has a word with a wildcard of other programs."""
    if not text or not (STAR in text or "?" in text):
        return False
    return WILDCARD.search(text) is not None


def may_mislead(text: str | None, kind: str) -> bool:
    """Return True if a text may have other tokens inside a document, or looks like a pattern.

    Under `words`, `chars` and `bytes`, a blank at the end of a text does not change other tokens.
    """
    if not text or len(text) > MAX_PHRASE_CHARACTERS:
        return False
    if kind in FILE_TOKENIZERS:
        return True
    if _SUSPECT.search(text) is None:
        return False
    return any(
        found is not None
        for found in (
            LIKE_A_PATTERN.match(text),
            QUOTED.match(text),
            SENTENCE_MARKS.search(text),
            WILDCARD.search(text),
            EXPRESSION.search(text),
            MAYBE_WILDCARD.search(text),
            INNER_MARK.search(text),
        )
    )
