"""EXPLAIN: a plan as lines of text, with estimates and, if it was run, with measurements.

```
documents (doc_id ascending, limit 10)
│  corpus wiki: 3 segments, 12,000 documents, 5,000,000 tokens
└─ intersection, rarest first                  ~310 docs
   ├─ contains "machine learning"              count 1,204, ~980 docs, locate
   └─ not                                      ~310 docs
      └─ contains "deep learning"              count 402, ~80 docs, scan
```
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.plan import Actual, Node, Occurring, Outer, Plan, PlanMeter, changed
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import Action, Session, answer, is_question

COLUMNS = ("plan",)

# Estimates start in this column, or two blanks after a longer label.
NOTE_COLUMN = 44

# Of a pattern's variants so many are listed, the most frequent first.
SHOWN_DETAILS = 20

# Syntax and examples, for help.
HELP = {"EXPLAIN": ("EXPLAIN [ANALYZE] statement", ('EXPLAIN COUNT "of the"', "the plan of a question"))}


def bind(scope: Scope, node: ast.Explain) -> Plan:
    """Bind EXPLAIN."""
    return Explanation(scope.bind(node.statement), node.analyze)


@dataclass(frozen=True)
class Explanation(Outer, Action):
    """EXPLAIN of a finished plan; `fired` are the rules that changed it, in order."""

    plan: Plan
    analyze: bool = False
    fired: tuple[str, ...] = ()

    is_shown = True

    def label(self) -> str:
        return "explain analyze" if self.analyze else "explain"

    @property
    def asked(self) -> Plan:
        return self.plan

    @property
    def inner(self) -> Plan:
        return self.plan

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, plan=inner, fired=fired)

    def act(self, session: Session) -> Result:
        """Return the plan's lines; with ANALYZE, run the query, count its rows and discard them.

        Raises
        ------
        PlanError
            ANALYZE of a statement that changes something: it must not be run.
        """
        if not self.analyze:
            return Result.of_rows(COLUMNS, [(line,) for line in explain_lines(self)])
        if not is_question(self.plan):
            raise PlanError(
                "EXPLAIN ANALYZE runs its statement and so allows queries only; EXPLAIN alone shows this plan"
            )
        meter = PlanMeter()
        started = time.perf_counter()
        result = answer(self.plan, meter)
        n_rows = sum(map(len, result.batches()))
        seconds = time.perf_counter() - started
        total = f"actual {n_rows:,} row{'' if n_rows == 1 else 's'}, {seconds * 1e3:.3f} ms"
        lines = explain_lines(self, meter.actual, total)
        return Result.of_rows(COLUMNS, [(line,) for line in lines], n_rows=n_rows, seconds=seconds)


def explain_lines(
    explain: Explanation, actual: Mapping[int, Actual] | None = None, total: str = ""
) -> list[str]:
    """Return the lines that EXPLAIN prints.

    Parameters
    ----------
    explain : the plan and the rules that changed it
    actual : per `id` of a document expression what it did; None when the plan wasn't run
    total : what the whole statement took, for the first line
    """
    plan = explain.plan
    lines = [_with_note(plan.label(), total)]
    where = plan.tree()
    bar = "│  " if where is not None else "   "
    lines.extend(bar + detail for detail in _first(plan.details()))
    if where is not None:
        lines.extend(_tree(where, "└─ ", "   ", actual))
    if explain.fired:
        lines.append("rules: " + ", ".join(explain.fired))
    return lines


def _tree(expr: Node, head: str, indent: str, actual: Mapping[int, Actual] | None) -> Iterator[str]:
    notes = [] if expr.estimate is None else [expr.estimate.label()]
    if actual is not None:
        unit = "occurrences" if isinstance(expr, Occurring) else "docs"
        notes.append(actual.get(id(expr), Actual()).label(unit))
    yield _with_note(head + expr.label(), "; ".join(notes))
    children = expr.children()
    if expr.estimate is not None and expr.estimate.order is not None:
        children = tuple(children[i] for i in expr.estimate.order)
    for detail in _first(expr.details()):
        yield indent + ("│  " if children else "   ") + detail
    for child in children[:-1]:
        yield from _tree(child, indent + "├─ ", indent + "│  ", actual)
    for child in children[-1:]:
        yield from _tree(child, indent + "└─ ", indent + "   ", actual)


def _first(details: Sequence[str]) -> list[str]:
    shown = list(details[:SHOWN_DETAILS])
    return shown if len(details) <= SHOWN_DETAILS else [*shown, f"… {len(details) - SHOWN_DETAILS:,} more"]


def _with_note(label: str, note: str) -> str:
    return f"{label:<{NOTE_COLUMN}}  {note}" if note else label
