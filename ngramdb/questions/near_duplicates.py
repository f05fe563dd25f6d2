"""NEAR DUPLICATES and DELETE NEAR DUPLICATES: documents that are contained in others, listed or removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.curation import near_duplicates as finding
from ngramdb.curation.marks import Marks, of_documents
from ngramdb.curation.near_duplicates import MOST_CANDIDATES, Found, NearDuplicate, Rule
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition, has_all_of
from ngramdb.planner.bind_fields import document_keys
from ngramdb.planner.plan import Costs, DocExpr, FieldKey, Plan, PlanMeter, Question
from ngramdb.planner.scope import SHARES, Scope
from ngramdb.questions import requests, to_ast
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.duplicates import Chosen, Rebind, bound_now
from ngramdb.questions.plans import Query, Removal, Session
from ngramdb.questions.requests import Condition, Number, OneOf, Parameter, Spelling, Statement, quoted_name
from ngramdb.questions.verbs import Asking
from ngramdb.source import Catalog
from ngramdb.source import Corpus as CorpusView
from ngramdb.types import Docs, as_flag

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.verbs import Asking as Corpus

ROW = ("doc", "kept_doc", "contained", "jaccard", "length", "kept_length", "reason")
TYPES = (int, int, float, float, int, int, str)
DELETED_ROW = ("documents", "tokens", "version")

KEEP = ("longest", "first")
CANDIDATES = ("index", "minhash")
# Bands and rows of sketches: half of all pairs with a Jaccard index of 0.72 are candidates.
BANDS, ROWS = 26, 11
# The greatest number of minimal hashes of a document.
MOST_HASHES = 4096
# The greatest length of n-grams.
MOST_WORDS = 100

CLAUSES = (
    "[CONTAINED >= share] [NGRAM n WORDS]\n"
    "  [CANDIDATES INDEX | MINHASH [bands * rows]] [KEEP LONGEST | FIRST | BY keys]\n"
    "  [AGAINST source] [WHERE condition]"
)


class Verbs(Asking):
    """Verbs of a corpus."""

    def near_duplicates(
        self,
        where: str | None = None,
        *,
        contained: float = 1.0,
        n: int = 3,
        keep: str = "longest",
        keep_by: str | Sequence[str] | None = None,
        descending: bool = False,
        candidates: str | tuple[int, int] = "index",
        against: str | Corpus | None = None,
        rejected: bool = False,
        limit: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the documents that are contained in others, which are kept: NEAR DUPLICATES.

        Documents are compared by their sets of n-grams of words, without case and punctuation. They are
        taken in the order of `keep`; each is a near duplicate if a document that was kept has the share
        `contained` of its n-grams. Documents of fewer than `n` words, and those in scripts without blanks
        between words, are compared with one another by 5-grams of characters, of which they need 0.9.

        Parameters
        ----------
        where, params : condition on documents, as after WHERE; others are neither kept nor duplicates
        contained : the least share of a document's n-grams that a kept one has
        n : words of an n-gram, at most 100
        keep : "longest" in tokens, or "first" by id
        keep_by, descending : one or several fields, by whose order documents are kept, in place of `keep`
        candidates : "index": documents with a common n-gram, none of which is missed unless a document has
            more than 64 of them; "minhash": those with a common band of 26 * 11 minimal hashes; or a pair,
            numbers of bands and rows
        against : another corpus of the database, or its name, whose documents are kept before all others
        rejected : also return, for each document that stays, the pair with the most n-grams among those that
            were compared and rejected
        limit : maximum number of rows

        Returns
        -------
        A row per near duplicate: `doc`, `kept_doc`, `contained`, `jaccard` (the share of the n-grams of
        either that both have), `length` and `kept_length` in tokens, and `reason`: "equal" n-grams, or what
        was compared, "words" or "characters"; "too few words" or "too few characters" for rejected pairs.
        With `against`, `kept_doc` is `corpus:doc_id`. `summary['total']` is the number of near duplicates.

        Raises
        ------
        InvalidArgument
            A value that is not among those above.
        ResourceError
            The n-grams do not fit `memory_limit`.

        Notes
        -----
        Cost: 2 to 3 µs per word. Memory: up to 88 bytes per distinct n-gram of a document.
        """
        rule = rule_of(contained, n, candidates)
        longest, keys = order_of(keep, keep_by, descending)
        tree = ast.NearDuplicates(
            contained=ast.Value(rule.contained),
            n=ast.Value(rule.n),
            candidates=ast.MinHash(ast.Value(rule.bands), ast.Value(rule.rows)) if rule.bands else None,
            keep=ast.Keep(tuple(ast.OrderBy(key, descending) for key in keys), longest=longest),
            against=to_ast.other_corpus(self._bound, "against", against),
            with_rejected=as_flag("rejected", rejected),
            limit=to_ast.number(0, "limit", limit),
        )
        return self._bound.ask(tree, where, params)


class _Keep(Spelling):
    """KEEP, by `keep`, or by `keep_by` and `descending`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        by = Parameter("keep_by", "text", "fields by whose order documents are kept, in place of keep")
        return (
            Parameter(name, "text", "the documents that are kept", default, choices=KEEP),
            by,
            requests.DESCENDING,
        )

    def argument(self, name: str, given: requests.Given) -> dict[str, Any]:
        keys = requests.fields_of(given["keep_by"])
        return {name: given[name], "keep_by": keys, "descending": given["descending"]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        way = " DESC" if arguments["descending"] else ""
        keys = ", ".join(key + way for key in arguments["keep_by"])
        statement.add(f"KEEP BY {keys}" if keys else f"KEEP {arguments[name].upper()}")


class _Words(Number):
    """NGRAM n WORDS."""

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(f"NGRAM {arguments[name]} WORDS")


class _Against(Spelling):
    """AGAINST, with the name of a corpus."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", self.about),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(f"AGAINST {quoted_name(arguments[name])}")


class _Rejected(requests.Switch):
    """WITH REJECTED."""

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add("WITH REJECTED")


DEFINITION = Definition(
    Verbs,
    "near_duplicates",
    "NEAR DUPLICATES",
    "Documents that are contained in others, which are kept: NEAR DUPLICATES.",
    {
        "contained": Number("the least share of n-grams", kind="number", after="CONTAINED >="),
        "n": _Words("words of an n-gram", least=1),
        "candidates": OneOf("how candidates are found", choices=CANDIDATES),
        "keep": _Keep(),
        "against": _Against("another corpus, whose documents are kept"),
        "rejected": _Rejected("also list rejected pairs"),
        "where": Condition(),
    },
    before_from=0,
    help=Help(
        f"NEAR DUPLICATES {CLAUSES} [WITH REJECTED] [LIMIT k] [FROM source]",
        ("NEAR DUPLICATES CONTAINED >= 0.9", "documents with 90% of their text in another one"),
    ),
)
# Syntax and examples, for help.
HELP = {
    "DELETE NEAR DUPLICATES": (
        f"DELETE NEAR DUPLICATES {CLAUSES} [FROM corpus]",
        ("DELETE NEAR DUPLICATES KEEP BY year", "they are removed; the earliest document stays"),
    ),
}


def rule_of(contained: Any, n: Any, candidates: Any) -> Rule:
    """Return the rule of a verb's arguments. Raises InvalidArgument."""
    if isinstance(contained, bool) or not isinstance(contained, (int, float)) or not 0 < contained <= 1:
        raise InvalidArgument(f"contained must be a number above 0 and at most 1, not {contained!r}")
    words = to_ast.whole(1, "n", n)
    if words > MOST_WORDS:
        raise InvalidArgument(f"n must be at most {MOST_WORDS}, not {words}")
    return Rule(float(contained), words, *_sketches_of(candidates))


def _sketches_of(candidates: Any) -> tuple[int, int]:
    """Return the bands and rows of sketches; 0 bands for candidates by n-grams."""
    if isinstance(candidates, (tuple, list)) and len(candidates) == 2:
        bands, rows = (to_ast.whole(1, "a number of bands or rows", one) for one in candidates)
        if bands * rows > MOST_HASHES:
            raise InvalidArgument(f"bands * rows must be at most {MOST_HASHES:,}, not {bands * rows:,}")
        return bands, rows
    if candidates not in CANDIDATES:
        known = ", ".join(CANDIDATES)
        raise InvalidArgument(f"candidates must be one of {known}, or (bands, rows), not {candidates!r}")
    return (BANDS, ROWS) if candidates == "minhash" else (0, 0)


def order_of(
    keep: str, keep_by: str | Sequence[str] | None, descending: Any
) -> tuple[bool, tuple[ast.Field, ...]]:
    """Return whether the longest documents are kept, and the keys of KEEP BY. Raises InvalidArgument."""
    if keep not in KEEP:
        raise InvalidArgument(f"keep must be one of {', '.join(KEEP)}, not {keep!r}; keep_by takes fields")
    keys = to_ast.fields("keep_by", keep_by)
    if as_flag("descending", descending) and not keys:
        raise InvalidArgument("descending is the order of keep_by, which is missing")
    return keep == "longest", keys


def statement_of(
    corpus: str,
    where: str | None,
    rule: Rule,
    keep: str,
    keep_by: str | Sequence[str] | None,
    descending: bool,
    against: str | None,
) -> str:
    """Return the statement that a call of `Corpus.delete_near_duplicates` stands for."""
    _, fields = order_of(keep, keep_by, descending)
    made = Statement("DELETE NEAR DUPLICATES").source(corpus)
    made.add(f"CONTAINED >= {rule.contained!r} NGRAM {rule.n} WORDS")
    made.add(f"CANDIDATES MINHASH {rule.bands} * {rule.rows}" if rule.bands else "CANDIDATES INDEX")
    way = " DESC" if descending else ""
    keys = ", ".join(".".join(map(quoted_name, key.keys)) + way for key in fields)
    made.add(f"KEEP BY {keys}" if keys else f"KEEP {keep.upper()}")
    if against is not None:
        made.add(f"AGAINST {quoted_name(against)}")
    return made.where(where).text


# ---- binding


def bind(scope: Scope, node: ast.NearDuplicates) -> Plan:
    """Return the plan of NEAR DUPLICATES."""
    corpus = scope.corpus(node.source)
    limit = scope.number(node.limit, "LIMIT", 0)
    rule, bound = _rule(scope, node), _chosen(scope, node, corpus)
    keeping = _keeping(node, bound)
    return FindNearDuplicates(corpus, bound.where, rule, keeping, bound.against, node.with_rejected, limit)


def bind_delete(scope: Scope, node: ast.DeleteNearDuplicates) -> Plan:
    """Return the plan of DELETE NEAR DUPLICATES."""
    source = node.source
    if source is not None and not (len(source.terms) == 1 and source.terms[0].version is None):
        scope.fail(PlanError, "near duplicates are deleted from one corpus, as it is now", source)
    corpus = scope.corpus(source)

    def rebind(catalog: Catalog, now: CorpusView) -> Chosen:
        return _chosen(Scope(catalog, scope.parameters, scope.text), node, now)

    scope.removes = True
    rule, bound = _rule(scope, node), _chosen(scope, node, corpus)
    written = scope.written(node, scope.catalog.match())
    keeping = _keeping(node, bound)
    return DeleteNearDuplicates(corpus, bound.where, rule, keeping, bound.against, written, rebind)


def _chosen(scope: Scope, node: ast.NearClauses, corpus: CorpusView) -> Chosen:
    scope.removes = isinstance(node, ast.DeleteNearDuplicates)
    order = document_keys(scope, () if node.keep is None else node.keep.order, corpus)
    against = None
    if node.against is not None:
        against = scope.corpus(node.against)
        if has_all_of(scope, node.against, corpus):
            what = f"every document of {corpus.entry.name} is contained in itself"
            scope.fail(PlanError, f"{what}; compare with another corpus, or leave AGAINST out", node.against)
    return Chosen(condition(scope, node.where, corpus), order, against)


def _keeping(node: ast.NearClauses, bound: Chosen) -> Keeping:
    return Keeping(node.keep is None or node.keep.longest, bound.order)


def _rule(scope: Scope, node: ast.NearClauses) -> Rule:
    contained = scope.real(node.contained, "CONTAINED", SHARES)
    n = scope.number(node.n, "NGRAM", 1, MOST_WORDS)
    bands, rows = 0, 0
    if node.candidates is not None:
        bands = scope.number(node.candidates.bands, "the number of bands", 1) or BANDS
        rows = scope.number(node.candidates.rows, "the number of rows", 1) or ROWS
        if bands * rows > MOST_HASHES:
            what = f"MINHASH takes at most {MOST_HASHES:,} hashes, not {bands * rows:,}"
            scope.refuse(what, node.candidates)
    return Rule(1.0 if contained is None else contained, n or 3, bands, rows)


# ---- plans


@dataclass(frozen=True)
class Keeping:
    """The order in which documents are kept: the longest first, by id, or by fields."""

    longest: bool = True
    keys: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        if self.keys:
            return "by " + ", ".join(key.label() for key in self.keys)
        return "the longest" if self.longest else "the first"


@dataclass(frozen=True)
class FindNearDuplicates(Query):
    """A row per document that is contained in another, which is kept."""

    where: DocExpr
    rule: Rule
    keeping: Keeping
    against: CorpusView | None = dataclasses.field(default=None, compare=False, repr=False)
    with_rejected: bool = False
    limit: int | None = None
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return f"near duplicates ({described(self.rule, self.keeping, self.against)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the documents in the order of their ids; `summary['total']` is their number."""
        view, other = self.corpus, self.against
        bound = Chosen(self.where, self.keeping.keys, other, self.costs)
        found = _found(view, bound, self.rule, self.keeping, rejects=self.with_rejected, meter=meter)
        every = sorted([*found.pairs, *found.rejected]) if self.with_rejected else found.pairs
        rows = [_row(view, other, one) for one in every[: self.limit]]
        summary: dict[str, Any] = {"total": len(found.pairs)}
        if self.with_rejected:
            summary["rejected"] = len(found.rejected)
        summary.update(_notes(found))
        of_sum = view.n_added > 1
        types = (str if of_sum else int, str if of_sum or other is not None else int, *TYPES[2:])
        return Result(ROW, iter([rows]), summary=summary, n_rows=len(rows), types=types)


def described(rule: Rule, keeping: Keeping, against: CorpusView | None) -> str:
    """Return a rule in words, for plans."""
    way = f"sketches of {rule.bands} * {rule.rows}" if rule.bands else "shared n-grams"
    parts = [f"{rule.contained:g} of {rule.n}-grams of words", f"keeping {keeping.label()}"]
    parts.append(f"candidates by {way}")
    if against is not None:
        parts.append(f"against {against.entry.name}")
    return ", ".join(parts)


def _found(
    view: CorpusView,
    bound: Chosen,
    rule: Rule,
    keeping: Keeping,
    *,
    rejects: bool = False,
    meter: PlanMeter | None = None,
) -> Found:
    among = matching(view, bound.where, bound.costs, meter)
    return finding.near_duplicates(
        view,
        rule,
        keeps_longest=keeping.longest,
        order=documents_in_order(bound.order, among) if bound.order else None,
        documents=[docs.numbers() for _, docs in among],
        against=bound.against,
        rejects=rejects,
    )


def _row(view: CorpusView, other: CorpusView | None, one: NearDuplicate) -> tuple[Any, ...]:
    doc = _shown(view, *one.document)
    kept = _shown(other if other is not None and one.is_given else view, *one.kept, named=other is not None)
    return (doc, kept, one.contained, one.jaccard, one.length, one.kept_length, one.reason)


def _shown(view: CorpusView, segment: int, number: int, named: bool = False) -> int | str:
    """Return the id of a document; `corpus:doc_id` if it is `named`, or in a sum of corpora."""
    doc_id = view.segments[segment].doc_id(number)
    return doc_id if view.n_added < 2 and not named else f"{view.corpus_of(segment)}:{doc_id}"


def _notes(found: Found) -> dict[str, str]:
    if not found.n_bounded:
        return {}
    n = f"{found.n_bounded:,} document{'' if found.n_bounded == 1 else 's'}"
    compared = f"{MOST_CANDIDATES} candidates, of which {MOST_CANDIDATES} were compared"
    return {"note": f"{n} that stayed had more than {compared}"}


def _note_of(view: CorpusView, other: CorpusView | None, one: NearDuplicate) -> dict[str, Any]:
    """Return the details of a removed document for the audit record."""
    segment, number = one.kept
    found = {"reason": one.reason, "contained": one.contained}
    if other is not None and one.is_given:
        kept = {"kept": other.segments[segment].doc_id(number), "kept_in": other.corpus_of(segment)}
        return {**kept, **found}
    return {"kept": view.segments[segment].doc_id(number), **found}


@dataclass(frozen=True)
class DeleteNearDuplicates(Question, Removal):
    """Remove the documents that are contained in others, which are kept.

    `where` and `keeping` are bound to the version that was planned on, for EXPLAIN; `rebind` binds them to
    the version that the commit succeeds. `statement` and `reason` are for the audit record.
    """

    name = "delete_near_duplicates"

    where: DocExpr
    rule: Rule
    keeping: Keeping
    against: CorpusView | None = dataclasses.field(compare=False, repr=False)
    statement: str
    rebind: Rebind = dataclasses.field(compare=False, repr=False)
    reason: str = ""
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return f"delete near duplicates ({described(self.rule, self.keeping, self.against)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return one row: what was removed."""
        name = self.corpus.entry.name
        with session.change(name, f"delete near duplicates from {name}") as change:
            view = change.view
            bound = bound_now(session, self.rebind, view)
            found = _found(view, bound, self.rule, self.keeping)
            chosen = _contained(view, found)
            notes = [_note_of(view, bound.against, one) for one in found.pairs]
            change.remove(chosen, notes, statement=self.statement, reason=self.reason)
            done = change.commit()
        row = (done.documents, done.tokens, done.version)
        summary = {**dict(zip(DELETED_ROW, row, strict=True)), **_notes(found)}
        return Result.of_rows(DELETED_ROW, [row], **summary)

    def marks(self, session: Session) -> list[Marks]:
        bound = bound_now(session, self.rebind, self.corpus)
        return of_documents(_contained(self.corpus, _found(self.corpus, bound, self.rule, self.keeping)))


def _contained(view: CorpusView, found: Found) -> list[Docs]:
    """Return the documents that are contained in others, per segment."""
    return [
        np.array([one.document[1] for one in found.pairs if one.document[0] == i], dtype=np.uint32)
        for i in range(len(view.segments))
    ]
