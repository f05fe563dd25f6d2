"""From the characters of a literal to its value.

Each function takes the literal as written, quotes included, and its offset in the text, and raises
`Fault` at the exact character that is wrong.
"""

from __future__ import annotations

import math
import re
import warnings

from ngramdb.limits import MAX_GAP, MAX_TOKEN_ID

# Longer runs of digits cannot be in range; Python refuses to convert very long ones (over 4,300) at all.
_MAX_DIGITS = 20

# Digits of an integer that is compared with a field: larger ones would not convert to a float.
_MAX_NUMBER_DIGITS = 308

_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<unit>[0-9a-fA-F]{4})"
    r"|\\(?P<letter>.)",
    re.DOTALL,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
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
_FOREIGN_CLASS = re.compile(
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
