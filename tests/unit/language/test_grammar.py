"""The grammar file: no conflicts, no terminal without a meaning."""

from __future__ import annotations

import logging
import re

import pytest
from lark import Lark
from support.polls import cpu_below

from ngramdb.language import parser, syntax
from ngramdb.language.syntax import STARTS, read_grammar
from ngramdb.language.transformer import AstBuilder


def test_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    # Lark resolves shift/reduce conflicts silently, except in debug mode, which logs them.
    logger = logging.getLogger("lark")
    handlers, level = logger.handlers[:], logger.level
    logger.handlers = [caplog.handler]
    try:
        logger.setLevel(logging.DEBUG)
        Lark(read_grammar(), parser="lalr", start=list(STARTS), debug=True)
    finally:
        logger.handlers = handlers
        logger.setLevel(level)
    assert [record.getMessage() for record in caplog.records if "onflict" in record.getMessage()] == []


def test_every_rule_has_a_method_or_passes_its_child_on() -> None:
    for rule in syntax.syntax().tables.rules:
        assert rule.is_inlined or rule.passes_on or hasattr(AstBuilder, rule.method), rule


def test_keywords_are_plain_words_and_no_literal_bears_the_name_of_one() -> None:
    assert {"COUNT", "FROM", "GIVEN", "NULL"} <= parser.keywords()
    assert all(re.fullmatch("[A-Z_]+[0-9]?", word) for word in parser.keywords())
    assert len(set(syntax.syntax().terminals)) == len(syntax.syntax().terminals)


def test_automaton_is_built_in_a_moment() -> None:
    with cpu_below(60):  # 0.3 s; a grammar that is ambiguous in the wrong place takes minutes
        syntax._build()


def test_at_most_one_kind_of_name_and_one_kind_of_string_may_stand_in_a_place() -> None:
    # The parser has to know which of them a word, or a value in single quotes, is. A function is followed by
    # a parenthesis.
    for row in syntax.syntax().tables.rows:
        assert len(set(syntax.NAMES) - {"FUNCTION_NAME"} & row.keys()) <= 1
        assert len(set(syntax.STRINGS) & row.keys()) <= 1
