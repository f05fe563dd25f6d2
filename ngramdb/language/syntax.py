"""The grammar as parse tables, read or made on first use and shared by all threads.

The module also lists the terminals in the order of the grammar file, finds those that may come next, and
completes a keyword with the words that must follow it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import NamedTuple

from ngramdb import fork_safety
from ngramdb.language.automaton import END, State, Tables, kept_tables
from ngramdb.registries import ASSOCIATION_MEASURES, KEYNESS_MEASURES

STARTS = ("script", "condition", "model", "pattern", "group_keys")
# Keywords that are names unless a parenthesis follows: `YEAR(date)`, and a field `year`.
CALLED = frozenset({"YEAR", "MONTH", "DAY", "FLOOR", "UNNEST"})
# Those that are names unless a number follows: `LEFT 1`.
COUNTED = frozenset({"LEFT", "RIGHT"})
# Names and strings have a terminal for each kind of thing that they stand for. In the order of trial; the
# first is that of one which can stand for nothing.
NAMES = (
    "FIELD_NAME",
    "CORPUS_NAME",
    "SETTING_NAME",
    "OPTION_NAME",
    "BARE_WORD",
    "KEY_NAME",
    "NEW_NAME",
    "ASSOCIATION_NAME",
    "KEYNESS_NAME",
)
# Names from a registry, which count in any case; the binder rejects others.
REGISTERED = {"ASSOCIATION_NAME": ASSOCIATION_MEASURES, "KEYNESS_NAME": KEYNESS_MEASURES}
STRINGS = ("STRING_LITERAL", "PATH_LITERAL", "TOKENIZER_LITERAL", "VERSION_LITERAL")


class Syntax(NamedTuple):
    """The parse tables, and the names of the grammar's terminals in the order in which they appear there."""

    tables: Tables
    terminals: tuple[str, ...]
    keywords: frozenset[str]
    # Terminal by character.
    punctuation: Mapping[str, str]


_lock = fork_safety.lock()
_built: Syntax | None = None


def syntax() -> Syntax:
    """Return the syntax. Cost: 3 ms at the first call of a process, 0.2 s at the first ever (`tables`)."""
    global _built
    if _built is None:
        with _lock:
            if _built is None:
                _built = _build()
    return _built


def _build() -> Syntax:
    text = read_grammar()
    tables = kept_tables(_grammar_file(), STARTS)
    spelling = tables.spelling
    spelled = sorted(spelling, key=lambda name: text.find(f'"{spelling[name]}"'))
    declared = [line.split()[1:] for line in text.splitlines() if line.startswith("%declare")]
    return Syntax(
        tables=tables,
        terminals=(*spelled, *(name for names in declared for name in names), END),
        keywords=frozenset(name for name, value in spelling.items() if value[0].isalpha()),
        punctuation={value: name for name, value in spelling.items() if not value[0].isalpha()},
    )


def read_grammar() -> str:
    """Return the text of the grammar file."""
    with open(_grammar_file(), encoding="utf-8") as file:
        return file.read()


def _grammar_file() -> str:
    return os.path.join(os.path.dirname(str(import_module("ngramdb.grammar").__file__)), "ngramdb.lark")


def after(start_rule: str, terminals: Iterable[str]) -> State:
    """Return the parser's state after the terminals, which must all be allowed. Builds no tree."""
    state = State(syntax().tables, start_rule)
    for terminal in terminals:
        state.take(terminal)
    return state


def acceptable(state: State) -> list[str]:
    """Return the terminals that may come next, in the grammar's order.

    A row of the parse table is not enough: a rule may end before a terminal in one place and not in
    another, and the two share a row.

    Cost: about 5 µs a terminal.
    """
    return [terminal for terminal in syntax().terminals if state.accepts(terminal)]


def phrase(state: State, keyword: str) -> str:
    """Return the acceptable keyword with the ones that must follow it: `ORDER BY`, `IF NOT EXISTS`."""
    words = [keyword]
    state = state.idle()
    while True:
        state.take(words[-1])
        following = [symbol for symbol in state.choices() if symbol.isupper()]
        if len(following) != 1 or following[0] not in syntax().keywords:
            return " ".join(words)
        words += following
