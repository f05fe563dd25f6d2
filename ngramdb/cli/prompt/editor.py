"""A text in the user's editor: $VISUAL, $EDITOR, or one that is there."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from ngramdb.errors import ExecutionError, InvalidArgument

USUAL_EDITORS = ("editor", "nano", "vi")


def command() -> list[str]:
    """The editor's command. Raises InvalidArgument where there is none."""
    for name in ("VISUAL", "EDITOR"):
        words = shlex.split(os.environ.get(name, ""))
        if words:
            return words
    for name in USUAL_EDITORS:
        if shutil.which(name):
            return [name]
    raise InvalidArgument("no editor: set EDITOR to the command of yours")


def edited(text: str) -> str:
    """The text as it is when the editor ends. Raises ExecutionError when that fails."""
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
