"""The configuration file: statements and dot commands that a session at a prompt begins with."""

from __future__ import annotations

import os
from pathlib import Path


def config_path() -> Path:
    """The file: `ngramdb/config.ngql` in the configuration folder (XDG_CONFIG_HOME, else ~/.config)."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    base = Path(folder) if os.path.isabs(folder) else Path(os.path.expanduser("~")) / ".config"
    return base / "ngramdb" / "config.ngql"
