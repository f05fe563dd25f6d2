"""Conditions on plain n-grams with AND, OR and NOT, in the form that segments evaluate in one call."""

from __future__ import annotations

from dataclasses import field

from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.plan.documents import AllDocs, Complement, DocsWith, Intersection, NoDocs, UnionOf
from ngramdb.planner.plan.nodes import DocExpr
from ngramdb.source import ConditionCode, IntArray
from ngramdb.types import are_token_ids

GRAM, NOT, AND, AND_ORDERED, OR, EVERY = map(int, ConditionCode)

Ids = IntArray | tuple[int, ...]


@dataclass(frozen=True)
class PlainDocs(DocExpr):
    """The operators of a condition in prefix order, and its n-grams.

    It is used alone, if documents are requested and the plan is not shown.
    """

    code: list[int] = field(default_factory=list)
    grams: list[Ids] = field(default_factory=list)

    @classmethod
    def of(cls, expr: DocExpr, ordered: bool) -> PlainDocs | None:
        """Return the condition, or None if it has other parts.

        `ordered`: operands may be taken in the order of their exact counts.
        """
        plain = cls()
        return plain if plain._add(expr, AND_ORDERED if ordered else AND) else None

    def label(self) -> str:
        return f"condition on {len(self.grams):,} n-grams"

    def _add(self, expr: DocExpr, conjunction: int) -> bool:
        if isinstance(expr, DocsWith):
            self.code.append(GRAM)
            self.grams.append(expr.gram.given)
        elif isinstance(expr, (Intersection, UnionOf)):
            self.code.append(conjunction if isinstance(expr, Intersection) else OR)
            self.code.append(len(expr.operands))
            for operand in expr.operands:
                if not self._add(operand, conjunction):
                    return False
        elif isinstance(expr, Complement):
            self.code.append(NOT)
            return self._add(expr.operand, conjunction)
        elif isinstance(expr, AllDocs):
            self.code.append(EVERY)
        elif isinstance(expr, NoDocs):
            self.code.extend((NOT, EVERY))
        else:
            return False
        return True


def is_settled(expr: DocExpr) -> bool:
    """Return True if a condition on plain n-grams is changed by no rewrite rule, apart from unknown words.

    Takes a tenth of the time of trying the rules; returns False in doubt. Rules are about operators nested in
    operators of the same kind, about constants, and about n-grams that are equal or contained in each other.
    An n-gram with an unknown word costs the kernel nothing, so that folding it first would only take time.
    """
    keys: list[tuple[int, ...]] = []
    return _collect(expr, None, keys) and _are_independent(keys)


def _collect(expr: DocExpr, parent: type[DocExpr] | None, keys: list[tuple[int, ...]]) -> bool:
    kind = type(expr)
    if isinstance(expr, DocsWith):
        key = expr.gram.key
        keys.append(key)
        return bool(key)
    if isinstance(expr, Complement):
        return kind is not parent and _collect(expr.operand, kind, keys)
    if isinstance(expr, (Intersection, UnionOf)):
        if kind is parent or len(expr.operands) < 2:
            return False
        return all(_collect(operand, kind, keys) for operand in expr.operands)
    return parent is None and isinstance(expr, (AllDocs, NoDocs))


def _are_independent(keys: list[tuple[int, ...]]) -> bool:
    unique = set(keys)
    lengths = set(map(len, unique))
    if len(unique) < len(keys) or len(lengths) < 2:
        return len(unique) == len(keys)
    return not any(
        key[i : i + n] in unique
        for key in keys
        for n in lengths
        if n < len(key)
        for i in range(len(key) - n + 1)
    )


# ---- templates: conditions on placeholders with AND, OR and NOT, whose plan is made once for all n-grams


@dataclass(frozen=True)
class Template:
    """Operators in prefix order, as in PlainDocs, and the placeholders of the n-grams."""

    code: list[int]
    leaves: list[ast.Parameter]

    @classmethod
    def of(cls, node: ast.Condition) -> Template | None:
        """Return the template of a condition, or None if it has other parts."""
        template = cls([], [])
        return template if template._add(node) else None

    def filled(self, values: Parameters) -> PlainDocs | None:
        """Return the condition for these values; None unless all of them are lists or tuples of token ids."""
        grams: list[Ids] = []
        for leaf in self.leaves:
            ids = values.value(leaf)
            if not are_token_ids(ids):
                return None
            grams.append(tuple(ids))
        return PlainDocs(self.code, grams)

    def _add(self, node: ast.Condition) -> bool:
        if isinstance(node, ast.Contains) and isinstance(node.pattern, ast.Parameter):
            self.code.append(GRAM)
            self.leaves.append(node.pattern)
            return True
        if isinstance(node, ast.Not):
            self.code.append(NOT)
            return self._add(node.operand)
        if isinstance(node, (ast.And, ast.Or)):
            self.code.extend((AND_ORDERED if isinstance(node, ast.And) else OR, len(node.operands)))
            return all(self._add(operand) for operand in node.operands)
        return False
