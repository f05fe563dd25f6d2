"""Values of a statement's placeholders: `?` by position, `:name` by name; none missing, none left over."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner.names import nearest
from ngramdb.registries import DEFAULT_MATCH

ParameterValues = Sequence[Any] | Mapping[str, Any] | None


def placeholders(node: object) -> Iterator[ast.Parameter]:
    """Yield every placeholder of a syntax tree, in the order of its fields."""
    if isinstance(node, ast.Parameter):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from placeholders(item)
    elif isinstance(node, ast.Node):
        for item in dataclasses.fields(node):
            if item.name != "span":
                yield from placeholders(getattr(node, item.name))


class Placeholders:
    """The placeholders of a text, found once, since texts are run repeatedly with other values."""

    def __init__(self, trees: Sequence[ast.Node]) -> None:
        found = [p for tree in trees for p in placeholders(tree)]
        self.positions = [p for p in found if p.index is not None]
        self.names = [p for p in found if p.index is None]
        self.n_wanted = 1 + max((int(p.index or 0) for p in self.positions), default=-1)


# The characters at the end of a part of a pattern.
_ENDS_OF_PARTS = frozenset('"/*)]?')


class Parameters:
    """The values of the placeholders of statements or of a condition, given as trees or as placeholders.

    Raises
    ------
    PlanError
        A value is missing or superfluous, or values by position meet placeholders by name; names it.
    """

    def __init__(
        self,
        trees: Sequence[ast.Node] | Placeholders,
        values: ParameterValues,
        text: str | None = None,
    ) -> None:
        self._text = text
        self._values: ParameterValues = values
        wanted = trees if isinstance(trees, Placeholders) else Placeholders(trees)
        if wanted.positions and wanted.names:
            raise self._error("use either ? or :name in one text, not both", wanted.names[0])
        # Lists and tuples first: testing for a Mapping takes longer.
        if type(values) is list or type(values) is tuple or not isinstance(values, Mapping):
            self._check_positions(values, wanted)
        else:
            self._check_names(values, wanted.names, wanted.positions)

    def _check_names(
        self, values: Mapping[str, Any], names: list[ast.Parameter], positions: list[ast.Parameter]
    ) -> None:
        if positions:
            raise self._error(
                "? takes its value by position: give a list or a tuple, not a dict", positions[0]
            )
        for parameter in names:
            if parameter.name not in values:
                raise self._error(f"no value was given for :{parameter.name}", parameter)
        known = {str(p.name) for p in names}
        for key in values:
            if key not in known:
                hint = nearest(str(key), known)
                suffix = f"; did you mean :{hint}?" if hint else ""
                raise PlanError(f"a value was given for :{key}, which is not in the statement{suffix}")

    def _check_positions(self, values: Any, wanted: Placeholders) -> None:
        names, n_wanted = wanted.names, wanted.n_wanted
        is_plain = values is None or type(values) is list or type(values) is tuple
        if not is_plain and (isinstance(values, (str, bytes)) or not isinstance(values, Sequence)):
            raise PlanError(f"parameters are a list, a tuple or a dict, not {type(values).__name__}")
        if names:
            given = "none were given" if not values else "give a dict"
            raise self._error(f":{names[0].name} takes its value by name: {given}", names[0])
        n_given = 0 if values is None else len(values)
        if n_given < n_wanted:
            first = next(p for p in wanted.positions if (p.index or 0) >= n_given)
            what = f"no value was given for parameter {n_given + 1} of {n_wanted}"
            raise self._error(what + self._if_optional(first), first)
        if n_given > n_wanted:
            raise PlanError(
                f"{n_given} parameter value{'s were' if n_given != 1 else ' was'} given, "
                f"but the statement has {n_wanted or 'no'} placeholder{'' if n_wanted == 1 else 's'}"
            )

    def _if_optional(self, node: ast.Node) -> str:
        """Return advice on a `?` directly after a part of a pattern, "optional" in other languages."""
        before = "" if self._text is None or node.span is None else self._text[: node.span.start]
        if before[-1:] not in _ENDS_OF_PARTS:
            return ""
        return "; ? stands for a parameter: an optional part of a pattern is written {0,1}"

    def _error(self, message: str, node: ast.Node) -> PlanError:
        span = node.span
        return PlanError(
            message, text=self._text, start=span.start if span else None, stop=span.stop if span else None
        )

    def told(self, text: str, node: ast.Node, match: str = DEFAULT_MATCH) -> str:
        """Return the text of a statement or condition with the values of its placeholders, for audit records.

        The setting `match` is included unless it is the default.
        """
        values = [] if match == DEFAULT_MATCH else [f"SET match = '{match}'"]
        for parameter in placeholders(node):
            value = self.value(parameter)
            # All of an array: its own form omits values in the middle.
            shown = value.tolist() if isinstance(value, np.ndarray) else value
            values.append(f"{self.describe(parameter)}: {shown!r}")
        return f"{text} -- {', '.join(values)}" if values else text

    def value(self, parameter: ast.Parameter) -> Any:
        """Return the value of a placeholder, numpy scalars as plain Python ones."""
        values: Any = self._values
        value = values[str(parameter.name) if parameter.index is None else parameter.index]
        return value.item() if isinstance(value, np.generic) else value

    @staticmethod
    def describe(parameter: ast.Parameter) -> str:
        """Return the name of a placeholder for messages."""
        return f":{parameter.name}" if parameter.index is None else f"parameter {parameter.index + 1}"
