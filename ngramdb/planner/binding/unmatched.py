"""Notes on patterns that cannot match as they are written, whatever the documents are.

An expression is compared with one token at a time. Under the rule of the tokenizer `words`, a token is a run
of letters, digits and marks, or one other character; white space belongs to no token. So `/time flies/`
matches nothing in any corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ngramdb.diacritics import SINGLE
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.source import Tokenizer

# A character of an expression that stands for itself, between parts of it: white space, or a mark that is a
# token of its own.
_SEPARATOR = re.compile(r"\\(?P<escaped>[^\w\s])|(?P<plain>[ '\"@,:;!%&=~<>#/-])")
# An example of a set of ideographs.
SINGLE_SET = "[\u4e00-\u9fff]"
_QUANTIFIED = frozenset("*+?{")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")

MayMatch = Callable[[str, bool], bool]


class Compared(NamedTuple):
    """The tokens or words of texts that an expression is compared with, and whether case counts."""

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
        singles = SINGLE.search(expression)
        if singles is not None:
            why = f"each ideograph or Hiragana letter, such as {singles[0]}, is a token"
            advice = advice or _one_by_one(expression, tokenizer, compared.own_tokens)
        written = f"; write {advice}" if advice else ""
        return f"is compared with one token at a time, and {why}: it matches nothing{written}"
    if kind in plan.SINGLE:
        unit = {"chars": "a character", "bytes": "a byte"}[kind]
        advice = (
            _written(expression) if not _is_special(expression) else "one part each, as in /[a-z]/ /[a-z]/"
        )
        return (
            f"is compared with one token at a time, which is {unit} here: it matches nothing; write {advice}"
        )
    by_word = plan.gives_pieces(tokenizer)
    advice = in_parts(expression, by_word)
    written = f"; write {advice}{', without MATCH TOKENS' if by_word else ''}" if advice else ""
    return f"matches no token of the tokenizer's vocabulary{written}"


def in_parts(expression: str, by_word: bool) -> str:
    """Return an expression written as several parts, or nothing.

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
        return " ".join(f"/{piece}/" for piece in pieces) or plan.show_text(expression)
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
            at += 1  # a bracket that comes first stands for itself
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
    return f"/{piece}/" if _is_special(piece) else plan.show_text(re.sub(r"\\([^\w\s])", r"\1", piece))


def of_last_only(items: Sequence[ast.Node], tokenizer: Tokenizer) -> str | None:
    """Return a note on IGNORE CASE after the last of several n-grams or parts alone, or None.

    There is none if case was ignored, or matched, on purpose in one of the others.
    """
    leaves = [item.pattern if isinstance(item, ast.Contains) else item for item in items]
    *others, last = leaves
    if not (isinstance(last, ast.Matching) and last.ignore_case):
        return None
    if any(isinstance(item, ast.Matching) for item in others):
        return None
    texts = [item.value for item in others if isinstance(item, ast.Text)]
    cased = [
        text for text in texts if tokenizer.normalized(text.lower()) != tokenizer.normalized(text.upper())
    ]
    if not cased:
        return None
    first = plan.show_text(cased[0])
    return (
        f"IGNORE CASE belongs to the last n-gram alone, and {first} is matched as it is written; write "
        f"{first} IGNORE CASE as well"
    )
