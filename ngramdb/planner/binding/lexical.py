"""Binding COLLOCATES and DISPERSION."""

from __future__ import annotations

from ngramdb.errors import PlanError
from ngramdb.kinds import ASSOCIATION_MEASURES
from ngramdb.language import ast
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.planner import plan
from ngramdb.planner.binding.concordance import WHOLE_DOCUMENT
from ngramdb.planner.binding.conditions import condition
from ngramdb.planner.binding.fields import bound_field
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.names import listing, nearest
from ngramdb.planner.source import Corpus

# Tokens on either side of an occurrence when WINDOW is missing: those of Church & Hanks (1990).
SPAN = 5


def collocates(scope: Scope, node: ast.Collocates) -> plan.Plan:
    """Bind COLLOCATES."""
    corpus = scope.corpus(node.source)
    left, right = _window(scope, node.window)
    return plan.Collocation(
        corpus,
        part(scope, "COLLOCATES", node.what, node.where, corpus),
        left,
        right,
        measure(scope, node.by, ASSOCIATION_MEASURES),
        scope.number(node.min_count, "MIN COUNT", 1, MAX_MIN_COUNT) or 1,
        scope.number(node.top, "TOP", 0),
    )


def dispersion(scope: Scope, node: ast.Dispersion) -> plan.Plan:
    """Bind DISPERSION."""
    corpus = scope.corpus(node.source)
    key = None if node.by is None else bound_field(scope, node.by, corpus)[0]
    return plan.Spread(corpus, part(scope, "DISPERSION", node.what, node.where, corpus), key)


def part(
    scope: Scope, verb: str, what: ast.Condition, where: ast.Condition | None, corpus: Corpus
) -> plan.InPart:
    """The occurrences that a statement is about, and the documents that it is about."""
    found = occurring(scope, what, corpus, condition)
    pattern = found.pattern if isinstance(found, plan.OccurrencesOf) else None
    if isinstance(pattern, plan.Gram) and not len(pattern):
        scope.fail(PlanError, f"{verb} needs an n-gram of at least one token", what)
    return plan.InPart(found, condition(scope, where, corpus))


def measure(scope: Scope, node: ast.Measure | None, known: tuple[str, ...]) -> str:
    """The name of a measure, which a tree made by hand may have wrong; the first one without a name."""
    if node is None:
        return known[0]
    if node.name not in known:
        hint = nearest(node.name, known)
        tail = f"; known: {listing(known)}" if hint is None else f"; did you mean {hint}?"
        scope.refuse(f"no measure {node.name!r}{tail}", node)
    return node.name


def _window(scope: Scope, node: ast.Around | None) -> tuple[int, int]:
    if node is None:
        return SPAN, SPAN
    left, right = (scope.number(side, "WINDOW", 0) or 0 for side in (node.left, node.right))
    if not left and not right:
        scope.fail(PlanError, "a window has at least one token on one side", node)
    return min(left, WHOLE_DOCUMENT), min(right, WHOLE_DOCUMENT)
