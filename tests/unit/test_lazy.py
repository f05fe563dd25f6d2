"""Imports at first use: the stand-ins themselves, and the existence of everything they name."""

from __future__ import annotations

import ast
import errno
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import get_origin

import pytest

import ngramdb
from ngramdb.lazy import lazy_module, lazy_pattern
from ngramdb.questions.definition import request_named

PACKAGE = Path(ngramdb.__file__).parent
# The packages whose names are imported at their first use.
STUBS = sorted(PACKAGE.rglob("__init__.pyi"))


def lazy_names(stub: Path) -> list[tuple[str, str]]:
    """The names of a package's stub, each with the module that defines it."""
    package = ".".join((PACKAGE.name, *stub.parent.relative_to(PACKAGE).parts))
    nodes = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    return [
        (alias.name, ".".join(filter(None, (package, node.module)))) for node in nodes for alias in node.names
    ]


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_every_name_of_a_stub_is_found_where_it_is_said_to_be_and_no_other(stub: Path) -> None:
    package = import_module(".".join((PACKAGE.name, *stub.parent.relative_to(PACKAGE).parts)))
    names = lazy_names(stub)
    assert len(names) > 5
    for name, home in names:
        value = getattr(package, name)
        assert value is getattr(import_module(home), name)
        # An alias such as Callable[[int], int] is a type to isinstance under Python 3.10.
        if get_origin(value) is None and isinstance(value, type | FunctionType):
            # Names of a lower room are passed on by a module of the package: stubs name no others.
            is_own = value.__module__.startswith(f"{package.__name__}.")
            assert value.__module__ == home or not is_own
    assert {name for name, _ in names} <= set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="attribute 'dataclass'"):
        _ = package.dataclass


def test_all_names_can_be_imported_at_once() -> None:
    code = "from ngramdb.planner import plan; from ngramdb.planner.plan import *"
    code += "; print(*plan.__all__); print(*dir())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, imported = map(str.split, done.stdout.splitlines())
    assert set(names) <= set(imported)


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
    assert {"questions.count_plan", "language.parser"} <= loaded
    others = {
        *("questions.maintenance", "questions.show", "questions.kwic_plan"),
        *("questions.docs", "questions.count_table", "questions.definition"),
        *("questions.generate", "questions.prob"),
        *("conditions.evaluation", "planner.plan.documents", "patterns.string_to_ids"),
        *("planner.rewrite_rules", "planner.estimates"),
        *("engine.loading.loads", "lm.generation"),
    }
    assert all(find_spec(f"ngramdb.{name}") for name in others)  # a name that moved would be loaded by nobody
    assert loaded.isdisjoint(others)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, os.strerror(errno.EMFILE), "x.py"),
        OSError(errno.ENFILE, os.strerror(errno.ENFILE)),
        ImportError("x.so: cannot open shared object file: Too many open files"),
    ],
    ids=repr,
)
def test_a_module_that_cannot_be_read_for_open_files_is_an_error_with_advice(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(name: str) -> None:
        raise error

    monkeypatch.setattr("ngramdb.lazy.import_module", failing)
    with pytest.raises(ngramdb.ResourceError, match=r"module x: too many open files; .*ulimit -n"):
        _ = lazy_module("x").y
    with pytest.raises(ngramdb.ResourceError, match="too many open files"):
        request_named("count")


def test_other_errors_of_an_import_stay() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = lazy_module("ngramdb.no_such_module").y


def test_an_expression_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *arguments: compiled.append(arguments) or real(*arguments))
    lower = lazy_pattern("(?P<word>[a-z]+)", re.IGNORECASE)
    assert not compiled
    found = lower.fullmatch("Word")
    assert found is not None
    assert found["word"] == "Word"
    assert lower.pattern == "(?P<word>[a-z]+)"
    assert lower.sub("x", "1 Word") == "1 x"
    with pytest.raises(re.error):
        lazy_pattern("(").match("a")
    n = len(compiled)
    assert lower.fullmatch("1") is None
    assert len(compiled) == n
