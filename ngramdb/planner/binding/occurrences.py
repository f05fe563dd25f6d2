"""Binding the occurrences that COUNT counts: n-grams, joined by OR, AND, NOT and WITHIN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.patterns import StoredWords, TokenPattern
from ngramdb.planner import plan
from ngramdb.planner.binding.patterns import pattern
from ngramdb.planner.binding.scope import Scope, require_sentences
from ngramdb.source import Corpus


class ConditionBinder(Protocol):
    """Binds conditions on documents. A parameter, since conditions have occurrences themselves.

    With `unknown`, documents for which the condition is unknown are included.
    """

    def __call__(
        self, scope: Scope, node: ast.Condition, corpus: Corpus, unknown: bool = False
    ) -> plan.DocExpr: ...


def has_occurrences(node: ast.Condition) -> bool:
    """Return True if an operand of WITHIN has positions in documents, not only whole documents."""
    if isinstance(node, (ast.And, ast.Within)):
        return any(map(has_occurrences, node.operands))
    if isinstance(node, ast.Or):
        return all(map(has_occurrences, node.operands))
    return isinstance(node, ast.Contains)


def occurring(
    scope: Scope, node: ast.Condition, corpus: Corpus, condition: ConditionBinder, unknown: bool = False
) -> plan.Occurring:
    """Return the occurrences of a condition; with `unknown`, include documents for which a test is unknown.

    OR has those of all distinct operands; AND those of its first operand in documents that meet all others;
    WITHIN those of its first operand near one of every other.

    Raises
    ------
    PlanError
        The first operand is NOT, or a condition on whole documents.
    """
    if isinstance(node, ast.Contains):
        return plan.OccurrencesOf(pattern(scope, node.pattern, corpus))
    if isinstance(node, (ast.And, ast.Or)):
        scope.doubt_case(node.operands, corpus)
    if isinstance(node, ast.Or):
        every = (occurring(scope, item, corpus, condition, unknown) for item in node.operands)
        operands = tuple(dict.fromkeys(every))
        return operands[0] if len(operands) == 1 else plan.AnyOf(operands)
    if isinstance(node, ast.And):
        first = occurring(scope, node.operands[0], corpus, condition, unknown)
        docs = tuple(condition(scope, item, corpus, unknown) for item in node.operands[1:])
        return plan.InDocs(first, docs[0] if len(docs) == 1 else plan.Intersection(docs))
    if isinstance(node, ast.Within):
        return near_to(scope, node, corpus, condition, unknown)
    if isinstance(node, ast.Not):
        scope.fail(
            PlanError,
            "COUNT cannot begin with NOT; COUNT DOCS WHERE NOT … counts the documents without",
            node,
        )
    scope.fail(
        PlanError,
        "this is a condition on whole documents, without occurrences to count: write the n-gram "
        "first, and this after AND or WHERE",
        node,
    )


def of_operand(
    scope: Scope, node: ast.Condition, corpus: Corpus, condition: ConditionBinder, unknown: bool
) -> plan.Occurring:
    """Return the occurrences of an operand of WITHIN; those of an AND may come at any place in it."""
    return occurring(scope, _occurrences_first(node), corpus, condition, unknown)


def _occurrences_first(node: ast.Condition) -> ast.Condition:
    """Move operands with occurrences before those without, in AND and WITHIN, also within an OR."""
    if isinstance(node, (ast.And, ast.Within)):
        ordered = sorted(node.operands, key=lambda item: not has_occurrences(item))
        return replace(node, operands=(_occurrences_first(ordered[0]), *ordered[1:]))
    if isinstance(node, ast.Or):
        return replace(node, operands=tuple(map(_occurrences_first, node.operands)))
    return node


def distance(scope: Scope, node: ast.Within, corpus: Corpus) -> int | None:
    """Return the distance in tokens at which operands may start; None: anywhere in the sentence."""
    if isinstance(node.tokens, ast.InSentence):
        require_sentences(scope, node.tokens, corpus)
        return None
    return scope.number(node.tokens, "WITHIN", 0)


def near_to(
    scope: Scope, node: ast.Within, corpus: Corpus, condition: ConditionBinder, unknown: bool = False
) -> plan.Occurring:
    """Bind `x AND y AND NOT z WITHIN k TOKENS`: the occurrences of x with y, and without z, near them.

    WITHIN SENTENCE: those whose sentence has a y and no z.
    """
    scope.doubt_case(node.operands, corpus)
    tokens = distance(scope, node, corpus)
    first = of_operand(scope, node.operands[0], corpus, condition, unknown)
    near: list[plan.Occurring] = []
    apart: list[plan.Occurring] = []
    docs: list[plan.DocExpr] = []
    for item in node.operands[1:]:
        if has_occurrences(item):
            near.append(of_operand(scope, item, corpus, condition, unknown))
        elif isinstance(item, ast.Not) and has_occurrences(item.operand):
            apart.append(of_operand(scope, item.operand, corpus, condition, not unknown))
        else:
            docs.append(condition(scope, item, corpus, unknown))
    found: plan.Occurring = first
    if tokens is None:
        every = (tuple(map(in_one_sentence, some)) for some in ((first,), near, apart))
        (first,), others, without = every
        found = plan.NearTo(first, others, without, None)
    elif near or apart:
        found = plan.NearTo(first, tuple(near), tuple(apart), tokens)
    if docs:
        found = plan.InDocs(found, docs[0] if len(docs) == 1 else plan.Intersection(tuple(docs)))
    return found


def in_one_sentence(found: plan.Occurring) -> plan.Occurring:
    """Return the same occurrences, but matches of patterns do not cross the end of their sentence."""
    if isinstance(found, plan.OccurrencesOf) and isinstance(found.pattern, (StoredWords, TokenPattern)):
        return replace(found, pattern=found.pattern.in_one_sentence())
    children: tuple[Any, ...] = found.children()
    if isinstance(found, plan.AnyOf):
        return replace(found, operands=tuple(map(in_one_sentence, found.operands)))
    if isinstance(found, (plan.InDocs, plan.NearTo)):
        return replace(found, what=in_one_sentence(children[0]))
    return found
