"""CUT DUPLICATES and CUT SPANS: repeated text, and occurrences of a pattern, are cut out of documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ngramdb.conditions.expressions import united
from ngramdb.conditions.text_expressions import holds_token
from ngramdb.curation.cutting import CutReport, cut
from ngramdb.curation.pieces import with_context
from ngramdb.curation.windows import Ranges, duplicate_ranges
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import each_segment, matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_fields import document_keys
from ngramdb.planner.bind_occurrences import occurring
from ngramdb.planner.plan import AllDocs, Costs, DocExpr, FieldKey, InPart, Plan, Question, changed
from ngramdb.planner.plan.nodes import Node
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.duplicates import kept_copy
from ngramdb.questions.kwic_lines import Search, lines_in
from ngramdb.questions.parsing import Pattern
from ngramdb.questions.plans import Action, BindPlan, Session
from ngramdb.questions.requests import Statement
from ngramdb.questions.signatures import Ngram
from ngramdb.source import Catalog, Corpus

CUT_COLUMNS = ("documents", "removed", "tokens", "pieces", "version")
LENGTH = 50
MIN_COUNT = 2

# Syntax and examples, for help.
HELP = {
    "CUT DUPLICATES": (
        "CUT DUPLICATES [LENGTH >= n TOKENS] [MIN COUNT k] [KEEP FIRST | NONE | BY keys]\n"
        "  [WHERE condition] [FROM source]",
        (
            "CUT DUPLICATES LENGTH >= 50 TOKENS KEEP BY score DESC",
            "of text that is repeated, only the copy in the best document stays",
        ),
    ),
    "CUT SPANS": (
        "CUT SPANS WHERE condition [CONTEXT n] [FROM source]",
        (
            'CUT SPANS WHERE "all rights reserved" CONTEXT 5',
            "each occurrence is cut out of its document, with five tokens on either side",
        ),
    ),
}


class Chosen(NamedTuple):
    """The clauses of CUT DUPLICATES, bound to a version."""

    where: DocExpr
    order: tuple[FieldKey, ...]


@dataclass(frozen=True)
class Rule:
    """The windows that are duplicates: their length in tokens, how often they occur, if a copy is kept."""

    length: int = LENGTH
    min_count: int = MIN_COUNT
    keeps_one: bool = True

    def label(self) -> str:
        least = f", at least {self.min_count:,} times" if self.min_count > MIN_COUNT else ""
        return f"of {self.length:,} tokens{least}"


def bind_duplicates(scope: Scope, node: ast.CutDuplicates) -> Plan:
    """Bind CUT DUPLICATES."""
    corpus = _cut_corpus(scope, node.source)
    rule = Rule(
        scope.number(node.length, "LENGTH", 1) or LENGTH,
        scope.number(node.min_count, "MIN COUNT", 2) or MIN_COUNT,
        node.keep is None or node.keep.keeps_one,
    )

    def rebind(catalog: Catalog, now: Corpus) -> Chosen:
        return _chosen(Scope(catalog, scope.parameters, scope.text), node, now)

    found = _chosen(scope, node, corpus)
    statement = scope.written(node, scope.catalog.match())
    return CutDuplicates(corpus, found.where, found.order, rule, statement, rebind)


def _cut_corpus(scope: Scope, source: ast.Source | None) -> Corpus:
    if source is not None and not (len(source.terms) == 1 and source.terms[0].version is None):
        scope.fail(PlanError, "text is cut out of one corpus, as it is now", source)
    return scope.corpus(source)


def _chosen(scope: Scope, node: ast.CutDuplicates, corpus: Corpus) -> Chosen:
    scope.removes = True
    order = document_keys(scope, () if node.keep is None else node.keep.order, corpus)
    return Chosen(condition(scope, node.where, corpus), order)


@dataclass(frozen=True)
class CutDuplicates(Question, Action):
    """CUT DUPLICATES. `where` and `order` are bound to the version that was planned on, for EXPLAIN.

    `rebind` binds the clauses to the version that the commit succeeds. `statement` and `reason` are for the
    audit record.
    """

    where: DocExpr
    order: tuple[FieldKey, ...]
    rule: Rule
    statement: str
    rebind: Callable[[Catalog, Corpus], Chosen] = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        kept = ", ".join(key.label() for key in self.order) or ("first" if self.rule.keeps_one else "none")
        return f"cut duplicates ({self.rule.label()}; keep {kept})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return one row: what was cut, and the new version."""
        done = self.cut(session)
        return Result.of_rows(CUT_COLUMNS, [done], **done._asdict())

    def cut(self, session: Session) -> CutReport:
        """Cut, and return what was cut."""
        name = self.corpus.entry.name
        with session.change(name, f"cut duplicates out of {name}") as change:
            found = self._ranges(session, change.view)
            return cut(change, found, statement=self.statement, reason=self.reason)

    def _ranges(self, session: Session, view: Corpus) -> list[Ranges]:
        bound: list[Chosen] = []

        def condition_of(catalog: Catalog, corpus: Corpus) -> DocExpr:
            bound.append(self.rebind(catalog, corpus))
            return bound[-1].where

        where, costs = session.planned(condition_of, view)
        found = matching(view, where, costs, None)
        return duplicate_ranges(
            view,
            self.rule.length,
            min_count=self.rule.min_count,
            order=documents_in_order(bound[-1].order, found) if bound[-1].order else None,
            keeps_one=self.rule.keeps_one,
            documents=[docs.numbers() for _, docs in found],
        )


# ---- CUT SPANS


def bind_spans(scope: Scope, node: ast.CutSpans) -> Plan:
    """Bind CUT SPANS."""
    corpus = _cut_corpus(scope, node.source)
    if isinstance(node.where, ast.Not):
        what = "CUT SPANS cannot begin with NOT; DELETE DOCS WHERE NOT … removes the documents without"
        scope.fail(PlanError, what, node.where)
    context = scope.number(node.context, "CONTEXT", 0) or 0
    statement = scope.written(node, scope.catalog.match())

    def rebind(catalog: Catalog, now: Corpus) -> CutSpans:
        again = Scope(catalog, scope.parameters, scope.text)
        return CutSpans(now, _spans(again, node, now), context, statement, rebind)

    return CutSpans(corpus, _spans(scope, node, corpus), context, statement, rebind)


def _spans(scope: Scope, node: ast.CutSpans, corpus: Corpus) -> InPart:
    scope.removes = True
    return InPart(occurring(scope, node.where, corpus, condition), AllDocs())


@dataclass(frozen=True)
class CutSpans(Question, Action):
    """CUT SPANS. `what` is bound to the version that was planned on, for EXPLAIN.

    `rebind` makes the same plan for the version that the commit succeeds. `statement` and `reason` are for
    the audit record.
    """

    what: InPart
    context: int
    statement: str
    rebind: BindPlan = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        around = f" (with {self.context:,} tokens on either side)" if self.context else ""
        return f"cut spans{around}"

    def tree(self) -> Node:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)

    def act(self, session: Session) -> Result:
        """Return one row: what was cut, and the new version."""
        done = self.cut(session)
        return Result.of_rows(CUT_COLUMNS, [done], **done._asdict())

    def cut(self, session: Session) -> CutReport:
        """Cut, and return what was cut."""
        name = self.corpus.entry.name
        with session.change(name, f"cut spans out of {name}") as change:
            plan = session.prepared(self.rebind, change.view)
            assert isinstance(plan, CutSpans)
            return cut(change, plan.ranges(), statement=self.statement, reason=self.reason)

    def ranges(self) -> list[Ranges]:
        """Return the tokens of all occurrences with their contexts, per segment."""
        what = changed(self.what, what=united(self.what.what, self.corpus.tokenizer))
        search = Search(None, AllDocs(), what, self.costs)
        found = []
        for i, lines in enumerate(each_segment(self.corpus, lines_in, search)):
            at = lines.occurrences
            assert at is not None
            segment = self.corpus.segments[i]
            if at.cuts is not None:  # white space between tokens cannot be cut
                at = at[holds_token(segment, self.corpus.tokenizer, at.starts, at.stops, at.cuts)]
            found.append(with_context(segment, Ranges(at.starts, at.stops), self.context))
        return found


# ---- the verbs' arguments


def spans_statement(
    corpus: str,
    pattern: Ngram | Pattern,
    where: str | None,
    context: int,
    match_text: bool | None,
    ignore_case: bool | None,
) -> str:
    """Return the statement that a call of `Corpus.cut_spans` stands for. Raises InvalidArgument."""
    made = Statement("CUT SPANS").source(corpus)
    made.add(f"WHERE {to_ast.written(pattern, match_text, ignore_case)}")
    if where is not None:
        made.condition("AND", f"({where}\n)")
    if context:
        made.add(f"CONTEXT {to_ast.whole(0, 'context', context)}")
    return made.text


def duplicates_statement(
    corpus: str,
    where: str | None,
    length: int,
    min_count: int,
    keep: str,
    keep_by: str | Sequence[str] | None,
    descending: bool,
) -> str:
    """Return the statement that a call of `Corpus.cut_duplicates` stands for. Raises InvalidArgument."""
    made = Statement("CUT DUPLICATES").source(corpus)
    made.add(f"LENGTH >= {to_ast.whole(1, 'length', length)} TOKENS")
    made.add(f"MIN COUNT {to_ast.whole(2, 'min_count', min_count)}")
    return made.add(kept_copy(keep, keep_by, descending)).where(where).text
