"""Enter and Tab at the prompt."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.application.current import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from ngramdb.errors import ExecutionError, InvalidArgument
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


# ---- What was typed before, kept in a file that only its owner can read and that may fail without any harm.


def history_path() -> Path:
    """Return the history file: `ngramdb/history` in XDG_STATE_HOME or else ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    folder = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~")) / ".local" / "state"
    return folder / "ngramdb" / "history"


class QuietHistory(FileHistory):
    """A history file, created with mode 0600; in memory only if the file cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._prepare()
        super().__init__(str(path))

    def _prepare(self) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))

    def load_history_strings(self) -> Iterable[str]:
        """Statements of earlier sessions, the newest first; none when the file cannot be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Save a statement for the next session, if possible."""
        with suppress(OSError):
            super().store_string(string)


# ---- A text in the user's editor: $VISUAL, $EDITOR, or one that is there.


USUAL_EDITORS = ("editor", "nano", "vi")


def command() -> list[str]:
    """Return the editor's command. Raises InvalidArgument if there is none."""
    for name in ("VISUAL", "EDITOR"):
        words = shlex.split(os.environ.get(name, ""))
        if words:
            return words
    for name in USUAL_EDITORS:
        if shutil.which(name):
            return [name]
    raise InvalidArgument("no editor: set EDITOR to the command of yours")


def edited(text: str) -> str:
    """Edit the text and return the result. Raises ExecutionError if the editor fails."""
    with tempfile.TemporaryDirectory(prefix="ngramdb-") as folder:
        path = Path(folder) / "statement.ngql"
        path.write_text(text, encoding="utf-8")
        run(path)
        return path.read_text(encoding="utf-8")


def run(path: Path) -> None:
    """Open the editor on a file and wait for its end."""
    words = command()
    try:
        status = subprocess.call([*words, str(path)])
    except OSError as error:
        raise ExecutionError(f"{words[0]}: {error.strerror}; EDITOR names the editor") from error
    if status:
        raise ExecutionError(f"{words[0]} ended with status {status}; nothing was taken from it")
