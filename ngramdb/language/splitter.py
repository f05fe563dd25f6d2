"""Cuts a text into statements without parsing them: at semicolons that are in no literal, name or comment."""

from __future__ import annotations

from typing import NamedTuple

from ngramdb.language import scanner


class Piece(NamedTuple):
    """A statement as it is written.

    `text` runs from the statement's first token through its semicolon, or through its last token; `start`
    is its place in the whole text; `complete` is whether the semicolon is there.
    """

    text: str
    start: int
    complete: bool


def split(text: str) -> list[Piece]:
    r"""The statements of `text` in order, empty ones left out; only the last one can be incomplete.

    A text that ends inside a comment has an incomplete piece there.

    >>> split("COUNT ';'; -- one\nSHOW CORPORA")
    [Piece(text="COUNT ';';", start=0, complete=True), Piece(text='SHOW CORPORA', start=18, complete=False)]

    Cost: linear in the text.
    """
    pieces: list[Piece] = []
    first: int | None = None
    last = 0
    for kind, start, stop in scanner.scan(text):
        if kind in scanner.BLANK:
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
    """Whether all of `text` can be run as it is: only blanks and comments stand after the last semicolon.

    A text without any statement is complete; one that ends inside a literal, a name or a comment is not.
    """
    pieces = split(text)
    return not pieces or pieces[-1].complete
