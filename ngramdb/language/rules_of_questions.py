"""The rules of the grammar that make questions and their clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ngramdb.language import ast
from ngramdb.language.literals import Fault
from ngramdb.language.parts import (
    Clause,
    clause_of,
    clauses_of,
    fields_of,
    has_terminal,
    node_of,
    span_of,
    start_of,
    stop_of,
)


class QuestionRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def count(self, children: list[Any]) -> ast.Count:
        clauses = clauses_of(children)
        return ast.Count(
            what=children[1],
            where=clauses.get("WHERE"),
            group_by=clauses.get("GROUP BY", ()),
            order_by=clauses.get("ORDER BY", ()),
            top=clauses.get("TOP"),
            sample=clauses.get("SAMPLE"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def count_docs(self, children: list[Any]) -> ast.CountDocs:
        clauses = clauses_of(children)
        return ast.CountDocs(
            where=clauses.get("WHERE"),
            group_by=clauses.get("GROUP BY", ()),
            order_by=clauses.get("ORDER BY", ()),
            top=clauses.get("TOP"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def docs(self, children: list[Any]) -> ast.Docs:
        clauses = clauses_of(children)
        return ast.Docs(
            where=clauses.get("WHERE"),
            order_by=clauses.get("ORDER BY", ()),
            limit=clauses.get("LIMIT"),
            offset=clauses.get("OFFSET"),
            sample=clauses.get("SAMPLE"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def kwic(self, children: list[Any]) -> ast.Kwic:
        clauses = clauses_of(children)
        return ast.Kwic(
            pattern=node_of(children[1]),
            where=clauses.get("WHERE"),
            window=clauses.get("WINDOW"),
            order_by=clauses.get("ORDER BY", ()),
            limit=clauses.get("LIMIT"),
            offset=clauses.get("OFFSET"),
            sample=clauses.get("SAMPLE"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def ngrams(self, children: list[Any]) -> ast.Ngrams:
        clauses = clauses_of(children)
        return ast.Ngrams(
            n=children[1].node,
            where=clauses.get("WHERE"),
            top=clauses.get("TOP"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def trace(self, children: list[Any]) -> ast.Trace:
        clauses = clauses_of(children)
        return ast.Trace(
            ngram=children[1].node,
            min_length=clauses.get("MIN LENGTH"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def prob(self, children: list[Any]) -> ast.Prob:
        clauses = clauses_of(children)
        return ast.Prob(
            continuation=children[1].node,
            context=children[3].node,
            model=clauses.get("USING"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def dist(self, children: list[Any]) -> ast.Dist:
        clauses = clauses_of(children)
        return ast.Dist(
            context=children[2].node,
            model=clauses.get("USING"),
            top=clauses.get("TOP"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def score(self, children: list[Any]) -> ast.Score:
        clauses = clauses_of(children)
        return ast.Score(
            ngram=children[1].node,
            model=clauses.get("USING"),
            sentence="SENTENCE" in clauses,
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def generate(self, children: list[Any]) -> ast.Generate:
        clauses = clauses_of(children)
        if "TOKENS" not in clauses:
            raise Fault(
                "GENERATE needs to know how many tokens: TOKENS 20",
                start_of(children[0]),
                stop_of(children[0]),
            )
        return ast.Generate(
            context=children[2].node,
            tokens=clauses["TOKENS"],
            model=clauses.get("USING"),
            method=clauses.get("METHOD"),
            temperature=clauses.get("TEMPERATURE"),
            top=clauses.get("TOP"),
            nucleus=clauses.get("NUCLEUS"),
            diversity=clauses.get("DIVERSITY"),
            seed=clauses.get("SEED"),
            n_returned=clauses.get("RETURN"),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

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

    def top(self, children: list[Any]) -> Clause:
        return clause_of("TOP", children[1].node, children)

    def limit(self, children: list[Any]) -> Clause:
        return clause_of("LIMIT", children[1].node, children)

    def offset(self, children: list[Any]) -> Clause:
        return clause_of("OFFSET", children[1].node, children)

    def window(self, children: list[Any]) -> Clause:
        return clause_of("WINDOW", children[1].node, children)

    def min_length(self, children: list[Any]) -> Clause:
        return clause_of("MIN LENGTH", children[2].node, children)

    def sentence(self, children: list[Any]) -> Clause:
        return clause_of("SENTENCE", True, children)

    def tokens(self, children: list[Any]) -> Clause:
        return clause_of("TOKENS", children[1].node, children)

    def temperature(self, children: list[Any]) -> Clause:
        return clause_of("TEMPERATURE", children[1].node, children)

    def nucleus(self, children: list[Any]) -> Clause:
        return clause_of("NUCLEUS", children[1].node, children)

    def diversity(self, children: list[Any]) -> Clause:
        return clause_of("DIVERSITY", children[1].node, children)

    def seed(self, children: list[Any]) -> Clause:
        return clause_of("SEED", children[1].node, children)

    def return_clause(self, children: list[Any]) -> Clause:
        return clause_of("RETURN", children[1].node, children)

    def method(self, children: list[Any]) -> Clause:
        width = children[3].node if len(children) > 2 else None
        method = ast.Method(children[1].type.lower(), width, span=span_of(children))
        return clause_of("METHOD", method, children)

    def sample(self, children: list[Any]) -> Clause:
        seed = children[3].node if len(children) > 2 else None
        return clause_of("SAMPLE", ast.Sample(children[1].node, seed, span=span_of(children)), children)

    def group_by(self, children: list[Any]) -> Clause:
        return clause_of("GROUP BY", fields_of(children), children)

    def order_by(self, children: list[Any]) -> Clause:
        keys = tuple(child for child in children if isinstance(child, ast.OrderBy))
        return clause_of("ORDER BY", keys, children)

    def order_key(self, children: list[Any]) -> ast.OrderBy:
        return ast.OrderBy(children[0], has_terminal(children, "DESC"), span=span_of(children))

    def weight(self, children: list[Any]) -> Clause:
        return clause_of("The weight", children[1].node, children)

    def order(self, children: list[Any]) -> Clause:
        return clause_of("ORDER", children[1].node, children)

    def min_count(self, children: list[Any]) -> Clause:
        return clause_of("MIN COUNT", children[2].node, children)
