"""The programs of this folder in small doses. With NGRAMDB_TORTURE=full in the environment, in those that
docs/reliability.md has the figures of (hours)."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.registered import questions

from ngramdb.language.parser import parse_statement

FOLDER = Path(__file__).parent
FULL = os.environ.get("NGRAMDB_TORTURE") == "full"
DAY_S = 24 * 3600

DOSES = {
    "kills.py": ["--kills", "8"],
    "damage.py": ["--flips", "200", "--others", "40", "--stride", "120", "--sealed", "60"],
    "fuzz.py": ["--statements", "1200"],
    "hostile_requests.py": ["--requests", "700"],
    "readers.py": ["--seconds", "3", "--readers", "4"],
}


def test_damaged_databases_are_asked_every_kind_of_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    damage = importlib.import_module("damage")
    assert questions() <= {type(parse_statement(text)) for text in damage.QUESTIONS}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("program", DOSES)
def test_nothing_breaks(program: str) -> None:
    dose = [] if FULL else DOSES[program]
    done = subprocess.run(
        [sys.executable, str(FOLDER / program), *dose],
        capture_output=True,
        text=True,
        timeout=DAY_S if FULL else 300,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
