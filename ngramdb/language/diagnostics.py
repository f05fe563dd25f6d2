"""What is said about a text that is not the language's: what is wrong, where, and what would have been right.

The parser says what it found, what it had read before and which terminals could have followed; here they
become words. Nothing here parses.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngramdb.errors import ParseError
from ngramdb.language import scanner
from ngramdb.language.hints import hint, nearest
from ngramdb.language.literals import Fault
from ngramdb.language.situation import CLAUSE_HEADS, Situation, quote

# What ends where nothing more is expected, by what the text was read as.
_END = {
    "statement": "the end of the statement",
    "condition": "the end of the condition",
    "model": "the end of the model",
}
_NGRAM = 'an n-gram ("…" or [1, 2])'
_STRING = "a value in single quotes"

# What a name is the name of, by the keyword before it.
_NAMED = {
    "FROM": "a corpus name",
    "CORPUS": "a corpus name",
    "EXISTS": "a corpus name",
    "COPY": "a corpus name",
    "USE": "a corpus name",
    "DESCRIBE": "a corpus name",
    "CHECK": "a corpus name",
    "SET": "a setting name",
    "RESET": "a setting name",
    "BY": "a field name",
    "LPAR": "an option name",
    "COMMA": "an option name",
}

_BROKEN = {
    scanner.OPEN_TEXT: 'the n-gram that starts here is never closed: a " is missing',
    scanner.OPEN_STRING: "the value that starts here is never closed: a ' is missing",
    scanner.OPEN_NAME: "the name that starts here is never closed: a ` is missing",
    scanner.OPEN_COMMENT: "the comment that starts here is never closed: a */ is missing",
    scanner.OPEN_IDS: "the token ids that start here are never closed: a ] is missing",
}


def from_fault(fault: Fault, text: str) -> ParseError:
    """The error for a mistake whose place and message are known."""
    return ParseError(fault.message, text=text, start=fault.start, stop=fault.stop)


def broken(kind: str, text: str, start: int, stop: int) -> ParseError:
    """The error for a piece that can be no part of any statement: OPEN…, CURLY_QUOTE or BAD_NUMBER."""
    raw = text[start:stop]
    if kind in _BROKEN:
        return ParseError(_BROKEN[kind], text=text, start=start, stop=start + 1)
    if kind == scanner.CURLY_QUOTE:
        message = (
            f"{raw} is a typographic quote; n-grams take straight double quotes, values straight single ones"
        )
    else:
        quoted = quote(raw)
        message = f"{quoted} is no number; if it is a value, write '{quoted}', if it is a name, `{quoted}`"
    return ParseError(message, text=text, start=start, stop=stop)


def foreign_letters(text: str, start: int, stop: int) -> ParseError:
    """The error for a bare word with letters outside a to z."""
    word = quote(text[start:stop])
    message = f'{word} is no plain name; if it is an n-gram, write "{word}", if it is a name, `{word}`'
    return ParseError(message, text=text, start=start, stop=stop)


def unexpected(situation: Situation) -> ParseError:
    """The error for a lexeme that cannot stand where it does."""
    words = _describe(situation)
    message = _headline(situation, words)
    if (advice := hint(situation)) is not None:
        message = f"{message}; {advice}"
    start, stop = situation.found.start, situation.found.stop
    if situation.at_end and situation.before:
        # Right behind the last word, not behind the blanks and comments that follow it.
        start = stop = situation.before[-1].stop
    return ParseError(message, text=situation.text, start=start, stop=stop, expected=tuple(words))


def join(words: Sequence[str]) -> str:
    """`a, b or c`."""
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return f"{', '.join(words[:-1])} or {words[-1]}"


# ---- what could have stood there


_MARKS = {"LPAR": "'('", "RPAR": "')'", "COMMA": "','", "EQUAL": "'='"}


def _describe(situation: Situation) -> list[str]:
    """The expected terminals as a person would name them."""
    expected = situation.expected
    any_value = situation.may_be("STRING_LITERAL") and situation.may_be("INTEGER_LITERAL")
    dropped = {"TRUE", "FALSE", "NULL"} if any_value else set()
    keywords = [t for t in expected if t in situation.keywords and t not in dropped]
    # What goes on with the part that the lexeme follows comes before what begins a new one.
    keywords.sort(key=lambda t: t in CLAUSE_HEADS and (t, situation.previous) != ("ORDER", "NGRAM"))
    words = [_spell(t, situation) for t in keywords]
    if situation.may_be("TEXT_LITERAL"):
        words.append(_NGRAM)
    if any_value:
        words.append("a value ('…', a number, TRUE, FALSE or NULL)")
    elif situation.may_be("STRING_LITERAL"):
        words.append(_STRING)
    elif situation.may_be("INTEGER_LITERAL"):
        words.append("a whole number")
    if situation.may_be("IDENTIFIER"):
        words.append("a bare word" if any_value else _NAMED.get(situation.previous, "a name"))
    words.extend(mark for terminal, mark in _MARKS.items() if situation.may_be(terminal))
    if situation.may_be("$END") and not situation.statement_may_start:
        words.append(_END[situation.whole])
    return words


def _spell(keyword: str, situation: Situation) -> str:
    """The keyword with the ones that must follow it."""
    if keyword == "ORDER" and situation.previous != "NGRAM":
        return "ORDER BY"
    if keyword == "ON":
        return "ON ERROR"
    if keyword == "IF":
        return "IF NOT EXISTS" if situation.head[:1] == ["CREATE"] else "IF EXISTS"
    return keyword


def _headline(situation: Situation, words: Sequence[str]) -> str:
    if situation.at_end:
        behind = " before the ';'" if situation.found.type == "SEMICOLON" else ""
        return f"the {situation.whole} is not complete: expected {join(words)}{behind}"
    shown = quote(situation.raw)
    if len(shown) == 1 and not shown.isalnum():
        shown = f"'{shown}'"
    if situation.statement_may_start:
        if situation.found.type == "EXPLAIN":
            return "EXPLAIN stands once, before the statement to be explained"
        if nearest(situation) is not None:
            return f"{shown} is not a statement"
        return f"{shown} is not a statement: one starts with {join([w for w in words if w != 'ANALYZE'])}"
    return f"expected {join(words)}, found {shown}"
