"""What is known when the parser refuses a lexeme; the messages and the hints are made from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ngramdb.language.transformer import Lexeme

# Longer pieces of a statement are cut when a message quotes them, in characters.
MAX_QUOTED = 40
# What starts a clause, which may stand once in a statement.
CLAUSE_HEADS = frozenset(
    ["FROM", "USING", "TOP", "WHERE", "ORDER", "LIMIT", "OFFSET", "TOKENIZER", "WITH", "ON", "IF", "LPAR"]
)


class Situation:
    """All that is known when a lexeme is refused.

    Parameters
      found - the lexeme
      before - the lexemes that were accepted
      acceptable - the terminals that could have come instead, in the order in which to list them
      keywords - those of the grammar
      whole - what the text was read as: 'statement', 'condition' or 'model'
    """

    def __init__(
        self,
        text: str,
        found: Lexeme,
        before: Sequence[Lexeme],
        acceptable: Sequence[str],
        keywords: Collection[str],
        whole: str = "statement",
    ) -> None:
        self.text = text
        self.found = found
        self.before = before
        self.keywords = keywords
        self.whole = whole
        self.head = _types_since_semicolon(before)
        given = CLAUSE_HEADS.intersection(self.head) if "$END" in acceptable else frozenset()
        self.expected = [terminal for terminal in acceptable if terminal not in given]

    @property
    def raw(self) -> str:
        """The lexeme as it is written."""
        return self.text[self.found.start : self.found.stop]

    @property
    def at_end(self) -> bool:
        """Whether the text that was to be read ends where more is needed."""
        return self.found.type == "$END" or (self.found.type == "SEMICOLON" and self.whole == "statement")

    @property
    def is_word(self) -> bool:
        """Whether the lexeme is a bare word, keyword or name."""
        return self.raw[:1].isalpha() or self.raw[:1] == "_"

    @property
    def previous(self) -> str:
        """The terminal before the lexeme, or ''."""
        return self.before[-1].type if self.before else ""

    def may_be(self, terminal: str) -> bool:
        return terminal in self.expected

    @property
    def statement_may_start(self) -> bool:
        return self.may_be("COUNT") and self.may_be("SHOW")


def _types_since_semicolon(lexemes: Sequence[Lexeme]) -> list[str]:
    """The terminals of the statement that the last lexeme belongs to."""
    types: list[str] = []
    for lexeme in reversed(lexemes):
        if lexeme.type == "SEMICOLON":
            break
        types.append(lexeme.type)
    return types[::-1]


def quote(raw: str) -> str:
    """A piece of a statement as a message shows it: one line, no control characters, not too long."""
    line = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in " ".join(raw[:1000].split()))
    return line if len(line) <= MAX_QUOTED else line[: MAX_QUOTED - 1] + "…"
