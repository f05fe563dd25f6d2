"""What all statements have in common, and the one that shows the plan of another."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.late_dataclasses import dataclass


class Statement(Node):
    """What can be run by itself."""


class Question(Statement):
    """A statement that asks, and changes nothing."""


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False
