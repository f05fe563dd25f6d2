"""What stands after FROM."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.leaves import Name, Scalar
from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class SourceTerm(Node):
    """One corpus of a source, added (sign +1) or subtracted (sign -1), now or AT VERSION n | 'name'."""

    corpus: Name
    sign: int = 1
    version: Scalar | None = None


@dataclass(frozen=True)
class Source(Node):
    """What stands after FROM."""

    terms: tuple[SourceTerm, ...]
