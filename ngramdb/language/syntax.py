"""The grammar as a parser: made by lark from the grammar file, on first use, and shared by all threads.

What a walk through the grammar needs beside lark's own: which terminals there are, in which order to list
them, which of them may come next, and which words a keyword brings along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lark import Lark

from ngramdb import forks
from ngramdb.language.parts import Lexeme
from ngramdb.language.tables import kept_parser
from ngramdb.language.transformer import AstBuilder

# Lark's InteractiveParser, whose methods carry no types.
State = Any

STARTS = ("script", "condition", "model", "pattern", "group_keys")
END = "$END"
_OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    # Never used, as lexemes are handed to the automaton one by one; the cheapest to make.
    "lexer": "basic",
    "start": list(STARTS),
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}
# Keywords that are names unless a parenthesis follows: `YEAR(date)`, and a field `year`.
CALLED = frozenset({"YEAR", "MONTH", "DAY", "FLOOR", "UNNEST"})
# Those that are names unless a number follows: `LEFT 1`.
COUNTED = frozenset({"LEFT", "RIGHT"})
# Names and strings have a terminal for each kind of thing that they stand for. In the order of trial; the
# first is that of one which can stand for nothing.
NAMES = ("FIELD_NAME", "CORPUS_NAME", "SETTING_NAME", "OPTION_NAME", "BARE_WORD", "KEY_NAME", "NEW_NAME")
STRINGS = ("STRING_LITERAL", "PATH_LITERAL", "TOKENIZER_LITERAL", "VERSION_LITERAL")


@dataclass(frozen=True)
class Syntax:
    """The parse tables, and the names of the grammar's terminals in the order in which they appear there."""

    lark: Lark
    terminals: tuple[str, ...]
    keywords: frozenset[str]
    # Terminal by character.
    punctuation: Mapping[str, str]


_lock = forks.lock()
_built: Syntax | None = None


def syntax() -> Syntax:
    """The one there is. The first call of a process takes 20 ms, the first one ever 0.1 s (`tables`)."""
    global _built
    if _built is None:
        with _lock:
            if _built is None:
                _built = _build()
    return _built


def _build() -> Syntax:
    grammar = read_grammar()
    lark = kept_parser(grammar, _grammar_file(), AstBuilder(), _OPTIONS)
    spelling = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    spelled = sorted(spelling, key=lambda name: grammar.find(f'"{spelling[name]}"'))
    declared = [line.split()[1:] for line in grammar.splitlines() if line.startswith("%declare")]
    return Syntax(
        lark=lark,
        terminals=(*spelled, *(name for names in declared for name in names), END),
        keywords=frozenset(name for name, value in spelling.items() if value[0].isalpha()),
        punctuation={value: name for name, value in spelling.items() if not value[0].isalpha()},
    )


def read_grammar() -> str:
    """The text of the grammar file."""
    text: str = _grammar_file().read_text(encoding="utf-8")
    return text


def _grammar_file() -> Any:
    return resources.files("ngramdb.grammar").joinpath("ngramdb.lark")


def after(start_rule: str, terminals: Iterable[str]) -> State:
    """The parser's state after terminals that can all stand there. Nothing is built."""
    state = _idle(syntax().lark.parse_interactive(start=start_rule))
    for terminal in terminals:
        state.feed_token(Lexeme(terminal, 0, 0))
    return state


def acceptable(state: State) -> list[str]:
    """The terminals that may come next, in the grammar's order.

    A row of the parse table would not tell: a rule may end before a terminal in one place and not in
    another, and the two share a row.

    Cost: about 5 µs a terminal.
    """
    accepted = state.accepts()
    return [terminal for terminal in syntax().terminals if terminal in accepted]


def phrase(state: State, keyword: str) -> str:
    """The acceptable keyword with the ones that must follow it: `ORDER BY`, `IF NOT EXISTS`."""
    words = [keyword]
    state = _idle(state.copy(deepcopy_values=False))
    while True:
        state.feed_token(Lexeme(words[-1], 0, 0))
        following = [symbol for symbol in state.choices() if symbol.isupper()]
        if len(following) != 1 or following[0] not in syntax().keywords:
            return " ".join(words)
        words += following


def _idle(state: State) -> State:
    """The same state, calling no method of the tree's builder from now on."""
    configuration = copy(state.parser_state.parse_conf)
    configuration.callbacks = {}
    state.parser_state.parse_conf = configuration
    return state
