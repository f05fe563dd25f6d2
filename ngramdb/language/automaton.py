"""An LALR(1) automaton at work: it takes terminals one by one and calls the builder as rules are complete.

The tree's builder has a method for each rule, called from the leaves up with the rule's parts, so no parse
tree is ever made. Nothing recurses, so nesting is bounded by memory alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ngramdb.language.tables import Rule, Tables

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
        """A copy that builds nothing."""
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
