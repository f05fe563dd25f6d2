"""Binding conditions on documents.

A comparison with NULL or of a missing field is unknown in SQL: neither true nor false, and NOT of it is
unknown, too. Negations are therefore pushed down to the comparisons, which can tell false from unknown; above
them every condition is true or false. Conditions on n-grams are never unknown, so NOT of them is the
complement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.patterns import FieldText, Gram, show_text
from ngramdb.planner import plan
from ngramdb.planner.bind_fields import bound_date, bound_field, in_two_kinds, never_true, scalar_types, unfit
from ngramdb.planner.bind_occurrences import (
    distance,
    has_occurrences,
    in_one_sentence,
    near_to,
    occurring,
    of_operand,
    pattern,
)
from ngramdb.planner.scope import Scope, same_kind
from ngramdb.source import Corpus

# The wildcards of LIKE.
WILDCARDS = frozenset("%_")

# Limit of characters of a template: for longer ones, the library that matches them prints to standard error.
MAX_TEMPLATE = 10_000

# Number of texts of IN that are compared with a field's values, for a note on other spellings.
MOST_CHECKED = 20
# Memory per value of IN: in lists, and as an entry of a set.
BYTES_PER_VALUE = 100

_NULLABLE = (ast.Comparison, ast.Between, ast.InList, ast.Like)


def condition(
    scope: Scope, node: ast.Condition | None, corpus: Corpus, unknown: bool = False
) -> plan.DocExpr:
    """Return a condition on documents as a document expression; no condition means all documents.

    With `unknown`, it includes documents for which the condition is unknown.

    Raises
    ------
    BindError
        A field that no document has.
    PlanError
        An invalid value.
    """
    if node is None:
        return plan.AllDocs()
    if unknown and _may_be_unknown(node):
        return plan.Complement(_bound(scope, node, corpus, negated=True))
    return _bound(scope, node, corpus, negated=False)


def among(scope: Scope, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr | None:
    """Return the condition of a question about some documents; None without a condition."""
    return None if node is None else condition(scope, node, corpus)


def in_part(
    scope: Scope, verb: str, what: ast.Condition, where: ast.Condition | None, corpus: Corpus
) -> plan.InPart:
    """Return the occurrences and the documents that a statement is about.

    Raises PlanError, with the name of the statement, for an n-gram without tokens.
    """
    found = occurring(scope, what, corpus, condition)
    pattern = found.pattern if isinstance(found, plan.OccurrencesOf) else None
    if isinstance(pattern, Gram) and not len(pattern):
        scope.fail(PlanError, f"{verb} needs an n-gram of at least one token", what)
    return plan.InPart(found, condition(scope, where, corpus))


def _bound(scope: Scope, node: ast.Condition, corpus: Corpus, negated: bool) -> plan.DocExpr:
    leaf = _LEAVES.get(type(node))
    if leaf is not None:
        found = leaf(scope, node, corpus)
        return plan.Complement(found) if negated else found
    if isinstance(node, ast.Not):
        if _may_be_unknown(node.operand):
            return _bound(scope, node.operand, corpus, not negated)
        other = plan.Complement(_bound(scope, node.operand, corpus, negated=False))
        return plan.Complement(other) if negated else other
    if isinstance(node, (ast.And, ast.Or)):
        return _joined(scope, node, corpus, negated)
    if isinstance(node, ast.Within):
        return _within(scope, node, corpus, negated)
    assert isinstance(node, (*_NULLABLE, ast.IsNull))
    return _field_test(scope, node, corpus, negated)


def _joined(scope: Scope, node: ast.And | ast.Or, corpus: Corpus, negated: bool) -> plan.DocExpr:
    scope.doubt_case(node.operands, corpus)
    down = negated and any(map(_may_be_unknown, node.operands))
    operands = tuple(_bound(scope, item, corpus, down) for item in node.operands)
    # NOT (a AND b) is NOT a OR NOT b, also for unknown operands.
    found = plan.Intersection(operands) if isinstance(node, ast.And) != down else plan.UnionOf(operands)
    return plan.Complement(found) if negated and not down else found


def _may_be_unknown(node: ast.Condition) -> bool:
    if isinstance(node, (ast.And, ast.Or, ast.Within)):
        return any(map(_may_be_unknown, node.operands))
    return _may_be_unknown(node.operand) if isinstance(node, ast.Not) else isinstance(node, _NULLABLE)


# ---- n-grams ----------------------------------------------------------------------------------------------


def _contains(scope: Scope, node: ast.Contains, corpus: Corpus) -> plan.DocExpr:
    found = pattern(scope, node.pattern, corpus)
    if scope.removes and isinstance(node.pattern, ast.RawText):
        from ngramdb.planner import bind_raw_text

        bind_raw_text.check_removal(scope, node, found)
    return plan.DocsWith(found) if isinstance(found, Gram) else plan.DocsMatching(found)


def _count_is(scope: Scope, node: ast.CountIs, corpus: Corpus) -> plan.DocExpr:
    value = scope.scalar(node.value)
    if isinstance(value, bool) or not isinstance(value, int):
        scope.fail(
            PlanError, f"COUNT(…) must be compared with a whole number, not with {value!r}", node.value
        )
    return plan.CountTest(pattern(scope, node.pattern, corpus), node.operator, value)


def _within(scope: Scope, node: ast.Within, corpus: Corpus, negated: bool) -> plan.DocExpr:
    near = [item for item in node.operands if has_occurrences(item)]
    apart = [item for item in node.operands if isinstance(item, ast.Not) and has_occurrences(item.operand)]
    others = tuple(_bound(scope, item, corpus, negated) for item in node.operands if item not in near + apart)
    if not near:
        what = "WITHIN needs an n-gram without NOT"
        if apart and isinstance(node.tokens, ast.InSentence):
            start, stop = scope.place(apart[0].operand)
            written = "…" if scope.text is None or start is None else scope.text[start:stop]
            what += f"; write NOT ({written} WITHIN SENTENCE) to negate all of it"
        scope.fail(PlanError, what, apart[0] if apart else node)
    scope.doubt_case(node.operands, corpus)
    tokens = distance(scope, node, corpus)
    operands = [of_operand(scope, item, corpus, condition, unknown=negated) for item in near]
    if tokens is None:
        operands = list(map(in_one_sentence, operands))
    if apart:  # only occurrences of the first one without these near them count
        lonely = replace(node, operands=(near[0], *apart))
        operands[0] = near_to(scope, lonely, corpus, condition, unknown=negated)
    found: plan.DocExpr
    found = plan.DocsOf(operands[0]) if apart and len(near) == 1 else plan.Nearby(tuple(operands), tokens)
    if negated:
        found = plan.Complement(found)
        return plan.UnionOf((found, *others)) if others else found
    return plan.Intersection((found, *others)) if others else found


def _overlap(scope: Scope, node: ast.Overlap, corpus: Corpus) -> plan.DocExpr:
    other = scope.corpus(node.corpus)
    if not same_kind(corpus.tokenizer, other.tokenizer):
        what = f"{other.entry.name} has another tokenizer, so there are no common n-grams"
        scope.fail(PlanError, what, node.corpus)
    if has_all_of(scope, node.corpus, corpus):
        itself = f"every document of {corpus.entry.name} overlaps with itself"
        if scope.removes:
            what = f"{itself}, and DELETE would remove them all; compare with another corpus"
            scope.fail(PlanError, f"{what}, or write doc_id >= 0 if that is intended", node.corpus)
        scope.doubt(f"{itself}: OVERLAP with the same corpus is 1 for all but very short documents")
    n = scope.number(node.n, "the length of OVERLAP's n-grams", 1)
    share = scope.scalar(node.value)
    assert n is not None
    if isinstance(share, bool) or not isinstance(share, (int, float)):
        what = f"OVERLAP(…) is compared with a number from 0 to 1, not with {share!r}"
        scope.fail(PlanError, what, node.value)
    return plan.OverlapTest(other, other.entry.name, n, node.operator, float(share))


def has_all_of(scope: Scope, source: ast.Source, corpus: Corpus) -> bool:
    """Return True if a source is the queried corpus itself, or a sum with it."""
    if any(term.sign < 0 for term in source.terms):
        return bool(scope.corpus(source).entry == corpus.entry)
    alone = (replace(source, terms=(term,)) for term in source.terms)
    return any(scope.corpus(one).entry == corpus.entry for one in (source, *alone))


_LEAVES: dict[type[ast.Node], Callable[[Scope, Any, Corpus], plan.DocExpr]] = {
    ast.Contains: _contains,
    ast.CountIs: _count_is,
    ast.Overlap: _overlap,
}


# ---- fields -----------------------------------------------------------------------------------------------


def _field_test(
    scope: Scope,
    node: ast.Comparison | ast.Between | ast.InList | ast.Like | ast.IsNull,
    corpus: Corpus,
    negated: bool,
) -> plan.DocExpr:
    part = ""
    if isinstance(node.field, ast.DatePart):
        part = node.field.part
        key, types = bound_date(scope, node.field, corpus)
    else:
        key, types = bound_field(scope, node.field, corpus, lambda: _as_ngram(scope, node))
    name = plan.part_of(part, key.path)
    types = scalar_types(corpus, key, types) if not part else types
    predicate, literals = _predicate(scope, node)
    values = [some for some, _ in literals]
    if isinstance(node, ast.Comparison) and node.operator == "!=":
        negated = not negated
    if scope.removes and negated and isinstance(node, ast.InList) and not any(map(len, values)):
        # Usually a list of values to keep that was left empty by mistake.
        what = "NOT IN an empty list holds of every document, and DELETE would remove them all"
        scope.fail(PlanError, f"{what}; write doc_id >= 0 if that is intended", node.values[0])
    for listed, value_node in literals:
        for literal, kind in _first_unfit(types, listed):
            shown, advice = plan.show_value(literal), _other_spelling(kind, literal, value_node)
            what = f"{name} is a {kind} and cannot be compared with {shown}{advice}"
            if isinstance(node, ast.Like):
                what = f"LIKE compares strings, and {name} is a {kind}"
            scope.fail(PlanError, what, value_node)
    found = plan.FieldTest(key.path, predicate, key.own, negated, part, key.function)
    scope.doubt(never_true(found))
    if isinstance(node, ast.Like):
        scope.doubt(_of_star(values))
    scope.doubt(in_two_kinds(name, types, chain.from_iterable(values)))
    if isinstance(predicate, plan.Compared | plan.OneOf) and not (key.own or part):
        some = islice(chain.from_iterable(values), MOST_CHECKED)
        texts = [literal for literal in some if isinstance(literal, str)]
        is_equality = isinstance(predicate, plan.OneOf) or predicate.operator == "="
        scope.phrases += [FieldText(corpus, key.path, text) for text in texts if is_equality]
    return found


def _of_star(values: Sequence[Sequence[plan.Scalar | None]]) -> str | None:
    """Return a note on `*` in a template of LIKE without wildcards, or None."""
    for text in chain.from_iterable(values):
        if isinstance(text, str) and "*" in text and not WILDCARDS.intersection(text):
            shown, meant = plan.show_value(text), plan.show_value(text.replace("*", "%"))
            return f"* in LIKE {shown} is a literal character; LIKE {meant} matches any text there"
    return None


def _first_unfit(types: set[str], values: Sequence[plan.Scalar | None]) -> Iterator[tuple[plan.Scalar, str]]:
    """Yield the first value of another kind than a field's, and the field's kind, if there is one."""
    fit: set[type] = set()
    for some in plan.pieces(values):
        if set(map(type, some)) <= fit:
            continue
        for value in some:
            kind = None if value is None else unfit(types, value)
            if value is not None and kind is not None:
                yield value, kind
                return
            fit.add(type(value))


def _other_spelling(kind: str, literal: plan.Scalar | None, place: ast.Node) -> str:
    """Return advice on a literal that was meant to be of this kind, or an empty string."""
    is_given = isinstance(place, ast.Parameter)
    if kind == "number" and isinstance(literal, str):
        with suppress(ValueError):
            if math.isfinite(float(literal)):
                advice = "give the number" if is_given else "a number takes no quotes: write"
                return f"; {advice} {literal.strip()}"
    if kind == "string" and isinstance(literal, int | float) and not isinstance(literal, bool):
        return "; give a text" if is_given else f"; a string takes single quotes: write '{literal}'"
    return ""


def _as_ngram(scope: Scope, node: ast.Node) -> str:
    """Return the value that a field is compared with as an n-gram."""
    value: Any = None
    if isinstance(node, ast.Comparison):
        value = scope.scalar(node.value)
    elif isinstance(node, ast.Like):
        value = scope.scalar(node.template)
        value = value.strip("%") if isinstance(value, str) else None
        if value is not None and WILDCARDS.intersection(value):
            value = None
    return show_text(value if isinstance(value, str) and value else "…")


if TYPE_CHECKING:
    # Values that a field is compared with, and their place. For type checkers only: at run time it would
    # import modules of plans that a COUNT does not need.
    Literals = tuple[Sequence[plan.Scalar | None], ast.Scalar]


def _predicate(
    scope: Scope, node: ast.Comparison | ast.Between | ast.InList | ast.Like | ast.IsNull
) -> tuple[plan.Predicate, list[Literals]]:
    """Return the predicate on the field, and its values."""
    if isinstance(node, ast.Comparison):
        operator = "=" if node.operator == "!=" else node.operator
        value = _literal(scope, node.value)
        return plan.Compared(operator, value), [([value], node.value)]
    if isinstance(node, ast.Between):
        low, high = _literal(scope, node.low), _literal(scope, node.high)
        return plan.InRange(low, high), [([low], node.low), ([high], node.high)]
    if isinstance(node, ast.InList):
        literals = _listed(scope, node)
        n = sum(len(some) for some, _ in literals)
        interrupts.require_memory(n * BYTES_PER_VALUE, f"{n:,} values of IN")
        known: list[plan.Scalar] = []
        for some in (piece for values, _ in literals for piece in plan.pieces(values)):
            known += [value for value in some if value is not None]
        return plan.OneOf(tuple(known), has_null=len(known) < n), literals
    if isinstance(node, ast.Like):
        template = _literal(scope, node.template)
        if template is None:
            return plan.Compared("=", None), [([None], node.template)]
        if not isinstance(template, str):
            scope.fail(PlanError, f"LIKE takes a string, not {plan.show_value(template)}", node.template)
        if len(template) > MAX_TEMPLATE:
            what = f"a template of LIKE has at most {MAX_TEMPLATE:,} characters, not {len(template):,}"
            scope.fail(PlanError, what, node.template)
        return plan.Resembles(template, node.ignore_case), [([template], node.template)]
    return plan.Missing(), []


def _listed(scope: Scope, node: ast.InList) -> list[Literals]:
    """Return the values of IN: a placeholder has one, or a list, a tuple or an array of them."""
    found: list[Literals] = []
    for place in node.values:
        value = scope.scalar(place)
        items = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(items, (list, tuple)):
            items = [value]
        checked: list[plan.Scalar | None] = []
        for some in plan.pieces(items):
            # No checks are needed for these.
            is_plain = set(map(type, some)) <= {int, bool}
            checked += some if is_plain else [_checked(scope, item, place) for item in some]
        found.append((checked, place))
    return found


def _literal(scope: Scope, node: ast.Scalar) -> plan.Scalar | None:
    return _checked(scope, scope.scalar(node), node)


def _checked(scope: Scope, value: Any, node: ast.Scalar) -> plan.Scalar | None:
    """Return a value that a field can be compared with."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None  # data frames have NaN for missing values, and loads read it as NULL
    if value is not None and not isinstance(value, (str, int, float, bool)):
        what = f"a field is compared with a string, a number, TRUE, FALSE or NULL, not {value!r}"
        scope.fail(PlanError, what, node)
    if isinstance(value, str):
        scope.check_unicode(value, node)
    return value
