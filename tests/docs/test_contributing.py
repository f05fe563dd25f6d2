"""The pages for contributors name files that exist, and all those that an addition touches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

# What an existing addition of each sort is called in the sources.
EXISTING = {
    "Add a statement": r"\bTRACE\b|\bast\.Trace\b|\bclass Trace\b|\bTracing\b|\btrees\.trace\b|def trace\b",
    "Add a reader": r"\"lines\"(?!:)|\bread_lines\b",
    "Add a language model": r"\"backoff\"|\bBACKOFF\b|\bclass Backoff\b|kBackoff|BACKOFF_WEIGHT",
}
# They have the word, and nothing to do with it.
OTHERS = {"ngramdb/cli/commands/demo.py"}


def section(title: str) -> str:
    return CONTRIBUTING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def paths(text: str) -> list[str]:
    """What is written in backquotes and looks like a path in the tree."""
    return [path for path in re.findall(r"`([\w./-]+/[\w./-]*|[A-Z]+\.md)`", text) if "…" not in path]


def test_every_path_exists() -> None:
    named = paths(CONTRIBUTING)
    assert len(named) > 80
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("title", EXISTING)
def test_an_addition_names_every_file_that_the_last_one_touched(title: str) -> None:
    named = paths(section(title))
    touched = {
        str(path.relative_to(ROOT))
        for folder in ("ngramdb", "grammar")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".pyi", ".pyx", ".hpp", ".lark")
        and re.search(EXISTING[title], path.read_text(encoding="utf-8"))
    }
    assert len(touched) >= 4
    unnamed = {path for path in touched - OTHERS if not any(is_in(path, name) for name in named)}
    assert unnamed == set()


def is_in(path: str, name: str) -> bool:
    """Whether a path is the one named, or in the folder that is named."""
    return path == name or (name.endswith("/") and path.startswith(name))


def test_every_task_that_is_named_is_in_the_menu() -> None:
    tasks = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert {"build", "test", "one", "lint", "docs", "bench", "sanitize"} <= tasks
    named = re.findall(r"(?:^    |`)make ([a-z]+)", CONTRIBUTING, re.MULTILINE)
    assert [task for task in named if task not in tasks] == []
