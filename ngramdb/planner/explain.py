"""A plan as lines of text: a tree with estimates, and what was measured when the plan was run.

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

from collections.abc import Iterator, Mapping, Sequence

from ngramdb.planner.plan import Actual, ExplainPlan, Node, Occurring

# Estimates start in this column, or two blanks after a longer label.
NOTE_COLUMN = 44

# Of a pattern's variants so many are listed, the most frequent first.
SHOWN_DETAILS = 20


def explain_lines(
    explain: ExplainPlan, actual: Mapping[int, Actual] | None = None, total: str = ""
) -> list[str]:
    """The lines that EXPLAIN prints.

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
