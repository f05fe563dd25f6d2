"""Enter and Tab at the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.application.current import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from ngramdb.cli.shell.catalog import Catalog
from ngramdb.cli.shell.completion import complete
from ngramdb.display import STEERING_CHARACTERS, written_out
from ngramdb.language.editing import first_mistake, lex
from ngramdb.language.scanner import is_complete

# Words that people type to leave or to get help, whatever the program; none begins a statement.
BARE_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit"}


def is_finished(text: str) -> bool:
    """Return True if Enter submits the text: a complete statement, a dot command, a bare word, or nothing.

    An empty line ends a statement, too: someone who forgot the semicolon presses Enter again.
    """
    stripped = text.strip()
    if not stripped or stripped.startswith("."):
        return True
    if stripped.rstrip(";").strip().lower() in BARE_WORDS or is_complete(text):
        return True
    last_line = text[text.rfind("\n") :]
    return "\n" in last_line and last_line.isspace() and is_complete(f"{text};")


def bindings() -> KeyBindings:
    """Enter takes a chosen completion, hands over what is finished, and breaks the line of what is not.

    Alt-Enter always hands over.
    """
    bound = KeyBindings()
    at_prompt = has_focus(DEFAULT_BUFFER)

    @Condition
    def chosen() -> bool:
        state = get_app().current_buffer.complete_state
        return state is not None and state.current_completion is not None

    @Condition
    def finished() -> bool:
        return is_finished(get_app().current_buffer.text)

    @bound.add("enter", filter=at_prompt & chosen)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bound.add("enter", filter=at_prompt & ~chosen & finished)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bound.add(Keys.Vt100MouseEvent)
    def _(event: KeyPressEvent) -> None:
        """Drop it: the mouse is unused, and the colours of pasted text, as ESC [31m, are taken for events."""

    return bound


# ---- Colours while typing, by the language's own scanner, and a mark at the first mistake.


# Kinds of `ngramdb.language.editing` in the sixteen colours that every terminal's theme defines.
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
        """Return a function from line number to that line's styled pieces."""
        lines = styled_lines(document.text)
        return lambda number: lines[number] if number < len(lines) else []


def styled_lines(text: str) -> list[StyleAndTextTuples]:
    """Return the text's lines, each a list of (style, piece); the pieces of a line join to the line."""
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


# ---- Completion for prompt_toolkit: its completer over `complete`.


class StatementCompleter(Completer):
    """Completion of statements. At an empty prompt only on Tab."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Candidates as prompt_toolkit takes them. Runs in a thread beside the keys: it may take a while."""
        text, cursor = document.text, document.cursor_position
        if not complete_event.completion_requested and not _wanted_while_typing(document):
            return
        for candidate in complete(text, cursor, self._catalog):
            if candidate.text == text[candidate.start : cursor]:
                continue
            yield Completion(
                candidate.text,
                start_position=candidate.start - cursor,
                display=candidate.shown or candidate.text,
                display_meta=candidate.about,
                style=f"class:ngramdb.menu.{candidate.kind}",
            )


def _wanted_while_typing(document: Document) -> bool:
    """Return False if nothing has been typed, and between two lines of a statement."""
    return bool(document.current_line_before_cursor.strip())
