"""Python's own standard library as documents: text that every machine with Python has."""

from __future__ import annotations

import os
import sysconfig
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Folders that hold other people's packages, caches, or files made by the build.
SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "__pycache__"})


def folder() -> Path:
    """Where the running Python keeps the sources of its standard library."""
    return Path(sysconfig.get_path("stdlib"))


def source_files(root: Path) -> list[Path]:
    """The Python files below `root` in the order of their paths, without installed packages and caches."""
    found: list[Path] = []
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        found.extend(Path(parent, name) for name in names if name.endswith(".py"))
    return sorted(found)


def documents(root: Path, files: list[Path]) -> Iterator[dict[str, Any]]:
    """One document a file: `text`, `module` (dotted), `package` (its first part), `size` in bytes, `lines`.

    A file that is no text in its declared encoding is left out: the library's tests carry some on purpose.
    """
    for path in files:
        try:
            with tokenize.open(path) as source:
                text = source.read()
        except (OSError, SyntaxError, UnicodeError):
            continue
        module = module_name(path.relative_to(root))
        yield {
            "text": text,
            "module": module,
            "package": module.partition(".")[0],
            "size": path.stat().st_size,
            "lines": text.count("\n"),
        }


def module_name(path: Path) -> str:
    """`json/__init__.py` is module json, `json/decoder.py` json.decoder."""
    parts = list(path.with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)
