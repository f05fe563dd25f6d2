"""What every plan has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.nodes import DocExpr, Node, changed
from ngramdb.planner.plan.phrases import Noted
from ngramdb.planner.source import Corpus

if TYPE_CHECKING:
    from ngramdb.planner.plan.estimates import Costs

# The binder of each statement by its class in `language.ast`: "module.function" in `planner.binding`.
BINDERS: dict[str, str] = {}


@dataclass(frozen=True)
class Plan:
    """What a statement does: a question (with a `corpus`) or an action. As for `Node`: no ABC.

    `phrases` are texts in it whose tokens may differ from those of the same text inside a document, and
    conditions in it that hold of nothing.

    A class registers what belongs to it by the arguments of its definition, all of them names, so that
    nothing is imported before it is needed:

    operator : "folder.module.function" in `executor` that answers it from the corpus alone, given the plan,
        and a `PlanMeter` if the plan has a `tree`
    action : "folder.module.function" in `executor` that runs it, given the plan and the session
    binders : the statements that become such a plan, by their classes in `language.ast`, each with its
        binder, "module.function" in `planner.binding`. One that may become one of several plans stands once
    """

    operator: ClassVar[str | None] = None
    action: ClassVar[str | None] = None

    phrases: tuple[Noted, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    def __init_subclass__(
        cls,
        operator: str | None = None,
        action: str | None = None,
        binders: Mapping[str, str] | None = None,
    ) -> None:
        cls.operator, cls.action = operator, action
        BINDERS.update(binders or {})

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def details(self) -> tuple[str, ...]:
        """Further lines for EXPLAIN, below the label."""
        return ()

    def where_clause(self) -> DocExpr | None:
        """The document expression of a question about documents."""
        return None

    def tree(self) -> Node | None:
        """What rules and choices work on: the documents or occurrences that are asked about."""
        return self.where_clause()

    def with_tree(self, tree: Node) -> Plan:
        """The same plan about others; only plans that have a tree are asked."""
        return changed(self, where=tree)


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
class SliceQuestion(Question):
    """A question that may be asked of some documents only, as if there were no others.

    Its operator need not know: it is given the plan about a corpus of just the documents that meet `where`
    (`executor.document_subset`). One that can do without such a corpus names a second operator, `direct`,
    which is given the plan as it is and the documents, and may decline by returning None.
    """

    direct: ClassVar[str | None] = None

    where: DocExpr | None = field(default=None, kw_only=True)
    costs: Costs | None = field(default=None, compare=False, kw_only=True)

    def __init_subclass__(cls, direct: str | None = None, **registered: Any) -> None:
        super().__init_subclass__(**registered)
        cls.direct = direct

    def where_clause(self) -> DocExpr | None:
        return self.where


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


@dataclass(frozen=True)
class ExplainPlan(Plan):
    """EXPLAIN of a finished plan; `fired` are the rules that changed it, in order."""

    plan: Plan
    analyze: bool = False
    fired: tuple[str, ...] = ()

    def label(self) -> str:
        return "explain analyze" if self.analyze else "explain"
