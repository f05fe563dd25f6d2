"""DECONTAMINATE: the items of an evaluation set that a corpus has; documents with too much are removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from ngramdb.curation.marks import Marks, of_documents
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.parameters import LOAD_OPTIONS
from ngramdb.planner.plan import AllDocs, Costs, DocExpr, Plan, Question
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import BindCondition, Removal, Session
from ngramdb.registries import CONTAMINATION_NAMES, DEFAULT_CONTAMINATION, contamination_measure
from ngramdb.source import Catalog, Corpus
from ngramdb.types import Docs

COLUMNS = (
    *("item", "id", "tokens", "covered", "value", "longest", "documents", "contaminated"),
    "text",
)
TYPES = (int, str, int, float, float, int, int, int, str)
# Keys of the rows of the report by item, in the order of COLUMNS.
_KEYS = (
    *("item", "item_id", "tokens", "covered", "value", "longest", "documents", "contaminated_documents"),
    "longest_text",
)
# Parts of NORMALIZE, and what the arguments of the verb are called.
_FOLDS = {"CASE": "lower", "SPACE": "fold_space", "NFC": "nfc", "QUOTES": "fold_quotes"}
OPTIONS = {name: LOAD_OPTIONS[name] for name in ("text", "format", "separator")}

# Syntax and examples, for help.
HELP = {
    "DECONTAMINATE": (
        "DECONTAMINATE AGAINST 'path' [(options)] [BY contamination [(n)] [>= | > share]]\n"
        "  [NORMALIZE CASE | SPACE | NFC | QUOTES {, …}] [WHERE condition] [DELETE] [FROM corpus]",
        (
            "DECONTAMINATE AGAINST 'exam.jsonl' BY palm",
            "items of an evaluation set that documents have, with how much of each",
        ),
    ),
}


def bind(scope: Scope, node: ast.Decontaminate) -> Plan:
    """Bind DECONTAMINATE."""
    source = node.source
    if source is not None and not (len(source.terms) == 1 and source.terms[0].version is None):
        scope.fail(PlanError, "DECONTAMINATE is for one corpus, as it is now", source)
    if len(set(node.normalize)) < len(node.normalize):
        scope.fail(PlanError, "NORMALIZE names the same difference twice", node)
    path = scope.path(node.path, "the path after AGAINST")
    measure = _measure(scope, node.by)
    measure |= {name: word in node.normalize for word, name in _FOLDS.items()}
    options = scope.options(node.options, OPTIONS)
    corpus = scope.corpus(source)

    def rebind(catalog: Catalog, now: Corpus) -> DocExpr:
        return condition(Scope(catalog, scope.parameters, scope.text), node.where, now)

    where = condition(scope, node.where, corpus)
    statement = scope.written(node, scope.catalog.match())
    return Decontaminate(corpus, where, path, measure, options, node.delete, statement, rebind)


def _measure(scope: Scope, node: ast.ByContamination | None) -> dict[str, Any]:
    """Return the measure, its length of n-grams and its threshold."""
    if node is None:
        return {"by": DEFAULT_CONTAMINATION, "n": None, "threshold": None, "strict": False}
    if node.name.value not in CONTAMINATION_NAMES:
        scope.unknown("measure", node.name, CONTAMINATION_NAMES, "")
    if node.operator not in (">", ">="):
        scope.fail(PlanError, f"a share is too large if it is >= or > a number, not {node.operator}", node)
    threshold: Any = None
    if node.threshold is not None:
        threshold = scope.scalar(node.threshold)
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if not (is_number and 0 <= threshold <= 1):
            scope.refuse(f"a threshold must be a share from 0 to 1, not {threshold!r}", node.threshold)
    return {
        "by": node.name.value,
        "n": scope.number(node.n, f"the length of n-grams of {node.name.value}", 1),
        "threshold": threshold,
        "strict": node.operator == ">",
    }


def compared(session: Session, bind_condition: BindCondition, view: Corpus) -> list[Docs]:
    """Return the documents of each segment that meet a condition, which is bound to this version."""
    where, costs = session.planned(bind_condition, view)
    return [docs.numbers() for _, docs in matching(view, where, costs, None)]


@dataclass(frozen=True)
class Decontaminate(Question, Removal):
    """DECONTAMINATE. `where` is bound to the version that was planned on, for EXPLAIN.

    measure : `by`, `n`, `threshold`, `strict`, and the differences that are ignored, by the names of the
        verb's arguments; None for numbers of the measure
    options : how the file is read
    rebind : binds the condition to the version that is compared
    """

    name = "decontaminate"

    where: DocExpr
    path: str
    measure: Mapping[str, Any]
    options: Mapping[str, Any]
    deletes: bool
    statement: str
    rebind: BindCondition = field(compare=False, repr=False)
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        verb = "remove documents with" if self.deletes else "find"
        return f"{verb} items of {self.path} in {self.corpus.entry.name}, by {self.measure['by']}"

    def details(self) -> tuple[str, ...]:
        measure = contamination_measure(self.measure["by"])
        n = measure.n if self.measure["n"] is None else self.measure["n"]
        threshold = measure.threshold if self.measure["threshold"] is None else self.measure["threshold"]
        sign = ">" if self.measure["strict"] or not threshold else ">="
        folded = [word.lower() for word, name in _FOLDS.items() if self.measure[name]]
        parts = [f"{n}-grams, share {sign} {threshold:g}"]
        return (*parts, *([f"regardless of {', '.join(folded)}"] if folded else []))

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return a row per item of which any n-gram occurs, those with the largest value first."""
        name = self.corpus.entry.name
        found, summary = session.run_decontaminate(
            name, self.path, self.measure, self.options, self._choose(session), self.deletes, self.statement
        )
        rows = [tuple(row[key] for key in _KEYS) for row in found]
        said = {name: value for name, value in summary.items() if name != "items_short"}
        short = summary["items_short"]
        if short:
            are = "item is" if short == 1 else "items are"
            said["note"] = f"{short:,} {are} too short to be compared; a smaller n finds more"
        result = Result(COLUMNS, iter([rows]), summary=said, n_rows=len(rows), types=TYPES)
        result.found = bool(rows)
        return result

    def marks(self, session: Session) -> list[Marks]:
        choose = self._choose(session)
        found = session.contaminated(self.corpus, self.path, self.measure, self.options, choose)
        return of_documents(found)

    def _choose(self, session: Session) -> Callable[[Corpus], list[Docs]] | None:
        """Return the function that chooses the documents to compare; None for all."""
        is_all = isinstance(self.where, AllDocs)
        return None if is_all else partial(compared, session, self.rebind)
