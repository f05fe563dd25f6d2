"""The plan of each question of `tests/language`, as EXPLAIN shows it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.foreign_indexes import write_example
from support.golden import CORPORA, DATA, FILES, answer, cases, corpora, in_one, parsed
from support.recorded import compare

import ngramdb
from ngramdb.language import ast

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of the statements, and a database of all corpora."""
    folder = tmp_path_factory.mktemp("plans") / "data"
    shutil.copytree(DATA, folder)
    write_example(folder / "pile")
    with pytest.MonkeyPatch.context() as patch, ngramdb.connect(folder / "database") as db:
        patch.chdir(folder)
        for name in CORPORA:
            in_one(db, name)
    return folder


def plans(db: ngramdb.Connection, file: Path) -> Iterator[str]:
    """The questions among the statements of a file, each with its plan at that point of the file."""
    versions: dict[str, str] = {}
    db.execute(f"USE {corpora(file)[0]}")
    for case in cases(file):
        if "version" in case.directives:
            versions[case.directives["version"]] = str(db.version)
        statement = re.sub(r"\$(\w+)", lambda match: versions[match[1]], case.statement)
        values = json.loads(case.directives.get("params", "null"))
        if any(isinstance(one, ast.Question) for one in parsed(statement)):
            yield f"{case.statement}\n{plan(db, statement, values)}"
        answer(db, statement, values)


def plan(db: ngramdb.Connection, statement: str, values: object) -> str:
    return answer(db, f"EXPLAIN {statement}", values)


@pytest.mark.parametrize("file", [file for file in FILES if corpora(file)], ids=lambda file: file.stem)
def test_plans(file: Path, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(database, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    with ngramdb.connect("database") as db:
        compare(RECORDED / f"plans_of_{file.stem}.txt", "\n\n".join(plans(db, file)))
