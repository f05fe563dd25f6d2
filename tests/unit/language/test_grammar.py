"""The grammar file: no conflicts, no terminal without a meaning."""

from __future__ import annotations

import logging
import time
from importlib import resources

import pytest
from lark import Lark

from ngramdb.language import parser
from ngramdb.language.transformer import AstBuilder


def read_grammar() -> str:
    return resources.files("ngramdb.grammar").joinpath("ngramdb.lark").read_text(encoding="utf-8")


def test_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    # Lark resolves shift/reduce conflicts silently, save in debug mode, where it logs them.
    logger = logging.getLogger("lark")
    handlers, level = logger.handlers[:], logger.level
    logger.handlers = [caplog.handler]
    try:
        logger.setLevel(logging.DEBUG)
        Lark(read_grammar(), parser="lalr", start=["script", "condition", "model"], debug=True)
    finally:
        logger.handlers = handlers
        logger.setLevel(level)
    assert [record.getMessage() for record in caplog.records if "onflict" in record.getMessage()] == []


def test_every_rule_has_a_method_or_passes_its_child_on() -> None:
    lark = Lark(read_grammar(), parser="lalr", start=["script", "condition", "model"])
    for rule in lark.rules:
        name = rule.alias or rule.origin.name
        generated = name.startswith("_")
        assert generated or rule.options.expand1 or hasattr(AstBuilder, name), name


def test_keywords_are_plain_words_and_no_literal_bears_the_name_of_one() -> None:
    assert {"COUNT", "FROM", "GIVEN", "NULL"} <= parser.keywords()
    assert all(word.isascii() and word.isupper() and word.isalpha() for word in parser.keywords())
    assert not parser.keywords() & set(parser._LITERALS)


def test_automaton_is_built_in_a_moment() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        parser._build()
        return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 0.15
