"""From text to abstract syntax: an LALR(1) automaton takes the scanner's pieces and makes the tree.

A word is read according to the automaton's state: it is a keyword where that keyword is allowed,
otherwise a name if a name is allowed. So no keyword is reserved: `USE limit`, `COPY docs FROM 'x'
(FORMAT text)`.

The automaton is built from the grammar once, on first use, and shared by all threads: a parse keeps its
stacks to itself. Nothing recurses, so nesting is bounded by memory alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

from ngramdb import interrupts
from ngramdb.errors import ParseError
from ngramdb.language import ast, scanner, syntax
from ngramdb.language.parts import Lexeme, node_of
from ngramdb.language.scanner import (
    Fault,
    read_expression,
    read_gap,
    read_name,
    read_number,
    read_range,
    read_repetition,
    read_scaled,
    read_string,
    read_text,
    read_token_ids,
)
from ngramdb.language.syntax import END, RefusedError, State, is_like_function
from ngramdb.language.transformer import AstBuilder
from ngramdb.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    from ngramdb.language import diagnostics, parse_failure
else:  # only what goes wrong needs words
    diagnostics = lazy_module("ngramdb.language.diagnostics")
    parse_failure = lazy_module("ngramdb.language.parse_failure")

# Characters that are parsed, in some milliseconds, between two interrupt checks.
CHECK_CHARACTERS = 2048

# Terminals that end an n-gram given as text; brackets after them are a gap.
_TEXT_ENDS = frozenset({"TEXT_LITERAL", "PARAMETER", "CASE", "TEXT", "TOKENS", "IDS_LITERAL"})
_CONSTANTS: Mapping[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_NAMES = frozenset(syntax.NAMES).difference(syntax.REGISTERED)
_PARENTHESIS = lazy_pattern(rf"{scanner.BLANKS}\(", re.DOTALL)
_NUMBER = lazy_pattern(rf"{scanner.BLANKS}[0-9?:]", re.DOTALL)
# Keywords that begin a condition. They name a field when a comparison follows: `WHERE count > 3`.
_COULD_BE_FIELDS = frozenset({"COUNT", "OVERLAP", "FORM"})
_TILDE = lazy_pattern(rf"{scanner.BLANKS}~", re.DOTALL)
_RAW_TEXT = lazy_pattern(rf"{scanner.BLANKS}TEXT{scanner.BLANKS}~", re.DOTALL | re.IGNORECASE)
_COMPARED = lazy_pattern(
    rf"{scanner.BLANKS}(?:[=<>!.]|(?:IN|IS|LIKE|ILIKE|BETWEEN|NOT)\b)", re.IGNORECASE | re.DOTALL
)


def parse(text: str) -> tuple[ast.Statement, ...]:
    """Parse the statements of `text`, in order; `()` for a text of white space, comments and semicolons.

    `?` parameters are numbered from 0 through the whole text.

    >>> parse("CHECK; SHOW CORPORA")
    (Check(name=None), Show(what='corpora', source=None))

    Raises ParseError at the first place where the text is invalid.
    Cost: linear; about 0.1 ms for a short statement. The first call reads the automaton (3 ms),
    the first one after an installation builds it (0.2 s).
    """
    return cast("tuple[ast.Statement, ...]", _parse(text, "script"))


def parse_statement(text: str) -> ast.Statement:
    """Parse the only statement of `text`.

    Raises ParseError as `parse` does, and if the text has no statement or more than one.
    """
    statements = parse(text)
    if not statements:
        raise ParseError("a statement was expected, but the text is empty", text=text, start=0, stop=0)
    if len(statements) > 1:
        span = statements[1].span or ast.Span(0, 0)
        raise ParseError(
            "one statement was expected; a second one starts here",
            text=text,
            start=span.start,
            stop=span.stop,
        )
    return statements[0]


def parse_condition(text: str) -> ast.Condition:
    """Parse `text` as a condition, in the form that follows WHERE.

    Raises ParseError.
    """
    return cast("ast.Condition", _parse(text, "condition"))


def parse_pattern(text: str) -> ast.Pattern:
    """Parse `text` as a pattern, in the form that follows KWIC, or as `TEXT ~ /…/`.

    Raises ParseError.
    """
    if _RAW_TEXT.match(text):
        found = _parse(text, "condition")
        if isinstance(found, ast.Contains):
            return found.pattern
    return cast("ast.Pattern", node_of(_parse(text, "pattern")))


def parse_group_keys(text: str) -> tuple[ast.GroupKey, ...]:
    """Parse `text` as group keys, in the form that follows GROUP BY, without their spans.

    Raises ParseError.
    """
    return tuple(_unplaced(key) for key in _parse(text, "group_keys"))


def _unplaced(node: Any) -> Any:
    """Return the same tree without places in a text."""
    if isinstance(node, tuple):
        return tuple(map(_unplaced, node))
    if not isinstance(node, ast.Node):
        return node
    parts = {part.name: getattr(node, part.name) for part in fields(node) if part.name != "span"}
    return replace(node, span=None, **{name: _unplaced(part) for name, part in parts.items()})


def parse_model(text: str) -> ast.ModelClause:
    """Parse `text` as a model, in the form that follows USING.

    Raises ParseError.
    """
    return cast("ast.ModelClause", _parse(text, "model"))


def keywords() -> frozenset[str]:
    """Every keyword of the grammar, in capitals."""
    return syntax.syntax().keywords


class Walk:
    """A walk through the grammar: takes pieces of text in order and returns the terminal of each.

    The parser runs it to the end for the tree; the highlighter runs it as far as the text goes.
    """

    def __init__(self, text: str, start_rule: str = "script") -> None:
        self._text = text
        self._start_rule = start_rule
        self._syntax = syntax.syntax()
        self._state = State(self._syntax.tables, start_rule, AstBuilder())
        self._lexemes: list[Lexeme] = []
        self._n_parameters = 0

    @property
    def state(self) -> State:
        """The parser's state after all that was taken; to be looked at, not fed."""
        return self._state

    @property
    def lexemes(self) -> list[Lexeme]:
        """All that was taken."""
        return self._lexemes

    def take(self, kind: str, start: int, stop: int) -> Lexeme:
        """Return the lexeme that the piece is, after the automaton has accepted it.

        Raises ParseError if the piece is malformed or not allowed here; the walk is over then.
        """
        try:
            lexeme = self._lexeme(kind, start, stop)
            self._feed(lexeme)
        except Fault as fault:
            raise diagnostics.from_fault(fault, self._text) from None
        self._lexemes.append(lexeme)
        return lexeme

    def finish(self) -> Any:
        """Return the start rule's result. Raises ParseError if the text is incomplete."""
        place = self._lexemes[-1].stop if self._lexemes else 0
        try:
            return self._feed(Lexeme(END, place, place))
        except Fault as fault:
            raise diagnostics.from_fault(fault, self._text) from None

    def _feed(self, lexeme: Lexeme) -> Any:
        try:
            return self._state.take(lexeme.type, lexeme)
        except RefusedError:
            pass
        # When a lexeme is refused, rules may already be closed that another lexeme would have continued.
        state = syntax.after(self._start_rule, (taken.type for taken in self._lexemes))
        whole = "statement" if self._start_rule == "script" else self._start_rule
        raise diagnostics.unexpected(parse_failure.Situation(self._text, lexeme, self._lexemes, state, whole))

    def _lexeme(self, kind: str, start: int, stop: int) -> Lexeme:
        if kind == scanner.WORD:
            return self._word(start, stop)
        raw = self._text[start:stop]
        if raw == "*" and self._follows_part(start):
            what = (
                "* directly after a part does not repeat it: write {0,} to repeat the part, or a blank "
                "before * for any token"
            )
            raise Fault(what, start, stop)
        if kind in (scanner.PUNCTUATION, scanner.DIVISION, scanner.MARK):
            return Lexeme(self._syntax.punctuation[raw], start, stop)
        span = ast.Span(start, stop)
        if kind == scanner.TEXT:
            return Lexeme("TEXT_LITERAL", start, stop, ast.Text(read_text(raw, start), span=span))
        if kind == scanner.STRING:
            terminal = self._one_of(syntax.STRINGS)
            return Lexeme(terminal, start, stop, ast.Value(read_string(raw), span=span))
        if kind == scanner.NUMBER:
            number = read_number(raw, start)
            natural = isinstance(number, int) and raw[0] != "-"
            terminal = "INTEGER_LITERAL" if natural else "NUMBER_LITERAL"
            return Lexeme(terminal, start, stop, ast.Value(number, span=span))
        if kind == scanner.BAD_NUMBER and "SCALED_LITERAL" in self._state.choices():
            scaled = read_scaled(raw, start)
            if scaled is not None:
                return Lexeme("SCALED_LITERAL", start, stop, ast.Value(scaled, span=span))
        if kind == scanner.COMPARATOR:
            return Lexeme("COMPARATOR", start, stop, ast.Value(raw, span=span))
        if kind == scanner.TOKEN_IDS:
            if "GAP_LITERAL" in self._state.choices() and self._lexemes[-1].type in _TEXT_ENDS:
                # A gap is meant, and written wrongly; it is refused, however it reads as token ids.
                return Lexeme(scanner.OTHER, start, stop)
            return Lexeme("IDS_LITERAL", start, stop, ast.TokenIds(read_token_ids(raw, start), span=span))
        if kind == scanner.GAP:
            return Lexeme("GAP_LITERAL", start, stop, ast.Gap(*read_gap(raw, start), span=span))
        if kind == scanner.REGEX:
            return Lexeme("REGEX_LITERAL", start, stop, ast.Regex(read_expression(raw, start), span=span))
        if kind == scanner.REPETITION:
            bounds = ast.Bounds(*read_repetition(raw, start), span=span)
            return Lexeme("REPETITION_LITERAL", start, stop, bounds)
        if kind == scanner.RANGE:
            return Lexeme("RANGE_LITERAL", start, stop, ast.Lengths(*read_range(raw, start), span=span))
        if kind == scanner.QUOTED_NAME:
            terminal = self._one_of(syntax.NAMES)
            return Lexeme(terminal, start, stop, ast.Name(read_name(raw, start), span=span))
        if kind == scanner.PARAMETER:
            return Lexeme("PARAMETER", start, stop, self._parameter(raw, span))
        if kind == scanner.OTHER:
            # No terminal of the grammar, so it is refused with what was expected in its place.
            return Lexeme(kind, start, stop)
        raise diagnostics.broken(kind, self._text, start, stop)

    def _follows_part(self, start: int) -> bool:
        """Return True if the part of a pattern ends at `start`, where other languages repeat it."""
        follows = bool(self._lexemes) and self._lexemes[-1].stop == start
        return follows and "GAP_LITERAL" in self._state.choices()

    def _word(self, start: int, stop: int) -> Lexeme:
        raw = self._text[start:stop]
        if not raw.isascii():
            raise diagnostics.foreign_letters(self._text, start, stop)
        keyword = raw.upper()
        if keyword in self._syntax.keywords and self._is_keyword(keyword, stop):
            constant = keyword in _CONSTANTS
            node = ast.Value(_CONSTANTS[keyword], span=ast.Span(start, stop)) if constant else None
            return Lexeme(keyword, start, stop, node)
        terminal = self._one_of(syntax.NAMES)
        if terminal == "FIELD_NAME" and self._is_called(raw, stop):
            terminal = "FUNCTION_NAME"
        return Lexeme(terminal, start, stop, ast.Name(raw, span=ast.Span(start, stop)))

    def _is_called(self, word: str, stop: int) -> bool:
        """Return True if the word, which ends at `stop`, is the name of a function, perhaps misspelt."""
        called = _PARENTHESIS.match(self._text, stop)
        return called is not None and "FUNCTION_NAME" in self._state.choices() and is_like_function(word)

    def _is_keyword(self, word: str, stop: int) -> bool:
        """Return True if the word, spelt as a keyword and ending at `stop`, is a keyword here."""
        possible = self._state.choices()
        if word not in possible:
            if word in syntax.CALLED or not _NAMES.isdisjoint(possible):
                return False
            # A keyword after BY is not a misspelt measure: `BY TOP 5`.
            registered = (names for terminal, names in syntax.REGISTERED.items() if terminal in possible)
            return all(word.lower() not in names for names in registered)
        if "FIELD_NAME" not in possible:
            return True
        if word in syntax.CALLED:
            return _PARENTHESIS.match(self._text, stop) is not None
        if word in syntax.SOUGHT:
            return _TILDE.match(self._text, stop) is not None
        if word in syntax.COUNTED:
            return _NUMBER.match(self._text, stop) is not None
        return not (word in _COULD_BE_FIELDS and _COMPARED.match(self._text, stop))

    def _one_of(self, terminals: Sequence[str]) -> str:
        """Return the one of the terminals that may come next, or the first one if none may."""
        row = self._state.choices()
        return next((terminal for terminal in terminals if terminal in row), terminals[0])

    def _parameter(self, raw: str, span: ast.Span) -> ast.Parameter:
        if raw != "?":
            return ast.Parameter(name=raw[1:], span=span)
        self._n_parameters += 1
        return ast.Parameter(index=self._n_parameters - 1, span=span)


def _parse(text: str, start_rule: str) -> Any:
    walk = Walk(text, start_rule)
    ended, looked = False, 0
    for kind, start, stop in scanner.scan(text):
        if kind in scanner.BLANK:
            continue
        if start - looked >= CHECK_CHARACTERS:
            interrupts.check()
            looked = start
        # A statement ends once, whatever the number of semicolons.
        if not (ended and text[start] == ";"):
            walk.take(kind, start, stop)
        ended = text[start] == ";" and start_rule == "script"
    return walk.finish()
