"""Paths of the data behind the recorded answers of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def data_file(name: str) -> Path:
    """The path of a file of the shared data; skips the test when it is not there."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"needs {name} in the folder shared/data beside the checkout, which is not there")
    return path
