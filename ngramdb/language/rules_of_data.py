"""The rules of the grammar that make the statements on data, on settings and on what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ngramdb.language import ast
from ngramdb.language.literals import Fault
from ngramdb.language.parts import (
    Clause,
    Lexeme,
    clause_of,
    clauses_of,
    fields_of,
    lowered,
    name_of,
    span_of,
    start_of,
    stop_of,
)


class DataRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def create_corpus(self, children: list[Any]) -> ast.CreateCorpus:
        clauses = clauses_of(children)
        return ast.CreateCorpus(
            name=name_of(children[2:]),
            if_not_exists="IF NOT EXISTS" in clauses,
            tokenizer=clauses.get("TOKENIZER"),
            options=clauses.get("WITH", ()),
            span=span_of(children),
        )

    def copy_from(self, children: list[Any]) -> ast.CopyFrom:
        clauses = clauses_of(children)
        return ast.CopyFrom(
            corpus=children[1].node,
            path=children[3].node,
            options=clauses.get("The list of options", ()),
            skip_errors=clauses.get("ON ERROR", False),
            span=span_of(children),
        )

    def copy_to(self, children: list[Any]) -> ast.CopyTo:
        clauses = clauses_of(children)
        return ast.CopyTo(
            docs=children[2],
            path=children[5].node,
            options=clauses.get("The list of options", ()),
            span=span_of(children),
        )

    def delete(self, children: list[Any]) -> ast.Delete:
        clauses = clauses_of(children)
        if "WHERE" not in clauses:
            message = "DELETE DOCS needs to know which: WHERE …; DROP CORPUS removes all of a corpus"
            raise Fault(message, start_of(children[0]), stop_of(children[1]))
        return ast.Delete(
            where=clauses["WHERE"],
            returning=clauses.get("RETURNING", ()),
            source=clauses.get("FROM"),
            span=span_of(children),
        )

    def returning(self, children: list[Any]) -> Clause:
        return clause_of("RETURNING", fields_of(children), children)

    def restore(self, children: list[Any]) -> ast.Restore:
        return ast.Restore(children[2].node, children[5].node, span=span_of(children))

    def compact(self, children: list[Any]) -> ast.Compact:
        return ast.Compact(children[1].node if len(children) == 2 else None, span=span_of(children))

    def alter(self, children: list[Any]) -> ast.Alter:
        term = children[5]
        term = replace(term, sign=-1) if children[3].type == "SUBTRACT" else term
        return ast.Alter(children[2].node, term, span=span_of(children))

    def analyze(self, children: list[Any]) -> ast.Analyze:
        clauses = clauses_of(children)
        return ast.Analyze(children[1].node, clauses.get("ORDER"), span=span_of(children))

    def drop_corpus(self, children: list[Any]) -> ast.DropCorpus:
        clauses = clauses_of(children)
        return ast.DropCorpus(name_of(children[2:]), "IF EXISTS" in clauses, span=span_of(children))

    def use(self, children: list[Any]) -> ast.Use:
        return ast.Use(children[1].node, span=span_of(children))

    def describe(self, children: list[Any]) -> ast.Describe:
        return ast.Describe(children[1].node, span=span_of(children))

    def show(self, children: list[Any]) -> ast.Show:
        clauses = clauses_of(children)
        return ast.Show(children[1].type.lower(), clauses.get("FROM"), span=span_of(children))

    def check(self, children: list[Any]) -> ast.Check:
        return ast.Check(children[1].node if len(children) == 2 else None, span=span_of(children))

    def set_setting(self, children: list[Any]) -> ast.SetSetting:
        return ast.SetSetting(lowered(children[1].node), children[3].node, span=span_of(children))

    def reset_setting(self, children: list[Any]) -> ast.ResetSetting:
        return ast.ResetSetting(lowered(children[1].node), span=span_of(children))

    def if_not_exists(self, children: list[Any]) -> Clause:
        return clause_of("IF NOT EXISTS", True, children)

    def if_exists(self, children: list[Any]) -> Clause:
        return clause_of("IF EXISTS", True, children)

    def tokenizer(self, children: list[Any]) -> Clause:
        return clause_of("TOKENIZER", children[1].node, children)

    def with_options(self, children: list[Any]) -> Clause:
        return clause_of("WITH", children[1].value, children)

    def bare_options(self, children: list[Any]) -> Clause:
        return clause_of("The list of options", children[0].value, children)

    def on_error(self, children: list[Any]) -> Clause:
        return clause_of("ON ERROR", children[2].type == "SKIP", children)

    def options(self, children: list[Any]) -> Clause:
        options = [child for child in children if isinstance(child, ast.Option)]
        seen: set[str] = set()
        for option in options:
            if option.name.value in seen:
                raise Fault(f"option {option.name.value} is given twice", start_of(option), stop_of(option))
            seen.add(option.name.value)
        return clause_of("options", tuple(options), children)

    def option(self, children: list[Any]) -> ast.Option:
        last = children[-1]
        value = last.value if isinstance(last, Clause) else last.node
        return ast.Option(lowered(children[0].node), value, span=span_of(children))

    def option_list(self, children: list[Lexeme]) -> Clause:
        return clause_of("list", tuple(child.node for child in children if child.node is not None), children)
