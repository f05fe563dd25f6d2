"""What every construct has in common: the span of text that it came from."""

from __future__ import annotations

from dataclasses import field

from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Half-open range of characters in the text that was parsed."""

    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Node:
    """What every construct has in common."""

    span: Span | None = field(default=None, compare=False, repr=False)
