"""What is imported when something is first used: the stand-ins themselves, and that all they name exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ngramdb
from ngramdb.lazy import lazy_module, lazy_shelf
from ngramdb.planner import plan


def test_every_name_of_the_plans_is_found_and_no_other() -> None:
    for name in plan.__all__:
        assert getattr(plan, name) is not None
    with pytest.raises(AttributeError, match=r"'ngramdb\.planner\.plan' has no attribute 'dataclass'"):
        _ = plan.dataclass  # type: ignore[attr-defined]


def test_a_shelf_asks_its_modules_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = tmp_path / "shelf_for_test"
    shelf.mkdir()
    (shelf / "__init__.py").write_text("")
    (shelf / "first.py").write_text("import os\napple = 1\n")
    (shelf / "second.py").write_text("from shelf_for_test.first import apple\npear = apple + 1\n")
    (shelf / "third.py").write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(tmp_path)
    find = lazy_shelf("shelf_for_test", ("first", "second", "third"), frozenset(("apple", "pear", "plum")))
    assert find("apple") == 1 and "shelf_for_test.second" not in sys.modules
    assert find("pear") == 2 and sys.modules["shelf_for_test"].pear == 2
    with pytest.raises(AttributeError, match="'shelf_for_test' has no attribute 'os'"):
        find("os")
    with pytest.raises(RuntimeError):
        find("plum")


def test_a_module_is_imported_at_its_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_for_test.py").write_text("fig = [1]\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = lazy_module("module_for_test")
    assert "module_for_test" not in sys.modules
    assert module.fig is module.fig is sys.modules["module_for_test"].fig
    with pytest.raises(AttributeError, match="date"):
        _ = module.date


def loaded_by(database: Path, statement: str) -> set[str]:
    """Our modules that a program has imported once it has run a statement."""
    code = f"import sys, ngramdb; ngramdb.connect({str(database)!r}).execute({statement!r}).fetchall()"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name.removeprefix("ngramdb.") for name in out.split() if name.startswith("ngramdb.")}


def test_a_count_imports_nothing_of_other_statements(tmp_path: Path) -> None:
    with ngramdb.connect(tmp_path / "small.ngdb") as db:
        db.create_corpus("small").append(["a rose is a rose"])
    loaded = loaded_by(tmp_path / "small.ngdb", 'COUNT "a rose"')
    assert {"executor.counting", "planner.plan.questions", "language.parser"} <= loaded
    others = ("changes", "documents", "concordance", "generating", "conditions", "probability", "tables")
    assert loaded.isdisjoint(f"executor.{name}" for name in others)
    assert loaded.isdisjoint(
        ("planner.rules", "planner.physical", "planner.explain", "planner.plan.documents", "planner.matching")
    )
    assert loaded.isdisjoint(("api.explaining", "api.loading", "lm.generation"))
