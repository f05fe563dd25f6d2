"""Notes on patterns that cannot match as they are written, whatever the documents are.

An expression is compared with one token at a time. Under the rule of the tokenizer `words`, a token is a run
of letters, digits and marks, or one other character; white space belongs to no token. So `/time flies/`
matches nothing in any corpus.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ngramdb.language import ast
from ngramdb.planner import plan

# A character of an expression that stands for itself, between parts of it: white space, or a mark that is a
# token of its own.
_SEPARATOR = re.compile(r"\\(?P<escaped>[^\w\s])|(?P<plain>[ '\"@,:;!%&=~<>#/-])")
_QUANTIFIED = frozenset("*+?{")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")


def of_expression(expression: str) -> str | None:
    """Return why no token matches an expression, and the pattern that does; None if a token may match."""
    parts = [] if expression.startswith("(?") else _cut(expression)
    marks = [found["escaped"] or found["plain"] for part in parts if (found := _SEPARATOR.fullmatch(part))]
    # Every match contains each of the marks, and is a token only if it is one of them.
    if not marks or any(mark != " " and re.fullmatch(expression, mark) for mark in marks):
        return None
    written = " ".join(_written(part) for part in parts if part.strip())
    advice = f"; write {written}" if written else ""
    return (
        f"/{expression}/ is compared with one token at a time, and no token has a blank in it or joins a "
        f"punctuation mark to other characters: it matches nothing{advice}"
    )


def _cut(expression: str) -> list[str]:
    """Return an expression in pieces, cut around the separators outside of groups, sets and alternatives."""
    places: list[int] = [0]
    depth = at = 0
    in_set = False
    while at < len(expression):
        character = expression[at]
        separator = None if in_set or depth else _SEPARATOR.match(expression, at)
        if character == "|" and not in_set and not depth:
            return [expression]
        if separator is not None and expression[separator.end() : separator.end() + 1] not in _QUANTIFIED:
            places += [at, separator.end()]
        if in_set:
            in_set = character != "]"
        elif character == "[":
            in_set = True
            at += 1 + (expression[at + 1 : at + 2] == "^")  # a bracket that comes first stands for itself
            at += expression[at : at + 1] == "]"
            continue
        depth += 0 if in_set else (character in "({") - (character in ")}")
        at += 2 if character == "\\" else 1
    pieces = [expression[a:b] for a, b in pairwise([*places, len(expression)]) if b > a]
    return pieces or [expression]


def _written(piece: str) -> str:
    """Return a piece of an expression as a part of a pattern."""
    plain = re.sub(r"\\([^\w\s])", r"\1", piece)
    if not _SPECIAL.intersection(re.sub(r"\\[^\w\s]", "", piece)) and "\\" not in plain:
        return plan.show_text(plain)
    return f"/{piece}/"


def of_last_only(node: ast.And | ast.Or) -> str | None:
    """Return a note on IGNORE CASE after the last of several n-grams alone, or None."""
    leaves = [item.pattern if isinstance(item, ast.Contains) else item for item in node.operands]
    *others, last = leaves
    texts = [item.value for item in others if isinstance(item, ast.Text)]
    if not (isinstance(last, ast.Matching) and last.ignore_case) or len(texts) < len(others):
        return None
    cased = [text for text in texts if text.lower() != text.upper()]
    if not cased:
        return None
    first = plan.show_text(cased[0])
    return (
        f"IGNORE CASE belongs to the last n-gram alone, and {first} is matched as it is written; write "
        f"{first} IGNORE CASE as well"
    )
