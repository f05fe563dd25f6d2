"""The options that statements take in parentheses, with the words that some of them may be.

A list for the eye; what an option means and takes is the planner's. A test holds the two together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ngramdb.formats import ID_TYPES, READ
from ngramdb.registries import ATTACHED, DTYPE_BYTES, ON_CONFLICT

# By the first keyword of the statement.
OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "COPY": {
        "format": READ,
        "text": (),
        "ids": (),
        "metadata": (),
        "limit": (),
        "separator": (),
        "dtype": ID_TYPES,
        "quotes": (),
        "max_document_bytes": (),
        "commit_every": (),
        "resume": (),
        "key": (),
        "on_conflict": ON_CONFLICT,
    },
    "ATTACH": {
        "type": ATTACHED,
        "tokenizer": (),
        "dtype": tuple(DTYPE_BYTES),
        "version": (),
        "index": (),
        "separator": (),
    },
    "CREATE": {"segment_tokens": (), "sentence_separator": (), "sentences": ()},
}


# ---- The configuration file: statements and dot commands that a session at a prompt begins with.


def config_path() -> Path:
    """Return the file: `ngramdb/config.ngql` in XDG_CONFIG_HOME or else ~/.config."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    # by the XDG rules a path which is not absolute is to be ignored
    base = Path(folder) if os.path.isabs(folder) else Path(os.path.expanduser("~")) / ".config"
    return base / "ngramdb" / "config.ngql"
