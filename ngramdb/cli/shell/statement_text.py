"""Values for `?` and `:name` from the command line, passed to the statements that use them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ngramdb.cli.common import UsageError
from ngramdb.cli.terminal.screen import Span
from ngramdb.errors import PlanError
from ngramdb.language.editing import lex
from ngramdb.questions.signatures import Value, parse_value

ParameterValues = list[Value] | dict[str, Value] | None

_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# The message of a statement that was given something else than a text.
_WANTS_TEXT = re.compile("must be (text or|a string)|takes a string")
AS_TEXT = (
    "a text that looks like a number, a list, true, false or null goes into double quotes: --param '\"10\"'"
)


class Parameters:
    """The command line's `--param`s.

    `--param VALUE` is for the next `?` of the statements in the order they run; `--param NAME=VALUE` for
    every `:NAME`. A positional value that itself looks like NAME=VALUE is written with a leading `=`.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.named: dict[str, Value] = {}
        self.positional: list[Value] = []
        for argument in arguments:
            match = _NAMED.fullmatch(argument)
            if match:
                self.named[match[1]] = parse_value(match[2])
            else:
                self.positional.append(parse_value(argument.removeprefix("=")))
        if self.named and self.positional:
            raise UsageError("--param NAME=VALUE and --param VALUE cannot be mixed")
        self._n_used = 0
        self._names_used: set[str] = set()

    def copy(self) -> Parameters:
        """Return a copy with the same values; values used in the copy do not count as used here."""
        made = Parameters([])
        made.named, made.positional, made._n_used = self.named, self.positional, self._n_used
        made._names_used = set(self._names_used)
        return made

    def for_statement(self, text: str) -> ParameterValues:
        """Return the statement's values: the next ones for `?`, the named ones for `:name`, or None."""
        if not self.named and not self.positional:
            return None
        asked = [text[start:stop] for start, stop, kind in lex(text) if kind == "parameter"]
        if not asked:
            return None
        if self.named:
            if "?" in asked:
                raise UsageError(
                    "the statement has a ?, but --param NAME=VALUE is for :NAME; "
                    "a value that looks like that is given as --param =NAME=VALUE"
                )
            wanted = {name.removeprefix(":") for name in asked}
            self._names_used |= wanted
            return {name: value for name, value in self.named.items() if name in wanted}
        start = self._n_used
        self._n_used = min(len(self.positional), start + len(asked))
        return self.positional[start : self._n_used]

    def check_all_used(self) -> None:
        """Raise UsageError when values are left over, a sign of a forgotten `?` or a misspelt `:name`."""
        n_given = len(self.positional)
        unused = [name for name in self.named if name not in self._names_used]
        if unused:
            raise UsageError(f"--param {unused[0]}=… was given, but no statement has :{unused[0]}")
        if self._n_used < n_given:
            raise UsageError(f"{n_given} --param values were given, but the statements use {self._n_used}")


def advise(error: PlanError) -> None:
    """Add how a text is given to an error of a statement that was given another value for a placeholder."""
    at_placeholder = error.text is not None and error.start is not None and error.text[error.start] in "?:"
    if at_placeholder and _WANTS_TEXT.search(error.message):
        error.message = f"{error.message}; {AS_TEXT}"


# ---- Positions of a statement's n-grams in a document's text, for highlighting.


# More n-grams than this make a pattern that is slow to compile, for a screen of nothing but colour.
MOST_NGRAMS = 200

_PIECE = re.compile(r"\w+|[^\w\s]")
_IGNORES_CASE = re.compile(r"\bIGNORE\s+CASE\b", re.IGNORECASE)


class Marks:
    """The places of n-grams in texts.

    >>> Marks(["the cat"]).find("in the  cat's")
    [(3, 11)]
    """

    def __init__(self, ngrams: Iterable[str], ignore_case: bool = False) -> None:
        flags = re.IGNORECASE if ignore_case else re.UNICODE
        # If two begin at the same place, the longer one is shown.
        chosen = sorted(filter(str.strip, set(ngrams)), key=len, reverse=True)[:MOST_NGRAMS]
        self._patterns = [
            re.compile("|".join(make(ngram) for ngram in chosen), flags)
            for make in (_whole_words, _anywhere)
            if chosen
        ]

    def find(self, text: str) -> list[Span]:
        """Return half-open places in order and without overlaps. Cost: at most twice linear in the text."""
        for pattern in self._patterns:
            found = [match.span() for match in pattern.finditer(text)]
            if found:
                return found
        return []


def marks_of(statement: str, parameters: Sequence[object] | Mapping[str, object] | None) -> Marks | None:
    """Return the n-grams that a statement contains, in quotes or by its parameters; None without any."""
    ngrams = [_value(statement[start:stop]) for start, stop, kind in lex(statement) if kind == "ngram"]
    values = parameters.values() if isinstance(parameters, Mapping) else parameters or ()
    ngrams.extend(value for value in values if isinstance(value, str))
    if not any(map(str.strip, ngrams)):
        return None
    return Marks(ngrams, ignore_case=_IGNORES_CASE.search(statement) is not None)


def _value(literal: str) -> str:
    try:
        value = json.loads(literal, strict=False)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _anywhere(ngram: str) -> str:
    """Return a regular expression for the n-gram's words and signs, with spaces between words."""
    pieces: list[str] = _PIECE.findall(ngram)
    pattern = re.escape(pieces[0])
    for before, piece in itertools.pairwise(pieces):
        both_words = before[-1].isalnum() and piece[0].isalnum()
        pattern += (r"\s+" if both_words else r"\s*") + re.escape(piece)
    return pattern


def _whole_words(ngram: str) -> str:
    first, last = ngram.strip()[0], ngram.strip()[-1]
    head = r"(?<!\w)" if first.isalnum() else ""
    tail = r"(?!\w)" if last.isalnum() else ""
    return head + _anywhere(ngram) + tail
