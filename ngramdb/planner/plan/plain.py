"""Conditions on plain n-grams, AND, OR and NOT over them, in the form that segments answer in one call."""

from __future__ import annotations

from dataclasses import dataclass, field

from ngramdb.planner.plan.documents import AllDocs, Complement, DocsWith, Intersection, NoDocs, UnionOf
from ngramdb.planner.plan.nodes import DocExpr
from ngramdb.planner.source import IntArray

# As _cext/conditions.hpp reads them.
GRAM, NOT, AND, AND_ORDERED, OR, EVERY = range(6)

Ids = IntArray | tuple[int, ...]


@dataclass(frozen=True)
class PlainDocs(DocExpr):
    """A condition's operators in prefix order, and its n-grams.

    It stands alone, where documents are asked for and nothing is to be explained. From exact counts the
    segments find out most of what rules would have told, so that none is asked.
    """

    code: list[int] = field(default_factory=list)
    grams: list[Ids] = field(default_factory=list)

    @classmethod
    def of(cls, expr: DocExpr, ordered: bool) -> PlainDocs | None:
        """The condition, or None where something else is in it.

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
