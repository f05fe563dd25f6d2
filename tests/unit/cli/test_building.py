"""`ngramdb build`, `missing` and `commit`: what they print, and their exit status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.builds import answers, loaded, write_files

import ngramdb
from ngramdb.cli.commands.building import ranges
from ngramdb.cli.main import main

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path / "files")


def test_three_commands_make_a_corpus(files: Path, capsys: Captured) -> None:
    assert main(["missing", "parts", "3"]) == 3
    assert capsys.readouterr().out == "0-2\n"
    for part in (2, 0):
        assert main(["build", "parts", "--shard", f"{part}/3", "files"]) == 0
    assert re.match(
        r"part 2 of 3: \d+ documents, \d+ tokens in .*/s\)\npart 0 of 3: ", capsys.readouterr().out
    )
    assert main(["missing", "parts", "3"]) == 3
    assert capsys.readouterr().out == "1\n"
    assert main(["commit", "db", "wiki", "parts"]) == 1
    captured = capsys.readouterr()
    assert "1 of 3 parts are missing (1)" in captured.err and not Path("db").exists()
    assert (
        main(["build", "parts", "files", "--shard", "1/3", "--threads", "1", "--segment-tokens", "10000"])
        == 0
    )
    capsys.readouterr()
    assert main(["missing", "parts", "3"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["commit", "db", "wiki", "parts"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("wiki: 3 parts, 60 documents, ") and captured.out.endswith("version 2\n")
    assert "tokens were rewritten" in captured.err
    with ngramdb.connect("db", read_only=True) as db:
        assert answers(db, "wiki") == loaded(files)


def test_a_part_that_is_there_is_a_note(files: Path, capsys: Captured) -> None:
    for _ in range(2):
        assert main(["build", "parts", "--shard", "0/2", "files", "--tokenizer", "bytes"]) == 0
    assert capsys.readouterr().err == "note: part 0 of 2 was there already; nothing was built\n"
    assert main(["build", "parts", "--shard", "0/2", "files"]) == 1
    assert "tokenizer 'bytes' and 'words'" in capsys.readouterr().err


def test_what_was_skipped_is_named(files: Path, capsys: Captured) -> None:
    (files / "z.jsonl").write_text("no json\n")
    assert main(["build", "parts", "--shard", "0/1", "files"]) == 1
    assert "z.jsonl, line 1" in capsys.readouterr().err
    assert main(["build", "parts", "--shard", "0/1", "files", "--on-error", "skip", "--metadata", "n"]) == 0
    assert ", 1 document skipped:\n  files/z.jsonl, line 1" in capsys.readouterr().out


def test_a_separator_may_begin_with_dashes(files: Path, capsys: Captured) -> None:
    Path("a.txt").write_text("one\n---\ntwo\n")
    command = ["build", "parts", "--shard", "0/1", "a.txt", "--format", "text", "--separator", "---"]
    assert main(command) == 0
    assert "2 documents" in capsys.readouterr().out


def test_wrong_usage(files: Path, capsys: Captured) -> None:
    assert main(["build", "parts", "files"]) == 2
    assert main(["missing", "parts", "0"]) == 2
    assert main(["missing", "parts"]) == 2
    assert main(["commit", "db", "wiki"]) == 2
    assert main(["build", "parts", "--shard", "4/4", "files"]) == 1
    assert "a shard of 4 must be from 0 to 3, not 4" in capsys.readouterr().err
    Path("parts").mkdir()
    Path("parts/part-00000-of-00002.json").write_text("{")
    assert main(["missing", "parts", "2"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "invalid JSON in the report" in captured.err


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2], "0-2"), ([0, 2, 3, 7, 9, 10], "0,2-3,7,9-10")]
)
def test_numbers_as_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
