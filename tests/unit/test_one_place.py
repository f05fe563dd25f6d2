"""What more than one room keeps to is written down in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ngramdb
from ngramdb import limits

PACKAGE = Path(ngramdb.__file__).parent
SHARED = {**{name: "limits.py" for name in vars(limits) if name.isupper()}, "Docs": "types.py"}


def assigned(tree):
    """The names that a module assigns outside of functions."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name)) if target else ()


@pytest.mark.parametrize("name", SHARED)
def test_shared_names_are_defined_once(name):
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if name in assigned(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == [SHARED[name]]
