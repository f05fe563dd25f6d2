"""The examples in the language modules' docstrings are true."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from ngramdb.language import editing, parser, scanner


@pytest.mark.parametrize(
    "module", [editing, editing, editing, parser, scanner], ids=lambda module: module.__name__
)
def test_examples_in_docstrings_are_true(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
