"""What Enter and Tab do at the prompt."""

from __future__ import annotations

from prompt_toolkit.application.current import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from ngramdb.language.splitter import is_complete

# Words that people type to leave or to get help, whatever the program; none begins a statement.
BARE_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit"}


def is_finished(text: str) -> bool:
    """Whether Enter hands the text over: a complete statement, a dot command, a bare word, or nothing.

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

    return bound
