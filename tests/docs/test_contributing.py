"""The pages for contributors name files that exist, and all those that an addition touches."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = sorted((ROOT / "ngramdb").glob("*/__init__.py"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

# What an existing addition of each sort is called in the sources.
EXISTING = {
    "TRACE": (
        "Add a statement",
        r"\b(TRACE|Trace|Tracing)\b|\btrees\.trace\b|def trace\b|[\"']trace[\"']|/trace\.js",
    ),
    "COLLOCATES": ("Add a statement", r"(?i)\bcollocates\b|\b(mi3|logdice)\b|\btoken_counts\b"),
    "DETACH": ("Add a statement", r"(?i)\bdetach(ed|_index|index)?\b"),
    "lines": ("Add a reader", r"\"lines\"(?!:)|\bread_lines\b"),
    "warc": ("Add a reader", r"\"warc\"|\bread_warc\b"),
    "native segments": (
        "Add a kind of segment",
        r"\bNativeSegment\b|\bclass \w+\(SegmentIndex\)|: public Segment\b",
    ),
    "tokengrams": ("Add a program whose indexes are attached", r"\btokengrams\b"),
    "backoff": (
        "Add a language model",
        r"(\"|\[\")backoff|\bBACKOFF\b|\bclass Backoff\b|\bkBackoff\b|BACKOFF_WEIGHT",
    ),
}
SUFFIXES = frozenset({".py", ".pyi", ".pyx", ".hpp", ".cpp", ".lark", ".js", ".test", ".md"})
# They have the word, and an addition need not touch them: most use it among others.
EVERYWHERE = {
    "tests/crash/test_every_poll.py",
    "CONTRIBUTING.md",
    "tests/docs/test_contributing.py",
    "tests/compat/",
    "tests/peers/",
}
OTHERS = {
    "TRACE": {
        *("docs/coming-from.md", "docs/cookbook.md", "tests/builds.py", "tests/crash/"),
        *("tests/docs/test_pages.py", "tests/unit/api/", "tests/unit/cli/"),
        *("tests/unit/engine/test_algebra.py", "tests/unit/serve/test_safety.py"),
    },
    "COLLOCATES": {
        *("docs/coming-from.md", "docs/cookbook.md", "docs/sentences.md", "tests/docs/test_pages.py"),
        *("tests/unit/cli/", "tests/unit/prompt/test_completion.py"),
    },
    "DETACH": {
        *("docs/cli.md", "docs/coming-from.md", "ngramdb/lm/neural.py"),
        *("tests/unit/api/test_attaching.py", "tests/unit/lm/test_neural.py"),
        "tests/unit/serve/test_safety.py",
    },
    "lines": {
        # What is written and shown in lines, items of evaluation sets, and documents that the tests of
        # something else load.
        *(
            "ngramdb/api/verbs/contamination.py",
            "ngramdb/cli/commands/demo.py",
            "ngramdb/serve/static/",
            "tests/page/",
            "tests/unit/api/",
        ),
        *("tests/unit/cli/", "tests/unit/engine/test_budget.py", "tests/unit/tokenizers/"),
    },
    "warc": set(),
    "native segments": {
        # Native segments in memory, whatever the corpus has.
        *("ngramdb/engine/corpus/slice.py", "ngramdb/engine/corpus/common_vocabulary.py"),
        "tests/property/test_merged_segments.py",
    },
    "tokengrams": set(),
    "backoff": {"tests/docs/test_examples.py", "tests/unit/cli/"},
}


def section(title: str) -> str:
    return CONTRIBUTING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def paths(text: str) -> list[str]:
    """What is written in backquotes and looks like a path in the tree."""
    return [path for path in re.findall(r"`([\w./-]+/[\w./-]*|[A-Z]+\.md)`", text) if "…" not in path]


def test_every_path_exists() -> None:
    named = paths(CONTRIBUTING)
    assert len(named) > 80
    assert [path for path in named if not (ROOT / path).exists()] == []


@cache
def texts() -> dict[str, str]:
    """The package, its tests and its pages: the text of each file by its path."""
    folders = [
        path for name in ("ngramdb", "grammar", "tests", "docs") for path in (ROOT / name).rglob("*.*")
    ]
    files = [path for path in [*folders, *ROOT.glob("*.md")] if path.suffix in SUFFIXES]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("name", EXISTING)
def test_an_addition_names_every_file_that_the_last_one_touched(name: str) -> None:
    title, pattern = EXISTING[name]
    named = paths(section(title))
    found = {path for path, text in texts().items() if re.search(pattern, text)}
    assert len(found) >= 4
    others = EVERYWHERE | OTHERS[name]
    assert {path for path in found if not any(is_in(path, one) for one in [*named, *others])} == set()
    assert {one for one in OTHERS[name] if not any(is_in(path, one) for path in found)} == set()


def test_every_row_says_when_a_file_is_touched() -> None:
    titles = {title for title, _ in EXISTING.values()}
    assert titles == set(re.findall(r"^## (Add a .*)$", CONTRIBUTING, re.MULTILINE))
    for title in titles:
        rows = [
            line.strip("|").split(" | ") for line in section(title).splitlines() if line.startswith("| `")
        ]
        assert len(rows) > 10
        for files, when, *_ in rows:
            assert when.startswith(("always", "only ", "to read")), files


def test_the_page_on_architecture_is_one_page() -> None:
    assert len(ARCHITECTURE.split()) < 1000


@pytest.mark.parametrize("package", [path.parent for path in PACKAGES], ids=lambda path: path.name)
def test_the_docstring_of_a_package_names_its_folders(package: Path) -> None:
    doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert {name for name in folders if f"`{name}/`" not in doc} == set()
    named = {name.rstrip("/") for name in re.findall(r"`([\w/]+/)`", doc)}
    assert {
        name for name in named if not (package / name).is_dir() and not list(package.glob(f"*/{name}"))
    } == set()
    assert f"`ngramdb/{package.name}/`" in ARCHITECTURE


def is_in(path: str, name: str) -> bool:
    """Whether a path is the one named, or in the folder that is named."""
    return path == name or (name.endswith("/") and path.startswith(name))


def test_every_task_that_is_named_is_in_the_menu() -> None:
    tasks = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert {"build", "test", "one", "lint", "docs", "bench", "sanitize"} <= tasks
    named = re.findall(r"(?:^    |`)make ([a-z]+)", CONTRIBUTING, re.MULTILINE)
    assert [task for task in named if task not in tasks] == []
