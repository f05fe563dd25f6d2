"""Nothing is on disk before the first write: not for a typo, a question, a file that is not there."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.main import main
from ngramdb.cli.shell.script import run_text
from ngramdb.cli.shell.session import Shell
from ngramdb.errors import NgramdbError

NOTHING = [
    ["help"],
    ["version"],
    ["typo.ngdb"],
    ["typo.ngdb", "SHOW CORPORA"],
    ["typo.ngdb", 'COUNT "x"'],
    ["typo.ngdb", "CHECK; SHOW VERSIONS; SHOW SETTINGS; SET threads = 1; COMPACT"],
    ["typo.ngdb", "CREATE CORPUS c TOKENIZER 'nowhere.json'"],
    ["typo.ngdb", "CREATE CORPUS c WITH (sentence_separator 'two words')"],
    ["typo.ngdb", "CREATE CORPUS c; COUT"],
    ["typo.ngdb", "DROP CORPUS IF EXISTS c"],
    ["typo.ngdb", "COPY c FROM 'd.jsonl'"],
    ["typo.ngdb", ".open nofolder"],
    ["lod", "db", "c", "d.jsonl"],
    ["load", "c", "d.jsonl", "db"],
    ["load", "new.ngdb", "c", "nowhere.jsonl"],
    ["load", "new.ngdb", "c", "nowhere/*.jsonl"],
    ["load", "c", "old.ngdb", "d.jsonl"],
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text('{"text": "a b"}\n')
    with ngramdb.connect("old.ngdb") as db:
        db.create_corpus("c")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    return tmp_path


@pytest.mark.parametrize("arguments", NOTHING, ids=" ".join)
def test_nothing_is_made(folder: Path, arguments: list[str]) -> None:
    before = sorted(folder.rglob("*"))
    main(arguments)
    assert sorted(folder.rglob("*")) == before


def test_the_first_write_makes_it(folder: Path) -> None:
    assert main(["new.ngdb", "CREATE CORPUS c; COPY c FROM 'd.jsonl'"]) == 0
    with ngramdb.connect("new.ngdb", read_only=True) as db:
        assert db.corpus("c").count("a b") == 1
    assert main(["load", "other.ngdb", "c", "*.jsonl"]) == 0


def test_what_somebody_else_makes_meanwhile_is_taken(folder: Path) -> None:
    shell = Shell("new.ngdb")
    assert shell.connection.corpora() == []
    with ngramdb.connect("new.ngdb") as db:
        db.create_corpus("c").append(["x"])
    run_text(shell, 'COUNT "x"')
    with pytest.raises(NgramdbError, match="exists already"):
        run_text(shell, "CREATE CORPUS c")
    run_text(shell, "CREATE CORPUS d")
    shell.close()
    with ngramdb.connect("new.ngdb", read_only=True) as db:
        assert db.corpora() == ["c", "d"]


def test_a_folder_that_cannot_be_is_refused_at_once(folder: Path) -> None:
    for path in ("no/such/folder.ngdb", "d.jsonl"):
        with pytest.raises(NgramdbError):
            Shell(path)


@pytest.mark.parametrize(
    "statement", ['COUNT "x"', 'COUNT "x" FROM c', "USE c", "COPY c FROM 'd.jsonl'", 'DELETE DOCS WHERE "x"']
)
def test_a_typo_is_no_empty_database(
    folder: Path, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    main(["typo.ngdb", "-c", statement])
    said = capsys.readouterr().err
    assert f"error: {folder / 'typo.ngdb'}: no database here: check the path" in said.replace("\n  ", " ")
    main(["old.ngdb", "-c", "DROP CORPUS c", "-c", 'COUNT "x"'])
    assert "no corpus exists yet" in capsys.readouterr().err
