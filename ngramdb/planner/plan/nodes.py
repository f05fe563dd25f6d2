"""The bases of plans and of the nodes of their trees, with estimates and measurements."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, ClassVar, TypeVar

from ngramdb.lazy import dataclass
from ngramdb.patterns.nodes import Noted
from ngramdb.source import Corpus

COUNT_COLUMNS = ("count",)


@dataclass(frozen=True)
class Plan:
    """The work of a statement: a query of a `corpus`, or an action. Like `Node` not an ABC.

    `phrases` are texts whose tokens may differ from those of the same text inside a document, and conditions
    that no document meets.
    """

    #: The statement removes documents or copies them elsewhere.
    carries_documents: ClassVar[bool] = False
    #: The query evaluates `PlainDocs`, a condition on plain n-grams in the form of one kernel call.
    takes_plain_docs: ClassVar[bool] = False

    phrases: tuple[Noted, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @abstractmethod
    def label(self) -> str:
        """Return one line for EXPLAIN."""

    def details(self) -> tuple[str, ...]:
        """Return further lines for EXPLAIN, below the label."""
        return ()

    def where_clause(self) -> DocExpr | None:
        """Return the document expression of a query with a condition on documents."""
        return None

    @property
    def is_settled(self) -> bool:
        """Return True if no rule or choice applies, and the answer takes one search per segment."""
        return False

    def documents_corpus(self) -> Corpus | None:
        """Return the corpus whose documents are listed or counted, or None for other plans."""
        return None

    def fold_unknown_words(self) -> Plan:
        """Return the answer if a word outside the vocabulary decides it, else the plan itself."""
        return self

    def fold_constants(self) -> Plan:
        """Return the answer if a constant tree decides it, else the plan itself."""
        return self

    def cut_context(self) -> Plan:
        """Return the plan without the part of a context that its model never reads."""
        return self

    @property
    def asked(self) -> Plan:
        """Return the plan that warnings are about: this one, or the one that EXPLAIN shows."""
        return self

    def tree(self) -> Node | None:
        """Return the documents or occurrences of the query, on which rules and choices work."""
        return self.where_clause()

    def with_tree(self, tree: Node) -> Plan:
        """Return the same plan with another tree; only for plans that have one."""
        return changed(self, where=tree)


@dataclass(frozen=True)
class Question(Plan):
    """A plan that only reads one corpus."""

    corpus: Corpus = field(compare=False, repr=False)

    def details(self) -> tuple[str, ...]:
        view = self.corpus
        n = len(view.segments)
        return (
            f"corpus {view.entry.name}: {n:,} segment{'' if n == 1 else 's'}, "
            f"{view.n_documents:,} documents, {view.n_tokens:,} tokens",
        )


@dataclass(frozen=True)
class Constant(Question):
    """An answer that is known without reading the index."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    reason: str
    summary: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        n = len(self.rows)
        return f"constant, {n} row{'' if n == 1 else 's'} ({self.reason})"


class Outer(Plan):
    """A plan that uses the answer of another one, `inner`, which is planned on its own.

    `is_shown` is True if the inner plan is printed, so that its estimates are needed.
    """

    is_shown: ClassVar[bool] = False

    @property
    @abstractmethod
    def inner(self) -> Plan:
        """Return the other plan."""

    def documents_corpus(self) -> Corpus | None:
        return self.inner.documents_corpus()

    @abstractmethod
    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        """Return the same plan around another; `fired` are the rules that changed it, in order."""


Changed = TypeVar("Changed")


def changed(node: Changed, **fields: Any) -> Changed:
    """Return the same node or plan with other values for some fields.

    Like `dataclasses.replace`, in a fifth of its time.
    """
    copy: Changed = object.__new__(type(node))
    copy.__dict__.update(node.__dict__)
    copy.__dict__.update(fields)
    return copy


@dataclass(frozen=True)
class Node:
    """A part of a plan that prints itself. The physical step sets `estimate`.

    Not an `ABC`, for all its abstract methods: `isinstance`, which rules and the executor call all the time,
    would take five times as long.
    """

    estimate: Estimate | None = field(default=None, compare=False, kw_only=True)

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def children(self) -> tuple[Node, ...]:
        """Return the nodes below, in the order in which they are printed."""
        return ()

    def with_children(self, children: tuple[Any, ...]) -> Node:
        """Return the same node with other children, as many and of the same kinds."""
        return self

    def with_each(self, rewrite: Callable[[Any], Node]) -> Node:
        """Return the same node with every child rewritten; the node itself if none of them changes."""
        children = self.children()
        if children:
            rewritten = tuple([rewrite(child) for child in children])
            for new, old in zip(rewritten, children, strict=True):
                if new is not old:
                    return self.with_children(rewritten)
        return self

    def details(self) -> tuple[str, ...]:
        """Return further lines for EXPLAIN, below the label."""
        return ()


@dataclass(frozen=True)
class DocExpr(Node):
    """A set of documents: each is in or out (those for which it is unknown are out)."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


@dataclass(frozen=True)
class Occurring(Node):
    """A multiset of occurrences, which are positions in documents."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


# ---- estimates and measurements of nodes


@dataclass(frozen=True)
class Costs:
    """Costs that decide which method is chosen, in nanoseconds. Only their ratios matter."""

    # Locating one occurrence: a suffix-array entry, its document, a bit in a map. Measured 4.2–5.5 over 4 M
    # GPT-2 tokens.
    locate_ns: float = 5.0
    # Scanning one token of a candidate document: sequential, a vector at a time. Measured 0.25–0.28 if the
    # n-gram is mostly absent; less if it occurs early, which is not known beforehand.
    scan_ns: float = 0.25
    # Locating one occurrence among few candidates: most rows are elsewhere and are skipped.
    sift_ns: float = 1.25
    # Sorting one position, so that occurrences ascend; moving to a part of the text that is scanned.
    sort_ns: float = 6.0
    window_ns: float = 60.0


#: The default costs.
COSTS = Costs()


@dataclass(frozen=True)
class Estimate:
    """An estimate made before running: `count` is exact (None for compound nodes), `rows` is a guess.

    `method` is the access path; `order` is the order in which children are evaluated and printed.
    """

    rows: float
    count: int | None = None
    method: str | None = None
    # The unit of `rows`; an exact count of occurrences is enough.
    unit: str = "docs"
    order: tuple[int, ...] | None = None

    def label(self) -> str:
        parts = [] if self.count is None else [f"count {self.count:,}"]
        if self.count is None or self.unit == "docs":
            parts.append(f"~{round(self.rows):,} {self.unit}")
        if self.method:
            parts.append(self.method)
        return ", ".join(parts)


@dataclass()
class Actual:
    """Measurements of one node, summed over the segments: `calls` is the number of its evaluations.

    Times include those of operands; `probes` are searches in an index; `methods` and `orders` have the
    numbers of segments per access path, and per order of operands.
    """

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0
    probes: int = 0
    methods: dict[str, int] = field(default_factory=dict)
    orders: dict[tuple[int, ...], int] = field(default_factory=dict)

    def label(self, unit: str = "docs") -> str:
        """Format them for EXPLAIN ANALYZE; `unit` is the unit of the rows."""
        if not self.calls:
            return "never reached"
        parts = [f"actual {self.rows:,} {unit}", f"{self.seconds * 1e3:.3f} ms"]
        if self.probes:
            parts.append(f"{self.probes:,} probe{'' if self.probes == 1 else 's'}")
        parts.extend(f"{name} in {n:,} segment{'' if n == 1 else 's'}" for name, n in self.methods.items())
        return ", ".join(parts)


# ---- measurements while a plan runs, for EXPLAIN ANALYZE


class PlanMeter:
    """Measurements of each node of a plan, by the node's `id`, summed over segments."""

    def __init__(self) -> None:
        self.actual: dict[int, Actual] = {}
        self._running: set[int] = set()
        self._is_aside = False

    def of(self, node: Node) -> Actual:
        """Return the measurements of one node; within `aside` they are discarded."""
        if self._is_aside:
            return Actual()
        return self.actual.setdefault(id(node), Actual())

    @contextmanager
    def timed(self, node: Node) -> Iterator[Actual]:
        """Add a call and its time, that of operands included, to those of a node.

        A node may be timed within its own call, if a count is a sum over documents: only the outer call
        counts.
        """
        key = id(node)
        if key in self._running:
            yield Actual()
            return
        actual = self.of(node)
        started = time.perf_counter()
        actual.calls += 1
        self._running.add(key)
        try:
            yield actual
        finally:
            self._running.discard(key)
        actual.seconds += time.perf_counter() - started

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Suspend measurement during work that is not part of the answer."""
        before, self._is_aside = self._is_aside, True
        try:
            yield
        finally:
            self._is_aside = before

    def note(self, node: Node, method: str) -> None:
        """Count the use of a method for a node."""
        methods = self.of(node).methods
        methods[method] = methods.get(method, 0) + 1

    def order(self, node: Node, order: Sequence[int]) -> None:
        """Count an order in which a node's operands, by their numbers, were evaluated."""
        orders = self.of(node).orders
        orders[tuple(order)] = orders.get(tuple(order), 0) + 1
