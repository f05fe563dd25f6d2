"""The rules of the grammar that make conditions on documents, and patterns."""

from __future__ import annotations

from typing import Any

from ngramdb.language import ast
from ngramdb.language.literals import Fault
from ngramdb.language.parts import (
    Clause,
    Nested,
    clause_of,
    clauses_of,
    has_terminal,
    is_terminal,
    leaf,
    limited,
    node_of,
    operands_of,
    operator_of,
    span_of,
    start_of,
    stop_of,
)


class ConditionRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def alternatives(self, children: list[Any]) -> Nested:
        return operands_of(children, ast.Or)

    def chain(self, children: list[Any]) -> Nested:
        return operands_of(children, ast.And)._replace(joined=tuple(children[::2]))

    def within(self, children: list[Any]) -> Nested:
        inner, stop = children[0], stop_of(children[-1])
        in_sentence = isinstance(children[2], ast.InSentence)
        if not (inner.joined or in_sentence):
            message = 'WITHIN stands after n-grams joined by AND: "a" AND "b" WITHIN 5 TOKENS'
            raise Fault(message, children[1].start, stop)
        # An AND in parentheses among others is one of them: its own n-grams may be anywhere in the document.
        joined = inner.joined or (inner,)
        operands, depth = tuple(one.condition for one in joined), 1 + max(one.depth for one in joined)
        condition = ast.Within(operands, node_of(children[2]), span=span_of(children))
        return limited(Nested(condition, depth, inner.start, stop))

    def in_sentence(self, children: list[Any]) -> ast.InSentence:
        return ast.InSentence(span=span_of(children))

    def negated(self, children: list[Any]) -> Nested:
        inner = children[1]
        condition = ast.Not(inner.condition, span=span_of(children))
        return limited(Nested(condition, inner.depth + 1, children[0].start, inner.stop))

    def parenthesis(self, children: list[Any]) -> Nested:
        inner = children[1]
        return Nested(inner.condition, inner.depth, children[0].start, children[2].stop, inner.joined)

    def contains(self, children: list[Any]) -> Nested:
        pattern = node_of(children[0])
        if isinstance(pattern, ast.AnyToken):
            message = (
                '* is any token beside others; COUNT "" is the number of tokens, COUNT DOCS that of documents'
            )
            raise Fault(message, start_of(pattern), stop_of(pattern))
        return leaf(ast.Contains(pattern, span=pattern.span))

    def count_is(self, children: list[Any]) -> Nested:
        pattern, operator, value = node_of(children[2]), operator_of(children[4]), children[5].node
        return leaf(ast.CountIs(pattern, operator, value, span=span_of(children)))

    def comparison(self, children: list[Any]) -> Nested:
        field, operator, value = children[0], operator_of(children[1]), children[2].node
        if isinstance(value, ast.Value) and value.value is None:
            test = {"=": "write IS NULL", "!=": "write IS NOT NULL"}.get(
                operator, "NULL is neither more nor less"
            )
            raise Fault(f"no value compares with NULL: {test}", start_of(children[1]), stop_of(children[2]))
        return leaf(ast.Comparison(field, operator, value, span=span_of(children)))

    def between(self, children: list[Any]) -> Nested:
        condition = ast.Between(children[0], children[-3].node, children[-1].node, span=span_of(children))
        return leaf(condition, negated=has_terminal(children, "NOT"))

    def in_list(self, children: list[Any]) -> Nested:
        opening = next((i for i, child in enumerate(children) if is_terminal(child, "LPAR")), None)
        given = children[-1:] if opening is None else children[opening + 1 : -1 : 2]
        values = tuple(child.node for child in given)
        return leaf(
            ast.InList(children[0], values, span=span_of(children)), negated=has_terminal(children, "NOT")
        )

    def like(self, children: list[Any]) -> Nested:
        ignore_case = has_terminal(children, "ILIKE")
        condition = ast.Like(children[0], children[-1].node, ignore_case, span=span_of(children))
        return leaf(condition, negated=has_terminal(children, "NOT"))

    def is_null(self, children: list[Any]) -> Nested:
        return leaf(ast.IsNull(children[0], span=span_of(children)), negated=has_terminal(children, "NOT"))

    def overlap(self, children: list[Any]) -> Nested:
        condition = ast.Overlap(
            corpus=children[2],
            n=children[4].node,
            operator=operator_of(children[6]),
            value=children[7].node,
            span=span_of(children),
        )
        return leaf(condition)

    def date_part(self, children: list[Any]) -> ast.DatePart:
        return ast.DatePart(children[2], children[0].type.lower(), span=span_of(children))

    def field(self, children: list[Any]) -> ast.Field:
        return ast.Field(tuple(child.node.value for child in children[::2]), span=span_of(children))

    # ---- patterns

    def sequence(self, children: list[Any]) -> ast.Gapped | ast.Sequence:
        parts: list[Any] = [node_of(children[0])]
        gaps: list[ast.Gap | None] = []
        between: ast.Gap | None = None
        for node in map(node_of, children[1:]):
            if isinstance(node, ast.Gap):
                between = node
                continue
            parts.append(node)
            gaps.append(between)
            between = None
        kind: Any = ast.Gapped if None not in gaps and all(map(_is_ngram, parts)) else ast.Sequence
        found: ast.Gapped | ast.Sequence = kind(tuple(parts), tuple(gaps), span=span_of(children))
        return found

    def repeated(self, children: list[Any]) -> ast.Repeated:
        return ast.Repeated(node_of(children[0]), children[1].node, span=span_of(children))

    def any_token(self, children: list[Any]) -> ast.AnyToken:
        return ast.AnyToken(span=span_of(children))

    def sentence_begin(self, children: list[Any]) -> ast.SentenceEdge:
        return ast.SentenceEdge(False, span=span_of(children))

    def sentence_end(self, children: list[Any]) -> ast.SentenceEdge:
        return ast.SentenceEdge(True, span=span_of(children))

    def group(self, children: list[Any]) -> Any:
        alternatives = tuple(node_of(child) for child in children[1:-1:2])
        if len(alternatives) == 1:
            # Parentheses alone change nothing; the place is what is inside them.
            return alternatives[0]
        return ast.Group(alternatives, span=span_of(children))

    def matching(self, children: list[Any]) -> ast.Matching:
        clauses = clauses_of(children)
        inner = node_of(children[0])
        if isinstance(inner, (ast.Gapped, ast.Sequence, ast.Repeated)):
            inner = ast.Group((inner,), span=inner.span)
        return ast.Matching(
            ngram=inner,
            text=clauses.get("MATCH"),
            ignore_case="IGNORE CASE" in clauses,
            ignore_diacritics="IGNORE DIACRITICS" in clauses,
            prefix="PREFIX" in clauses,
            span=span_of(children),
        )

    def matching_what(self, children: list[Any]) -> Clause:
        return clause_of("MATCH", children[1].type == "TEXT", children)

    def ignoring_diacritics(self, children: list[Any]) -> Clause:
        return clause_of("IGNORE DIACRITICS", True, children)

    def prefix(self, children: list[Any]) -> Clause:
        return clause_of("PREFIX", True, children)

    def ignoring_case(self, children: list[Any]) -> Clause:
        return clause_of("IGNORE CASE", True, children)


def _is_ngram(node: Any) -> bool:
    """Whether a part of a pattern is an n-gram, matched as n-grams alone are."""
    if isinstance(node, ast.Matching):
        return not node.prefix and not node.ignore_diacritics and _is_ngram(node.ngram)
    return isinstance(node, (ast.Text, ast.TokenIds, ast.Parameter))
