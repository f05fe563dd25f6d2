"""Questions about how words are used: what they stand with, and how evenly they are spread."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.base import Plan, Question
from ngramdb.planner.plan.concordance import WHOLE_DOCUMENT
from ngramdb.planner.plan.nodes import DocExpr, Node, changed
from ngramdb.planner.plan.occurring import InPart

if TYPE_CHECKING:
    from ngramdb.patterns.grams import Gram
    from ngramdb.patterns.nodes import StoredWords, TokenPattern
    from ngramdb.planner.plan.documents import Contrast
    from ngramdb.planner.plan.fields import FieldKey
    from ngramdb.planner.plan.nodes import Costs

# Before the measure's own column; f, f1, f2 and N are Evert's names (2008).
COLLOCATE_COLUMNS = ("token", "token_id", "f", "left", "right", "f1", "f2", "N")

# Before the measure's own column: counts in both parts, and tokens of both.
KEYWORD_COLUMNS = ("ngram", "token_ids", "f1", "N1", "f2", "N2")
DISPERSION_COLUMNS = ("count", "range", "parts", "dp", "dp_norm", "dkl", "arf")


@dataclass(frozen=True)
class Collocation(Question):
    """COLLOCATES: tokens up to `left` before and `right` after occurrences, by a measure of association.

    `in_sentence`: only those of an occurrence's sentence.
    """

    what: InPart
    left: int
    right: int
    measure: str
    min_count: int = 1
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)
    in_sentence: bool = False

    def label(self) -> str:
        window = f"window {self.left:,} left, {self.right:,} right"
        if self.in_sentence:
            whole = self.left == self.right == WHOLE_DOCUMENT
            window = "window sentence" if whole else f"{window} within the sentence"
        parts = [window, f"by {self.measure}"]
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return f"collocates ({', '.join(parts)})"

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)


@dataclass(frozen=True)
class Keyness(Question):
    """KEYWORDS: the n-grams of some documents that are more frequent than in others, by a measure.

    `smoothing` is what the measure `simple` adds.
    """

    where: Contrast
    n: int
    measure: str
    smoothing: float = 1.0
    min_count: int = 1
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        parts = [f"{self.n}-grams", f"by {self.measure}"]
        if self.measure == "simple":
            parts[-1] += f"({self.smoothing:g})"
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return f"keywords ({', '.join(parts)})"

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class NgramSelection(Question):
    """NGRAMS of several lengths, or those that meet conditions, of one case, or with their documents."""

    shortest: int
    longest: int
    where: DocExpr
    min_count: int = 1
    containing: Gram | StoredWords | TokenPattern | None = None
    starting: Gram | None = None
    ending: Gram | None = None
    ignore_case: bool = False
    with_docs: bool = False
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        lengths = f"{self.shortest}" if self.shortest == self.longest else f"{self.shortest}..{self.longest}"
        parts = [f"{lengths}-grams by count"]
        if self.min_count > 1:
            parts.append(f"min count {self.min_count:,}")
        for name in ("containing", "starting", "ending"):
            gram = getattr(self, name)
            if gram is not None:
                parts.append(f"{name} {'' if name == 'containing' else 'with '}{gram.shown}")
        if self.ignore_case:
            parts.append("ignore case")
        if self.with_docs:
            parts.append("with docs")
        if self.top is not None:
            parts.append(f"top {self.top:,}")
        return ", ".join(parts)

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class Spread(Question):
    """DISPERSION: how evenly occurrences are spread over documents, or over a field's values (`key`)."""

    what: InPart
    key: FieldKey | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        return f"dispersion over {'documents' if self.key is None else self.key.label()}"

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)
