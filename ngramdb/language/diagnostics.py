"""The error for a text that is not in the language: what is wrong, where, and what would have been right.

The parser reports the refused lexeme, the lexemes before it and the terminals that could have followed. This
module writes the message and parses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ngramdb.errors import ParseError
from ngramdb.language import scanner, syntax
from ngramdb.language.advice import hint, lonely_field, of_attributes
from ngramdb.language.parse_failure import CLAUSE_HEADS, Situation, quote
from ngramdb.language.scanner import Fault

_NGRAM = 'an n-gram ("…" or [1, 2])'
# Names and strings by terminal, as error messages call them.
_KINDS = {
    "PATH_LITERAL": "a path in single quotes",
    "TOKENIZER_LITERAL": "a tokenizer in single quotes",
    "VERSION_LITERAL": "the name of a version in single quotes",
    "STRING_LITERAL": "a value in single quotes",
    "CORPUS_NAME": "a corpus name",
    "NEW_NAME": "a corpus name",
    "FIELD_NAME": "a field name",
    "KEY_NAME": "a key",
    "SETTING_NAME": "a setting name",
    "OPTION_NAME": "an option name",
    "BARE_WORD": "a bare word",
}
# Operators of other languages, and their equivalents.
_OPERATORS = {
    "==": "equality is written =",
    "=>": "this is written >=",
    "=<": "this is written <=",
    "&&": "this is written AND",
    "||": "this is written OR",
    "!": "this is written NOT",
}

_BROKEN = {
    scanner.OPEN_TEXT: 'the n-gram that starts here is never closed: a " is missing',
    scanner.OPEN_STRING: "the value that starts here is never closed: a ' is missing",
    scanner.OPEN_NAME: "the name that starts here is never closed: a ` is missing",
    scanner.OPEN_COMMENT: "the comment that starts here is never closed: a */ is missing",
    scanner.OPEN_IDS: "the token ids that start here are never closed: a ] is missing",
}


def from_fault(fault: Fault, text: str) -> ParseError:
    """Return the error for a mistake with a known place and message."""
    return ParseError(fault.message, text=text, start=fault.start, stop=fault.stop)


def broken(kind: str, text: str, start: int, stop: int) -> ParseError:
    """Return the error for a piece that no statement can contain: OPEN…, CURLY_QUOTE or BAD_…."""
    raw = text[start:stop]
    if kind == scanner.OPEN_IDS and text[stop : stop + 1] in ('"', "'"):
        message = 'token ids are numbers, [5, 7]; write an n-gram of words without brackets: "…"'
        message = of_attributes(text, stop) or message
        return ParseError(message, text=text, start=stop, stop=stop + 1)
    if kind == scanner.BAD_OPERATOR:
        return ParseError(f"there is no {raw} here: {_OPERATORS[raw]}", text=text, start=start, stop=stop)
    if kind in _BROKEN:
        return ParseError(_BROKEN[kind], text=text, start=start, stop=start + 1)
    if kind == scanner.CURLY_QUOTE:
        message = (
            f"{raw} is a typographic quote; n-grams take straight double quotes, values straight single ones"
        )
    else:
        quoted = quote(raw)
        digits = raw.replace("_", "")
        if digits.isdecimal():
            message = f"numbers are written without separators: {quote(digits)}"
            return ParseError(message, text=text, start=start, stop=stop)
        message = f"{quoted} is not a number; if it is a value, write '{quoted}', if it is a name, `{quoted}`"
    return ParseError(message, text=text, start=start, stop=stop)


def foreign_letters(text: str, start: int, stop: int) -> ParseError:
    """Return the error for a bare word with letters outside a to z."""
    word = quote(text[start:stop])
    message = f'{word} is not a plain name; if it is an n-gram, write "{word}", if it is a name, `{word}`'
    return ParseError(message, text=text, start=start, stop=stop)


def unexpected(situation: Situation) -> ParseError:
    """Return the error for a lexeme that is not allowed at its position."""
    if lonely_field(situation):
        situation = situation.one_back()
    words = _describe(situation)
    advice = hint(situation)
    message = _headline(situation, words, advice is not None)
    if advice is not None:
        message = f"{message}; {advice}"
    start, stop = situation.found.start, situation.found.stop
    if situation.at_end and situation.before:
        # Right after the last word, not after the blanks and comments that follow it.
        start = stop = situation.before[-1].stop
    return ParseError(message, text=situation.text, start=start, stop=stop, expected=tuple(words))


def join(words: Sequence[str]) -> str:
    """Join names as `a, b or c`."""
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return f"{', '.join(words[:-1])} or {words[-1]}"


# ---- terminals that were expected


_MARKS = {"LPAR": "'('", "RPAR": "')'", "VBAR": "'|'", "COMMA": "','", "COLON": "':'"}


def _describe(situation: Situation) -> list[str]:
    """Return readable names of the expected terminals.

    Rarely needed ones (`.`, a gap, `+`, MATCH TEXT …) are left out if there are others.
    """
    any_value = situation.may_be("STRING_LITERAL") and situation.may_be("INTEGER_LITERAL")
    dropped = {"TRUE", "FALSE", "NULL"} if any_value else set()
    if situation.condition_may_start:
        dropped |= {"COUNT", "OVERLAP"}
    if situation.may_be("FIELD_NAME"):  # what is computed from fields
        dropped |= syntax.CALLED | syntax.COUNTED | syntax.SOUGHT | {"FORM"}
    if len(situation.expected) > 2:
        dropped |= {"MATCH", "IGNORE", "PREFIX"}
    keywords = [t for t in situation.expected if t in syntax.syntax().keywords and t not in dropped]
    # Continuations of the part before the lexeme come before the beginnings of new parts.
    keywords.sort(key=lambda t: t in CLAUSE_HEADS and not _continues(t, situation))
    words = [situation.spell(t) for t in keywords]
    for terminal, names in syntax.REGISTERED.items():
        # Among fields, functions are what YEAR is: rarely needed.
        listed = terminal != "FUNCTION_NAME" and situation.may_be(terminal)
        words += map(str.upper, names) if listed else ()
    if situation.may_be("TEXT_LITERAL"):
        words.append(_NGRAM)
    elif situation.may_be("REGEX_LITERAL"):
        words.append("a regular expression (/…/)")
    if any_value:
        words.append("a value ('…', a number, TRUE, FALSE or NULL)")
    elif situation.may_be("NUMBER_LITERAL"):
        words.append("a number")
    elif situation.may_be("INTEGER_LITERAL"):
        words.append("a whole number")
    kinds = [t for t in _KINDS if situation.may_be(t) and not (any_value and t == "STRING_LITERAL")]
    words.extend(_KINDS[terminal] for terminal in kinds)
    if situation.may_be("COMPARATOR"):
        words.append("a comparison (=, !=, <, <=, > or >=)")
    elif situation.may_be("EQUAL"):
        words.append("'='")
    # Parentheses within a pattern are among what few need.
    within_pattern = situation.may_be("STAR") and not situation.condition_may_start
    marks = [mark for mark in _MARKS if not (mark == "LPAR" and within_pattern)]
    words.extend(_MARKS[mark] for mark in marks if situation.may_be(mark))
    if situation.may_be("$END") and not situation.statement_may_start:
        words.append(f"the end of the {situation.whole}")
    if not words and situation.may_be("STAR"):
        words.append("'*'")
    return words


def _continues(keyword: str, situation: Situation) -> bool:
    """Return True if the keyword continues a model, rather than beginning a clause of the statement."""
    of_model = "USING" in situation.head or situation.whole == "model"
    return of_model and keyword in ("ORDER", "MIN")


def _headline(situation: Situation, words: Sequence[str], advised: bool) -> str:
    if situation.at_end:
        behind = " before the ';'" if situation.found.type == "SEMICOLON" else ""
        return f"the {situation.whole} is not complete: expected {join(words)}{behind}"
    shown = quote(situation.raw)
    if len(shown) == 1 and not shown.isalnum():
        shown = f"'{shown}'"
    if situation.statement_may_start:
        if situation.found.type == "EXPLAIN":
            return "EXPLAIN is allowed once, before the statement to be explained"
        return f"{shown} is not a statement" + ("" if advised else f": one starts with {join(words)}")
    return f"expected {join(words)}, found {shown}"
