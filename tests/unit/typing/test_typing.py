"""Users' programs type-check without casts: `application.py` under `mypy --strict`, and under pyright."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("application.py")


def test_the_program_runs(tmp_path: Path) -> None:
    spec = spec_from_file_location("application", PROGRAM)
    assert spec is not None and spec.loader is not None
    application = module_from_spec(spec)
    spec.loader.exec_module(application)
    application.run(tmp_path / "corpora.ngdb")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_it(tmp_path: Path) -> None:
    # Its own sources are in the way of an installed package only in a checkout.
    paths = {"MYPYPATH": str(ROOT)} if (ROOT / "ngramdb").is_dir() else {}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent"),
            *("--config-file", os.devnull, "--cache-dir", str(tmp_path), str(PROGRAM)),
        ],
        cwd=tmp_path,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


PYRIGHT = shutil.which("pyright") or shutil.which("basedpyright")


@pytest.mark.slow
@pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed")
def test_pyright_accepts_it(tmp_path: Path) -> None:
    settings = tmp_path / "pyrightconfig.json"
    options = {"typeCheckingMode": "standard", "enableTypeIgnoreComments": True}
    settings.write_text(json.dumps({**options, "include": [str(PROGRAM)], "extraPaths": [str(ROOT)]}))
    done = subprocess.run(
        [str(PYRIGHT), "--pythonpath", sys.executable, "--project", str(settings)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "0 errors" in done.stdout, done.stdout + done.stderr
