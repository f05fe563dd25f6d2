"""Documents that are contained in others that are kept: their plans, listed or removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.curation import near_duplicates as finding
from ngramdb.curation.near_duplicates import MOST_CANDIDATES, Found, NearDuplicate, Rule
from ngramdb.errors import InvalidArgument
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.plan import Costs, DocExpr, FieldKey, PlanMeter
from ngramdb.questions import to_ast
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.plans import Action, BindCondition, Query, Session
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW = ("doc", "kept_doc", "contained", "jaccard", "length", "kept_length", "reason")
TYPES = (int, int, float, float, int, int, str)
DELETED_ROW = ("documents", "tokens", "version")

KEEP = ("longest", "first")
CANDIDATES = ("index", "minhash")
# Bands and rows of sketches: half of all pairs with a Jaccard index of 0.72 are candidates.
BANDS, ROWS = 26, 11

BindKeys = Callable[[Corpus], tuple[FieldKey, ...]]


@dataclass(frozen=True)
class Keeping:
    """The order in which documents are kept: the longest first, by id, or by fields."""

    longest: bool = True
    keys: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        if self.keys:
            return "by " + ", ".join(key.label() for key in self.keys)
        return "the longest" if self.longest else "the first"


def rule_of(contained: Any, n: Any, candidates: str) -> Rule:
    """Return the rule of a verb's arguments. Raises InvalidArgument."""
    if isinstance(contained, bool) or not isinstance(contained, (int, float)) or not 0 < contained <= 1:
        raise InvalidArgument(f"contained must be a number above 0 and at most 1, not {contained!r}")
    if candidates not in CANDIDATES:
        raise InvalidArgument(f"candidates must be one of {', '.join(CANDIDATES)}, not {candidates!r}")
    words = to_ast.whole(1, "n", n)
    if words > MOST_WORDS:
        raise InvalidArgument(f"n must be at most {MOST_WORDS}, not {words}")
    sketches = (BANDS, ROWS) if candidates == "minhash" else (0, 0)
    return Rule(float(contained), words, *sketches)


# The greatest length of n-grams.
MOST_WORDS = 100


def order_of(
    keep: str, keep_by: str | Sequence[str] | None, descending: bool
) -> tuple[bool, tuple[ast.OrderBy, ...]]:
    """Return whether the longest documents are kept, and the keys of KEEP BY. Raises InvalidArgument."""
    if keep not in KEEP:
        raise InvalidArgument(f"keep must be one of {', '.join(KEEP)}, not {keep!r}; keep_by takes fields")
    keys = tuple(ast.OrderBy(key, descending) for key in to_ast.fields("keep_by", keep_by))
    return keep == "longest", keys


@dataclass(frozen=True)
class FindNearDuplicates(Query):
    """A row per document that is contained in another, which is kept."""

    where: DocExpr
    rule: Rule
    keeping: Keeping
    limit: int | None = None
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return f"near duplicates ({described(self.rule, self.keeping)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the documents in the order of their ids; `summary['total']` is their number."""
        view = self.corpus
        found = _found(view, self.where, self.costs, self.rule, self.keeping, meter)
        rows = [_row(view, one) for one in found.pairs[: self.limit]]
        summary = {"total": len(found.pairs), **_notes(found)}
        types = TYPES if view.n_added < 2 else (str, str, *TYPES[2:])
        return Result(ROW, iter([rows]), summary=summary, n_rows=len(rows), types=types)


def described(rule: Rule, keeping: Keeping) -> str:
    """Return a rule in words, for plans and audit records."""
    way = f"sketches of {rule.bands} * {rule.rows}" if rule.bands else "shared n-grams"
    return f"{rule.contained:g} of {rule.n}-grams of words, keeping {keeping.label()}, candidates by {way}"


def _found(
    view: Corpus,
    where: DocExpr,
    costs: Costs | None,
    rule: Rule,
    keeping: Keeping,
    meter: PlanMeter | None = None,
) -> Found:
    among = matching(view, where, costs, meter)
    order = documents_in_order(keeping.keys, among) if keeping.keys else None
    documents = [docs.numbers() for _, docs in among]
    return finding.near_duplicates(
        view, rule, keeps_longest=keeping.longest, order=order, documents=documents
    )


def _row(view: Corpus, one: NearDuplicate) -> tuple[Any, ...]:
    doc, kept = _shown(view, *one.document), _shown(view, *one.kept)
    return (doc, kept, one.contained, one.jaccard, one.length, one.kept_length, one.reason)


def _shown(view: Corpus, segment: int, number: int) -> int | str:
    """Return the id of a document; in a sum of corpora, `corpus:doc_id`."""
    doc_id = view.segments[segment].doc_id(number)
    return doc_id if view.n_added < 2 else f"{view.corpus_of(segment)}:{doc_id}"


def _notes(found: Found) -> dict[str, str]:
    if not found.n_bounded:
        return {}
    n = f"{found.n_bounded:,} document{'' if found.n_bounded == 1 else 's'}"
    compared = f"{MOST_CANDIDATES} candidates, of which {MOST_CANDIDATES} were compared"
    return {"note": f"{n} that stayed had more than {compared}"}


def _note_of(view: Corpus, one: NearDuplicate) -> dict[str, Any]:
    """Return the details of a removed document for the audit record."""
    return {"kept": _shown(view, *one.kept), "reason": one.reason, "contained": one.contained}


@dataclass(frozen=True)
class DeleteNearDuplicates(Action):
    """Remove the documents that are contained in others, which are kept.

    `condition` and `keys` are bound to the version that the commit succeeds; `statement` and `reason` are for
    the audit record.
    """

    name: str
    rule: Rule
    keeping: Keeping
    condition: BindCondition = dataclasses.field(compare=False, repr=False)
    keys: BindKeys = dataclasses.field(compare=False, repr=False)
    statement: str = ""
    reason: str = ""

    def label(self) -> str:
        return f"delete near duplicates from {self.name} ({described(self.rule, self.keeping)})"

    def act(self, session: Session) -> Result:
        """Return one row: what was removed."""
        with session.change(self.name, f"delete near duplicates from {self.name}") as change:
            view = change.view
            where, costs = session.planned(self.condition, view)
            keeping = Keeping(self.keeping.longest, self.keys(view))
            found = _found(view, where, costs, self.rule, keeping)
            chosen = [
                np.array([one.document[1] for one in found.pairs if one.document[0] == i], dtype=np.uint32)
                for i in range(len(view.segments))
            ]
            notes = [_note_of(view, one) for one in found.pairs]
            change.remove(chosen, notes, statement=self.statement, reason=self.reason)
            outcome = change.commit()
        row = (outcome.documents, outcome.tokens, outcome.version)
        return Result.of_rows(DELETED_ROW, [row], **dict(zip(DELETED_ROW, row, strict=True)), **_notes(found))
