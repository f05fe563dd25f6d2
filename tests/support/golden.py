"""Golden files of statements and their answers: reading them, answers as text, rewriting them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ngramdb
from ngramdb.errors import NgramdbError, ParseError
from ngramdb.language.parser import parse, parse_statement

FOLDER = Path(__file__).parents[1] / "language"
FILES = sorted(FOLDER.glob("*.test"))
DASHES = "----"

# Parts of the summary that are not answers: advice to the user, and values that depend on earlier commits.
UNCOMPARED = {"note", "notes", "version", "message", "name", "value", "changed", "reasons", "seconds"}
# Columns that differ between two runs.
VARYING = {"version", "created", "by", "segment", "bytes", "in_memory", "bytes_before", "bytes_after"}


@dataclass
class Case:
    """A statement with its directives and its answer; `line` is that of the statement's first directive."""

    file: Path
    line: int
    statement: str
    expected: str
    directives: dict[str, str] = field(default_factory=dict)

    @property
    def runs_everywhere(self) -> bool:
        return self.directives.get("rerun") != "no"


@dataclass
class Block:
    """The lines up to an empty one, and the number of the first one."""

    line: int
    lines: list[str]


def blocks(file: Path) -> Iterator[Block]:
    lines: list[str] = []
    for number, line in enumerate([*file.read_text(encoding="utf-8").split("\n"), ""], start=1):
        if line:
            lines.append(line)
        elif lines:
            yield Block(number - len(lines), lines)
            lines = []


def directives(lines: list[str]) -> dict[str, str]:
    found = (re.fullmatch(r"# (corpora|params|version|rerun): (.*)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def cases(file: Path) -> list[Case]:
    found = []
    for block in blocks(file):
        if DASHES in block.lines:
            cut = block.lines.index(DASHES)
            statement = "\n".join(line for line in block.lines[:cut] if not line.startswith("#"))
            expected = "\n".join(block.lines[cut + 1 :])
            found.append(Case(file, block.line, statement, expected, directives(block.lines[:cut])))
    return found


def corpora(file: Path) -> list[str]:
    """Return the corpora that a file queries; empty for a file of invalid statements."""
    first = next(blocks(file))
    return directives(first.lines).get("corpora", "").split()


# ---- the corpora

DATA = FOLDER / "data"

# The data of each corpus: the tokenizer, and the file of documents.
CORPORA = {
    "sayings": ("words", "sayings.jsonl"),
    "letters": ("chars", "sayings.jsonl"),
    "octets": ("bytes", "sayings.jsonl"),
    "pieces": ("pieces.tokenizer.json", "sayings.jsonl"),
    "ids": ("tokens", "ids.jsonl"),
    "songs": ("words", "songs.jsonl"),
    "tales": ("words", "tales.jsonl"),
    "small_tales": ("words(lower)", "tales.jsonl"),
    "spelled_tales": ("chars", "tales.jsonl"),
    "pieces_of_tales": ("pieces.tokenizer.json", "tales.jsonl"),
}


def lines_of(name: str) -> list[str]:
    return (DATA / CORPORA[name][1]).read_text(encoding="utf-8").splitlines()


def load(db: ngramdb.Connection, name: str, parts: list[list[str]]) -> None:
    """Makes a corpus with a commit, and so a segment, for each part."""
    tokenizer, _ = CORPORA[name]
    db.execute(f"CREATE CORPUS {name} TOKENIZER ?", [tokenizer])
    for part in parts:
        Path("part.jsonl").write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
        db.execute(f"COPY {name} FROM 'part.jsonl'")


def in_one(db: ngramdb.Connection, name: str) -> None:
    load(db, name, [lines_of(name)])


# ---- answers as text


def cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.8g}" if math.isfinite(value) else repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(cell, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def told(summary: dict[str, Any]) -> list[str]:
    """The summary's part of an answer."""
    facts = [f"{name} {cell(value)}" for name, value in summary.items() if name not in UNCOMPARED]
    lines = [f"-- {', '.join(facts)}"] if facts else []
    return [*lines, str(summary["message"])] if "message" in summary else lines


def answer(db: ngramdb.Connection, statement: str, values: Any) -> str:
    """The statement's answer, or its error."""
    try:
        result = db.execute(statement, values)
        rows = result.fetchall()
    except NgramdbError as error:
        text = str(error) if isinstance(error, ParseError) else f"error: {error}"
        return "\n".join(line.rstrip() for line in text.split("\n"))
    varying = [name in VARYING for name in result.columns]
    cells = [["…" if hide else cell(v) for hide, v in zip(varying, row, strict=True)] for row in rows]
    head = [list(result.columns)] if result.columns else []
    lines = [" | ".join(line) for line in [*head, *cells]]
    return re.sub(r"[\d.]+ ms\b", "… ms", "\n".join([*lines, *told(result.summary)]))


def message(statement: str) -> str:
    """Return the parser's message for an invalid statement."""
    try:
        parse_statement(statement)
    except ParseError as error:
        return "\n".join(line.rstrip() for line in str(error).split("\n"))
    return "(a statement)"


def agrees(expected: str, found: str) -> bool:
    pattern = ".*".join(map(re.escape, re.split("…+", expected)))
    return found == expected or re.fullmatch(pattern, found) is not None


def parsed(statement: str) -> list[Any]:
    """Return the trees of a statement; empty if it is invalid."""
    try:
        return list(parse(re.sub(r"\$\w+", "1", statement)))
    except ParseError:
        return []


def rewrite(file: Path, answers: dict[int, str]) -> None:
    """Puts the answers, by the line of their case, in the place of those that differ."""
    parts = []
    for block in blocks(file):
        if block.line in answers:
            block.lines[block.lines.index(DASHES) + 1 :] = answers[block.line].split("\n")
        parts.append("\n".join(block.lines))
    file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
