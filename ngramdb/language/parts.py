"""Arguments and results of the grammar's rules while the tree is built, and functions to inspect them.

Every value has a place in the text: a lexeme, a clause or a nested condition by its own `start` and `stop`, a
node by its span.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from ngramdb.language import ast
from ngramdb.language.scanner import Fault

# Maximum nesting depth of operators (AND, OR, NOT). Parentheses alone, and an AND in an AND,
# do not count. Later stages walk conditions by recursion, with a few frames a level, inside Python's
# default limit of 1,000.
MAX_DEPTH = 100

# Terminals of whole numbers.
_AMOUNTS = frozenset({"INTEGER_LITERAL", "PARAMETER"})

# The label of two clauses of SCORE, of which one can be given.
UNIT = "SENTENCE or DOCUMENT"
# Fields of statements that are not named as their clauses are.
_FIELDS = {
    "AS": "documents",
    "FROM": "source",
    "NGRAM": "n",
    "ON ERROR": "skip_errors",
    "RETURN": "n_returned",
    UNIT: "unit",
    "The list of fields": "fields",
    "The list of options": "options",
    "The weight": "weight",
    "USING": "model",
    "WITH": "options",
}

Made = TypeVar("Made", bound=ast.Node)


class Lexeme:
    """A token: its terminal in the grammar, its place in the text and, for a literal or a name, its node."""

    __slots__ = ("node", "start", "stop", "type")

    def __init__(self, terminal: str, start: int, stop: int, node: ast.Node | None = None) -> None:
        self.type = terminal
        self.start = start
        self.stop = stop
        self.node = node


class Clause(NamedTuple):
    """A part of a statement that may occur once, in any order after the head."""

    label: str
    value: Any
    start: int
    stop: int


class Nested(NamedTuple):
    """A condition with the number of operators inside one another, and its place with its parentheses.

    `joined` holds its operands of AND as written: two conditions for `(x AND y) AND z`, although the
    condition has three operands.
    """

    condition: ast.Condition
    depth: int
    start: int
    stop: int
    joined: tuple[Nested, ...] = ()


def start_of(value: Any) -> int:
    """Return the offset of a value's first character in the text."""
    return value.span.start if isinstance(value, ast.Node) and value.span else value.start


def stop_of(value: Any) -> int:
    """Return the offset after a value's last character in the text."""
    return value.span.stop if isinstance(value, ast.Node) and value.span else value.stop


def span_of(children: Sequence[Any]) -> ast.Span:
    """From the first of the values to the last one."""
    return ast.Span(start_of(children[0]), stop_of(children[-1]))


def clause_of(label: str, value: Any, children: Sequence[Any]) -> Clause:
    """Create a clause with its place from the parts of its rule."""
    return Clause(label, value, start_of(children[0]), stop_of(children[-1]))


def clauses_of(children: Sequence[Any]) -> dict[str, Any]:
    """Collect the values of the clauses among `children` by label; Fault at a second one of the same kind."""
    values: dict[str, Any] = {}
    for child in children:
        if not isinstance(child, Clause):
            continue
        if child.label in values:
            raise Fault(f"{child.label} is given twice", child.start, child.stop)
        values[child.label] = child.value
    return values


def statement_of(kind: type[Made], children: Sequence[Any], /, **parts: Any) -> Made:
    """Build a statement or a clause with clauses: each is the field of its name, or the one in `_FIELDS`."""
    for label, value in clauses_of(children).items():
        parts[_FIELDS.get(label) or label.lower().replace(" ", "_")] = value
    return kind(**parts, span=span_of(children))


def valued_clause(label: str) -> Callable[[Any, list[Any]], Clause]:
    """Return the rule of a clause whose last part is its value."""
    return lambda _, children: clause_of(label, node_of(children[-1]), children)


def flag_clause(label: str) -> Callable[[Any, list[Any]], Clause]:
    """Return the rule of a clause of keywords alone."""
    return lambda _, children: clause_of(label, True, children)


def is_terminal(child: Any, terminal: str) -> bool:
    """Return True if a part is a lexeme of this terminal."""
    return isinstance(child, Lexeme) and child.type == terminal


def has_terminal(children: Sequence[Any], terminal: str) -> bool:
    """Return True if a lexeme of this terminal is among the parts."""
    return any(is_terminal(child, terminal) for child in children)


def node_of(value: Any) -> Any:
    """Return the node of a lexeme; other values are already nodes."""
    return value.node if isinstance(value, Lexeme) else value


def fields_of(children: Sequence[Any]) -> tuple[ast.Field | ast.Called, ...]:
    """Return the fields and functions of documents among the parts."""
    return tuple(child for child in children if isinstance(child, (ast.Field, ast.Called)))


def operator_of(lexeme: Lexeme) -> str:
    """Return the operator of a comparison, in one spelling."""
    spelled = cast("ast.Value", lexeme.node).value if lexeme.node else "="
    return "!=" if spelled == "<>" else str(spelled)


def leaf(condition: Any, negated: bool = False) -> Nested:
    """Build a condition without operators inside, or its NOT if `negated`."""
    span = condition.span
    if negated:
        return Nested(ast.Not(condition, span=span), 1, span.start, span.stop)
    return Nested(condition, 0, span.start, span.stop)


def operands_of(children: Sequence[Nested | Lexeme], kind: type[ast.And] | type[ast.Or]) -> Nested:
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
    condition = kind(tuple(operands), span=span_of(children))
    return limited(Nested(condition, depth, children[0].start, children[-1].stop))


def limited(nested: Nested) -> Nested:
    """Return the same condition; Fault if operators are nested too deeply."""
    if nested.depth > MAX_DEPTH:
        message = f"the condition is nested too deeply: at most {MAX_DEPTH} operators inside one another"
        raise Fault(message, nested.start, nested.stop)
    return nested


def compound(kind: Callable[..., Made], children: Sequence[Any], *values: Any, **named: Any) -> Made:
    """Return a pattern made of those among its rule's parts; Fault if patterns are nested too deeply."""
    depth = 1 + max(getattr(node_of(child), "depth", 0) for child in children)
    if depth > MAX_DEPTH:
        message = (
            f"the pattern is nested too deeply: at most {MAX_DEPTH} groups and sequences inside one another"
        )
        raise Fault(message, start_of(children[0]), stop_of(children[-1]))
    return kind(*values, **named, depth=depth, span=span_of(children))


def name_of(children: Sequence[Any]) -> ast.Name:
    """Return the first name among `children`, which contain one."""
    return next(
        child.node for child in children if isinstance(child, Lexeme) and isinstance(child.node, ast.Name)
    )


def lowered(name: ast.Name) -> ast.Name:
    """Return the same name in lower case."""
    return ast.Name(name.value.lower(), span=name.span)


# ---- The rules of the grammar that make conditions on documents, and patterns.


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
            message = 'WITHIN follows n-grams joined by AND: "a" AND "b" WITHIN 5 TOKENS'
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

    def text_match(self, children: list[Any]) -> Nested:
        found = ast.RawText(children[2].node, len(children) > 3, span=span_of(children))
        return leaf(ast.Contains(found, span=found.span))

    def date_part(self, children: list[Any]) -> ast.DatePart:
        return ast.DatePart(children[2], children[0].type.lower(), span=span_of(children))

    def called(self, children: list[Any]) -> ast.Called:
        clauses = clauses_of(children)
        numbers = tuple(child.node for child in children if getattr(child, "type", "") in _AMOUNTS)
        model = next((child for child in children if isinstance(child, ast.ModelClause)), None)
        name, dialect, source = _in_small_letters(children[0]), clauses.get("AS"), clauses.get("FROM")
        return ast.Called(name, numbers, dialect, model, source, span=span_of(children))

    def dialect(self, children: list[Any]) -> Clause:
        return clause_of("AS", _in_small_letters(children[1]), children)

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
        found: ast.Gapped | ast.Sequence = compound(kind, children, tuple(parts), tuple(gaps))
        return found

    def repeated(self, children: list[Any]) -> ast.Repeated:
        return compound(ast.Repeated, children, node_of(children[0]), children[1].node)

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
        return compound(ast.Group, children, alternatives)

    def matching(self, children: list[Any]) -> ast.Matching:
        clauses = clauses_of(children)
        inner = node_of(children[0])
        if isinstance(inner, (ast.Gapped, ast.Sequence, ast.Repeated)):
            inner = compound(ast.Group, [inner], (inner,))
        return compound(
            ast.Matching,
            [inner, *children[1:]],
            ngram=inner,
            text=clauses.get("MATCH"),
            ignore_case="IGNORE CASE" in clauses,
            ignore_diacritics="IGNORE DIACRITICS" in clauses,
            prefix="PREFIX" in clauses,
        )

    def matching_what(self, children: list[Any]) -> Clause:
        return clause_of("MATCH", children[1].type == "TEXT", children)

    ignoring_diacritics = flag_clause("IGNORE DIACRITICS")
    prefix = flag_clause("PREFIX")
    ignoring_case = flag_clause("IGNORE CASE")


def _in_small_letters(lexeme: Lexeme) -> ast.Name:
    name = cast("ast.Name", lexeme.node)
    return ast.Name(name.value.lower(), span=name.span)


def _is_ngram(node: Any) -> bool:
    """Return True if a part of a pattern is an n-gram that is matched like a single n-gram."""
    if isinstance(node, ast.Matching):
        return not node.prefix and not node.ignore_diacritics and _is_ngram(node.ngram)
    return isinstance(node, (ast.Text, ast.TokenIds, ast.Parameter))
