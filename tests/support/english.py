"""Stilted constructions in docstrings, comments and messages, by the language rules of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Constructions to avoid, each with the advice that a failure prints.
ADVICE = {
    "begin with an imperative or a noun phrase": re.compile(
        r"^(What|Whether|How|Where|That|Who|Whatever|Whoever|Of|As \w+ (is|are|has))\b(?!.*\?)"
    ),
    "use if or when for conditions": re.compile(
        r"\b[Ww]here (it|there|that|this|an?|the|one|no|none|they|nothing|something|some|all|each|both)\b"
    ),
    'use "not a", "invalid", "empty" or "missing"': re.compile(
        r"(?<![Tt]here )\b(is|are|was|were|be|has|have|had) none\b"
        r"|(?<![Tt]here )\b(is|are|was|were|be) no\b(?! (longer|more|other|need))"
        r"|\bthose of (none|no)\b|\b(has|have) not (an?|the|any|it)\b"
    ),
    "things do not ask, tell, say or stand": re.compile(
        r"\b(stands?|stood|standing)\b(?! (for|out|alone|in for)\b)|\b(is|are|was|were) asked\b|\basks of\b"
        r"|\b(tells?|told|says|said)\b(?! (you|the user|apart)\b)|\blets? go\b"
    ),
    "use normal word order": re.compile(
        r"^(Of|To|Among|Beside|Behind|Besides) [a-z ]{3,40}, |\b(anew|save that|but for|shall|whosoever)\b"
    ),
}
WORD = re.compile(r"[A-Za-z][a-z'’]+")
#: Strings of fewer words are names, formats and keys rather than messages.
LEAST_WORDS = 5


class Prose(NamedTuple):
    """A line of prose: its file, its number, and its text."""

    path: Path
    line: int
    text: str


def advice_on(text: str) -> list[str]:
    """Return the advice on a line; quoted words and code are not prose."""
    text = re.sub(r"`[^`]*`", "x", text)
    return [] if len(WORD.findall(text)) < 3 else [one for one, form in ADVICE.items() if form.search(text)]


def prose_of(path: Path) -> Iterator[Prose]:
    """Yield the prose of a file: docstrings, comments, messages of Python, and paragraphs of pages."""
    text = path.read_text(encoding="utf-8")
    read = {".py": _of_python, ".pyi": _of_python, ".pyx": _of_cython, ".pxd": _of_cython, ".md": _of_page}
    for line, found in read.get(path.suffix, _of_cpp)(text):
        yield Prose(path, line, found.strip())


def _of_python(source: str) -> Iterator[tuple[int, str]]:
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                docstrings.add(node.body[0].lineno)
                for number, line in enumerate(text.splitlines()):
                    if not line.lstrip().startswith((">>>", "...")):
                        yield node.body[0].lineno + number, line
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.lineno not in docstrings
            and len(WORD.findall(node.value)) >= LEAST_WORDS
            and "\n\n" not in node.value
        ):
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def _of_cython(source: str) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(source.splitlines(), 1):
        n_quotes = line.count('"""')
        if inside or n_quotes:
            yield number, line.strip().strip('"')
        elif comment := re.search(r"(?:^|\s)#[: ]*(.*)", line):
            yield number, comment[1]
        inside ^= n_quotes == 1


def _of_cpp(source: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.splitlines(), 1):
        if comment := re.search(r"(?://+|/\*|^\s*\*)\s*(.*)", line):
            yield number, comment[1]


def _of_page(source: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code and not line.startswith(("    ", "#", "```")):
            yield number, line.strip(" |*-")
