"""Recorded text: files of what is public, compared with what the code gives now."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

#: Differences that a failure shows; `git diff` after `make rewrite` shows all.
MOST_LINES = 60


def compare(file: Path, found: str) -> None:
    """Fail where `found` differs from the file, or replace the file if --rewrite was given."""
    found = found.rstrip("\n") + "\n"
    if os.environ.get("NGRAMDB_REWRITE"):
        file.write_text(found, encoding="utf-8")
    recorded = file.read_text(encoding="utf-8") if file.exists() else ""
    if found != recorded:
        lines = difflib.unified_diff(
            recorded.splitlines(), found.splitlines(), file.name, "now", lineterm="", n=1
        )
        shown = "\n".join(list(lines)[:MOST_LINES])
        raise AssertionError(
            f"{file.name} has changed; `make rewrite` records the change if it is meant\n{shown}"
        )
