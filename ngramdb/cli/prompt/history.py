"""What was typed before, kept in a file that only its owner can read and that may fail without any harm."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory


def history_path() -> Path:
    """The history file: `ngramdb/history` in the state folder (XDG_STATE_HOME, else ~/.local/state)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    folder = Path(state) if os.path.isabs(state) else Path(os.path.expanduser("~")) / ".local" / "state"
    return folder / "ngramdb" / "history"


class QuietHistory(FileHistory):
    """A history file, created with mode 0600; where it cannot be read or written, the session's memory."""

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
        """Keep a statement for the next session where that is possible."""
        with suppress(OSError):
            super().store_string(string)
