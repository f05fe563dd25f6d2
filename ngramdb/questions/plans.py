"""The bases of the plans of statements: a query answers itself from its corpus, an action uses a session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import PlanError
from ngramdb.executor.result import Result
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.lm.spec import is_cut, separator_of
from ngramdb.planner import plan as plans
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Constant,
    DocExpr,
    FieldKey,
    Plan,
    Question,
    changed,
)
from ngramdb.source import Catalog, Corpus

if TYPE_CHECKING:
    from ngramdb.conditions.docset import DocSet
    from ngramdb.curation.marks import Marks
    from ngramdb.executor import per_segment
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.lm.statistics import Statistics
    from ngramdb.patterns import Gram
    from ngramdb.planner.plan import Costs, PlanMeter
    from ngramdb.segments.base import Segment
    from ngramdb.segments.metadata import MetadataReader
    from ngramdb.tokenizers.base import Tokenizer
    from ngramdb.types import Docs
else:
    per_segment = lazy_module("ngramdb.executor.per_segment")


NOTHING_MEETS = "no document meets the condition"


class Query(Question):
    """The plan of a statement that only reads a corpus, and perhaps a file."""

    @property
    def path(self) -> str | None:
        """The file or folder that is read beside the database, or None."""
        return None

    @abstractmethod
    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the answer. With a meter, the nodes of the plan's tree record what they did."""


@dataclass(frozen=True)
class SliceQuery(Query):
    """A query that may be limited to the documents that meet a condition.

    Every model works on a corpus of these documents as on any other, so the answer is exactly that of a
    corpus into which nothing else was loaded.
    """

    where: DocExpr | None = field(default=None, kw_only=True)
    costs: Costs | None = field(default=None, compare=False, kw_only=True)

    def where_clause(self) -> DocExpr | None:
        return self.where

    @abstractmethod
    def answer_whole(self) -> Result:
        """Return the answer from all documents of the corpus."""

    def answer_among(self, found: Sequence[tuple[Segment, DocSet]]) -> Result | None:
        """Return the answer from some documents without an index of just these, or None if it needs one."""
        return None

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the answer from the documents that meet the condition.

        Cost: that of finding them and of the answer. An index of these documents, which is built once for
        each set of documents, takes about 100 ns per token of them or of the others, whichever are fewer.
        """
        if self.where is None or isinstance(self.where, plans.AllDocs):
            return self.answer_whole()
        found = per_segment.matching(self.corpus, self.where, self.costs, meter)
        answered = self.answer_among(found)
        if answered is None:
            part = self.corpus.sliced([docs.numbers() for _, docs in found], self.where.label())
            answered = changed(self, corpus=part, where=None).answer_whole()
        if not any(len(docs) for _, docs in found):
            others = [answered.summary["note"]] if "note" in answered.summary else []
            answered.summary["note"] = "; ".join([NOTHING_MEETS, *others])
        return answered


@dataclass(frozen=True)
class ContextQuery(SliceQuery):
    """A query about what follows a context, under a language model."""

    context: Gram
    model: ModelSpec

    @abstractmethod
    def unanswered(self, effective_n: int) -> Constant:
        """Return the answer of an n-gram model after a context that does not occur."""

    def fold_unknown_words(self) -> Plan:
        read = self.context.before(self.model.order)
        # A separator starts a new context, which may hide the unknown word from the model.
        if self.model.kind != "ngram" or read.known or is_cut(self.corpus):
            return self
        return self.unanswered(len(read) + 1)

    def cut_context(self) -> Plan:
        context = self._read_context()
        return self if context is self.context else changed(self, context=context)

    def _read_context(self) -> Gram:
        """Return the part of the context that can affect the answer."""
        context = self.context
        if is_cut(self.corpus):
            separators = np.flatnonzero(context.ids == separator_of(self.corpus))
            return context.last(len(context) - int(separators[-1])) if separators.size else context
        context = context.before(self.model.order)
        if not self.model.infgram or context.known:
            return context
        last_unknown = int(np.flatnonzero(context.ids < 0)[-1])
        return context.last(len(context) - last_unknown - 1)


class Action(Plan):
    """A statement that changes the database or the session, or that lists what they have.

    `only_reads` is True if those who may only read may run it.
    """

    only_reads: ClassVar[bool] = False

    @abstractmethod
    def act(self, session: Session) -> Result:
        """Run the statement."""


class Removal(Action):
    """A statement that removes documents, or parts of them; `name` is what it does, as in plans of curation.

    `is_of_ranges` is True if it removes ranges of texts.
    """

    name: ClassVar[str]
    is_of_ranges: ClassVar[bool] = False
    corpus: Corpus

    @abstractmethod
    def marks(self, session: Session) -> list[Marks]:
        """Return what it would remove from the corpus, per segment."""


def is_question(plan: Plan) -> bool:
    """Return True if running the plan only reads the corpus that it holds."""
    return isinstance(plan, (Constant, Query))


def answer(plan: Plan, meter: PlanMeter | None = None) -> Result:
    """Answer a query. With a meter, the nodes of the plan's tree record what they did."""
    if isinstance(plan, Query):
        return plan.answer(meter)
    if isinstance(plan, Constant):
        return _known(plan)
    raise PlanError(f"{plan.label()} is not a query")


def _known(plan: Constant) -> Result:
    known = Result.of_rows(plan.columns, plan.rows, **plan.summary)
    if plan.columns == COUNT_COLUMNS:
        known.found = plan.rows[0][0] > 0
    return known


def run(plan: Plan, session: Session) -> Result:
    """Run any plan: answer a question, or act through the session."""
    if isinstance(plan, Action):
        return plan.act(session)
    return answer(plan)


# ---- the interface that statements need from a connection, so that they do not depend on connections


# Binds a condition to the corpus once the writer's lock is held.
BindCondition = Callable[[Catalog, Corpus], DocExpr]
# The same for a plan.
BindPlan = Callable[[Catalog, Corpus], Plan]


@dataclass(frozen=True)
class Written:
    """The outcome of COPY … TO: the number of documents or rows written, and warnings about the file.

    `summary`, `exact` and `found` are those of the query's result.
    """

    n: int
    summary: Mapping[str, Any]
    cautions: tuple[Any, ...] = ()
    exact: bool = True
    found: bool | None = None


class LoadSummary(Protocol):
    """The outcome of a load."""

    @property
    def documents(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def reasons(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def version(self) -> int: ...


class Outcome(Protocol):
    """The outcome of a change to a corpus's documents."""

    @property
    def documents(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def version(self) -> int: ...


class Compaction(Protocol):
    """The outcome of COMPACT."""

    @property
    def segments_before(self) -> int: ...
    @property
    def segments_after(self) -> int: ...
    @property
    def documents_dropped(self) -> int: ...
    @property
    def bytes_before(self) -> int: ...
    @property
    def bytes_after(self) -> int: ...
    @property
    def version(self) -> int: ...


class FieldsReport(Protocol):
    """The outcome of ALTER CORPUS … ADD FIELDS (`AddedFields` in `ngramdb.engine.changes.joining`)."""

    @property
    def documents(self) -> int: ...
    @property
    def without_row(self) -> int: ...
    @property
    def first_without_row(self) -> tuple[int, ...]: ...
    @property
    def rows(self) -> int: ...
    @property
    def unmatched(self) -> int: ...
    @property
    def first_unmatched(self) -> tuple[str | int, ...]: ...
    @property
    def without_key(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    @property
    def shared(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def notes(self) -> Sequence[str]: ...


class Change(Protocol):
    """A change to a corpus, with the writer's lock held; `view` is the version before it."""

    @property
    def view(self) -> Corpus: ...
    def remove(
        self,
        chosen: Sequence[Docs],
        notes: Sequence[dict[str, Any]] | None = None,
        *,
        statement: str = "",
        reason: str = "",
    ) -> None: ...
    def replace_segments(
        self, sources: Sequence[Any], *, statement: str = "", reason: str = ""
    ) -> Outcome: ...
    def encoded(self, text: str) -> tuple[Tokenizer, NDArray[np.uint32]]: ...
    def set_fields(
        self, chosen: Sequence[Docs], values: Sequence[MetadataReader], paths: Sequence[str]
    ) -> None: ...
    def drop_fields(self, paths: Sequence[str]) -> None: ...
    def compact(self) -> Compaction: ...
    def commit(self) -> Outcome: ...


class Analysis(Protocol):
    """The outcome of ANALYZE."""

    @property
    def statistics(self) -> Statistics: ...
    @property
    def version(self) -> int: ...


class Session(Protocol):
    """A connection, as actions and tables use it."""

    @property
    def manifest(self) -> Any: ...
    @property
    def entries(self) -> Mapping[str, Any]: ...
    @property
    def current(self) -> str | None: ...
    @property
    def threads(self) -> int: ...
    def versions(self) -> Sequence[Any]: ...
    def removals(self, name: str, /) -> Iterator[tuple[Any, int]]: ...
    def resident_bytes(self, segment: Any, /) -> int | None: ...
    def tokenizer_title(self, name: str, /) -> str: ...
    def setting_rows(self) -> list[tuple[Any, ...]]: ...
    def findings(self, names: Sequence[str], /) -> Iterator[tuple[str | None, str, int | None, str]]: ...
    def run_create(
        self, name: str, tokenizer: Any, if_not_exists: bool, options: Mapping[str, Any], /
    ) -> int | None: ...
    def run_copy(
        self, name: str, source: Corpus, chosen: Sequence[Docs], if_not_exists: bool, /
    ) -> Outcome | None: ...
    def run_drop(self, name: str, if_exists: bool, /) -> int | None: ...
    def run_load(
        self, name: str, paths: tuple[str, ...], options: Mapping[str, Any], skip_errors: bool, /
    ) -> LoadSummary: ...
    def change(self, name: str, action: str, /) -> AbstractContextManager[Change]: ...
    def planned(self, condition: BindCondition, corpus: Corpus, /) -> tuple[DocExpr, Costs | None]: ...
    def prepared(self, bind: BindPlan, corpus: Corpus, /) -> Plan: ...
    def scratch(self, text: str, like: Corpus, /) -> Corpus: ...
    def run_restore(self, name: str, version: int, /) -> Outcome: ...
    def run_keep(self, name: str, version: int | None, /) -> tuple[int, int]: ...
    def run_drop_version(self, name: str, /) -> tuple[int, int]: ...
    def run_alter(
        self, name: str, other: str, sign: int, version: int | None, statement: str, /
    ) -> Outcome: ...
    def run_add_fields(
        self,
        name: str,
        table: Any,
        key: Callable[[Corpus], FieldKey],
        column: str,
        names: Sequence[str] | None,
        replaces: bool,
        /,
    ) -> FieldsReport: ...
    def run_decontaminate(
        self,
        name: str,
        path: str,
        measure: Mapping[str, Any],
        options: Mapping[str, Any],
        choose: Callable[[Corpus], list[Docs]] | None,
        deletes: bool,
        statement: str,
        /,
    ) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]: ...
    def contaminated(
        self,
        corpus: Corpus,
        path: str,
        measure: Mapping[str, Any],
        options: Mapping[str, Any],
        choose: Callable[[Corpus], list[Docs]] | None,
        /,
    ) -> list[Docs]: ...
    def run_export_rows(self, rows: Result, path: str, options: Mapping[str, Any], /) -> Written: ...
    def run_export_marks(
        self, corpus: Corpus, marks: Sequence[Any], key: FieldKey, path: str, options: Mapping[str, Any], /
    ) -> Written: ...
    def run_export(self, documents: Plan, path: str, options: Mapping[str, Any], /) -> Written: ...
    def run_analyze(self, name: str, order: int | None, /) -> Analysis: ...
    def run_attach(self, path: str, name: str, options: Mapping[str, Any], /) -> None: ...
    def run_detach(self, name: str, /) -> None: ...
    def run_use(self, name: str, /) -> None: ...
    def run_setting(self, name: str, value: Any, reset: bool, /) -> Any: ...
