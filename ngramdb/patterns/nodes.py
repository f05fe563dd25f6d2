"""Patterns: what is looked for.

An exact n-gram, several, parts with gaps, a string of stored texts, or a regular expression over tokens.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from ngramdb.late_dataclasses import dataclass
from ngramdb.patterns.grams import Gram
from ngramdb.source import IntArray, WordList


@dataclass(frozen=True)
class Variants:
    """Several exact n-grams whose occurrences are counted together: MATCH TEXT, IGNORE CASE.

    `weights[i]` is in how many places the string begins within the first token of variant i (the string `a`
    begins thrice in the token `aaa`); so often each of its occurrences counts. `counts` are the n-grams' own.
    `sought` is the string where it may be a part of its tokens' text, None where they are all of it. `cuts`,
    where they are known, are for each n-gram how many bytes at its beginning and end are not the string's, a
    pair for each place.
    """

    shown: str = field(compare=False)
    grams: tuple[Gram, ...]
    weights: tuple[int, ...]
    counts: tuple[int, ...] = field(default=(), compare=False)
    sought: StoredText | None = field(default=None, compare=False)
    cuts: tuple[tuple[tuple[int, int], ...], ...] | None = field(default=None, compare=False)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return bool(self.grams)

    def details(self) -> tuple[str, ...]:
        """A line for each variant, the most frequent first."""
        rows = sorted(zip(self.counts, self.grams, self.weights, strict=True), key=lambda row: -row[0])
        return tuple(
            f"{gram.shown} {gram_ids(gram)}: {count:,}" + (f", counted {weight} times" if weight > 1 else "")
            for count, gram, weight in rows
        )


@dataclass(frozen=True)
class StoredText:
    """A string that is looked for in the documents' stored texts, where tokens don't spell the text.

    Only documents that have one n-gram of each clause of `needs` can contain it.
    """

    shown: str = field(compare=False)
    text: str
    ignore_case: bool = False
    needs: tuple[tuple[Gram, ...], ...] = field(default=(), compare=False)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return all(self.needs)

    def details(self) -> tuple[str, ...]:
        """What is read."""
        shown = [
            clause[0].shown if len(clause) == 1 else f"one of {len(clause):,} words" for clause in self.needs
        ]
        where = f"documents with {' and '.join(shown)}" if shown else "all documents"
        return (f"looks for {self.shown} in the texts of {where}",)


@dataclass(frozen=True)
class StoredWords:
    """A regular expression over the words of the documents' stored texts.

    For tokenizers whose tokens don't spell the text. The program is that of a `TokenPattern`, of numbers of
    `words` in place of token ids, and finds matches as that one does. Only documents whose texts have a word
    of each of `needs` can contain one: `most` tokens and documents in all. `sentences` and `in_sentence` are
    those of a `TokenPattern`, too.
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
        """The pattern whose matches end with their sentence at the latest."""
        return replace(self, sentences=True, in_sentence=True)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return self.most > 0

    def details(self) -> tuple[str, ...]:
        """What it stands for, and what is read."""
        return self.notes


Simple = Gram | Variants | StoredText


@dataclass(frozen=True)
class Gapped:
    """Parts with gaps: between the end of part i and the start of the next stand low … high tokens."""

    parts: tuple[Simple, ...]
    gaps: tuple[tuple[int, int], ...]

    @property
    def shown(self) -> str:
        """As the language writes it."""
        pieces = [self.parts[0].shown]
        for (low, high), part in zip(self.gaps, self.parts[1:], strict=True):
            pieces.append(f"[{low}]" if low == high else f"[{low}..{high}]")
            pieces.append(part.shown)
        return " ".join(pieces)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return all(part.known for part in self.parts)

    def details(self) -> tuple[str, ...]:
        """The variants of its parts."""
        return tuple(line for part in self.parts if not isinstance(part, Gram) for line in part.details())


@dataclass(frozen=True)
class Anchor:
    """N-grams flat[offsets[i]:offsets[i + 1]], one of which every match has.

    `least_before` to `most_before` tokens of the match stand before it. `count` is how often they occur.
    """

    flat: IntArray
    offsets: IntArray
    least_before: int
    most_before: int
    count: int


@dataclass(frozen=True)
class TokenPattern:
    """A regular expression over tokens, as a program: see _cext/include/ngramdb/corpus/token_patterns.hpp.

    There is at most one match at each place, as `re` of Python finds it: what is repeated stands as often as
    possible, gaps are as short as possible, and the first alternative that goes on to a match is taken.
    `anchor` None: the index can look nothing up, and every token is tried. `length`: the matches are the
    anchor's n-grams, which are all so long. `sentences`: the program asks where sentences begin and end, or,
    with `in_sentence`, no match goes beyond the sentence that it begins in. `words` are the sets of words
    that it reads in the text, where tokens are pieces of words; with `by_word` it does nothing else, and
    every place counts where such words stand, though several may begin in one token.
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
        """The pattern whose matches end with their sentence at the latest."""
        return replace(self, length=None, sentences=True, in_sentence=True)

    @property
    def known(self) -> bool:
        """Whether it can occur."""
        return self.anchor is None or self.anchor.count > 0

    def bound(self, whole: int) -> int:
        """At most at how many tokens there are matches, where there are so many tokens."""
        if self.anchor is None:
            return whole
        return min(whole, self.anchor.count * (self.anchor.most_before - self.anchor.least_before + 1))

    def details(self) -> tuple[str, ...]:
        """What its parts stand for, and where it is looked for."""
        return self.notes


Pattern = Gram | Variants | StoredText | StoredWords | Gapped | TokenPattern


def gram_ids(gram: Gram) -> str:
    """A variant's token ids, which distinguish variants that read the same."""
    return "[" + ", ".join(map(str, gram.key)) + "]"
