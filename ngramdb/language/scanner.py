"""The shapes of tokens: one regular expression that cuts any text into pieces, without gaps or failures.

Parser, statement splitter and highlighter all read these pieces, so that they cannot disagree on where a
literal or a comment ends. What is wrong (a quote that is never closed, a stray character) is a piece of a
kind of its own; it is for the parser to complain about it. Which words are keywords is the grammar's
affair.

Every alternative is written so that it never backtracks over more than it has just read: the time is
linear in the text, whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SPACE = "SPACE"
COMMENT = "COMMENT"
WORD = "WORD"
QUOTED_NAME = "QUOTED_NAME"
TEXT = "TEXT"
STRING = "STRING"
TOKEN_IDS = "TOKEN_IDS"
GAP = "GAP"
REGEX = "REGEX"
REPETITION = "REPETITION"
RANGE = "RANGE"
NUMBER = "NUMBER"
PARAMETER = "PARAMETER"
COMPARATOR = "COMPARATOR"
PUNCTUATION = "PUNCTUATION"
DIVISION = "DIVISION"
MARK = "MARK"
# A piece that no statement can contain.
OPEN_COMMENT = "OPEN_COMMENT"
OPEN_NAME = "OPEN_NAME"
OPEN_TEXT = "OPEN_TEXT"
OPEN_STRING = "OPEN_STRING"
OPEN_IDS = "OPEN_IDS"
BAD_NUMBER = "BAD_NUMBER"
BAD_OPERATOR = "BAD_OPERATOR"
CURLY_QUOTE = "CURLY_QUOTE"
OTHER = "OTHER"

BLANK = frozenset({SPACE, COMMENT})
# Kinds that run to the end of the text because their closing mark is missing; more text could close them.
OPEN = frozenset({OPEN_COMMENT, OPEN_NAME, OPEN_TEXT, OPEN_STRING})

# Blanks and comments, as a regular expression for what follows a piece.
BLANKS = r"(?:\s|--[^\n]*|/\*.*?\*/)*"
# A number, and what may come after a quotient.
NUMBER_COMES = rf"(?:[0-9]+(?:\.[0-9]+)?|\?|:\w+)(?:[\s,;)]|\Z|--|/\*|\*{BLANKS}[0-9?:])"

# In order of trial. "Space" takes in a byte order mark, which editors leave at the start of script files.
_SHAPES = (
    (SPACE, r"[\s\ufeff]+"),
    # A slash divides if a number or a parameter follows it, and then the possible end of a quotient.
    (DIVISION, rf"/(?={BLANKS}(?:\Z|{NUMBER_COMES}))"),
    # So does a slash directly after a word, a number or a parenthesis.
    (REGEX, r"(?<![\w)\]`])/(?![/*])(?:[^/\\\n]|\\[^\n])+/"),
    (COMMENT, r"--[^\n]*|/\*.*?\*/"),
    (OPEN_COMMENT, r"/\*.*"),
    (WORD, r"[^\W\d]\w*"),
    (TEXT, r'"[^"\\]*(?:\\.[^"\\]*)*"'),
    (OPEN_TEXT, r'".*'),
    # A doubled quote stands for itself, so the closing quote is one that no other follows.
    (STRING, r"'[^']*(?:''[^']*)*'(?!')"),
    (OPEN_STRING, r"'.*"),
    (QUOTED_NAME, r"`[^`]*(?:``[^`]*)*`(?!`)"),
    (OPEN_NAME, r"`.*"),
    (GAP, r"\[[^\[\];\"'`.]*\.\.[^\[\];\"'`]*\]"),
    # The content is checked when the literal is read, so that an error points at its exact position.
    (TOKEN_IDS, r"\[[^\[\];\"'`]*\]"),
    (OPEN_IDS, r"\[[^\[\];\"'`]*"),
    (REPETITION, r"\{[^{};\"'`]*\}"),
    (RANGE, r"[0-9]+\.\.[0-9]+(?![\w.])"),
    (NUMBER, r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])"),
    (BAD_NUMBER, r"-?[0-9][\w.]*"),
    (PARAMETER, r"\?|:[A-Za-z_][A-Za-z0-9_]*"),
    # Operators of other languages.
    (BAD_OPERATOR, r"==|=>|=<|&&|\|\||!(?!=)"),
    (MARK, r"</?s>"),
    (COMPARATOR, r"<=|>=|<>|!=|[<>]"),
    (PUNCTUATION, r"[;,()=.+*|-]"),
    (CURLY_QUOTE, "[\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b]"),
    (OTHER, r"."),
)
_PIECE = re.compile("|".join(f"(?P<{kind}>{shape})" for kind, shape in _SHAPES), re.DOTALL)


def scan(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the pieces of `text` in order, as (kind, start, stop); together they cover it exactly.

    Cost: linear in the text; pieces are made one at a time.
    """
    for match in _PIECE.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            yield kind, match.start(), match.end()


# ---- statements of a text


class Piece(NamedTuple):
    """A statement as it is written.

    `text` runs from the statement's first token through its semicolon, or through its last token; `start`
    is its place in the whole text; `complete` is whether the semicolon is there.
    """

    text: str
    start: int
    complete: bool


def split(text: str) -> list[Piece]:
    r"""Return the non-empty statements of `text` in order; only the last one can be incomplete.

    A text that ends inside a comment has an incomplete piece there.

    >>> split("COUNT ';'; -- one\nSHOW CORPORA")
    [Piece(text="COUNT ';';", start=0, complete=True), Piece(text='SHOW CORPORA', start=18, complete=False)]

    Cost: linear in the text.
    """
    pieces: list[Piece] = []
    first: int | None = None
    last = 0
    for kind, start, stop in scan(text):
        if kind in BLANK:
            continue
        if text[start] != ";":
            first = start if first is None else first
            last = stop
        elif first is not None:
            pieces.append(Piece(text[first:stop], first, True))
            first = None
    if first is not None:
        pieces.append(Piece(text[first:last], first, False))
    return pieces


def is_complete(text: str) -> bool:
    """Return True if all of `text` can be run: only blanks and comments follow the last semicolon.

    A text without any statement is complete; one that ends inside a literal, a name or a comment is not.
    """
    pieces = split(text)
    return not pieces or pieces[-1].complete
