"""The grammar as parse tables, read or made on first use and shared by all threads.

The module also lists the terminals in the order of the grammar file, finds those that may come next, and
completes a keyword with the words that must follow it. `State` is an LALR(1) automaton at work: it takes
terminals one by one and calls a method of the tree's builder for each complete rule, from the leaves up with
the rule's parts, so no parse tree is ever made. Nothing recurses, so nesting is bounded by memory alone.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import sys
import threading
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ngramdb import fork_safety
from ngramdb.registries import (
    ASSOCIATION_MEASURES,
    CONTAMINATION_NAMES,
    DIALECTS,
    DOCUMENT_FUNCTIONS,
    KEYNESS_MEASURES,
    TEXT_EXPRESSIONS,
)

STARTS = ("script", "condition", "model", "pattern", "group_keys")
# Keywords that are names unless a parenthesis follows: `YEAR(date)`, and a field `year`.
CALLED = frozenset({"YEAR", "MONTH", "DAY", "FLOOR", "UNNEST"})
# Those that are names unless `~` follows: `TEXT ~ /colou?r/`.
SOUGHT = frozenset({"TEXT"})
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
    "FUNCTION_NAME",
    "DIALECT_NAME",
    "EXPRESSION_NAME",
    "CONTAMINATION_NAME",
)
# Names from a registry, which count in any case; the binder rejects others.
REGISTERED: Mapping[str, Collection[str]] = {
    "ASSOCIATION_NAME": ASSOCIATION_MEASURES,
    "KEYNESS_NAME": KEYNESS_MEASURES,
    "FUNCTION_NAME": DOCUMENT_FUNCTIONS,
    "DIALECT_NAME": DIALECTS,
    "EXPRESSION_NAME": TEXT_EXPRESSIONS,
    "CONTAMINATION_NAME": CONTAMINATION_NAMES,
}
STRINGS = ("STRING_LITERAL", "PATH_LITERAL", "TOKENIZER_LITERAL", "VERSION_LITERAL")


def is_like_function(word: str) -> bool:
    """Return True if a word before a parenthesis is probably meant to be the name of a document function."""
    import difflib

    name = word.lower()
    return name in DOCUMENT_FUNCTIONS or bool(difflib.get_close_matches(name, DOCUMENT_FUNCTIONS, n=1))


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

    Cost: about 5 µs per terminal.
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


# ---- An LALR(1) automaton at work.


END = "$END"


class RefusedError(Exception):
    """The terminal cannot come next."""


class State:
    """One walk through the tables, from a start rule.

    Parameters
    ----------
    builder : an object with a method for each rule; None to build nothing
    """

    def __init__(self, tables: Tables, start_rule: str, builder: object | None = None) -> None:
        self._tables = tables
        self._end = tables.ends[start_rule]
        self._builder = builder
        self._states = [tables.starts[start_rule]]
        self._values: list[Any] = []

    def choices(self) -> Mapping[str, int]:
        """Return the table's row: a terminal outside it cannot come next; one in it may still be refused."""
        return self._tables.rows[self._states[-1]]

    def take(self, terminal: str, value: Any = None) -> Any:
        """Take a terminal with its value; at `END`, return what the builder makes of the start rule.

        Raises RefusedError if the terminal cannot come next. The walk is over then: rules that another
        terminal would have continued may be closed already.
        """
        rows, states, values = self._tables.rows, self._states, self._values
        while True:
            action = rows[states[-1]].get(terminal)
            if action is None:
                raise RefusedError(terminal)
            if action >= 0:
                states.append(action)
                values.append(value)
                return None
            rule = self._tables.rules[~action]
            kept = len(values) - len(rule.expansion)
            made = self._made(rule, values[kept:])
            del states[kept + 1 :], values[kept:]
            states.append(rows[states[-1]][rule.symbol])
            values.append(made)
            if terminal == END and states[-1] == self._end:
                return made

    def accepts(self, terminal: str) -> bool:
        """Return True if the terminal may come next. Cost: about 5 µs."""
        if terminal not in self.choices():
            return False
        try:
            self.idle().take(terminal)
        except RefusedError:
            return False
        return True

    def idle(self) -> State:
        """Return a copy that builds nothing."""
        copied = object.__new__(State)
        copied._tables, copied._end, copied._builder = self._tables, self._end, None
        copied._states, copied._values = self._states.copy(), self._values.copy()
        return copied

    def _made(self, rule: Rule, parts: list[Any]) -> Any:
        """Build a rule from its parts; an inlined rule is the list of its parts."""
        if self._builder is None:
            return None
        if rule.inlined:
            parts = _with_inlined(parts, rule.inlined)
        if rule.is_inlined:
            return parts
        if rule.passes_on and len(parts) == 1:
            return parts[0]
        return getattr(self._builder, rule.method)(parts)


def _with_inlined(parts: list[Any], inlined: tuple[int, ...]) -> list[Any]:
    """Replace each inlined rule by its own parts.

    A list at the beginning is extended in place, so that a repetition, whose list grows by one member at a
    time, takes linear time.
    """
    whole: list[Any] = parts[0] if inlined[0] == 0 else [parts[0]]
    for i, part in enumerate(parts[1:], 1):
        if i in inlined:
            whole += part
        else:
            whole.append(part)
    return whole


# ---- Parse tables of a grammar: made by lark, kept between processes, as Python keeps compiled modules.


# Increases when the layout of the file changes.
_LAYOUT = 1


class Rule(NamedTuple):
    """One expansion of a rule of the grammar.

    Attributes
    ----------
    symbol : the rule's name
    expansion : the symbols that it consists of
    method : what the tree's builder calls its method for it: the alias or else the rule's name
    inlined : indices in `expansion` of rules whose names begin with `_`; their parts are parts of this rule
    passes_on : a single part stands for the whole (`?` before the rule's name)
    """

    symbol: str
    expansion: tuple[str, ...]
    method: str
    inlined: tuple[int, ...]
    passes_on: bool

    @property
    def is_inlined(self) -> bool:
        """True if its parts are parts of the rule around it."""
        return self.symbol.startswith("_")


class Tables(NamedTuple):
    """An LALR(1) automaton.

    Attributes
    ----------
    rows : for each state the action by symbol: the state to go to, or `~i` where rule `i` is complete
    starts, ends : the first state and the accepting one by start rule
    spelling : the keywords and punctuation of the grammar as they are written, by terminal
    """

    rows: Sequence[Mapping[str, int]]
    rules: Sequence[Rule]
    starts: Mapping[str, int]
    ends: Mapping[str, int]
    spelling: Mapping[str, str]


def kept_tables(grammar: str, starts: Sequence[str]) -> Tables:
    """Return the tables of the grammar file at a path: the kept ones, or new ones, which are then kept.

    Cost: about 3 ms from kept tables, 150 ms without.
    """
    with open(grammar, encoding="utf-8") as file:
        text = file.read()
    made_from = (_LAYOUT, sys.version, text, *starts)
    path = _path_beside(grammar)
    if path is not None:
        with contextlib.suppress(Exception):  # a file of any contents is only a missing one
            return _read(path, made_from)
    tables = make_tables(text, starts)
    if path is not None and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            _write(path, made_from, tables)
    return tables


def make_tables(grammar: str, starts: Sequence[str]) -> Tables:
    """Make the tables of a grammar. Raises lark's GrammarError if the grammar is not LALR(1)."""
    from lark import Lark
    from lark.common import ParserConf
    from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

    # Without a parser of its own; the lexer is never used, and the basic one is the cheapest to make.
    lark = Lark(grammar, parser=None, lexer="basic", start=list(starts), keep_all_tokens=True)
    analyzer = LALR_Analyzer(ParserConf(lark.rules, {}, list(starts)), strict=False)
    analyzer.compute_lalr()  # type: ignore[no-untyped-call]
    table = analyzer.parse_table
    number = {rule: i for i, rule in enumerate(lark.rules)}
    place = {state: i for i, state in enumerate(table.states)}

    def numbered(action: object, goal: Any) -> int:
        return place[goal] if action is Shift else ~number[goal]

    return Tables(
        [{str(name): numbered(*action) for name, action in row.items()} for row in table.states.values()],
        [_rule(rule) for rule in lark.rules],
        {start: place[state] for start, state in table.start_states.items()},
        {start: place[state] for start, state in table.end_states.items()},
        {terminal.name: terminal.pattern.value for terminal in lark.terminals},
    )


def _rule(rule: Any) -> Rule:
    """Return the rule as plain values; terminals whose names begin with `_` are parts like others."""
    expansion = tuple(str(symbol.name) for symbol in rule.expansion)
    inlined = tuple(
        i for i, symbol in enumerate(rule.expansion) if not symbol.is_term and symbol.name.startswith("_")
    )
    passes_on = bool(rule.options.expand1 and not rule.alias)
    return Rule(str(rule.origin.name), expansion, str(rule.alias or rule.origin.name), inlined, passes_on)


def _path_beside(grammar: str) -> str | None:
    with contextlib.suppress(NotImplementedError):  # an interpreter that keeps nothing
        kept = importlib.util.cache_from_source(os.path.splitext(grammar)[0] + ".py")
        return os.path.splitext(kept)[0] + ".tables"
    return None


def _read(path: str, made_from: tuple[object, ...]) -> Tables:
    with open(path, "rb") as file:
        content = file.read()
    if zlib.crc32(content[4:]).to_bytes(4, "little") != content[:4]:
        raise ValueError("damaged")
    kept, (rows, rules, *others) = marshal.loads(content[4:])
    if kept != made_from:
        raise ValueError("made from something else")
    return Tables(rows, [Rule(*rule) for rule in rules], *others)


def _write(path: str, made_from: tuple[object, ...], tables: Tables) -> None:
    """Write the file in one step: another process sees all of it or nothing."""
    plain: Any = (made_from, (tables.rows, [tuple(rule) for rule in tables.rules], *tables[2:]))
    body = marshal.dumps(plain)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    unfinished = f"{path}.{os.getpid()}.{threading.get_ident()}"
    try:
        with open(unfinished, "xb") as file:
            file.write(zlib.crc32(body).to_bytes(4, "little") + body)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
