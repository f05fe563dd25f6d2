"""Values for `?` and `:name` from the command line, passed to the statements that use them."""

from __future__ import annotations

import re

from ngramdb.cli.common import UsageError
from ngramdb.errors import PlanError
from ngramdb.language.highlight import lex
from ngramdb.questions.signatures import Value, parse_value

ParameterValues = list[Value] | dict[str, Value] | None

_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# The message of a statement that was given something else than a text.
_WANTS_TEXT = re.compile("is text or |is a string|takes a string")
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
