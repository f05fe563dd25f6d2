"""Kinds of characters for syntax highlighting: every character of a text, finished or not, has one.

A word is a keyword if the grammar reads it as one; after the first mistake of a statement, and in words
that no keyword can be, the spelling alone decides.
"""

from __future__ import annotations

from ngramdb.errors import ParseError
from ngramdb.language import scanner
from ngramdb.language.parser import Walk, keywords
from ngramdb.language.syntax import NAMES, REGISTERED

# Kinds that `lex` gives, for those who assign styles.
KINDS = (
    "keyword",
    "ngram",
    "token_ids",
    "value",
    "number",
    "comment",
    "name",
    "operator",
    "parameter",
    "error",
    "space",
)

# A literal that is not closed yet keeps its colour: it is being typed.
_KIND_OF_PIECE = {
    scanner.SPACE: "space",
    scanner.COMMENT: "comment",
    scanner.OPEN_COMMENT: "comment",
    scanner.TEXT: "ngram",
    scanner.OPEN_TEXT: "ngram",
    scanner.STRING: "value",
    scanner.OPEN_STRING: "value",
    scanner.QUOTED_NAME: "name",
    scanner.OPEN_NAME: "name",
    scanner.TOKEN_IDS: "token_ids",
    scanner.OPEN_IDS: "token_ids",
    scanner.GAP: "operator",
    scanner.REGEX: "ngram",
    scanner.REPETITION: "operator",
    scanner.RANGE: "number",
    scanner.NUMBER: "number",
    scanner.PARAMETER: "parameter",
    scanner.PUNCTUATION: "operator",
    scanner.DIVISION: "operator",
    scanner.MARK: "operator",
    scanner.COMPARATOR: "operator",
    scanner.BAD_OPERATOR: "error",
    scanner.BAD_NUMBER: "error",
    scanner.CURLY_QUOTE: "error",
}
# Characters that are operators or begin one, and are not mistakes by themselves.
_OPERATORS = frozenset("{/:")


def lex(text: str) -> list[tuple[int, int, str]]:
    """Half-open ranges with their kinds (see KINDS), in order; they cover `text` without gaps or overlaps.

    Never raises, whatever the text is.

    >>> lex('USE limit')
    [(0, 3, 'keyword'), (3, 4, 'space'), (4, 9, 'name')]

    Cost: linear; about 0.1 ms for a short statement.
    """
    spans: list[tuple[int, int, str]] = []
    walk: Walk | None = Walk(text)
    for kind, start, stop in scanner.scan(text):
        raw = text[start:stop]
        terminal = ""
        if raw == ";":
            walk = Walk(text)  # statements are independent: a mistake in one does not affect the next
        elif walk is not None and kind not in scanner.BLANK:
            try:
                terminal = walk.take(kind, start, stop).type
            except ParseError:
                walk = None
        spans.append((start, stop, _kind(kind, raw, terminal)))
    return spans


def _kind(piece: str, raw: str, terminal: str) -> str:
    if piece == scanner.WORD:
        if terminal in REGISTERED:
            return "keyword" if raw.lower() in REGISTERED[terminal] else "name"
        is_name = terminal in NAMES or raw.upper() not in keywords()
        return "name" if is_name else "keyword"
    if piece == scanner.OTHER:
        return "operator" if raw in _OPERATORS else "error"
    return _KIND_OF_PIECE[piece]
