"""The shapes of tokens, and the values of literals.

One regular expression cuts any text into pieces, without gaps or failures.

Parser, statement splitter and highlighter all read these pieces, so that they cannot disagree on where a
literal or a comment ends. What is wrong (a quote that is never closed, a stray character) is a piece of a
kind of its own; it is for the parser to complain about it. Which words are keywords is the grammar's
affair.

Every alternative is written so that it never backtracks over more than it has just read: the time is
linear in the text, whatever the text is.

Each function that reads a literal takes it as written, quotes included, and its offset in the text, and
raises `Fault` at the exact character that is wrong.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from ngramdb.lazy import lazy_pattern
from ngramdb.limits import MAX_GAP, MAX_TOKEN_ID

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
    (DIVISION, rf"(?<!~)(?<!~ )/(?={BLANKS}(?:\Z|{NUMBER_COMES}))"),
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
    (PUNCTUATION, r"[;:,()=.+*|~-]"),
    (CURLY_QUOTE, "[\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b]"),
    (OTHER, r"."),
)
_PIECE = lazy_pattern("|".join(f"(?P<{kind}>{shape})" for kind, shape in _SHAPES), re.DOTALL)


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


# ---- From the characters of a literal to its value.


# Longer runs of digits cannot be in range; Python refuses to convert very long ones (over 4,300) at all.
_MAX_DIGITS = 20

# Digits of an integer that is compared with a field: larger ones would not convert to a float.
_MAX_NUMBER_DIGITS = 308

_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = lazy_pattern(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<unit>[0-9a-fA-F]{4})"
    r"|\\(?P<letter>.)",
    re.DOTALL,
)
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_IDS_CHARACTERS = frozenset("0123456789, \t\r\n")


class Fault(Exception):
    """A mistake at the half-open range `start`, `stop`; a ParseError once the text around it is known."""

    def __init__(self, message: str, start: int, stop: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.stop = stop


def read_text(raw: str, start: int) -> str:
    r"""Return the string of an n-gram literal: `"a\n"` is `a` and a line feed. Escapes are those of JSON.

    Line breaks and other control characters are allowed unescaped.
    """
    if not raw.isascii() and (found := _SURROGATE.search(raw)):
        if "\udc80" <= found[0] <= "\udcff":  # how Python keeps bytes that it could not decode
            byte = ord(found[0]) - 0xDC00
            message = f"byte 0x{byte:02x} is not UTF-8 text"
            raise Fault(message, start + found.start(), start + found.end())
        raise _lone_surrogate(start + found.start(), start + found.end())
    body = raw[1:-1]
    if "\\" not in body:
        return body
    return _ESCAPE.sub(lambda match: _unescape(match, start + 1), body)


def _unescape(match: re.Match[str], offset: int) -> str:
    start, stop = offset + match.start(), offset + match.end()
    letter, unit = match["letter"], match["unit"]
    if letter is not None:
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if letter == "u":
            raise Fault("\\u takes four hexadecimal digits", start, stop)
        shown = letter if letter.isprintable() else f"U+{ord(letter):04X}"
        raise Fault(f"unknown escape \\{shown} in an n-gram; write a backslash as \\\\", start, stop)
    if unit is not None:
        code = int(unit, 16)
        if 0xD800 <= code <= 0xDFFF:
            raise _lone_surrogate(start, stop)
        return chr(code)
    return chr(0x10000 + ((int(match["high"], 16) - 0xD800) << 10) + int(match["low"], 16) - 0xDC00)


def _lone_surrogate(start: int, stop: int) -> Fault:
    return Fault("half of a surrogate pair is not a character and is not allowed in an n-gram", start, stop)


def read_string(raw: str) -> str:
    """Return the string of a value in single quotes: `'it''s'` is `it's`."""
    return raw[1:-1].replace("''", "'")


def read_name(raw: str, start: int) -> str:
    """Return the name in backquotes; it must not be empty, and a backquote itself is doubled."""
    name = raw[1:-1].replace("``", "`")
    if not name:
        raise Fault("a name in backquotes cannot be empty", start, start + len(raw))
    return name


def read_number(raw: str, start: int) -> int | float:
    """Return an int for digits alone, otherwise a float."""
    digits = raw.lstrip("-")
    if digits.isdigit():
        # The leading zeros go first: Python counts them, too, when it refuses very long runs of digits.
        digits = digits.lstrip("0") or "0"
        if len(digits) > _MAX_NUMBER_DIGITS:
            raise _too_large(raw, start)
        return int(digits) * (-1 if raw[0] == "-" else 1)
    value = float(raw)
    if not math.isfinite(value):
        raise _too_large(raw, start)
    return value


# Suffixes of numbers of tokens.
_SCALES = {"K": 10**3, "M": 10**6, "B": 10**9}
_SCALED = lazy_pattern(r"(-?[0-9]+(?:\.[0-9]+)?)([A-Za-z]+)")


def read_scaled(raw: str, start: int) -> int | float | None:
    """Return a number with a suffix: `1.5B` is 1500000000; None for anything else.

    The suffixes K, M and B stand for 10^3, 10^6 and 10^9. The number is an int if it is whole. Raises Fault
    for other suffixes.
    """
    found = _SCALED.fullmatch(raw)
    if found is None:
        return None
    scale = _SCALES.get(found[2].upper())
    if scale is None:
        message = f"unknown suffix {found[2]}; a number may end in K (thousand), M (million) or B (billion)"
        raise Fault(message, start + found.start(2), start + len(raw))
    whole, _, decimals = found[1].partition(".")
    if len(found[1]) > _MAX_NUMBER_DIGITS:
        raise _too_large(raw, start)
    unit: int = 10 ** len(decimals)
    value, rest = divmod(int(whole + decimals) * scale, unit)
    return value + rest / unit if rest else value


def _too_large(raw: str, start: int) -> Fault:
    return Fault("this number is too large", start, start + len(raw))


def read_token_ids(raw: str, start: int) -> tuple[int, ...]:
    """Return the ids in brackets: `[5613, 4086]`; `[]` is the empty n-gram.

    Cost: linear; about 0.1 µs an id.
    """
    body = raw[1:-1]
    if not body.strip():
        return ()
    if _IDS_CHARACTERS.issuperset(body):
        try:
            ids = tuple(map(int, body.split(",")))
        except ValueError:  # an item is empty, has a blank between its digits, or very many digits
            ids = (-1,)
        if min(ids) >= 0 and max(ids) <= MAX_TOKEN_ID:
            return ids
    return _read_items(body, start + 1)


def read_gap(raw: str, start: int) -> tuple[int, int]:
    """Return the bounds of a gap: `[1..3]` is 1 and 3."""
    low, _, high = (part.strip() for part in raw[1:-1].partition(".."))
    stop = start + len(raw)
    if not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in (low, high)):
        raise Fault("a gap is written [1..3]: at least one token and at most three in between", start, stop)
    if int(low) > int(high):
        raise Fault(
            f"a gap goes from the lower bound to the upper one: write [{int(high)}..{int(low)}]", start, stop
        )
    if int(high) > MAX_GAP:
        raise Fault(f"this gap is too long: at most {MAX_GAP} tokens", start, stop)
    return int(low), int(high)


def read_repetition(raw: str, start: int) -> tuple[int, int | None]:
    """Return the bounds of a repetition: `{1,3}` is 1 and 3, `{2}` is 2 and 2, `{2,}` is 2 and unbounded."""
    low, comma, high = (part.strip() for part in raw[1:-1].partition(","))
    stop = start + len(raw)
    bounds = [low, high] if high else [low]
    if not all(part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS for part in bounds):
        message = "a repetition is written {2}, {1,3} or {2,}: how often, at least and at most"
        raise Fault(message, start, stop)
    least, most = int(low), int(high) if high else None if comma else int(low)
    if most is not None and least > most:
        raise Fault(
            f"a repetition goes from the lower bound to the upper one: write {{{most},{least}}}", start, stop
        )
    if most == 0:
        raise Fault("a part repeated 0 times is not part of the pattern: leave it out", start, stop)
    if max(least, most or 0) > MAX_GAP:
        raise Fault(f"this is repeated too often: at most {MAX_GAP} times", start, stop)
    return least, most


# Classes of characters as other programs have them, and the sets that `re` has for them.
_FOREIGN_CLASS = lazy_pattern(
    r"\[(?:[^\]\\]|\\.)*?\[:\^?(?P<posix>[a-z]+):\]\]?|(?<!\\)\\[pP]\{?\^?(?P<unicode>\w+)\}?"
)
_CLASSES = {
    **dict.fromkeys(("upper", "lu", "uppercase"), "[A-Z]"),
    **dict.fromkeys(("lower", "ll", "lowercase"), "[a-z]"),
    **dict.fromkeys(("digit", "n", "nd"), "[0-9]"),
    **dict.fromkeys(("punct", "p"), r"[^\w\s]"),
    **dict.fromkeys(("alnum", "word"), r"\w"),
    "han": "[\u4e00-\u9fff]",
}


def read_expression(raw: str, start: int) -> str:
    """Return the regular expression between slashes, checked by Python's `re` to locate mistakes."""
    expression = raw[1:-1]
    foreign = _FOREIGN_CLASS.search(expression)
    if foreign is not None:
        place = start + 1 + foreign.start()
        written = _CLASSES.get((foreign["posix"] or foreign["unicode"]).lower(), r"[^\W\d_]")
        what = f"{foreign[0]} is not supported in regular expressions; write a set, as in /{written}+/"
        raise Fault(what, place, place + len(foreign[0]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what may mean something else in a later Python
            re.compile(expression)
    except re.error as error:
        place = start + 1 + min(error.pos or 0, max(len(expression) - 1, 0))
        raise Fault(f"invalid regular expression: {error.msg}", place, place + 1) from None
    except (OverflowError, RecursionError) as error:
        raise Fault(f"this regular expression is too large: {error}", start, start + len(raw)) from None
    return expression


def read_range(raw: str, start: int) -> tuple[int, int]:
    """Return the bounds of a range: `2..5` is 2 and 5."""
    low, _, high = raw.partition("..")
    stop = start + len(raw)
    if max(len(low), len(high)) > _MAX_DIGITS:
        raise Fault("this number is too large", start, stop)
    if int(low) > int(high):
        message = f"a range goes from the lower bound to the upper one: write {int(high)}..{int(low)}"
        raise Fault(message, start, stop)
    return int(low), int(high)


def _read_items(body: str, start: int) -> tuple[int, ...]:
    """Do the same item by item, to find the place of a mistake."""
    ids = []
    for item in body.split(","):
        stripped = item.strip()
        if not stripped:
            raise Fault("a token id is missing here", start, start + max(1, len(item)))
        ids.append(_read_token_id(stripped, start + len(item) - len(item.lstrip())))
        start += len(item) + 1
    return tuple(ids)


def _read_token_id(item: str, start: int) -> int:
    stop = start + len(item)
    digits = item[1:] if item[0] == "-" else item
    if not (digits.isascii() and digits.isdigit()):
        raise Fault(
            f"token ids are whole numbers from 0 to {MAX_TOKEN_ID}, with commas between them", start, stop
        )
    if item[0] == "-":
        raise Fault("a token id cannot be negative", start, stop)
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS or int(digits) > MAX_TOKEN_ID:
        raise Fault(f"this token id is too large: the largest is {MAX_TOKEN_ID}", start, stop)
    return int(digits)
