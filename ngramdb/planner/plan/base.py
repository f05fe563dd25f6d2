"""The bases of plans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from ngramdb.late_dataclasses import dataclass
from ngramdb.patterns.phrases import Noted
from ngramdb.planner.plan.nodes import DocExpr, Node, changed
from ngramdb.source import Corpus

if TYPE_CHECKING:
    pass


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
