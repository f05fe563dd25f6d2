"""From what the grammar recognises to the abstract syntax.

The parser calls one method per grammar rule as soon as the rule is complete, from the leaves up, so no
parse tree is ever made, and nothing here recurses. What the grammar cannot say is checked here: that a
clause stands once, and that conditions are not nested deeper than the later stages can walk.

Every value that a method gets or returns has a place in the text: a lexeme, a clause or a nested condition
by its own `start` and `stop`, a node by its span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lark import Transformer

from ngramdb.language import ast
from ngramdb.language.literals import Fault

# How many operators (AND, OR, NOT) may stand inside one another. Parentheses alone, and an AND in an AND,
# do not count. Later stages walk conditions by recursion, with a few frames a level, inside Python's
# default limit of 1,000.
MAX_CONDITION_DEPTH = 100


class Lexeme:
    """A token: its terminal in the grammar, its place in the text and, for a literal or a name, its node."""

    __slots__ = ("node", "start", "stop", "type")

    def __init__(self, terminal: str, start: int, stop: int, node: ast.Node | None = None) -> None:
        self.type = terminal  # so called by the parser generator
        self.start = start
        self.stop = stop
        self.node = node


class Clause(NamedTuple):
    """A part of a statement that may stand once, in any place after the head."""

    label: str
    value: Any
    start: int
    stop: int


class Nested(NamedTuple):
    """A condition with the number of operators inside one another, and its place with its parentheses."""

    condition: ast.Condition
    depth: int
    start: int
    stop: int


def _start(value: Any) -> int:
    return value.span.start if isinstance(value, ast.Node) and value.span else value.start


def _stop(value: Any) -> int:
    return value.span.stop if isinstance(value, ast.Node) and value.span else value.stop


def _span(children: Sequence[Any]) -> ast.Span:
    return ast.Span(_start(children[0]), _stop(children[-1]))


def _clause(label: str, value: Any, children: Sequence[Any]) -> Clause:
    return Clause(label, value, _start(children[0]), _stop(children[-1]))


def _clauses(children: Sequence[Any]) -> dict[str, Any]:
    """The values of the clauses among `children` by label; Fault at the second of two of the same kind."""
    values: dict[str, Any] = {}
    for child in children:
        if not isinstance(child, Clause):
            continue
        if child.label in values:
            raise Fault(f"{child.label} is given twice", child.start, child.stop)
        values[child.label] = child.value
    return values


def _has(children: Sequence[Any], terminal: str) -> bool:
    return any(isinstance(child, Lexeme) and child.type == terminal for child in children)


def _operands(children: Sequence[Nested | Lexeme], kind: type[ast.And] | type[ast.Or]) -> Nested:
    """AND or OR of the operands among `children`; an operand of the same kind gives its own operands."""
    operands: list[ast.Condition] = []
    depth = 0
    for child in children:
        if isinstance(child, Lexeme):
            continue
        if isinstance(child.condition, kind):
            operands.extend(child.condition.operands)
            depth = max(depth, child.depth)
        else:
            operands.append(child.condition)
            depth = max(depth, child.depth + 1)
    condition = kind(tuple(operands), span=_span(children))
    return _limited(Nested(condition, depth, children[0].start, children[-1].stop))


def _limited(nested: Nested) -> Nested:
    if nested.depth > MAX_CONDITION_DEPTH:
        message = (
            f"the condition is nested too deeply: at most {MAX_CONDITION_DEPTH} operators inside one another"
        )
        raise Fault(message, nested.start, nested.stop)
    return nested


class AstBuilder(Transformer[Any, Any]):
    """One method per rule of the grammar, called with the rule's tokens and the values of its parts."""

    # ---- whole texts

    def script(self, children: list[Any]) -> tuple[ast.Statement, ...]:
        return tuple(child for child in children if not isinstance(child, Lexeme))

    def condition(self, children: list[Nested]) -> ast.Condition:
        return children[0].condition

    def model(self, children: list[Any]) -> ast.Model:
        order = children[2].node if len(children) == 3 else None
        kind = "ngram" if children[0].type == "NGRAM" else "infgram"
        return ast.Model(kind, order, span=_span(children))

    def explain(self, children: list[Any]) -> ast.Explain:
        return ast.Explain(children[-1], _has(children, "ANALYZE"), span=_span(children))

    # ---- questions

    def count(self, children: list[Any]) -> ast.Count:
        clauses = _clauses(children)
        return ast.Count(children[1].node, clauses.get("FROM"), span=_span(children))

    def count_docs(self, children: list[Any]) -> ast.CountDocs:
        clauses = _clauses(children)
        return ast.CountDocs(clauses.get("WHERE"), clauses.get("FROM"), span=_span(children))

    def prob(self, children: list[Any]) -> ast.Prob:
        clauses = _clauses(children)
        return ast.Prob(
            continuation=children[1].node,
            context=children[3].node,
            model=clauses.get("USING"),
            source=clauses.get("FROM"),
            span=_span(children),
        )

    def dist(self, children: list[Any]) -> ast.Dist:
        clauses = _clauses(children)
        return ast.Dist(
            context=children[2].node,
            model=clauses.get("USING"),
            top=clauses.get("TOP"),
            source=clauses.get("FROM"),
            span=_span(children),
        )

    def score(self, children: list[Any]) -> ast.Score:
        clauses = _clauses(children)
        return ast.Score(children[1].node, clauses.get("USING"), clauses.get("FROM"), span=_span(children))

    def docs(self, children: list[Any]) -> ast.Docs:
        clauses = _clauses(children)
        return ast.Docs(
            where=clauses.get("WHERE"),
            order_by=clauses.get("ORDER BY"),
            limit=clauses.get("LIMIT"),
            offset=clauses.get("OFFSET"),
            source=clauses.get("FROM"),
            span=_span(children),
        )

    # ---- clauses

    def source(self, children: list[Any]) -> ast.Source:
        span = _span(children)
        return ast.Source((ast.SourceTerm(children[0].node, span=span),), span=span)

    def from_clause(self, children: list[Any]) -> Clause:
        return _clause("FROM", children[1], children)

    def using(self, children: list[Any]) -> Clause:
        return _clause("USING", children[1], children)

    def where(self, children: list[Any]) -> Clause:
        return _clause("WHERE", children[1], children)

    def top(self, children: list[Any]) -> Clause:
        return _clause("TOP", children[1].node, children)

    def limit(self, children: list[Any]) -> Clause:
        return _clause("LIMIT", children[1].node, children)

    def offset(self, children: list[Any]) -> Clause:
        return _clause("OFFSET", children[1].node, children)

    def order_by(self, children: list[Any]) -> Clause:
        order = ast.OrderBy(children[2].node, _has(children, "DESC"), span=_span(children))
        return _clause("ORDER BY", order, children)

    # ---- conditions

    def disjunction(self, children: list[Any]) -> Nested:
        return _operands(children, ast.Or)

    def conjunction(self, children: list[Any]) -> Nested:
        return _operands(children, ast.And)

    def negated(self, children: list[Any]) -> Nested:
        inner = children[1]
        condition = ast.Not(inner.condition, span=_span(children))
        return _limited(Nested(condition, inner.depth + 1, children[0].start, inner.stop))

    def parenthesis(self, children: list[Any]) -> Nested:
        inner = children[1]
        return Nested(inner.condition, inner.depth, children[0].start, children[2].stop)

    def contains(self, children: list[Any]) -> Nested:
        ngram = children[0]
        condition = ast.Contains(ngram.node, span=_span(children))
        return Nested(condition, 0, ngram.start, ngram.stop)

    # ---- data

    def create_corpus(self, children: list[Any]) -> ast.CreateCorpus:
        clauses = _clauses(children)
        return ast.CreateCorpus(
            name=_name(children[2:]),
            if_not_exists="IF NOT EXISTS" in clauses,
            tokenizer=clauses.get("TOKENIZER"),
            options=clauses.get("WITH", ()),
            span=_span(children),
        )

    def copy_from(self, children: list[Any]) -> ast.CopyFrom:
        clauses = _clauses(children)
        return ast.CopyFrom(
            corpus=children[1].node,
            path=children[3].node,
            options=clauses.get("The list of options", ()),
            skip_errors=clauses.get("ON ERROR", False),
            span=_span(children),
        )

    def drop_corpus(self, children: list[Any]) -> ast.DropCorpus:
        clauses = _clauses(children)
        return ast.DropCorpus(_name(children[2:]), "IF EXISTS" in clauses, span=_span(children))

    def use(self, children: list[Any]) -> ast.Use:
        return ast.Use(children[1].node, span=_span(children))

    def describe(self, children: list[Any]) -> ast.Describe:
        return ast.Describe(children[1].node, span=_span(children))

    def show(self, children: list[Any]) -> ast.Show:
        clauses = _clauses(children)
        return ast.Show(children[1].type.lower(), clauses.get("FROM"), span=_span(children))

    def check(self, children: list[Any]) -> ast.Check:
        return ast.Check(children[1].node if len(children) == 2 else None, span=_span(children))

    def set_setting(self, children: list[Any]) -> ast.SetSetting:
        return ast.SetSetting(_lower(children[1].node), children[3].node, span=_span(children))

    def reset_setting(self, children: list[Any]) -> ast.ResetSetting:
        return ast.ResetSetting(_lower(children[1].node), span=_span(children))

    def if_not_exists(self, children: list[Any]) -> Clause:
        return _clause("IF NOT EXISTS", True, children)

    def if_exists(self, children: list[Any]) -> Clause:
        return _clause("IF EXISTS", True, children)

    def tokenizer(self, children: list[Any]) -> Clause:
        return _clause("TOKENIZER", children[1].node, children)

    def with_options(self, children: list[Any]) -> Clause:
        return _clause("WITH", children[1].value, children)

    def copy_options(self, children: list[Any]) -> Clause:
        return _clause("The list of options", children[0].value, children)

    def on_error(self, children: list[Any]) -> Clause:
        return _clause("ON ERROR", children[2].type == "SKIP", children)

    def options(self, children: list[Any]) -> Clause:
        options = [child for child in children if isinstance(child, ast.Option)]
        seen: set[str] = set()
        for option in options:
            if option.name.value in seen:
                raise Fault(f"option {option.name.value} is given twice", _start(option), _stop(option))
            seen.add(option.name.value)
        return _clause("options", tuple(options), children)

    def option(self, children: list[Any]) -> ast.Option:
        last = children[-1]
        value = last.value if isinstance(last, Clause) else last.node
        return ast.Option(_lower(children[0].node), value, span=_span(children))

    def option_list(self, children: list[Lexeme]) -> Clause:
        return _clause("list", tuple(child.node for child in children if child.node is not None), children)


def _name(children: Sequence[Any]) -> ast.Name:
    """The first name among `children`, which hold one."""
    return next(
        child.node for child in children if isinstance(child, Lexeme) and isinstance(child.node, ast.Name)
    )


def _lower(name: ast.Name) -> ast.Name:
    return ast.Name(name.value.lower(), span=name.span)
