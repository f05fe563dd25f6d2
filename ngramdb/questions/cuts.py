"""CUT DUPLICATES and CUT SPANS: repeated text, and occurrences of a pattern, are cut out of documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ngramdb.conditions.expressions import united
from ngramdb.conditions.text_expressions import holds_token
from ngramdb.curation.cut_rules import BORDERS, CutRule, with_context
from ngramdb.curation.cutting import CutReport, cut
from ngramdb.curation.marks import Marks, of_cuts
from ngramdb.curation.windows import Ranges, Window, duplicate_ranges
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.per_segment import each_segment, matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.patterns import Pattern, StoredText
from ngramdb.planner.bind_conditions import condition, has_all_of
from ngramdb.planner.bind_fields import document_keys
from ngramdb.planner.bind_occurrences import has_occurrences, occurring
from ngramdb.planner.plan import (
    AllDocs,
    Among,
    AnyOf,
    Costs,
    DocExpr,
    FieldKey,
    InDocs,
    InPart,
    NearTo,
    OccurrencesOf,
    Occurring,
    Plan,
    Question,
    Several,
    changed,
)
from ngramdb.planner.plan.nodes import Node
from ngramdb.planner.scope import SHARES, Scope, same_kind
from ngramdb.questions import to_ast
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.kwic_lines import Search, lines_in
from ngramdb.questions.plans import BindPlan, Removal, Session
from ngramdb.questions.requests import Statement, quoted_name
from ngramdb.source import Catalog, Corpus

CUT_COLUMNS = ("documents", "removed", "tokens", "pieces", "version")
LENGTH = 50
MIN_COUNT = 2
#: Fewer tokens take no longer than starting threads.
PARALLEL = 1 << 18
UNITS = ("tokens", "bytes")

# Syntax and examples, for help.
HELP = {
    "CUT DUPLICATES": (
        "CUT DUPLICATES [LENGTH >= n [TOKENS | BYTES]] [MIN COUNT k] [KEEP FIRST | NONE | BY keys]\n"
        "  [AGAINST source] [ON CHARACTERS | WORDS | LINES] [GAP SHARE s] [MIN REST s] [MAX PIECES n]\n"
        "  [REPLACE 'text'] [WHERE condition] [FROM source]",
        (
            "CUT DUPLICATES LENGTH >= 50 TOKENS KEEP BY score DESC",
            "of text that is repeated, only the copy in the best document stays",
        ),
    ),
    "CUT SPANS": (
        "CUT SPANS WHERE condition [CONTEXT n] [ON CHARACTERS | WORDS | LINES] [GAP SHARE s]\n"
        "  [MIN REST s] [MAX PIECES n] [REPLACE 'text'] [FROM source]",
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
    against: Corpus | None


@dataclass(frozen=True)
class Repeated:
    """The windows that are duplicates: their length, how often they occur, and if a copy is kept."""

    window: Window
    min_count: int
    keeps_one: bool

    def label(self) -> str:
        least = f", at least {self.min_count:,} times" if self.min_count > MIN_COUNT else ""
        return f"of {self.window.length:,} {self.window.unit}{least}"


def bind_duplicates(scope: Scope, node: ast.CutDuplicates) -> Plan:
    """Bind CUT DUPLICATES."""
    corpus = _cut_corpus(scope, node.source)
    repeated = Repeated(
        _window(scope, node.length, corpus),
        scope.number(node.min_count, "MIN COUNT", 2) or MIN_COUNT,
        node.keep is None or node.keep.keeps_one,
    )

    def rebind(catalog: Catalog, now: Corpus) -> Chosen:
        return _chosen(Scope(catalog, scope.parameters, scope.text), node, now)

    _check_not_repeated(scope, node, corpus, repeated.window)
    found = _chosen(scope, node, corpus)
    statement = scope.written(node, scope.catalog.match())
    return CutDuplicates(
        corpus,
        found.where,
        found.order,
        repeated,
        None if found.against is None else found.against.entry.name,
        _rule(scope, node, corpus),
        statement,
        rebind,
    )


def _window(scope: Scope, node: ast.Length | None, corpus: Corpus) -> Window:
    if node is None:
        return Window(LENGTH)
    if node.unit == "bytes" and corpus.tokenizer.kind == "tokens":
        what = f"{corpus.entry.name} has token ids without texts, so it has no length in BYTES"
        scope.fail(PlanError, f"{what}; give it in TOKENS", node)
    return Window(scope.number(node.amount, "LENGTH", 1) or LENGTH, node.unit)


def _rule(scope: Scope, node: ast.CutDuplicates | ast.CutSpans, corpus: Corpus) -> CutRule:
    return CutRule(
        node.on,
        scope.real(node.gap_share, "GAP SHARE", SHARES),
        scope.real(node.min_rest, "MIN REST", SHARES) or 0.0,
        scope.number(node.max_pieces, "MAX PIECES", 1),
        None if node.replace is None else _replacement(scope, node.replace, corpus),
    )


def _replacement(scope: Scope, node: ast.Scalar, corpus: Corpus) -> str:
    text = scope.string(node, "REPLACE")
    scope.check_unicode(text, node)
    if corpus.tokenizer.kind == "tokens":
        scope.fail(PlanError, f"{corpus.entry.name} has token ids without texts, so REPLACE has none", node)
    return text


def _check_not_repeated(scope: Scope, node: ast.CutDuplicates, corpus: Corpus, window: Window) -> None:
    """Raise PlanError if replacements would be repeated text, which the next run would cut."""
    if node.replace is None:
        return
    text = scope.string(node.replace, "REPLACE").encode()
    size = len(text) if window.unit == "bytes" else len(corpus.tokenizer.fork().encode_batch([text])[0])
    if size >= window.length:
        what = f"the text of REPLACE has {size:,} {window.unit}, so that it is repeated text itself"
        scope.fail(PlanError, f"{what}; give a text shorter than LENGTH", node.replace)


def _cut_corpus(scope: Scope, source: ast.Source | None) -> Corpus:
    if source is not None and not (len(source.terms) == 1 and source.terms[0].version is None):
        scope.fail(PlanError, "text is cut out of one corpus, as it is now", source)
    return scope.corpus(source)


def _chosen(scope: Scope, node: ast.CutDuplicates, corpus: Corpus) -> Chosen:
    scope.removes = True
    order = document_keys(scope, () if node.keep is None else node.keep.order, corpus)
    against = None if node.against is None else _other(scope, node.against, corpus)
    return Chosen(condition(scope, node.where, corpus), order, against)


def _other(scope: Scope, node: ast.Source, corpus: Corpus) -> Corpus:
    other = scope.corpus(node)
    if has_all_of(scope, node, corpus):
        what = f"all text of {corpus.entry.name} occurs in itself, and would be cut"
        scope.fail(PlanError, f"{what}; compare with another corpus, or leave AGAINST out", node)
    if not same_kind(corpus.tokenizer, other.tokenizer):
        what = f"{other.entry.name} has another tokenizer, so its tokens cannot be compared"
        scope.fail(PlanError, f"{what}; load its documents into a corpus with this tokenizer", node)
    return other


@dataclass(frozen=True)
class CutDuplicates(Question, Removal):
    """CUT DUPLICATES. `where` and `order` are bound to the version that was planned on, for EXPLAIN.

    `rebind` binds the clauses to the version that the commit succeeds. `statement` and `reason` are for the
    audit record.
    """

    name = "cut_duplicates"
    is_of_ranges = True

    where: DocExpr
    order: tuple[FieldKey, ...]
    repeated: Repeated
    against: str | None
    rule: CutRule
    statement: str
    rebind: Callable[[Catalog, Corpus], Chosen] = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        first = "first" if self.repeated.keeps_one else "none"
        kept = ", ".join(key.label() for key in self.order) or first
        there = "" if self.against is None else f"; against {self.against}"
        return f"cut duplicates ({self.repeated.label()}; keep {kept}{there}{self.rule.label()})"

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
            return cut(change, found, self.rule, statement=self.statement, reason=self.reason)

    def marks(self, session: Session) -> list[Marks]:
        return of_cuts(self.corpus, self._ranges(session, self.corpus), self.rule)

    def _ranges(self, session: Session, view: Corpus) -> list[Ranges]:
        bound: list[Chosen] = []

        def condition_of(catalog: Catalog, corpus: Corpus) -> DocExpr:
            bound.append(self.rebind(catalog, corpus))
            return bound[-1].where

        where, costs = session.planned(condition_of, view)
        found = matching(view, where, costs, None)
        return duplicate_ranges(
            view,
            *self.repeated.window,
            min_count=self.repeated.min_count,
            order=documents_in_order(bound[-1].order, found) if bound[-1].order else None,
            keeps_one=self.repeated.keeps_one,
            against=bound[-1].against,
            documents=[docs.numbers() for _, docs in found],
            threads=session.threads if sum(segment.n_tokens for segment in view.segments) > PARALLEL else 1,
        )


# ---- CUT SPANS


def bind_spans(scope: Scope, node: ast.CutSpans) -> Plan:
    """Bind CUT SPANS."""
    corpus = _cut_corpus(scope, node.source)
    if isinstance(node.where, ast.Not):
        what = "CUT SPANS cannot begin with NOT; DELETE DOCS WHERE NOT … removes the documents without"
        scope.fail(PlanError, what, node.where)
    context = scope.number(node.context, "CONTEXT", 0) or 0
    rule, statement = _rule(scope, node, corpus), scope.written(node, scope.catalog.match())

    def of(where: ast.Condition, scope: Scope, corpus: Corpus) -> CutSpans:
        return CutSpans(corpus, _spans(scope, where, corpus), context, rule, statement, rebind, sought)

    def rebind(catalog: Catalog, now: Corpus) -> CutSpans:
        return of(node.where, Scope(catalog, scope.parameters, scope.text), now)

    def sought(catalog: Catalog, other: Corpus) -> CutSpans:
        return of(_without_documents(node.where), Scope(catalog, scope.parameters, scope.text), other)

    return of(node.where, scope, corpus)


def _spans(scope: Scope, where: ast.Condition, corpus: Corpus) -> InPart:
    scope.removes = True
    what = occurring(scope, where, corpus, condition)
    for pattern in _patterns(what):
        if isinstance(pattern, StoredText) and not pattern.text.strip():
            scope.fail(
                PlanError,
                f"{pattern.shown} matches white space between tokens, which cannot be cut: the documents of "
                f"{corpus.entry.name} are cut at their tokens",
                where,
            )
    return InPart(what, AllDocs())


def _without_documents(where: ast.Condition) -> ast.Condition:
    """Return the patterns whose occurrences are cut, without conditions on their documents."""
    if isinstance(where, (ast.And, ast.Within)):
        first = where.operands[0]
        if isinstance(where, ast.Within):
            first = next(filter(has_occurrences, where.operands), first)
        return _without_documents(first)
    if isinstance(where, ast.Or):
        return dataclasses.replace(where, operands=tuple(map(_without_documents, where.operands)))
    return where


def _patterns(expr: Occurring) -> Iterator[Pattern]:
    """Yield the patterns whose occurrences an expression has."""
    if isinstance(expr, OccurrencesOf):
        yield expr.pattern
    elif isinstance(expr, (AnyOf, Several)):
        for operand in expr.operands:
            yield from _patterns(operand)
    elif isinstance(expr, (Among, InDocs, NearTo)):
        yield from _patterns(expr.what)


@dataclass(frozen=True)
class CutSpans(Question, Removal):
    """CUT SPANS. `what` is bound to the version that was planned on, for EXPLAIN.

    `rebind` makes the same plan for the version that the commit succeeds, and `sought` one without
    conditions on documents for another corpus. `statement` and `reason` are for the audit record.
    """

    name = "cut_spans"
    is_of_ranges = True

    what: InPart
    context: int
    rule: CutRule
    statement: str
    rebind: BindPlan = dataclasses.field(compare=False, repr=False)
    sought: BindPlan = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return f"cut spans (context {self.context:,}{self.rule.label()})"

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
        name, replacement = self.corpus.entry.name, self.rule.replacement
        if replacement and self._occurs_in(replacement, session):
            raise InvalidArgument(
                f"the pattern also matches the text of REPLACE, {replacement!r}, which the next run would "
                "cut; give a text that it does not match"
            )
        with session.change(name, f"cut spans out of {name}") as change:
            plan = session.prepared(self.rebind, change.view)
            assert isinstance(plan, CutSpans)
            return cut(change, plan.ranges(), self.rule, statement=self.statement, reason=self.reason)

    def _occurs_in(self, text: str, session: Session) -> bool:
        plan = session.prepared(self.sought, session.scratch(text, self.corpus))
        assert isinstance(plan, CutSpans)
        return any(len(found.starts) for found in plan.ranges())

    def marks(self, session: Session) -> list[Marks]:
        plan = session.prepared(self.rebind, self.corpus)
        assert isinstance(plan, CutSpans)
        return of_cuts(self.corpus, plan.ranges(), self.rule)

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


def duplicates_statement(
    corpus: str,
    where: str | None,
    *,
    length: int,
    unit: str,
    min_count: int,
    kept: str,
    against: str | None,
    rule: str,
) -> str:
    """Return the statement of a call of `Corpus.cut_duplicates`. Raises InvalidArgument.

    kept, rule : the clauses of `kept_copy` and `rule_of`
    """
    if unit not in UNITS:
        raise InvalidArgument(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    made = Statement("CUT DUPLICATES").source(corpus)
    made.add(f"LENGTH >= {to_ast.whole(1, 'length', length)} {unit.upper()}")
    made.add(f"MIN COUNT {to_ast.whole(2, 'min_count', min_count)}").add(kept)
    if against is not None:
        made.add(f"AGAINST {quoted_name(against)}")
    if rule:
        made.add(rule)
    return made.where(where).text


def spans_statement(corpus: str, where: str | None, *, spans: str, context: int, rule: str) -> str:
    """Return the statement of a call of `Corpus.cut_spans`. Raises InvalidArgument.

    spans, rule : the n-gram or pattern, and the clauses of `rule_of`
    """
    made = Statement("CUT SPANS").source(corpus)
    if context := to_ast.whole(0, "context", context):
        made.add(f"CONTEXT {context}")
    if rule:
        made.add(rule)
    made.add(f"WHERE {spans}")
    return made.text if where is None else made.condition("AND", f"({where}\n)").text


def rule_of(
    on: str,
    gap_share: float | None,
    min_rest: float | None,
    max_pieces: int | None,
    replacement: str | None,
) -> str:
    """Return the clauses of a rule for cuts, by the arguments of a verb. Raises InvalidArgument."""
    if on not in BORDERS:
        raise InvalidArgument(f"on must be one of {', '.join(BORDERS)}, not {on!r}")
    made = Statement("" if on == BORDERS[0] else f"ON {on.upper()}")
    for name, value in (("gap_share", gap_share), ("min_rest", min_rest), ("max_pieces", max_pieces)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise InvalidArgument(f"{name} must be a number, not {value!r}")
        made.number(name.upper().replace("_", " "), value)
    if replacement is not None:
        if not isinstance(replacement, str):
            raise InvalidArgument(f"replacement must be a text, not {replacement!r}")
        quoted = replacement.replace("'", "''")
        made.add(f"REPLACE '{quoted}'")
    return made.text
