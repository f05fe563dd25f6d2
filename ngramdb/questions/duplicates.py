"""DELETE DUPLICATES: copies of documents are removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ngramdb.curation.equal_documents import Copies, copies
from ngramdb.curation.marks import Marks, of_documents
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition, has_all_of
from ngramdb.planner.bind_fields import document_keys
from ngramdb.planner.plan import Costs, DocExpr, FieldKey, Plan, Question
from ngramdb.planner.scope import Scope, same_kind
from ngramdb.questions import to_ast
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.plans import Removal, Session
from ngramdb.questions.requests import Statement, quoted_name
from ngramdb.source import Catalog, Corpus

DELETE_COLUMNS = ("documents", "tokens", "version")
NORMALIZATIONS = ("case", "space", "nfc", "quotes")

# Syntax and examples, for help.
HELP = {
    "DELETE DUPLICATES": (
        "DELETE DUPLICATES [NORMALIZE CASE | SPACE | NFC | QUOTES {, …}] [KEEP FIRST | NONE | BY keys]\n"
        "  [AGAINST source] [WHERE condition] [FROM source]",
        (
            "DELETE DUPLICATES KEEP BY score DESC",
            "of equal documents, only the one with the best score stays",
        ),
    ),
}


class Chosen(NamedTuple):
    """The clauses WHERE, KEEP BY and AGAINST of a removal of duplicates, bound to a version."""

    where: DocExpr
    order: tuple[FieldKey, ...]
    against: Corpus | None
    costs: Costs | None = None


#: Binds these clauses to the version that a commit succeeds.
Rebind = Callable[[Catalog, Corpus], Chosen]


def bind_delete(scope: Scope, node: ast.DeleteDuplicates) -> Plan:
    """Bind DELETE DUPLICATES."""
    source = node.source
    if source is not None and not (len(source.terms) == 1 and source.terms[0].version is None):
        scope.fail(PlanError, "duplicates are deleted from one corpus, as it is now", source)
    if len(set(node.normalize)) < len(node.normalize):
        scope.fail(PlanError, "NORMALIZE names the same difference twice", node)
    corpus = scope.corpus(source)

    def rebind(catalog: Catalog, now: Corpus) -> Chosen:
        return _chosen(Scope(catalog, scope.parameters, scope.text), node, now)

    found = _chosen(scope, node, corpus)
    return DeleteDuplicates(
        corpus,
        found.where,
        found.order,
        node.keep is None or node.keep.keeps_one,
        node.normalize,
        None if found.against is None else found.against.entry.name,
        scope.written(node, scope.catalog.match()),
        rebind,
    )


def _chosen(scope: Scope, node: ast.DeleteDuplicates, corpus: Corpus) -> Chosen:
    scope.removes = True
    against = None if node.against is None else compared(scope, node.against, corpus, not node.normalize)
    order = document_keys(scope, () if node.keep is None else node.keep.order, corpus)
    return Chosen(condition(scope, node.where, corpus), order, against)


def compared(scope: Scope, node: ast.Source, corpus: Corpus, by_tokens: bool = True) -> Corpus:
    """Return the corpus of AGAINST. Raises PlanError if nothing, or everything, would be found there."""
    other = scope.corpus(node)
    if has_all_of(scope, node, corpus):
        what = f"every document of {corpus.entry.name} equals itself" + (
            ", and all would be removed" if scope.removes else ""
        )
        scope.fail(PlanError, f"{what}; compare with another corpus, or leave AGAINST out", node)
    if by_tokens and not same_kind(corpus.tokenizer, other.tokenizer):
        what = f"{other.entry.name} has another tokenizer, so its tokens cannot be compared"
        scope.fail(PlanError, f"{what}; compare texts, with NORMALIZE" if scope.removes else what, node)
    return other


@dataclass(frozen=True)
class DeleteDuplicates(Question, Removal):
    """DELETE DUPLICATES. `where` and `order` are bound to the version that was planned on, for EXPLAIN.

    `rebind` binds the clauses to the version that the commit succeeds. `statement` and `reason` are for the
    audit record.
    """

    name = "delete_duplicates"

    where: DocExpr
    order: tuple[FieldKey, ...]
    keeps_one: bool
    normalize: tuple[str, ...]
    against: str | None
    statement: str
    rebind: Rebind = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        kept = "first" if self.keeps_one else "none"
        parts = ["keep " + (", ".join(key.label() for key in self.order) or kept)]
        if self.normalize:
            parts.append(f"normalize {', '.join(self.normalize).lower()}")
        if self.against is not None:
            parts.append(f"against {self.against}")
        return f"delete duplicates ({'; '.join(parts)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return one row: the number of documents and tokens that were removed, and the new version."""
        name = self.corpus.entry.name
        with session.change(name, f"delete duplicates from {name}") as change:
            found = self._copies(session, change.view)
            change.remove(found.chosen, found.notes, statement=self.statement, reason=self.reason)
            done = change.commit()
        row = (done.documents, done.tokens, done.version)
        return Result.of_rows(DELETE_COLUMNS, [row], **dict(zip(DELETE_COLUMNS, row, strict=True)))

    def marks(self, session: Session) -> list[Marks]:
        return of_documents(self._copies(session, self.corpus).chosen)

    def _copies(self, session: Session, view: Corpus) -> Copies:
        bound = bound_now(session, self.rebind, view)
        found = matching(view, bound.where, bound.costs, None)
        return copies(
            view,
            [docs.numbers() for _, docs in found],
            order=documents_in_order(bound.order, found) if bound.order else None,
            keeps_one=self.keeps_one,
            against=bound.against,
            normalize=self.normalize,
        )


def bound_now(session: Session, rebind: Rebind, view: Corpus) -> Chosen:
    """Bind and optimize the clauses for the version that a change under way succeeds."""
    bound: list[Chosen] = []

    def condition_of(catalog: Catalog, corpus: Corpus) -> DocExpr:
        bound.append(rebind(catalog, corpus))
        return bound[-1].where

    where, costs = session.planned(condition_of, view)
    return bound[-1]._replace(where=where, costs=costs)


def statement_of(
    corpus: str,
    where: str | None,
    normalize: str | Sequence[str],
    keep: str,
    keep_by: str | Sequence[str] | None,
    descending: bool,
    against: str | None,
) -> str:
    """Return the statement that a call of `Corpus.delete_duplicates` stands for. Raises InvalidArgument."""
    given = (normalize,) if isinstance(normalize, str) else normalize
    if not isinstance(given, (list, tuple, set)):
        raise InvalidArgument(
            f"normalize takes one or several of {', '.join(NORMALIZATIONS)}, not {normalize!r}"
        )
    unknown = [one for one in given if one not in NORMALIZATIONS]
    if unknown:
        raise InvalidArgument(f"normalize takes {', '.join(NORMALIZATIONS)}, not {unknown[0]!r}")
    made = Statement("DELETE DUPLICATES").source(corpus)
    if given:
        made.add("NORMALIZE " + ", ".join(given).upper())
    kept = kept_copy(keep, keep_by, descending)
    if kept != "KEEP FIRST":
        made.add(kept)
    if against is not None:
        made.add(f"AGAINST {quoted_name(against)}")
    return made.where(where).text


def kept_copy(keep: str, keep_by: str | Sequence[str] | None, descending: bool) -> str:
    """Return the clause KEEP that arguments of a verb stand for. Raises InvalidArgument."""
    if keep not in ("first", "none"):
        raise InvalidArgument(f"keep must be 'first' or 'none', not {keep!r}; fields are given as keep_by")
    keys = to_ast.fields("keep_by", keep_by)
    if keys and keep != "first":
        raise InvalidArgument(f"keep_by and keep={keep!r} exclude each other; omit one of them")
    if descending and not keys:
        raise InvalidArgument("descending is the order of keep_by, which is missing")
    way = " DESC" if descending else ""
    by = ", ".join(".".join(map(quoted_name, key.keys)) + way for key in keys)
    return f"KEEP BY {by}" if by else f"KEEP {keep.upper()}"
