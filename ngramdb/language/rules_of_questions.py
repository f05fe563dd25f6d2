"""The rules of the grammar that make questions and their clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ngramdb.language import ast
from ngramdb.language.literals import Fault
from ngramdb.language.parts import (
    UNIT,
    Clause,
    clause_of,
    clauses_of,
    fields_of,
    has_terminal,
    is_terminal,
    node_of,
    span_of,
    start_of,
    statement_of,
    stop_of,
    valued_clause,
)

_NUMBERS = frozenset({"INTEGER_LITERAL", "NUMBER_LITERAL", "PARAMETER"})


def _first_node(children: Sequence[Any]) -> Any:
    """Return the first node among the parts, after keywords that may be left out."""
    return next(node for node in map(node_of, children) if isinstance(node, ast.Node))


class QuestionRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def count(self, children: list[Any]) -> ast.Count:
        what, *others = (child for child in children if isinstance(child, ast.Node))
        return statement_of(ast.Count, children, what=what, others=tuple(others))

    def count_docs(self, children: list[Any]) -> ast.CountDocs:
        return statement_of(ast.CountDocs, children)

    def docs(self, children: list[Any]) -> ast.Docs:
        return statement_of(ast.Docs, children)

    def kwic(self, children: list[Any]) -> ast.Kwic:
        return statement_of(ast.Kwic, children, what=children[1])

    def collocates(self, children: list[Any]) -> ast.Collocates:
        return statement_of(ast.Collocates, children, what=_first_node(children))

    def keywords(self, children: list[Any]) -> ast.Keywords:
        what, *against = (child for child in children if isinstance(child, ast.DocumentsOf))
        return statement_of(ast.Keywords, children, what=what, against=against[0] if against else None)

    def dispersion(self, children: list[Any]) -> ast.Dispersion:
        return statement_of(ast.Dispersion, children, what=_first_node(children))

    def ngrams(self, children: list[Any]) -> ast.Ngrams:
        return statement_of(ast.Ngrams, children, n=children[1].node)

    def trace(self, children: list[Any]) -> ast.Trace:
        return statement_of(ast.Trace, children, ngram=children[1].node)

    def prob(self, children: list[Any]) -> ast.Prob:
        return statement_of(ast.Prob, children, continuation=children[1].node, context=children[3].node)

    def dist(self, children: list[Any]) -> ast.Dist:
        return statement_of(ast.Dist, children, context=_first_node(children))

    def dist_before(self, children: list[Any]) -> ast.DistBefore:
        return statement_of(ast.DistBefore, children, ngram=children[2].node)

    def score(self, children: list[Any]) -> ast.Score:
        return statement_of(ast.Score, children, ngram=children[1].node)

    def generate(self, children: list[Any]) -> ast.Generate:
        if "TOKENS" not in clauses_of(children):
            raise Fault(
                "GENERATE needs to know how many tokens: TOKENS 20",
                start_of(children[0]),
                stop_of(children[0]),
            )
        return statement_of(ast.Generate, children, context=_first_node(children))

    # ---- clauses

    def term(self, children: list[Any]) -> ast.SourceTerm:
        version = children[3].node if len(children) > 1 else None
        return ast.SourceTerm(children[0].node, 1, version, span=span_of(children))

    def source(self, children: list[Any]) -> ast.Source:
        terms = [children[0]]
        for sign, term in zip(children[1::2], children[2::2], strict=True):
            terms.append(replace(term, sign=-1) if sign.type == "MINUS" else term)
        return ast.Source(tuple(terms), span=span_of(children))

    def from_clause(self, children: list[Any]) -> Clause:
        return clause_of("FROM", children[1], children)

    def using(self, children: list[Any]) -> Clause:
        return clause_of("USING", children[1], children)

    def where(self, children: list[Any]) -> Clause:
        return clause_of("WHERE", children[1], children)

    top = valued_clause("TOP")
    top_tokens = top
    limit = valued_clause("LIMIT")
    offset = valued_clause("OFFSET")

    def window(self, children: list[Any]) -> Clause:
        return clause_of("WINDOW", node_of(children[1]), children)

    def around(self, children: list[Any]) -> Clause:
        span = span_of(children)
        sentence = children[-1] if isinstance(children[-1], ast.InSentence) else None
        if sentence is children[1]:
            return clause_of("WINDOW", ast.Around(None, None, sentence, span=span), children)
        amounts = children if sentence is None else children[:-1]
        first = children[1].node
        none = ast.Value(0)
        left, right = first, first
        if len(amounts) > 2:
            left = none if is_terminal(amounts[2], "RIGHT") else first
            right = first if is_terminal(amounts[2], "RIGHT") else none
        if len(amounts) > 3:
            right = amounts[3].node
        return clause_of("WINDOW", ast.Around(left, right, sentence, span=span), children)

    def close(self, children: list[Any]) -> ast.InSentence:
        """WITHIN SENTENCE after a window."""
        found: ast.InSentence = children[1]
        return found

    def by_association(self, children: list[Any]) -> Clause:
        return clause_of("BY", ast.Measure(children[1].type.lower(), span=span_of(children[1:])), children)

    def documents_of(self, children: list[Any]) -> ast.DocumentsOf:
        source = children[0] if isinstance(children[0], ast.Source) else None
        return ast.DocumentsOf(source, clauses_of(children).get("WHERE"), span=span_of(children))

    def rest(self, children: list[Any]) -> Any:
        return children[0]

    def containing(self, children: list[Any]) -> Clause:
        return clause_of("CONTAINING", node_of(children[1]), children)

    def starting(self, children: list[Any]) -> Clause:
        return clause_of("STARTING", children[-1].node, children)

    def ending(self, children: list[Any]) -> Clause:
        return clause_of("ENDING", children[-1].node, children)

    def with_docs(self, children: list[Any]) -> Clause:
        return clause_of("WITH DOCS", True, children)

    of_ngrams = valued_clause("NGRAMS")

    def by_keyness(self, children: list[Any]) -> Clause:
        parameter = children[3].node if len(children) > 3 else None
        measure = ast.Measure(children[1].type.lower(), parameter, span=span_of(children[1:]))
        return clause_of("BY", measure, children)

    def by_parts(self, children: list[Any]) -> Clause:
        fields = fields_of(children)
        return clause_of("BY", fields[0] if fields else None, children)

    def min_length(self, children: list[Any]) -> Clause:
        return clause_of("MIN LENGTH", children[2].node, children)

    def sentence(self, children: list[Any]) -> Clause:
        return clause_of(UNIT, ast.Name("sentence", span=span_of(children)), children)

    def as_document(self, children: list[Any]) -> Clause:
        return clause_of(UNIT, ast.Name("document", span=span_of(children)), children)

    tokens = valued_clause("TOKENS")
    temperature = valued_clause("TEMPERATURE")
    nucleus = valued_clause("NUCLEUS")
    diversity = valued_clause("DIVERSITY")
    seed = valued_clause("SEED")
    return_clause = valued_clause("RETURN")

    def method(self, children: list[Any]) -> Clause:
        width = children[3].node if len(children) > 2 else None
        method = ast.Method(children[1].type.lower(), width, span=span_of(children))
        return clause_of("METHOD", method, children)

    def sample(self, children: list[Any]) -> Clause:
        seed = children[3].node if len(children) > 2 else None
        return clause_of("SAMPLE", ast.Sample(children[1].node, seed, span=span_of(children)), children)

    def group_by(self, children: list[Any]) -> Clause:
        keys = children[-1]
        return Clause("GROUP BY", keys, start_of(children[0]), stop_of(keys[-1]))

    def group_keys(self, children: list[Any]) -> tuple[ast.GroupKey, ...]:
        return tuple(children[::2])

    def divided(self, children: list[Any]) -> ast.Divided:
        what = next(child for child in children if isinstance(child, (ast.Field, ast.DatePart)))
        divisor, *factor = (child.node for child in children if getattr(child, "type", "") in _NUMBERS)
        return ast.Divided(what, divisor, *factor, span=span_of(children))

    def unnested(self, children: list[Any]) -> ast.Unnested:
        return ast.Unnested(children[2], span=span_of(children))

    def beside(self, children: list[Any]) -> ast.Beside:
        return ast.Beside(children[0].type.lower(), children[1].node, span=span_of(children))

    def form(self, children: list[Any]) -> ast.Form:
        return ast.Form(span=span_of(children))

    def per_million(self, children: list[Any]) -> Clause:
        return clause_of("PER MILLION", True, children)

    def order_by(self, children: list[Any]) -> Clause:
        keys = tuple(child for child in children if isinstance(child, ast.OrderBy))
        return clause_of("ORDER BY", keys, children)

    def order_key(self, children: list[Any]) -> ast.OrderBy:
        return ast.OrderBy(children[0], has_terminal(children, "DESC"), span=span_of(children))

    weight = valued_clause("The weight")
    order = valued_clause("ORDER")

    def min_count(self, children: list[Any]) -> Clause:
        return clause_of("MIN COUNT", children[2].node, children)
