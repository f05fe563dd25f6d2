"""Language models on the command line: tables that a person can read, text while it is made, commands."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

import ngramdb
from ngramdb.cli.main import main
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal.screen import Screen, render, write_pieces

TEXTS = ["the cat sat on the mat", "the dog sat on the cat", "a dog and a cat", "the cat and the dog sat"]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with ngramdb.connect("pets.ngdb") as db:
        db.create_corpus("pets").append(TEXTS)
    return "pets.ngdb"


def drawn(database: str, statement: str, width: int | None = 100) -> list[str]:
    stream = io.StringIO()
    with ngramdb.connect(database) as db:
        render(db.execute(statement), Screen(stream, True, width, False, True), "table")
    return stream.getvalue().splitlines()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def typed(database: str, statement: str, monkeypatch: pytest.MonkeyPatch, mode: str | None = None) -> str:
    stream = Terminal()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("NO_COLOR", "1")
    shell = Shell(database, mode=mode, progress=False)
    try:
        shell.statement(statement)
    finally:
        shell.close()
    return stream.getvalue()


def test_a_table_of_scores_keeps_what_matters_on_a_narrow_screen(database: str) -> None:
    statement = 'SCORE "the cat zebra" USING KNESER_NEY SENTENCE'
    wide, narrow = drawn(database, statement, 100), drawn(database, statement, 80)
    assert [name.strip() for name in wide[1].strip("│").split("│")] == [
        *("position", "token", "token_id", "effective_n", "count", "context_count", "prob", "logprob"),
        "sparse",
    ]
    assert [name.strip() for name in narrow[1].strip("│").split("│")] == [
        *("position", "token", "effective_n", "count", "context_count", "prob", "logprob"),
    ]
    assert "9 columns (7 shown)" in " ".join(narrow) and max(map(len, narrow)) <= 80
    smallest = drawn(database, statement, 70)
    assert "token" in smallest[1] and "position" not in smallest[1]
    assert "│ <unk> │" in narrow[5] and "│ </s>  │" in narrow[6]
    totals = " ".join(narrow[8:])
    assert "unknown words 1" in totals and "perplexity" in totals


def test_a_note_has_lines_of_its_own(database: str) -> None:
    lines = drawn(database, 'DIST GIVEN "the" USING BACKOFF TOP 1')
    assert lines[-1] == "note: stupid backoff gives scores, not probabilities: they do not sum to 1"
    assert "note" not in " ".join(lines[:-1])


def test_a_note_is_told_beside_other_modes(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = typed(database, 'PROB "a" GIVEN "b" USING BACKOFF', monkeypatch, "jsonl")
    assert list(json.loads(out)) == ["prob", "cont_count", "context_count", "effective_n", "sparse"]
    assert capsys.readouterr().err.startswith("note: stupid backoff")


def test_perplexity_of_scores_has_a_note(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "held.txt").write_text("the dog sat\n")
    command = ["perplexity", database, "pets", "held.txt", "--input", "lines", "--model"]
    for flags in ([], ["--per-document"], ["--format", "table"]):
        assert main([*command, "backoff", *flags]) == 0
        assert capsys.readouterr().err.startswith("note: stupid backoff gives scores, not probabilities")
    assert main([*command, "kneser_ney"]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_continuation_is_written_while_it_is_made(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = 'GENERATE GIVEN "sat" TOKENS 2'
    assert typed(database, statement, monkeypatch) == f"on the\nlogprob {math.log(2 / 3):.6g}\n"
    seeded = typed(database, statement + " METHOD SAMPLE SEED 5", monkeypatch)
    assert seeded.splitlines()[1].endswith(", seed 5")
    rows = typed(database, statement, monkeypatch, "csv")
    assert rows == f"rank,text,logprob\n1,on the,{math.log(2 / 3)!r}\n"
    assert typed(database, statement + " METHOD BEAM(2) RETURN 2", monkeypatch).count("│") > 8


def test_every_piece_is_flushed_and_harmless() -> None:
    flushed: list[str] = []

    class Recorder(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    result = ngramdb.Result(
        ("rank", "text", "logprob"), [[(1, "one\ntwo", -1.5)]], summary={"seed": 3, "note": "be careful"}
    )
    result.pieces = iter(["one", "\ntwo\x1b"])
    recorder = Recorder()
    write_pieces(result, Screen(recorder, True, 80, False, True))
    assert flushed == ["one", "one\ntwo\\x1b"]
    assert recorder.getvalue() == "one\ntwo\\x1b\nlogprob -1.5, seed 3\nnote: be careful\n"


def test_analyze_and_its_rows(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", database, "pets", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["length"] for row in rows] == list(range(1, 11)) and rows[0]["ngrams"] == 9
    assert main(["analyze", database, "cats"]) == 1
    assert "no corpus 'cats'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["perplexity", "agreement"])
def test_files_of_a_folder_that_are_not_measured_are_named(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    folder = tmp_path / "held"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "the dog sat"}\n')
    (folder / "notes.md").write_text("none of it\n")
    assert main([command, database, "pets", str(folder), "--format", "jsonl"]) == 0
    said = capsys.readouterr().err
    assert "note: 1 file was left out, since folders are read as jsonl" in said and "notes.md" in said


def test_agreement_of_all_tokens_and_behind_a_prompt(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "held.txt").write_text("the dog sat on the mat\n\na cat and a dog\n")
    command = ["agreement", database, "pets", "held.txt", "--input", "lines", "--format", "jsonl"]
    assert main(command) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert main([*command, "--total"]) == 0
    (total,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert total["model"] == "infgram" and total["tokens"] == 11
    for name in ("tokens", "agreeing", "sparse_tokens", "sparse_agreeing"):
        assert total[name] == sum(row[name] for row in rows)
    assert total["share"] == total["agreeing"] / 11
    assert main([*command, "--total", "--ngram", "2", "--skip", "2"]) == 0
    both = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["model"], row["tokens"]) for row in both] == [("2-gram", 7), ("infgram", 7)]
    assert main([*command, "--skip", "-1"]) == 2


def test_agreement_beside_the_ngram_model_and_as_a_figure(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "held.txt").write_text("the dog sat on the mat\n\na cat and a dog\n")
    command = ["agreement", database, "pets", "held.txt", "--input", "lines", "--format", "jsonl"]
    assert main([*command, "--ngram", "2", "--figure", "a.png"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(row["tokens"] for row in rows) == 11 == sum(row["ngram_tokens"] for row in rows)
    assert {row["effective_n"] for row in rows if row["ngram_tokens"]} == {1, 2}
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert main([*command, "--ngram", "2", "--model", "backoff"]) == 2
    assert main([*command, "--figure", "a.xyz"]) == 1
    assert "a.xyz" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [["perplexity"], ["perplexity", "--limit", "2"], ["agreement"], ["agreement", "--ngram", "2"]],
    ids=" ".join,
)
def test_measurements_draw_how_far_they_are_for_a_person(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command,
) -> None:
    (tmp_path / "held.txt").write_text("the dog sat on the mat\na cat and a dog\n")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    arguments = [command[0], database, "pets", "held.txt", "--input", "lines", *command[1:]]
    assert main(arguments) == 0
    answer = capsys.readouterr().out
    assert "measuring" in terminal.getvalue() and "100 %, 2 documents, 1" in terminal.getvalue()
    terminal.truncate(0)
    assert main([*arguments, "--no-progress"]) == 0
    assert terminal.getvalue().strip("\0") == "" and "measuring" not in answer
    assert answer.split("\n")[0] == capsys.readouterr().out.split("\n")[0]
