"""The same statement, the same answer, the same notes and the same error in Python, command line and prompt.

`statements.test` is the table: a statement, a line of dashes, and the output of every face: rows as JSON
objects, then messages and notes, or the error with its place. An empty line ends a case.
Statements run in the order of the table, each in a session of its own, each face on its own copy of one
database. With NGRAMDB_REWRITE=1 in the environment, the answers in the file are replaced by Python's (look at
the difference before you keep it).
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import ngramdb
from ngramdb.cli.main import main
from ngramdb.cli.shell.prompt import Repl
from ngramdb.cli.shell.session import Shell
from ngramdb.executor import display

TABLE = Path(__file__).with_name("statements.test")
DASHES = "----"
# Lines above the first prompt.
GREETING = 3
PASTED = "\x1b[200~{}\x1b[201~\x1b\r\x04"
# Parts that differ from run to run.
VARYING = re.compile(r"\b\d+(\.\d+)?(e-\d+)? (s|ms|µs)\b|\d{4}-\d\d-\d\d[T ][\d:.+Z]+|(?<=bytes_)\w+\W+\d+")

DOCUMENTS = [
    {"text": "the cat sat on the mat", "kind": "tale", "year": 2020},
    {"text": "the dog sat on the log", "kind": "tale"},
    {"text": "a cat and a dog, a dog and a cat", "kind": "song", "year": 2021},
    {"text": "The end of the cat\nand of the tale", "kind": "poem", "year": 1999},
]
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]


class Case(NamedTuple):
    line: int
    statement: str
    expected: list[str]


class Screen(io.StringIO):
    """A wide terminal without colours, whose text is kept."""

    def isatty(self) -> bool:
        return True


def read_cases() -> list[Case]:
    cases: list[Case] = []
    block: list[str] = []
    first = 1
    for number, line in enumerate([*TABLE.read_text(encoding="utf-8").split("\n"), ""], start=1):
        if line:
            block.append(line)
            continue
        block = [part for part in block if not part.startswith("#")]
        if block:
            cut = block.index(DASHES)
            cases.append(Case(first, "\n".join(block[:cut]), block[cut + 1 :]))
        block = []
        first = number + 1
    return cases


def tokenizer_json() -> str:
    """A byte-level tokenizer of parts of words: `cat` alone and behind a blank are other tokens."""
    others = iter(range(256, 512))
    alphabet = [chr(byte) if byte in PRINTABLE else chr(next(others)) for byte in range(256)]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    merges = ["Ġ c", "Ġc at", "a t", "t h", "th e", "Ġ the", "Ġ d", "Ġd o", "Ġdo g", "o n"]
    merges.sort(key=lambda pair: len(pair.replace(" ", "")))
    parts = [*alphabet, *(pair.replace(" ", "") for pair in merges)]
    model = {"type": "BPE", "vocab": {part: i for i, part in enumerate(parts)}, "merges": merges}
    return json.dumps({"version": "1.0", "pre_tokenizer": level, "decoder": level, "model": model})


def make(folder: Path) -> None:
    """A folder with a database, `db`, and files to load."""
    folder.mkdir()
    (folder / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    (folder / "lines.txt").write_text("one\ntwo two\nthree a\n", encoding="utf-8")
    (folder / "bad.jsonl").write_text('{"text": "fine"}\n{"no": "text"}\n{"text": 5}\n{broken\n')
    with ngramdb.connect(folder / "db") as db:
        db.create_corpus("words").append(DOCUMENTS)
        db.create_corpus("more").append(["the more the merrier"])
        db.create_corpus("parts", tokenizer=str(folder / "tokenizer.json")).append(DOCUMENTS)


# ---- the three faces: a statement in its own session, and the lines of output


def python(statement: str) -> list[str]:
    """Return the result of `db.execute`, in the form of the other faces."""
    with ngramdb.connect("db") as db:
        if "words" in db.corpora():
            db.use("words")
        try:
            result = db.execute(statement)
            rows = result.fetchall()
        except ngramdb.NgramdbError as error:
            return f"error: {error}".split("\n")
        objects = [dict(zip(result.columns, row, strict=True)) for row in rows]
        said = [json.dumps(finite(row), ensure_ascii=False) for row in objects]
        if not result.columns and "message" in result.summary:
            said.append(result.summary["message"])
        if (known := display.beside(result.summary, result.columns, result.n_rows)) is not None:
            said.append(f"summary: {known}")
        said.extend(f"note: {note}" for note in result.notes)
        said.extend(f"  skipped: {reason}" for reason in result.summary.get("reasons", ()))
        return said


def finite(row: dict[str, object]) -> dict[str, object]:
    """Replace infinities, which JSON cannot represent."""
    infinite = (float("inf"), float("-inf"))
    return {name: None if value in infinite else value for name, value in row.items()}


def command_line(statement: str) -> list[str]:
    """Return the output of `ngramdb DB -c`, standard output and then standard error."""
    out, err = written(
        lambda: main(["db", "--no-progress", "--format", "jsonl", "-c", "USE words", "-c", statement])
    )
    return (out + err.replace("using corpus words\n", "", 1)).splitlines()


def prompt(statement: str) -> list[str]:
    """Return the output of the prompt when the statement is pasted at it."""

    def session() -> None:
        shell = Shell("db", mode="jsonl", progress=False)
        shell.connection.use("words")
        try:
            with create_pipe_input() as keys:
                keys.send_text(PASTED.format(statement))
                Repl(shell, configured=False, input=keys, output=DummyOutput()).run()
        finally:
            shell.close()

    out, err = written(session)
    assert err == ""
    return out.splitlines()[GREETING:]


def written(run: Callable[[], object]) -> tuple[str, str]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err = Screen(), Screen()
    try:
        run()
    finally:
        sys.stdout, sys.stderr = before
    return out.getvalue(), err.getvalue()


FACES = {"Python": python, "command line": command_line, "prompt": prompt}


class Folders:
    """A folder per face; `ask` runs a statement there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        make(root / "made")
        for face in FACES:
            shutil.copytree(root / "made", root / face)

    def ask(self, statement: str) -> dict[str, list[str]]:
        home = os.getcwd()
        said = {}
        for face, run in FACES.items():
            os.chdir(self.root / face)
            try:
                said[face] = [plain(line) for line in run(statement + ";")]
            finally:
                os.chdir(home)
        return said


def plain(line: str) -> str:
    return VARYING.sub("…", line.rstrip())


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, list[str]]]]:
    """Return the output of each face for each statement of the table, all run in order."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("three")
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setenv("TERM", "dumb")
        patch.setenv("COLUMNS", "10000")
        patch.setenv("LINES", "10000")
        patch.setenv("PAGER", "")
        folders = Folders(folder)
        said = {}
        for case in read_cases():
            said[case.statement] = folders.ask(case.statement)
        if os.environ.get("NGRAMDB_REWRITE"):
            rewrite(said)
        yield said


def rewrite(said: dict[str, dict[str, list[str]]]) -> None:
    blocks = []
    for block in TABLE.read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if DASHES in lines:
            head = lines[: lines.index(DASHES)]
            statement = "\n".join(line for line in head if not line.startswith("#"))
            block = "\n".join([*head, DASHES, *said[statement]["Python"]])
        blocks.append(block)
    TABLE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


CASES = read_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line {case.line}: {case.statement[:50]!r}")
def test_all_faces_say_the_same(case: Case, answers: dict[str, dict[str, list[str]]]) -> None:
    said = answers[case.statement]
    assert said["command line"] == said["Python"]
    assert said["prompt"] == said["Python"]
    assert said["Python"] == case.expected


def test_there_are_a_hundred_statements_good_and_bad_and_notes_among_them() -> None:
    assert len({case.statement for case in CASES}) == len(CASES) >= 100
    lines = [line for case in CASES for line in case.expected]
    assert sum(line.startswith("error: ") for line in lines) >= 40
    assert sum(line.startswith("note: ") for line in lines) >= 8
    assert sum(line.startswith("{") for line in lines) >= 60
