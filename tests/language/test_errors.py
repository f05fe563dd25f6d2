"""Runs `errors.test`: wrong statements, each with the exact message that its author gets.

A case is the statement, a line of dashes, and the message as a terminal shows it; an empty line ends it. With
NGRAMDB_REWRITE=1 in the environment, the messages in the file are replaced by the present ones (look at the
difference before you keep it).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from ngramdb.errors import ParseError
from ngramdb.language.parser import parse_statement

GOLDEN = Path(__file__).with_name("errors.test")
DASHES = "----"


class Case(NamedTuple):
    line: int
    statement: str
    expected: str


def read_cases() -> list[Case]:
    cases: list[Case] = []
    block: list[str] = []
    first = 1
    for number, line in enumerate([*GOLDEN.read_text(encoding="utf-8").split("\n"), ""], start=1):
        if line:
            block.append(line)
            continue
        block = [part for part in block if not part.startswith("#")]
        if block:
            cut = block.index(DASHES)
            cases.append(Case(first, "\n".join(block[:cut]), "\n".join(block[cut + 1 :])))
        block = []
        first = number + 1
    return cases


def message_of(statement: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse_statement(statement)
    return "\n".join(line.rstrip() for line in str(caught.value).split("\n"))


def rewrite() -> None:
    blocks = []
    for block in GOLDEN.read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if DASHES in lines:
            head = lines[: lines.index(DASHES)]
            statement = "\n".join(line for line in head if not line.startswith("#"))
            block = "\n".join([*head, DASHES, message_of(statement)])
        blocks.append(block)
    GOLDEN.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if os.environ.get("NGRAMDB_REWRITE"):
    rewrite()


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: f"line {case.line}: {case.statement[:50]!r}")
def test_wrong_statement_gets_its_message(case: Case) -> None:
    assert message_of(case.statement) == case.expected


def test_there_are_many_cases_and_no_statement_stands_twice() -> None:
    statements = [case.statement for case in read_cases()]
    assert len(statements) >= 250
    assert len(set(statements)) == len(statements)
