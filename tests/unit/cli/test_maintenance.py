"""`ngramdb warm`."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.cli.main import main


def test_indexes_of_a_database_and_of_another_program_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c", "tokens").append([[1, 2]])
    index = write_infini_gram(tmp_path / "index", [[1, 2, 3], [2, 3]])
    assert main(["warm", str(tmp_path / "db")]) == 0
    assert capsys.readouterr().err.startswith("c: ")
    assert main(["warm", str(index), "--type", "infini_gram"]) == 0
    assert capsys.readouterr().err.startswith(f"{index}: ")
    assert main(["warm", str(index), "c", "--type", "infini_gram"]) == 2
    assert "contain no corpora: omit c" in capsys.readouterr().err
    (index / "table.0").unlink()
    assert main(["warm", str(index), "--type", "infini_gram"]) == 1
    assert "table.0" in capsys.readouterr().err
