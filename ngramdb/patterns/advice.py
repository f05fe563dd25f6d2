"""Advice on patterns that cannot match as they are written.

N-grams with wildcards: `"gov*"` means `"gov" PREFIX`, `"wom?n"` means `/wom.n/`, `"good|bad"` means
`/good|bad/` and `"the * of"` means `"the" * "of"`. An n-gram has no wildcards: `*` and `?` are characters.

Expressions that match no token of any corpus: an expression is compared with one token at a time. Under the
rule of the tokenizer `words`, a token is a run of letters, digits and marks, or one other character; white
space belongs to no token. So `/time flies/` matches nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ngramdb.diacritics import SINGLE as IDEOGRAPHS
from ngramdb.errors import InvalidArgument, ResourceError
from ngramdb.patterns.grams import SINGLE, gives_pieces, show_text
from ngramdb.patterns.nodes import EXPRESSION, MAYBE_WILDCARD, Phrase, has_wildcard
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer

_ANY_TOKEN = frozenset({"*", "?", "%", ".*", ".+"})
_GLOB = {"*": ".*", "%": ".*", "?": "."}
_SIGNS = re.compile(r"[*?%]")
# A beginning of a word, followed by the only wildcard.
_BEGINNING = re.compile(r"([^*?%]*[^*?%\s])[*%]")


class Meant(NamedTuple):
    """A pattern, and a clause on its matches."""

    pattern: str
    finds: str


def reads_as_wildcard(text: str) -> bool:
    """Return True if a text has a character that is a wildcard in other programs."""
    return has_wildcard(text) or any(kind.search(text) is not None for kind in (EXPRESSION, MAYBE_WILDCARD))


def note(phrase: Phrase) -> str | None:
    """Return a note on a text with wildcards; None if they are more likely characters of the text."""
    text, corpus = phrase.gram.text or "", phrase.corpus
    is_expression = any(map(_is_expression, text.split()))
    signs = _SIGNS.findall(text)
    if not phrase.is_pattern:
        is_text = phrase.is_passage or len(signs) > 1 + is_expression
        if is_text or not (is_expression or has_wildcard(text)):
            return None
    if is_expression:
        said = f"{show_text(text)} is literal text, not a regular expression"
    else:
        said = f'"{signs[0]}" in {show_text(text)} is a literal character'
    if not phrase.is_pattern:
        return f"{said}, and patterns are not allowed here"
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
        said += f"; {show_text(beginning)} MATCH TEXT finds it inside words, too"
    return said


def after_prefix(text: str) -> str | None:
    """Return a note on the beginning of a word that ends in a wildcard, or None."""
    ending = re.search(r"\w([*%])\Z", text)
    if ending is None:
        return None
    said = f'"{ending[1]}" in {show_text(text)} is a literal character'
    return f"{said}; {_quoted(text[:-1])} PREFIX finds words with this prefix"


def in_words(text: str, tokenizer: Tokenizer) -> str:
    """Return the words of a text as expressions, which match them regardless of their tokens."""
    return " ".join(_slashed(re.escape(word)) for word in tokenizer.words_of(text))


def _meant(text: str, corpus: Corpus) -> Meant | None:
    beginning = _BEGINNING.fullmatch(text)
    if beginning is not None and not _is_expression(text):
        return Meant(f"{_quoted(beginning[1])} PREFIX", "finds words with this prefix")
    parts = [_part(word, corpus) for word in text.split()]
    written = [part for part in parts if part is not None]
    if len(written) < len(parts) or not set(written) - {"*"}:
        return None
    if "*" in written:
        return Meant(" ".join(written), "matches any token there; a gap, [1..3], matches several")
    if any(map(_is_expression, text.split())):
        return Meant(" ".join(written), "is matched as one")
    letters = "letter" if set(_SIGNS.findall(text)) == {"?"} else "letters"
    return Meant(" ".join(written), f"matches any {letters} there")


def _part(word: str, corpus: Corpus) -> str | None:
    """Return a word, with or without wildcards, as a part of a pattern; None if that is impossible."""
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
        asked = tokenizer.may_match if tokenizer.has_own_words else tokenizer.word_may_match
        return (
            _slashed(word) if asked(word, False) else in_parts(word, by_word=gives_pieces(tokenizer)) or None
        )
    except (InvalidArgument, ResourceError, re.error):
        return None


def _is_expression(word: str) -> bool:
    """Return True if a word looks like an expression; False for abbreviations such as `U.S.*`."""
    return EXPRESSION.search(word) is not None and not re.search(r"\w\.\w", word)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _slashed(expression: str) -> str:
    return "/" + re.sub(r"(?<!\\)/", r"\\/", expression) + "/"


def _takes_expressions(corpus: Corpus) -> bool:
    """Return True if PREFIX and expressions can be answered. Pieces that spell no text need stored texts."""
    tokenizer = corpus.tokenizer
    if tokenizer.has_own_words:
        return True
    is_read = not tokenizer.lossless
    return gives_pieces(tokenizer) and not (
        is_read and any(not segment.has_texts for segment in corpus.segments)
    )


# ---- expressions that match no token


# A literal character of an expression between two parts: white space, or a mark that is a token.
_SEPARATOR = re.compile(r"\\(?P<escaped>[^\w\s])|(?P<plain>[ '\"@,:;!%&=~<>#/-])")
# An example of a set of ideographs.
SINGLE_SET = "[\u4e00-\u9fff]"
_QUANTIFIED = frozenset("*+?{")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")


class Compared(NamedTuple):
    """The tokens or words that an expression is compared with, and the treatment of case."""

    tokenizer: Tokenizer
    own_tokens: bool
    ignore_case: bool

    def may_match(self, expression: str) -> bool:
        """Return True if a token or word of some document could match."""
        asked = self.tokenizer.may_match if self.own_tokens else self.tokenizer.word_may_match
        return asked(expression, self.ignore_case)


def of_expression(expression: str, compared: Compared, occurs: bool = False) -> str | None:
    """Return why no token matches an expression or one of its alternatives, and what to write instead.

    Returns None if a token may match. `occurs`: a token of the corpus matches the expression.
    """
    if not occurs and not compared.may_match(expression):
        return f"/{expression}/ {_reason(expression, compared)}"
    for part in _alternatives(expression):
        if not compared.may_match(part):
            return f"the alternative /{part}/ of /{expression}/ {_reason(part, compared)}"
    return None


def _reason(expression: str, compared: Compared) -> str:
    tokenizer, kind = compared.tokenizer, compared.tokenizer.kind
    if not compared.own_tokens or kind.startswith("words"):
        if compared.own_tokens and tokenizer.word_may_match(expression, compared.ignore_case):
            any_case = not compared.ignore_case and tokenizer.may_match(expression, True)
            advice = f"; write /{expression}/ IGNORE CASE" if any_case else ""
            return f"needs a letter that {kind} replaces with another one: it matches nothing{advice}"
        why = "no token has a blank in it or joins a punctuation mark to other characters"
        advice = in_parts(expression, by_word=not compared.own_tokens)
        singles = IDEOGRAPHS.search(expression)
        if singles is not None:
            why = f"each ideograph or Hiragana letter, such as {singles[0]}, is a token"
            advice = advice or _one_by_one(expression, tokenizer, compared.own_tokens)
        written = f"; write {advice}" if advice else ""
        return f"is compared with one token at a time, and {why}: it matches nothing{written}"
    if kind in SINGLE:
        unit = {"chars": "a character", "bytes": "a byte"}[kind]
        advice = (
            _written(expression) if not _is_special(expression) else "one part each, as in /[a-z]/ /[a-z]/"
        )
        return (
            f"is compared with one token at a time, which is {unit} here: it matches nothing; write {advice}"
        )
    by_word = gives_pieces(tokenizer)
    advice = in_parts(expression, by_word)
    written = f"; write {advice}{', without MATCH TOKENS' if by_word else ''}" if advice else ""
    return f"matches no token of the tokenizer's vocabulary{written}"


def in_parts(expression: str, by_word: bool) -> str:
    """Return an expression written as several parts; empty if it cannot be divided.

    `by_word`: tokens are pieces of words, and only expressions match whole words.
    """
    parts = [] if expression.startswith("(?") else _cut(expression)
    kept = [part for part in parts if part.strip()]
    written = " ".join(f"/{part}/" if by_word and part != "/" else _written(part) for part in kept)
    return written if len(parts) > 1 else ""


def _one_by_one(expression: str, tokenizer: Tokenizer, own_tokens: bool) -> str:
    """Return an expression over ideographs with a part for each of them."""
    if not _is_special(expression):
        pieces = [] if own_tokens else tokenizer.words_of(expression)
        return " ".join(f"/{piece}/" for piece in pieces) or show_text(expression)
    alternatives = _alternatives(expression)
    if alternatives:
        return f"({' | '.join(_one_by_one(part, tokenizer, own_tokens) for part in alternatives)})"
    repeated = re.fullmatch(r"(\[[^\]]+\]|[^\\|()\[\]{}])(\{\d+(?:,\d+)?\})", expression)
    return (
        f"/{repeated[1]}/{repeated[2]}" if repeated else f"one part each, as in /{SINGLE_SET}/ /{SINGLE_SET}/"
    )


def _outside(expression: str) -> Iterator[tuple[int, int]]:
    """Yield the place and depth of each character outside of sets; groups and counts are deeper by one."""
    depth = at = 0
    while at < len(expression):
        character = expression[at]
        depth -= character in ")}"
        yield at, depth
        depth += character in "({"
        if character == "[":
            at += 1 + (expression[at + 1 : at + 2] == "^")
            at += 1  # a bracket in first position is literal
            while at < len(expression) and expression[at] != "]":
                at += 2 if expression[at] == "\\" else 1
        at += 2 if character == "\\" else 1


def _alternatives(expression: str) -> list[str]:
    """Return the alternatives of an expression that consists of several, with or without a group around."""
    if "|" not in expression or expression.startswith(("(?i", "(?x", "(?s", "(?m", "(?a", "(?u")):
        return []
    tops = [at for at, depth in _outside(expression) if depth == 0]
    if expression[0] == "(" and tops == [0, len(expression) - 1]:
        return _alternatives(re.sub(r"\A(\?:|\?P<\w+>)", "", expression[1:-1]))
    bars = [at for at in tops if expression[at] == "|"]
    return [expression[a + 1 : b] for a, b in pairwise([-1, *bars, len(expression)])] if bars else []


def _cut(expression: str) -> list[str]:
    """Return an expression in pieces, cut around the separators outside of groups, sets and alternatives."""
    places: list[int] = [0]
    for at, depth in _outside(expression):
        if depth:
            continue
        if expression[at] == "|":
            return [expression]
        separator = _SEPARATOR.match(expression, at)
        if separator is not None and expression[separator.end() : separator.end() + 1] not in _QUANTIFIED:
            places += [at, separator.end()]
    pieces = [expression[a:b] for a, b in pairwise([*places, len(expression)]) if b > a]
    return pieces or [expression]


def _is_special(piece: str) -> bool:
    """Return True if a piece of an expression is more than its own characters."""
    plain = re.sub(r"\\([^\w\s])", r"\1", piece)
    return bool(_SPECIAL.intersection(re.sub(r"\\[^\w\s]", "", piece))) or "\\" in plain


def _written(piece: str) -> str:
    """Return a piece of an expression as a part of a pattern."""
    return f"/{piece}/" if _is_special(piece) else show_text(re.sub(r"\\([^\w\s])", r"\1", piece))
