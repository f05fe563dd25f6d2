"""Colours while typing, by the language's own scanner, and a mark at the first mistake."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from ngramdb.language.highlight import lex
from ngramdb.language.mistakes import first_mistake
from ngramdb.visible import STEERING_CHARACTERS, written_out

# Kinds of `ngramdb.language.highlight` in the sixteen colours that every terminal's theme defines.
STYLE = Style.from_dict(
    {
        "ngramdb.keyword": "bold ansiblue",
        "ngramdb.ngram": "ansigreen",
        "ngramdb.token_ids": "ansigreen",
        "ngramdb.value": "ansiyellow",
        "ngramdb.number": "ansicyan",
        "ngramdb.comment": "italic ansibrightblack",
        "ngramdb.parameter": "ansimagenta",
        "ngramdb.error": "underline ansired",
        "ngramdb.mistake": "underline ansired",
        "ngramdb.command": "bold ansimagenta",
        "auto-suggestion": "ansibrightblack",
        "completion-menu.meta.completion": "italic",
        "prompt": "bold",
        "continuation": "ansibrightblack",
    }
)


def show_what_steers() -> None:
    """Make prompt_toolkit write out, in prompts, menus and what is typed, all that `visible` writes out."""
    for character in STEERING_CHARACTERS:
        Char.display_mappings.setdefault(character, written_out(character))


class StatementLexer(Lexer):
    """Colours a statement by the language's scanner; a dot command by its first word."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from line number to that line's styled pieces."""
        lines = styled_lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled_lines(text: str) -> list[StyleAndTextTuples]:
    """The text's lines, each a list of (style, piece); the pieces of a line join to the line."""
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece in _styled(text):
        first, *others = piece.split("\n")
        if first:
            lines[-1].append((style, first))
        for part in others:
            lines.append([(style, part)] if part else [])
    return lines


def _styled(text: str) -> list[tuple[str, str]]:
    if text.lstrip().startswith("."):
        name, blank, rest = text.partition(" ")
        return [("class:ngramdb.command", name), ("", blank + rest)]
    mistake = first_mistake(text) or (len(text), len(text))
    pieces: list[tuple[str, str]] = []
    for start, stop, kind in lex(text):
        # The piece before, inside and after the mistake, most of them empty as a rule.
        first, last = max(start, min(mistake[0], stop)), min(stop, max(mistake[1], start))
        pieces.append((f"class:ngramdb.{kind}", text[start:first]))
        pieces.append((f"class:ngramdb.{kind} class:ngramdb.mistake", text[first:last]))
        pieces.append((f"class:ngramdb.{kind}", text[last:stop]))
    return [(style, piece) for style, piece in pieces if piece]
