"""The position of the first mistake in a text while it is being typed."""

from __future__ import annotations

from ngramdb.errors import ParseError
from ngramdb.language import scanner
from ngramdb.language.expected_next import expected
from ngramdb.language.parser import Walk


def first_mistake(text: str) -> tuple[int, int] | None:
    """Return the half-open range of the first piece that no continuation of the text can correct, or None.

    The last piece may still change: a word that a keyword begins with, an open literal.

    >>> first_mistake("COUNT 'a' FROM"), first_mistake('COUNT "a" FRO')
    ((6, 9), None)

    Never raises. Cost: linear; about 0.1 ms for a short statement.
    """
    walk = Walk(text)
    for kind, start, stop in scanner.scan(text):
        if kind in scanner.BLANK:
            continue
        try:
            walk.take(kind, start, stop)
        except ParseError as error:
            if stop == len(text) and _may_become_right(text, kind):
                return None
            begin = start if error.start is None else error.start
            return begin, max(begin + 1, stop if error.stop is None else error.stop)
    return None


def _may_become_right(text: str, kind: str) -> bool:
    """Return True if the last piece, which is refused, can become another one by more typing."""
    if kind in scanner.OPEN or kind == scanner.OPEN_IDS:
        return True
    if kind == scanner.WORD:
        return bool(expected(text, len(text)).keywords)
    if kind == scanner.BAD_OPERATOR:
        return text.endswith("!")  # of !=
    # Half of a number, of an operator, of a comment's mark.
    return (kind in (scanner.BAD_NUMBER, scanner.OTHER) and not text[-1].isalnum()) or text[-1] in "-/"
