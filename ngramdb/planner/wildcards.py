"""Advice on n-grams with wildcards: the pattern of the language for what they mean in other programs.

`"gov*"` is `"gov" PREFIX`, `"wom?n"` is `/wom.n/`, `"good|bad"` is `/good|bad/` and `"the * of"` is
`"the" * "of"`. An n-gram has no wildcards: its signs are characters.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from ngramdb.errors import InvalidArgument, ResourceError
from ngramdb.planner.binding.unmatched import in_parts
from ngramdb.planner.plan import Phrase, gives_pieces, gives_words, has_wildcard, show_text
from ngramdb.planner.plan.phrases import EXPRESSION, MAYBE_WILDCARD
from ngramdb.planner.source import Corpus, Tokenizer

_ANY_TOKEN = frozenset({"*", "?", "%", ".*", ".+"})
_GLOB = {"*": ".*", "%": ".*", "?": "."}
_SIGNS = re.compile(r"[*?%]")
# A word that begins so, and no other wildcard.
_BEGINNING = re.compile(r"([^*?%]*[^*?%\s])[*%]")


class Meant(NamedTuple):
    """A pattern, and a clause on what it finds."""

    pattern: str
    finds: str


def reads_as_wildcard(text: str) -> bool:
    """Return True if a text has a sign that stands for any letters or words in other programs."""
    return has_wildcard(text) or any(kind.search(text) is not None for kind in (EXPRESSION, MAYBE_WILDCARD))


def note(phrase: Phrase) -> str | None:
    """Return a note on a text with wildcards; None if it more likely is a text with such signs."""
    text, corpus = phrase.gram.text or "", phrase.corpus
    is_expression = any(map(_is_expression, text.split()))
    signs = _SIGNS.findall(text)
    if not phrase.is_pattern:
        is_text = phrase.is_passage or len(signs) > 1 + is_expression
        if is_text or not (is_expression or has_wildcard(text)):
            return None
    if is_expression:
        said = f"{show_text(text)} is text as it stands, not a regular expression"
    else:
        said = f'"{signs[0]}" in {show_text(text)} is a character like any other'
    if not phrase.is_pattern:
        return f"{said}, and no pattern can be written here"
    meant = _meant(text.strip(), corpus) if _takes_expressions(corpus) else None
    if meant is not None:
        said += f"; {meant.pattern} {meant.finds}"
    beginning = _SIGNS.sub("", text).strip()
    is_word = not is_expression and "?" not in signs and " " not in text.strip()
    if (
        is_word
        and beginning == text.strip(" *%")
        and phrase.takes_match_text
        and any(map(str.isalnum, beginning))
    ):
        said += f"; {show_text(beginning)} MATCH TEXT finds it as a part of words, too"
    return said


def after_prefix(text: str) -> str | None:
    """Return a note on the beginning of a word that ends in a wildcard, or None."""
    ending = re.search(r"\w([*%])\Z", text)
    if ending is None:
        return None
    said = f'"{ending[1]}" in {show_text(text)} is a character like any other'
    return f"{said}; {_quoted(text[:-1])} PREFIX finds words that begin so"


def in_words(text: str, tokenizer: Tokenizer) -> str:
    """Return the words of a text as expressions, which match them whatever tokens they have."""
    return " ".join(_slashed(re.escape(word)) for word in tokenizer.words_of(text))


def _meant(text: str, corpus: Corpus) -> Meant | None:
    beginning = _BEGINNING.fullmatch(text)
    if beginning is not None and not _is_expression(text):
        return Meant(f"{_quoted(beginning[1])} PREFIX", "finds words that begin so")
    parts = [_part(word, corpus) for word in text.split()]
    written = [part for part in parts if part is not None]
    if len(written) < len(parts) or not set(written) - {"*"}:
        return None
    if "*" in written:
        return Meant(" ".join(written), "has any token there; a gap, [1..3], stands for several")
    if any(map(_is_expression, text.split())):
        return Meant(" ".join(written), "is matched as one")
    return Meant(
        " ".join(written), f"has any {'letter' if set(_SIGNS.findall(text)) == {'?'} else 'letters'} there"
    )


def _part(word: str, corpus: Corpus) -> str | None:
    """Return one word, or word with wildcards, as a part of a pattern; None if there is no such part."""
    tokenizer = corpus.tokenizer
    if word in _ANY_TOKEN:
        return "*"
    is_expression = _is_expression(word)
    beginning = _BEGINNING.fullmatch(word)
    if beginning is not None and not is_expression:
        return f"{_quoted(beginning[1])} PREFIX"
    if not is_expression and not reads_as_wildcard(word):
        return in_words(word, tokenizer) if gives_pieces(tokenizer) else _quoted(word)
    if not is_expression:
        word = "".join(_GLOB.get(character) or re.escape(character) for character in word)
    if "\\" not in word:
        word = tokenizer.normalized(word)
    try:
        asked = tokenizer.may_match if gives_words(tokenizer) else tokenizer.word_may_match
        return (
            _slashed(word) if asked(word, False) else in_parts(word, by_word=gives_pieces(tokenizer)) or None
        )
    except (InvalidArgument, ResourceError, re.error):
        return None


def _is_expression(word: str) -> bool:
    """Return True if a word has the signs of expressions; not if they end an abbreviation, `U.S.*`."""
    return EXPRESSION.search(word) is not None and not re.search(r"\w\.\w", word)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _slashed(expression: str) -> str:
    return "/" + re.sub(r"(?<!\\)/", r"\\/", expression) + "/"


def _takes_expressions(corpus: Corpus) -> bool:
    """Return True if PREFIX and expressions have an answer. Pieces that spell no text need stored texts."""
    tokenizer = corpus.tokenizer
    if gives_words(tokenizer):
        return True
    is_read = not tokenizer.lossless
    return gives_pieces(tokenizer) and not (
        is_read and any(not segment.has_texts for segment in corpus.segments)
    )
