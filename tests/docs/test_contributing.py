"""The pages for contributors name files, folders and tasks that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb import registries

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
TESTS = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PACKAGES = sorted((ROOT / "ngramdb").glob("*/__init__.py"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def paths(text: str) -> list[str]:
    """Return everything in backquotes that looks like a path in the tree."""
    return [path for path in re.findall(r"`([\w./-]+/[\w./-]*|[A-Z]+\.md)`", text) if "…" not in path]


def test_every_path_exists() -> None:
    named = [*paths(CONTRIBUTING), *paths(EXTENDING), *paths(TESTS)]
    assert len(named) > 80
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_file_named_without_its_folder_exists() -> None:
    folders = ("ngramdb", "tests", "docs", "grammar")
    names = {path.name for folder in folders for path in (ROOT / folder).rglob("*.*")}
    named = set(
        re.findall(r"`(\w+\.(?:py|pyi|pyx|hpp|cpp|js|test|md))`", CONTRIBUTING + EXTENDING + ARCHITECTURE)
    )
    assert len(named) > 20
    assert named - names - {path.name for path in ROOT.glob("*.md")} == set()


def test_every_path_on_the_page_on_architecture_exists() -> None:
    named = paths(ARCHITECTURE)  # folders of a package are named relative to it
    assert len(named) > 40
    assert [
        path for path in named if not (ROOT / path).exists() and not [*ROOT.glob(f"ngramdb/*/{path}")]
    ] == []


def test_every_path_in_code_and_format_exists() -> None:
    texts = [ROOT / "FORMAT.md", *(ROOT / "ngramdb").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    tree = re.compile(
        r"(?<!`)`((?:ngramdb|tests|docs|grammar|benchmarks)/[\w./-]*\.(?:py|pyx|hpp|cpp|md|lark))`"
    )
    named = {path for text in texts for path in tree.findall(text.read_text(encoding="utf-8"))}
    assert named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.parametrize(
    ("page", "verb", "measures"),
    [
        ("collocates", ngramdb.Corpus.collocates, registries.ASSOCIATION_MEASURES),
        ("keywords", ngramdb.Corpus.keywords, registries.KEYNESS_MEASURES),
    ],
    ids=["association", "keyness"],
)
def test_page_and_docstring_describe_every_measure(page: str, verb: Any, measures: tuple[str, ...]) -> None:
    text = (ROOT / "docs" / "statements" / f"{page}.md").read_text(encoding="utf-8")
    assert [name for name in measures if not re.search(rf"^\| `{name.upper()}\b", text, re.MULTILINE)] == []
    assert [name for name in measures if f"'{name}'" not in verb.__doc__] == []


def test_the_page_for_contributors_is_short() -> None:
    assert len(CONTRIBUTING.split()) <= 1200


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


@pytest.mark.parametrize(
    "package", sorted((ROOT / "ngramdb").rglob("__init__.py")), ids=lambda path: path.parent.name
)
def test_the_docstring_of_a_package_names_modules_that_exist(package: Path) -> None:
    doc = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    modules = [*package.parent.rglob("*.py"), *package.parent.rglob("*.py[ix]")]
    code = "".join(path.read_text(encoding="utf-8") for path in modules)
    # A name in backquotes is a module, a folder, a function, a field, or a key.
    exist = {
        *re.findall(r"\bdef (\w+)", code),
        *re.findall(r"^ +(\w+):", code, re.M),
        *re.findall(r'"(\w+)"', code),
    }
    exist |= {name for path in modules for name in (path.stem, path.parent.name)}
    exist |= {path.name for path in (ROOT / "ngramdb").iterdir()}
    assert set(re.findall(r"`([a-z_]+)`", doc)) - exist == set()


def is_in(path: str, name: str) -> bool:
    """Return True if a path is the one named, or in the folder that is named."""
    return path == name or (name.endswith("/") and path.startswith(name))


def test_every_task_that_is_named_is_in_the_menu() -> None:
    tasks = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    assert {"build", "test", "one", "lint", "docs", "bench", "sanitize"} <= tasks
    named = re.findall(r"(?:^    |`)make ([a-z]+)", CONTRIBUTING, re.MULTILINE)
    assert [task for task in named if task not in tasks] == []
