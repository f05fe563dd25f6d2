"""Plan nodes: what is to be done, each able to print itself.

A tree of *document expressions* (which documents) stands below a *statement* (what to answer about them, or
about an n-gram). The binder makes the logical tree, rules rewrite it, and the physical step fills in
`estimate` and the order of operands. Nodes are immutable; estimates take no part in comparisons.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ngramdb.planner.source import Corpus, IntArray

COUNT_COLUMNS = ("count",)
PROBABILITY_COLUMNS = ("prob", "cont_count", "context_count", "effective_n", "sparse")
DISTRIBUTION_COLUMNS = ("token", "token_id", "count", "prob")
SCORE_COLUMNS = (
    "position",
    "token",
    "token_id",
    "effective_n",
    "count",
    "context_count",
    "prob",
    "logprob",
)

# An n-gram's text in a plan is cut here, so that a line of EXPLAIN stays a line.
SHOWN_CHARACTERS = 60


class Gram:
    """An n-gram whose tokens are bound to a corpus: `ids` is int64, -1 stands for an unknown word.

    `shown` is how plans and messages print it. Two n-grams are equal when their ids are.
    """

    def __init__(self, ids: IntArray, shown: str) -> None:
        self.ids = ids
        self.shown = shown

    @cached_property
    def key(self) -> tuple[int, ...]:
        """The ids as a tuple."""
        return tuple(self.ids.tolist())

    @cached_property
    def known(self) -> bool:
        """Whether every token is in the vocabulary."""
        return not bool((self.ids < 0).any())

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gram) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Gram({self.key}, {self.shown!r})"

    def last(self, n: int) -> Gram:
        """The last `n` tokens; a shorter n-gram is shown as a list of token ids."""
        if n >= len(self.ids):
            return self
        ids = self.ids[len(self.ids) - n :]
        return Gram(ids, show_ids(ids))


def show_ids(ids: IntArray) -> str:
    """Token ids as the language writes them, long lists cut."""
    shown = ", ".join(str(i) for i in ids[:12].tolist())
    return f"[{shown}{', …' if len(ids) > 12 else ''}]"


def show_text(text: str) -> str:
    """Text as an n-gram literal on one line, long ones cut."""
    flat = (
        text.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\r", "\\r")
        .replace("\t", "\\t")
    )
    return f'"{flat}"' if len(flat) <= SHOWN_CHARACTERS else f'"{flat[: SHOWN_CHARACTERS - 1]}…"'


@dataclass(frozen=True)
class Model:
    """A language model: `order` 0 means no limit."""

    infgram: bool = False
    order: int = 0

    def label(self) -> str:
        return ("INFGRAM" if self.infgram else "NGRAM") + (f" ORDER {self.order}" if self.order else "")

    def context(self, gram: Gram) -> Gram:
        """The part of a context that the model looks at: its last `order - 1` tokens."""
        return gram.last(self.order - 1) if self.order else gram


@dataclass(frozen=True)
class Costs:
    """What the choice of a method weighs, in nanoseconds. Only the ratio matters."""

    # Locating one occurrence: a suffix-array entry, its document, a bit in a map. Measured 4.2–5.5 over 4 M
    # GPT-2 tokens.
    locate_ns: float = 5.0
    # Scanning one token of a candidate document: sequential, a vector at a time. Measured 0.25–0.28 where the
    # n-gram is mostly absent; less where it is found early, which nobody knows beforehand.
    scan_ns: float = 0.25


@dataclass(frozen=True)
class Estimate:
    """What is known before running: `count` is exact (None for compound nodes), `rows` is a guess."""

    rows: float
    count: int | None = None
    method: str | None = None

    def label(self) -> str:
        parts = [] if self.count is None else [f"count {self.count:,}"]
        parts.append(f"~{round(self.rows):,} docs")
        if self.method:
            parts.append(self.method)
        return ", ".join(parts)


@dataclass
class Actual:
    """What one node did, summed over the segments: `calls` is in how many it was evaluated.

    Times include those of operands; `probes` are searches in an index.
    """

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0
    probes: int = 0
    methods: dict[str, int] = field(default_factory=dict)

    def label(self) -> str:
        if not self.calls:
            return "never reached"
        parts = [f"actual {self.rows:,} docs", f"{self.seconds * 1e3:.3f} ms"]
        if self.probes:
            parts.append(f"{self.probes:,} probe{'' if self.probes == 1 else 's'}")
        parts.extend(f"{name} in {n:,} segment{'' if n == 1 else 's'}" for name, n in self.methods.items())
        return ", ".join(parts)


# ---- document expressions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class DocExpr(ABC):
    """Which documents. `estimate` is filled in by the physical step."""

    estimate: Estimate | None = field(default=None, compare=False, kw_only=True)

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def children(self) -> tuple[DocExpr, ...]:
        return ()


@dataclass(frozen=True)
class AllDocs(DocExpr):
    def label(self) -> str:
        return "all documents"


@dataclass(frozen=True)
class NoDocs(DocExpr):
    reason: str = field(default="", compare=False)

    def label(self) -> str:
        return f"no documents ({self.reason})" if self.reason else "no documents"


@dataclass(frozen=True)
class DocsWith(DocExpr):
    """Documents that contain the n-gram; the empty one is in every document."""

    gram: Gram

    def label(self) -> str:
        return f"contains {self.gram.shown}"


@dataclass(frozen=True)
class Intersection(DocExpr):
    """Documents in all operands. `ordered`: operands may be taken in order of their exact counts."""

    operands: tuple[DocExpr, ...]
    ordered: bool = field(default=False, compare=False)

    def label(self) -> str:
        return "intersection" + (", rarest first" if self.ordered else "")

    def children(self) -> tuple[DocExpr, ...]:
        return self.operands


@dataclass(frozen=True)
class UnionOf(DocExpr):
    """Documents in any operand."""

    operands: tuple[DocExpr, ...]

    def label(self) -> str:
        return "union"

    def children(self) -> tuple[DocExpr, ...]:
        return self.operands


@dataclass(frozen=True)
class Complement(DocExpr):
    """Documents not in the operand; costs nothing beyond the operand until the ids are read."""

    operand: DocExpr

    def label(self) -> str:
        return "not"

    def children(self) -> tuple[DocExpr, ...]:
        return (self.operand,)


# ---- statements -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan(ABC):
    """What a statement does. Subclasses are either questions (with a `corpus`) or actions."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def details(self) -> tuple[str, ...]:
        """Further lines for EXPLAIN, below the label."""
        return ()

    def where_clause(self) -> DocExpr | None:
        """The document expression of a question about documents."""
        return None


@dataclass(frozen=True)
class Question(Plan):
    """A plan that reads one corpus."""

    corpus: Corpus = field(compare=False, repr=False)

    def details(self) -> tuple[str, ...]:
        view = self.corpus
        n = len(view.segments)
        return (
            f"corpus {view.entry.name}: {n:,} segment{'' if n == 1 else 's'}, "
            f"{view.n_documents:,} documents, {view.n_tokens:,} tokens",
        )


@dataclass(frozen=True)
class CountGram(Question):
    gram: Gram

    def label(self) -> str:
        return f"count {self.gram.shown} ({len(self.gram)} tokens)"


@dataclass(frozen=True)
class CountDocuments(Question):
    where: DocExpr
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        return "count documents"

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class Documents(Question):
    where: DocExpr
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        parts = ["doc_id " + ("descending" if self.descending else "ascending")]
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        return f"documents ({', '.join(parts)})"

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class Probability(Question):
    continuation: Gram
    context: Gram
    model: Model

    def label(self) -> str:
        return f"probability of {self.continuation.shown} given {self.context.shown}, {self.model.label()}"


@dataclass(frozen=True)
class Distribution(Question):
    context: Gram
    model: Model
    top: int | None = None

    def label(self) -> str:
        top = "" if self.top is None else f", top {self.top:,}"
        return f"distribution given {self.context.shown}, {self.model.label()}{top}"


@dataclass(frozen=True)
class Scoring(Question):
    gram: Gram
    model: Model

    def label(self) -> str:
        return f"score {len(self.gram):,} tokens, {self.model.label()}"


@dataclass(frozen=True)
class Constant(Question):
    """An answer that is known without asking the index."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    reason: str
    summary: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        n = len(self.rows)
        return f"constant, {n} row{'' if n == 1 else 's'} ({self.reason})"


# ---- actions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateCorpus(Plan):
    name: str
    tokenizer: str
    if_not_exists: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"create corpus {self.name}, tokenizer {self.tokenizer}"


@dataclass(frozen=True)
class DropCorpus(Plan):
    name: str
    if_exists: bool = False

    def label(self) -> str:
        return f"drop corpus {self.name}"


@dataclass(frozen=True)
class Load(Plan):
    """COPY … FROM and `Corpus.load`. `options` are those of `LOAD_OPTIONS`."""

    name: str
    paths: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    skip_errors: bool = False

    def label(self) -> str:
        return f"load into {self.name} from {', '.join(self.paths)}"

    def details(self) -> tuple[str, ...]:
        shown = tuple(f"{name} {value!r}" for name, value in self.options.items())
        return (*shown, "on error " + ("skip" if self.skip_errors else "fail"))


@dataclass(frozen=True)
class UseCorpus(Plan):
    name: str

    def label(self) -> str:
        return f"use {self.name}"


@dataclass(frozen=True)
class DescribeCorpus(Question):
    def label(self) -> str:
        return "describe"


@dataclass(frozen=True)
class ShowTable(Plan):
    """SHOW corpora, segments, versions or settings; `name` limits it to one corpus."""

    what: str
    name: str | None = None

    def label(self) -> str:
        return f"show {self.what}" + (f" of {self.name}" if self.name else "")


@dataclass(frozen=True)
class CheckCorpora(Plan):
    names: tuple[str, ...]

    def label(self) -> str:
        return "check " + (", ".join(self.names) if self.names else "(no corpora)")


@dataclass(frozen=True)
class ChangeSetting(Plan):
    """SET; `value` None with `reset` puts the default back."""

    name: str
    value: str | int | float | bool | None = None
    reset: bool = False

    def label(self) -> str:
        return f"reset {self.name}" if self.reset else f"set {self.name} to {self.value!r}"


@dataclass(frozen=True)
class ExplainPlan(Plan):
    """EXPLAIN of a finished plan; `fired` are the rules that changed it, in order."""

    plan: Plan
    analyze: bool = False
    fired: tuple[str, ...] = ()

    def label(self) -> str:
        return "explain analyze" if self.analyze else "explain"


def as_ids(ids: Any) -> IntArray:
    """Token ids as a contiguous int64 array."""
    return np.ascontiguousarray(ids, dtype=np.int64)
