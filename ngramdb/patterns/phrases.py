"""Texts and conditions of a statement that may find nothing by mistake, kept for a note on the answer."""

from __future__ import annotations

import re
from typing import NamedTuple

from ngramdb.patterns.grams import Gram
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.source import Corpus

# The wildcard of other programs; a literal character in an n-gram.
STAR = "*"

# Looks like a pattern of the language: a quoted part, followed by something.
LIKE_A_PATTERN = re.compile(
    r'\s*(?:"(?:[^"\\]|\\.)+"\s*(?:[\[*/{|"]|(?:MATCH|IGNORE|PREFIX|AND|OR)\b)|/[^/\s]+/|\(\s*["/*])',
    re.IGNORECASE,
)

# An n-gram in the syntax of statements, with its quotation marks.
QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)+)"\s*\Z')

# Borders of a sentence in the syntax of patterns.
SENTENCE_MARKS = re.compile(r"\s*(</?s>)\s*")

# A punctuation mark within a word: under `words` it is a token between two others; `n't` is a part of
# `don't`.
INNER_MARK = re.compile(r"\w[^\w\s]+\w")

# A word with letters and wildcards of other programs; not `2*3`, nor addresses with `?`.
WILDCARD = re.compile(r"(?<!\S)[\w*?]*(?:[^\W\d_](?:\*|\?(?=[^\W\d_]))|\*(?=[^\W\d_]))[\w*?]*(?!\S)")

# The wildcards of regular expressions.
EXPRESSION = re.compile(
    r"\.[*+]|\\[wdWD]|\w\[[^\]\s]*[^\W\d_][^\]\s]*\]|\[[^\]\s]*[^\W\d_][^\]\s]*\][\w*+]|\w\|\w"
)

# Wildcards of other programs that often are characters of a text: `*` alone between words, `*` at an end of a
# word with a letter, the `%` of LIKE, `?` before a word.
MAYBE_WILDCARD = re.compile(
    r"(?<!\S)\*(?!\S)|(?<=\S) \?(?= \S)|(?<!\S)\*\S*[^\W\d_]|[^\W\d_]\S*\*(?!\S)"
    r"|[^\W\d_]%(?!\S)|(?<!\S)%[^\W\d_]|(?<!\S)\?[^\W\d_]"
)

# Every text that matches one of these expressions has one of these characters.
_SUSPECT = re.compile(r"""["/(*?<%|\[\\]|\w[^\w\s]|\.\+""")

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


class FieldText(NamedTuple):
    """A text that a field is compared with for equality; the field may have it in another spelling only."""

    corpus: Corpus
    path: str
    text: str


Noted = Phrase | Doubt | FieldText


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
