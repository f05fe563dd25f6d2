"""Occurrence expressions: the occurrences that COUNT counts."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from ngramdb.lazy import dataclass
from ngramdb.patterns.grams import Gram
from ngramdb.planner.plan.nodes import DocExpr, Node, Occurring

if TYPE_CHECKING:
    from ngramdb.patterns.nodes import Pattern


@dataclass(frozen=True)
class OccurrencesOf(Occurring):
    """Every occurrence of a pattern."""

    pattern: Pattern

    def label(self) -> str:
        return f"occurrences of {self.pattern.shown}"

    def details(self) -> tuple[str, ...]:
        return () if isinstance(self.pattern, Gram) else self.pattern.details()


@dataclass(frozen=True)
class AnyOf(Occurring):
    """The occurrences of all operands together, each once even if several operands find it."""

    operands: tuple[Occurring, ...]

    def label(self) -> str:
        return "all of these together"

    def children(self) -> tuple[Node, ...]:
        return self.operands

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operands=children)


@dataclass(frozen=True)
class InDocs(Occurring):
    """The occurrences of the first operand in some documents.

    `ordered`: exact counts decide which of the two is evaluated first. `difference`: if few documents are
    left out, the occurrences in these are subtracted from all.
    """

    what: Occurring
    docs: DocExpr
    ordered: bool = field(default=False, compare=False)
    difference: bool = field(default=False, compare=False)

    def label(self) -> str:
        return "in documents"

    def children(self) -> tuple[Node, ...]:
        return (self.what, self.docs)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, what=children[0], docs=children[1])


@dataclass(frozen=True)
class Among(Occurring):
    """The counts of COUNT … SAMPLE: occurrences of the first operand in documents drawn from the second.

    It is the topmost node of its plan. Unlike InDocs it is kept even if the documents are all or none: the
    number of documents to draw from is part of the answer.
    """

    what: Occurring
    docs: DocExpr

    def label(self) -> str:
        return "in a sample of these documents"

    def children(self) -> tuple[Node, ...]:
        return (self.what, self.docs)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, what=children[0], docs=children[1])


@dataclass(frozen=True)
class InPart(Among):
    """Occurrences in a part of the corpus, all of whose documents count, even those without any."""

    def label(self) -> str:
        return "in these documents"


@dataclass(frozen=True)
class Several(Occurring):
    """Operands that are counted side by side in `docs`, the topmost node of its plan."""

    operands: tuple[Occurring, ...]
    docs: DocExpr

    def label(self) -> str:
        return "in these documents" if len(self.operands) == 1 else "each of these, in the documents below"

    def children(self) -> tuple[Node, ...]:
        return (*self.operands, self.docs)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        return replace(self, operands=children[:-1], docs=children[-1])


@dataclass(frozen=True)
class NearTo(Occurring):
    """The first operand's occurrences near one of every other, and near none of those in `apart`.

    Near: starting at most `tokens` tokens before or after it, in the same document; if `tokens` is None, in
    the same sentence, which none of them crosses. `ordered`: the rarest operand is located first, and the
    others are searched for around it.
    """

    what: Occurring
    others: tuple[Occurring, ...]
    apart: tuple[Occurring, ...]
    tokens: int | None
    ordered: bool = field(default=False, compare=False)

    def label(self) -> str:
        n = len(self.apart)
        apart = f", the last {n} not" if n > 1 else ", the last one not" if n else ""
        if self.tokens is None:
            others = " with the others" if self.others or self.apart else ""
            return f"the first{others} in one sentence{apart}"
        return f"the first within {self.tokens:,} tokens of the others{apart}"

    def children(self) -> tuple[Node, ...]:
        return (self.what, *self.others, *self.apart)

    def with_children(self, children: tuple[Any, ...]) -> Node:
        n = 1 + len(self.others)
        return replace(self, what=children[0], others=children[1:n], apart=children[n:])


def why_nowhere(pattern: Pattern) -> str:
    """Return the reason why a pattern with unknown words does not occur."""
    from ngramdb.patterns import Gapped

    if isinstance(pattern, Gapped):
        pattern = next(part for part in pattern.parts if not part.known)
    if isinstance(pattern, Gram):
        return f"{pattern.shown} has a word that is not in the vocabulary"
    return f"{pattern.shown} does not occur"


@dataclass(frozen=True)
class Nowhere(Occurring):
    """No occurrence."""

    reason: str = field(default="", compare=False)

    def label(self) -> str:
        return f"no occurrences ({self.reason})" if self.reason else "no occurrences"
