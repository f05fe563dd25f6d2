"""Queries as text with named values, for programs that send or display them.

A `Statement` has two texts: `text`, with placeholders for n-grams, so that the same query for
another n-gram has the same text; and `shown`, in which they are written out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb import types
    from ngramdb.questions.arguments import parsing
else:
    types = lazy_module("ngramdb.types")
    parsing = lazy_module("ngramdb.questions.arguments.parsing")

Ngram = str | Sequence[int]


class Pattern(NamedTuple):
    """A search pattern: an n-gram (text or token ids), or an expression of the language as text."""

    ngram: Ngram | None = None
    expression: str | None = None
    match_text: bool = False
    ignore_case: bool = False


@dataclass(eq=False)
class Statement:
    """A statement built clause by clause; `values` are those of the placeholders in `text`."""

    text: str = ""
    shown: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, clause: str) -> Statement:
        """Add a clause, as written."""
        glue = " " if self.text else ""
        self.text += glue + clause
        self.shown += glue + clause
        return self

    def both(self, clause: str, shown: str) -> Statement:
        """Add a clause with a different form in `shown`."""
        self.text += f" {clause}"
        self.shown += f" {shown}"
        return self

    def join(self, other: Statement) -> Statement:
        """Append another statement; only one of the two may have n-grams."""
        self.text += f" {other.text}"
        self.shown += f" {other.shown}"
        self.values.update(other.values)
        return self

    def ngram(self, ngram: Ngram, before: str = "") -> Statement:
        """Add an n-gram, after the words `before`."""
        name = f"_{len(self.values) + 1}"
        value = ngram if isinstance(ngram, str) else types.token_ids(ngram).tolist()
        self.values[name] = value
        written = quoted_ngram(value)
        glue, head = " " if self.text else "", f"{before} " if before else ""
        self.text += f"{glue}{head}:{name}"
        self.shown += f"{glue}{head}{written}"
        return self

    def pattern(self, pattern: Pattern) -> Statement:
        """Add a pattern."""
        flags = {"MATCH TEXT": pattern.match_text, "IGNORE CASE": pattern.ignore_case}
        modifiers = "".join(f" {words}" for words, is_set in flags.items() if is_set)
        if pattern.expression is not None:
            # The line break ends a comment.
            whole = f"({pattern.expression}\n){modifiers}" if modifiers else pattern.expression
            return self.condition("", whole)
        self.ngram("" if pattern.ngram is None else pattern.ngram)
        return self.add(modifiers[1:]) if modifiers else self

    def condition(self, word: str, condition: str | None) -> Statement:
        """Add a clause for a user's condition; None for no clause. Raises ParseError."""
        if condition is None:
            return self
        parsing.parsed_condition(condition)  # complete by itself
        # A comment in it ends with its line.
        tail = "\n" if "--" in condition else ""
        return self.add(f"{word} {condition}{tail}".lstrip(" "))

    def number(self, word: str, value: int | float | None) -> Statement:
        """Add a clause with a number; None for no clause."""
        return self if value is None else self.add(f"{word} {value}")

    def where(self, where: str | None) -> Statement:
        """Add WHERE."""
        return self.condition("WHERE", where)

    def source(self, corpus: str, version: int | None = None) -> Statement:
        """Add FROM."""
        at = "" if version is None else f" AT VERSION {version}"
        return self.add(f"FROM {quoted_name(corpus)}{at}")

    def order(self, keys: Sequence[str], descending: bool) -> Statement:
        """Add ORDER BY; without keys, documents are in the order of their ids."""
        if not keys and not descending:
            return self
        keys, way = keys or ("doc_id",), " DESC" if descending else ""
        return self.add("ORDER BY " + ", ".join(f"{key}{way}" for key in keys))

    def sample(self, size: int | None, seed: int | None) -> Statement:
        """Add SAMPLE … SEED."""
        if size is None:
            return self
        return self.add(f"SAMPLE {size}").number("SEED", seed)

    def returning(self, fields: Sequence[str]) -> Statement:
        """Add RETURNING."""
        return self.add("RETURNING " + ", ".join(fields)) if fields else self

    def using(self, model: str | None) -> Statement:
        """Add USING; None for the default."""
        return self if model is None else self.add(f"USING {model}")


def quoted_ngram(ngram: Ngram) -> str:
    """Return an n-gram in the syntax of statements."""
    if isinstance(ngram, str):
        return json.dumps(ngram, ensure_ascii=False)
    return "[" + ", ".join(map(str, ngram)) + "]"


def quoted_name(name: str) -> str:
    """Return a name in the syntax of statements: in backquotes unless it is a plain word."""
    if name.isascii() and name.isidentifier():
        return name
    return "`" + name.replace("`", "``") + "`"


def fields_of(text: str | None) -> tuple[str, ...]:
    """Split a list of fields as in statements: `year, meta.kind`; a comma in backquotes belongs to a name."""
    return tuple(filter(None, (part.strip() for part in _parts(text or ""))))


def _parts(text: str) -> Iterator[str]:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        raise InvalidArgument(f"a backquote is not closed in {text!r}")
    part = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            part += f"`{piece}`"
            continue
        first, *others = piece.split(",")
        part += first
        for other in others:
            yield part
            part = other
    yield part
