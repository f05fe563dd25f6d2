"""The page's files: nothing from elsewhere, no markup from texts, imports that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ngramdb
from ngramdb.language.parser import keywords

FOLDER = Path(ngramdb.__file__).parent / "serve" / "static"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
IMPORTED = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")


def name(path: Path) -> str:
    return str(path.relative_to(FOLDER))


def imports(path: Path) -> list[Path]:
    return [(path.parent / found).resolve() for found in IMPORTED.findall(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_makes_no_markup_of_texts_and_asks_nobody_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|srcdoc"
    assert not re.findall(markup, text)
    addresses = set(re.findall(r"https?://[\w.]+", text)) - {"http://www.w3.org"}  # SVG's name
    assert not addresses
    assert "style=" not in text  # which the content security policy forbids


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_every_import_leads_to_a_file(path: Path) -> None:
    for found in imports(path):
        assert found in FILES


def test_every_script_is_used() -> None:
    seen: set[Path] = {FOLDER / "theme.js"}
    left = [FOLDER / "main.js"]
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += imports(path)
    assert seen == set(SCRIPTS)


def test_only_one_module_asks_the_service() -> None:
    asking = [name(path) for path in SCRIPTS if "fetch(" in path.read_text("utf-8")]
    assert asking == ["api.js"]


def test_words_of_the_language_are_known_to_the_page() -> None:
    """All but those that are as often names of fields or of their values."""
    names = {"DAY", "ERROR", "FAIL", "FLOOR", "FORM", "INDEX", "MONTH", "SKIP", "WORDS", "YEAR"}
    text = (FOLDER / "sql.js").read_text(encoding="utf-8")
    listed = re.search(r"KEYWORDS = new Set\(\s*`([^`]*)`", text)
    assert listed is not None
    assert set(listed[1].split()) == keywords() - names
