"""README.md and docs/: every example runs as printed; every name and keyword is described."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pages import Story

ROOT = Path(__file__).parents[2]
# docs/cli.md has its tests in tests/faces.
PAGES = ["README.md", "docs/language.md", "docs/python.md"]

if shutil.which("bash") is None:
    pytest.skip("the examples are for bash", allow_module_level=True)


@pytest.mark.parametrize("name", PAGES)
def test_every_example_prints_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Story(ROOT / name, tmp_path, monkeypatch).run()
