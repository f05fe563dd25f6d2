"""From text to abstract syntax: an LALR(1) automaton takes the scanner's pieces and makes the tree.

A word is looked at in the light of the automaton's state: it is a keyword where that keyword may stand,
otherwise a name where a name may stand. So keywords need no reserving: `USE limit`, `COPY docs FROM 'x'
(FORMAT text)`.

The automaton is built from the grammar once, on first use, and shared by all threads: a parse keeps its
stacks to itself. Nothing recurses, so nesting is bounded by memory alone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

from lark import Lark, UnexpectedToken

from ngramdb.errors import ParseError
from ngramdb.language import ast, diagnostics, scanner
from ngramdb.language.literals import Fault, read_name, read_number, read_string, read_text, read_token_ids
from ngramdb.language.situation import Situation
from ngramdb.language.transformer import AstBuilder, Lexeme

# The terminals whose shapes are the scanner's; the grammar only declares them.
_LITERALS = (
    "TEXT_LITERAL",
    "IDS_LITERAL",
    "STRING_LITERAL",
    "INTEGER_LITERAL",
    "NUMBER_LITERAL",
    "PARAMETER",
    "IDENTIFIER",
)
_CONSTANTS: Mapping[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}


def parse(text: str) -> tuple[ast.Statement, ...]:
    """The statements of `text`, in order; `()` when there is nothing but blanks, comments and semicolons.

    `?` parameters are numbered from 0 through the whole text.

    >>> parse('COUNT "the end"; SHOW CORPORA')
    (Count(ngram=Text(value='the end'), source=None), Show(what='corpora', source=None))

    Raises - ParseError at the first place where the text is not the language's.
    Cost - linear; about 0.1 ms for a short statement. The first call builds the automaton (about 0.1 s).
    """
    return cast("tuple[ast.Statement, ...]", _parse(text, "script"))


def parse_statement(text: str) -> ast.Statement:
    """The one statement of `text`.

    Raises - ParseError as `parse` does, and when there is no statement or more than one.
    """
    statements = parse(text)
    if not statements:
        raise ParseError("a statement was expected, but there is none", text=text, start=0, stop=0)
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
    """The condition that `text` is: what would stand after WHERE.

    Raises - ParseError.
    """
    return cast("ast.Condition", _parse(text, "condition"))


def parse_model(text: str) -> ast.Model:
    """The model that `text` is: what would stand after USING.

    Raises - ParseError.
    """
    return cast("ast.Model", _parse(text, "model"))


def keywords() -> frozenset[str]:
    """Every keyword of the grammar, in capitals."""
    return _automaton().keywords


class Walk:
    """One walk through the grammar: takes pieces of text in order and says what each one is there.

    The parser runs it to the end for the tree; the highlighter runs it as far as the text goes.
    """

    def __init__(self, text: str, start_rule: str = "script") -> None:
        self._text = text
        self._automaton = _automaton()
        self._start_rule = start_rule
        # An InteractiveParser, whose methods carry no types.
        self._state: Any = self._automaton.lark.parse_interactive(start=start_rule)
        self._lexemes: list[Lexeme] = []
        self._n_parameters = 0

    def take(self, kind: str, start: int, stop: int) -> Lexeme:
        """The lexeme that the piece is, after the automaton has accepted it.

        Raises - ParseError when the piece is broken or cannot stand here; the walk is over then.
        """
        try:
            lexeme = self._lexeme(kind, start, stop)
            self._feed(lexeme)
        except Fault as fault:
            raise diagnostics.from_fault(fault, self._text) from None
        self._lexemes.append(lexeme)
        return lexeme

    def finish(self) -> Any:
        """What the start rule makes of all that was taken. Raises - ParseError when something is missing."""
        place = self._lexemes[-1].stop if self._lexemes else 0
        try:
            return self._feed(Lexeme("$END", place, place))
        except Fault as fault:
            raise diagnostics.from_fault(fault, self._text) from None

    def _feed(self, lexeme: Lexeme) -> Any:
        try:
            return self._state.feed_token(lexeme)
        except UnexpectedToken:
            pass
        situation = Situation(
            self._text,
            lexeme,
            self._lexemes,
            self._acceptable(),
            self._automaton.keywords,
            "statement" if self._start_rule == "script" else self._start_rule,
        )
        raise diagnostics.unexpected(situation)

    def _acceptable(self) -> list[str]:
        """The terminals that could have followed, in the grammar's order.

        Found by a second walk up to here: by the time a lexeme is refused, the automaton may already have
        closed rules that another lexeme would have continued.
        """
        state: Any = self._automaton.lark.parse_interactive(start=self._start_rule)
        for lexeme in self._lexemes:
            state.feed_token(lexeme)
        accepted = state.accepts()
        return [terminal for terminal in self._automaton.terminals if terminal in accepted]

    def _lexeme(self, kind: str, start: int, stop: int) -> Lexeme:
        raw = self._text[start:stop]
        if kind == scanner.WORD:
            return self._word(raw, start, stop)
        if kind == scanner.OTHER:
            # No terminal of the grammar, so it is refused with what was expected in its place.
            return Lexeme(kind, start, stop)
        if kind == scanner.PUNCTUATION:
            return Lexeme(self._automaton.punctuation[raw], start, stop)
        span = ast.Span(start, stop)
        if kind == scanner.TEXT:
            return Lexeme("TEXT_LITERAL", start, stop, ast.Text(read_text(raw, start), span=span))
        if kind == scanner.STRING:
            return Lexeme("STRING_LITERAL", start, stop, ast.Value(read_string(raw), span=span))
        if kind == scanner.TOKEN_IDS:
            return Lexeme("IDS_LITERAL", start, stop, ast.TokenIds(read_token_ids(raw, start), span=span))
        if kind == scanner.NUMBER:
            number = read_number(raw, start)
            natural = isinstance(number, int) and raw[0] != "-"
            return Lexeme(
                "INTEGER_LITERAL" if natural else "NUMBER_LITERAL", start, stop, ast.Value(number, span=span)
            )
        if kind == scanner.QUOTED_NAME:
            return Lexeme("IDENTIFIER", start, stop, ast.Name(read_name(raw, start), span=span))
        if kind == scanner.PARAMETER:
            return Lexeme("PARAMETER", start, stop, self._parameter(raw, span))
        raise diagnostics.broken(kind, self._text, start, stop)

    def _word(self, raw: str, start: int, stop: int) -> Lexeme:
        if not raw.isascii():
            raise diagnostics.foreign_letters(self._text, start, stop)
        possible = self._state.choices()
        keyword = raw.upper()
        known = keyword in self._automaton.keywords
        if known and (keyword in possible or "IDENTIFIER" not in possible):
            constant = keyword in _CONSTANTS
            node = ast.Value(_CONSTANTS[keyword], span=ast.Span(start, stop)) if constant else None
            return Lexeme(keyword, start, stop, node)
        return Lexeme("IDENTIFIER", start, stop, ast.Name(raw, span=ast.Span(start, stop)))

    def _parameter(self, raw: str, span: ast.Span) -> ast.Parameter:
        if raw != "?":
            return ast.Parameter(name=raw[1:], span=span)
        self._n_parameters += 1
        return ast.Parameter(index=self._n_parameters - 1, span=span)


def _parse(text: str, start_rule: str) -> Any:
    walk = Walk(text, start_rule)
    for kind, start, stop in scanner.scan(text):
        if kind not in scanner.BLANK:
            walk.take(kind, start, stop)
    return walk.finish()


# ---- the automaton


@dataclass(frozen=True)
class _Automaton:
    """The parse tables, and the names of the grammar's terminals in the order in which they appear there."""

    lark: Lark
    terminals: tuple[str, ...]
    keywords: frozenset[str]
    # Terminal by character.
    punctuation: Mapping[str, str]


_lock = threading.Lock()
_built: _Automaton | None = None


def _automaton() -> _Automaton:
    global _built
    if _built is None:
        with _lock:
            if _built is None:
                _built = _build()
    return _built


def _build() -> _Automaton:
    grammar = resources.files("ngramdb.grammar").joinpath("ngramdb.lark").read_text(encoding="utf-8")
    lark = Lark(
        grammar,
        parser="lalr",
        # Never used, as lexemes are handed to the automaton one by one; the cheapest to make.
        lexer="basic",
        start=["script", "condition", "model"],
        transformer=AstBuilder(),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    spelling = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    spelled = sorted(spelling, key=lambda name: grammar.find(f'"{spelling[name]}"'))
    return _Automaton(
        lark=lark,
        terminals=(*spelled, *_LITERALS, "$END"),
        keywords=frozenset(name for name, value in spelling.items() if value.isalpha()),
        punctuation={value: name for name, value in spelling.items() if not value.isalpha()},
    )
