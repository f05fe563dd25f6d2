"""Parse tables of a grammar: made by lark, kept between processes, as Python keeps compiled modules.

Making them takes longer than most statements, and importing lark alone takes longer than reading them. They
are in the `__pycache__` folder beside the grammar (or below `PYTHONPYCACHEPREFIX`), together with everything
that they depend on. A file that cannot be used is replaced.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
    """The rule as plain values; terminals whose names begin with `_` are parts as others are."""
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
