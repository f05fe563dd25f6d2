"""Binding expressions over texts: `TEXT ~ /colou?r/`."""

from __future__ import annotations

import re
import warnings

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.language import ast
from ngramdb.patterns import Pattern, Slow, StoredExpression, text_literals, text_programs
from ngramdb.planner.scope import Scope
from ngramdb.registries import TEXT_EXPRESSIONS
from ngramdb.source import Corpus


def stored_expression(scope: Scope, node: ast.RawText, corpus: Corpus) -> StoredExpression:
    """Return an expression that is searched for in the texts of a corpus.

    Raises PlanError if the corpus has no texts, or for a parameter that is no expression.
    """
    tokenizer = corpus.tokenizer
    has_texts = tokenizer.lossless or all(segment.has_texts for segment in corpus.segments)
    if tokenizer.kind == "tokens" or not has_texts:
        what = f"TEXT ~ searches texts, and the documents of {corpus.entry.name} are token ids"
        scope.fail(PlanError, what, node)
    expression, shown = _expression(scope, node.expression)
    flags = re.IGNORECASE if node.ignore_case else 0
    try:
        text_programs.compiled(expression, int(flags))
    except InvalidArgument as error:
        scope.refuse(str(error), node.expression, error)
    needs = text_literals.needed(text_programs.parsed(expression, int(flags)), corpus)
    written = f"TEXT ~ {shown}{' IGNORE CASE' * node.ignore_case}"
    if not needs:
        scope.phrases.append(Slow(_all_read(written)))
    return StoredExpression(written, expression, int(flags), needs)


def _all_read(written: str) -> str:
    return (
        f"{written} has no string that the index can look up: the texts of all documents are read that "
        "other conditions leave"
    )


def check_removal(scope: Scope, node: ast.Contains, found: Pattern) -> None:
    """Raise PlanError if documents with a match are to be removed, and every document has one."""
    assert isinstance(found, StoredExpression)
    if text_programs.compiled(found.expression, found.flags).matches_anywhere:
        what = (
            f"{found.shown} also matches without a character, so in every document, and DELETE would remove"
        )
        scope.fail(PlanError, f"{what} them all; write doc_id >= 0 if that is intended", node)


def _expression(scope: Scope, node: ast.Regex | ast.Parameter | ast.Name) -> tuple[str, str]:
    """Return an expression, and what it is called in plans."""
    if isinstance(node, ast.Name):
        name = node.value.lower()
        if name not in TEXT_EXPRESSIONS:
            scope.unknown("expression", node, list(map(str.upper, TEXT_EXPRESSIONS)), "")
        return TEXT_EXPRESSIONS[name], name.upper()
    if isinstance(node, ast.Regex):
        return node.expression, f"/{node.expression}/"
    given = scope.parameters.value(node)
    if not isinstance(given, str):
        scope.fail(PlanError, f"TEXT ~ takes a regular expression as a string, not {given!r}", node)
    scope.check_unicode(given, node)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what may mean something else in a later Python
            re.compile(given)
    except (re.error, OverflowError, RecursionError) as error:
        scope.fail(PlanError, f"invalid regular expression {given!r}: {error}", node)
    return given, f"/{given}/"
