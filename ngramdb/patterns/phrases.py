"""Texts of a statement that may find nothing although the corpus has them: kept for a note on the answer.

So are conditions that hold of nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ngramdb.patterns.grams import Gram
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.source import Corpus

# The sign that other programs use for any characters; in an n-gram it is a character like others.
STAR = "*"

# What reads as a pattern of the language: a quoted part, and something after it.
LIKE_A_PATTERN = re.compile(
    r'\s*(?:"(?:[^"\\]|\\.)+"\s*(?:[\[*/{|"]|(?:MATCH|IGNORE|PREFIX|AND|OR)\b)|/[^/\s]+/|\(\s*["/*])',
    re.IGNORECASE,
)

# An n-gram as statements write it, marks and all.
QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)+)"\s*\Z')

# What stands for the places where a sentence begins and ends, outside of quotation marks.
SENTENCE_MARKS = re.compile(r"\s*(</?s>)\s*")

# A mark within a word: under `words` it is a token between two others, and `n't` is a part of `don't`.
INNER_MARK = re.compile(r"\w[^\w\s]+\w")

# A word of letters and wildcards as other programs have them; `2*3` and addresses with `?` are none.
WILDCARD = re.compile(r"(?<!\S)[\w*?]*(?:[^\W\d_](?:\*|\?(?=[^\W\d_]))|\*(?=[^\W\d_]))[\w*?]*(?!\S)")

# The wildcards of regular expressions.
EXPRESSION = re.compile(
    r"\.[*+]|\\[wdWD]|\w\[[^\]\s]*[^\W\d_][^\]\s]*\]|\[[^\]\s]*[^\W\d_][^\]\s]*\][\w*+]|\w\|\w"
)

# Signs that are wildcards elsewhere, but often characters of a text: alone between words, a star at an end of
# a word with a letter, the percent sign of LIKE, a question mark before a word.
MAYBE_WILDCARD = re.compile(
    r"(?<!\S)\*(?!\S)|(?<=\S) \?(?= \S)|(?<!\S)\*\S*[^\W\d_]|[^\W\d_]\S*\*(?!\S)"
    r"|[^\W\d_]%(?!\S)|(?<!\S)%[^\W\d_]|(?<!\S)\?[^\W\d_]"
)

# Only texts with one of these can be any of the above.
_SUSPECT = re.compile(r"""["/(*?<%|\[\\]|\w[^\w\s]|\.\+""")

# Longer texts are passages that are read token by token, not phrases that are looked for.
MAX_PHRASE_CHARACTERS = 200


class Phrase(NamedTuple):
    """A text that was tokenized on its own.

    corpus, gram : where it is looked for, and its tokens
    matched : how the text is matched whatever its tokens, for messages; None where that cannot be done
    before : the context that it continues, in PROB
    as_text : it was matched as text already
    narrowed : more than itself decides which documents are asked, of which its counts say nothing
    is_pattern : a pattern may be written in its place
    is_passage : a text to read, in which a star is Markdown rather than a wildcard
    is_stored : it is looked for in stored texts, so that counts of tokens say nothing
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
        """Return True if MATCH TEXT may be written after it; `matched` may be words beside other parts."""
        return self.as_text or (self.matched is not None and not self.matched.startswith("/"))


class Doubt(NamedTuple):
    """A condition that holds of nothing, or of everything, whatever documents have: a sentence for a note."""

    message: str


class FieldText(NamedTuple):
    """A text that a field is compared with for equality; documents may have it in another spelling only."""

    corpus: Corpus
    path: str
    text: str


Noted = Phrase | Doubt | FieldText


def has_wildcard(text: str | None) -> bool:
    """Return True if a text has a sign within or beside a word that other programs take for any letters."""
    if not text or not (STAR in text or "?" in text):
        return False
    return WILDCARD.search(text) is not None


def may_mislead(text: str | None, kind: str) -> bool:
    """Whether a text may have other tokens inside a document, or reads as if it stood for other texts.

    Under `words`, `chars` and `bytes` a blank at a text's end changes no other token.
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
