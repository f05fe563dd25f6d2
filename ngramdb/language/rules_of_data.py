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
    statement_of,
    stop_of,
    valued_clause,
)


class DataRules:
    """One method per rule, called with the rule's tokens and the values of its parts."""

    def create_corpus(self, children: list[Any]) -> ast.CreateCorpus:
        return statement_of(ast.CreateCorpus, children, name=name_of(children[2:]))

    def as_documents(self, children: list[Any]) -> Clause:
        return clause_of("AS", children[2], children)

    def copy_from(self, children: list[Any]) -> ast.CopyFrom:
        return statement_of(ast.CopyFrom, children, corpus=children[1].node, path=children[3].node)

    def copy_to(self, children: list[Any]) -> ast.CopyTo:
        return statement_of(ast.CopyTo, children, question=children[2], path=children[5].node)

    def delete(self, children: list[Any]) -> ast.Delete:
        if "WHERE" not in clauses_of(children):
            message = "DELETE DOCS needs to know which: WHERE …; DROP CORPUS removes all of a corpus"
            raise Fault(message, start_of(children[0]), stop_of(children[1]))
        return statement_of(ast.Delete, children)

    def returning(self, children: list[Any]) -> Clause:
        every = (ast.Field((ast.EVERY_FIELD,), span=span_of(children[1:])),)
        return clause_of("RETURNING", fields_of(children) or every, children)

    def restore(self, children: list[Any]) -> ast.Restore:
        return ast.Restore(children[2].node, children[5].node, span=span_of(children))

    def keep_version(self, children: list[Any]) -> ast.KeepVersion:
        version = children[2].node if len(children) == 5 else None
        return ast.KeepVersion(children[-1].node, version, span=span_of(children))

    def drop_version(self, children: list[Any]) -> ast.DropVersion:
        return ast.DropVersion(children[2].node, span=span_of(children))

    def compact(self, children: list[Any]) -> ast.Compact:
        return ast.Compact(children[1].node if len(children) == 2 else None, span=span_of(children))

    def alter(self, children: list[Any]) -> ast.Alter:
        term = children[5]
        term = replace(term, sign=-1) if children[3].type == "SUBTRACT" else term
        return ast.Alter(children[2].node, term, span=span_of(children))

    def analyze(self, children: list[Any]) -> ast.Analyze:
        return statement_of(ast.Analyze, children, name=children[1].node)

    def drop_corpus(self, children: list[Any]) -> ast.DropCorpus:
        return statement_of(ast.DropCorpus, children, name=name_of(children[2:]))

    def attach(self, children: list[Any]) -> ast.Attach:
        clauses = clauses_of(children)
        options = clauses.get("The list of options", ())
        return ast.Attach(children[1].node, children[3].node, options, span=span_of(children))

    def detach(self, children: list[Any]) -> ast.Detach:
        return ast.Detach(children[1].node, span=span_of(children))

    def use(self, children: list[Any]) -> ast.Use:
        return ast.Use(children[1].node, span=span_of(children))

    def describe(self, children: list[Any]) -> ast.Describe:
        return ast.Describe(children[1].node if len(children) == 2 else None, span=span_of(children))

    def show(self, children: list[Any]) -> ast.Show:
        return statement_of(ast.Show, children, what=children[1].type.lower())

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

    tokenizer = valued_clause("TOKENIZER")

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
