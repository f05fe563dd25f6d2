"""Runs the files `*.test`: statements, each with the rows or the message that it is answered with.

A case is some lines of directives that begin with `#`, the statement, a line of dashes and the answer; an
empty line ends it. The statements of a file run in its order, on one database of their own, with a copy of
`data/` as the current folder. `pytest tests/language --rewrite` replaces the answers in the files by the
present ones (look at the difference before you keep it).

An answer is the names of the columns, a line per row with its values as JSON (NULL for None), and the other
facts of the summary, without notes and versions; or `error: ` and the message. `…` matches anything
on its line; it is written in the place of times, versions, sizes and names of files.

Every file is run in several arrangements of the same documents, and the answers must be the same: in one
segment, with the planner's rules off, in three segments, in a segment for each document, beside documents
that were removed, with the database reopened before each statement, in segments of two kinds, with rows
of some or all segments are in another order, asked over the two members of a crew (`tests/support/crews.py`),
and in an object store.

Directives:

    # corpora: a b     (first lines of the file) the corpora of CORPORA to query, the current one first
    # params: […]      the values of the statement's parameters, as JSON
    # version: name    the version before the statement: `$name` stands for it in later statements
    # rerun: no        what the statement answers depends on the arrangement: compared in one segment only

A file without corpora has invalid statements: these are parsed, and not run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from support import crews
from support.foreign_indexes import write_example
from support.golden import (
    CORPORA,
    DATA,
    FILES,
    Case,
    agrees,
    answer,
    cases,
    corpora,
    in_one,
    lines_of,
    load,
    message,
    parsed,
    rewrite,
)
from support.object_store import in_small_parts
from support.plain_kind import make_plain

import ngramdb
from ngramdb.language import ast
from ngramdb.planner.planner import rule_names


def in_three(db: ngramdb.Connection, name: str) -> None:
    lines = lines_of(name)
    third = len(lines) // 3
    load(db, name, [lines[:third], lines[third : 2 * third], lines[2 * third :]])


def in_many(db: ngramdb.Connection, name: str) -> None:
    load(db, name, [[line] for line in lines_of(name)])


def beside_removed(db: ngramdb.Connection, name: str) -> None:
    """With the same documents once more behind them, and all of these removed again."""
    lines = lines_of(name)
    load(db, name, [lines, lines])
    db.execute(f"DELETE DOCS WHERE doc_id >= {len(lines)} FROM {name}")


def of_two_kinds(db: ngramdb.Connection, name: str, kind: str = "plain") -> None:
    """In four segments, one of them of removed documents; every second one is of another kind."""
    lines = lines_of(name)
    half = len(lines) // 2
    load(db, name, [lines[:half], lines[half:], lines])
    db.execute(f"DELETE DOCS WHERE doc_id >= {len(lines)} FROM {name}")
    make_plain(db._database.store, kind=kind)


def of_two_orders(db: ngramdb.Connection, name: str) -> None:
    """The same, where rows of the other kind are in another order."""
    of_two_kinds(db, name, "byte-sorted")


def in_another_order(db: ngramdb.Connection, name: str) -> None:
    load(db, name, [lines_of(name)])
    make_plain(db._database.store, every=1, kind="byte-sorted")


ARRANGEMENTS: dict[str, Callable[[ngramdb.Connection, str], None]] = {
    "one segment": in_one,
    "rules off": in_one,
    "three segments": in_three,
    "many segments": in_many,
    "beside removed": beside_removed,
    "opened anew": in_one,
    "two kinds": of_two_kinds,
    "two orders": of_two_orders,
    "another order": in_another_order,
    "two members": in_three,
    "two members beside removed": beside_removed,
    "object store": beside_removed,
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with the data and a database of all corpora in an arrangement, to be copied."""
    folders: dict[Callable[..., None], Path] = {}

    def make(arrangement: str) -> Path:
        fill = ARRANGEMENTS[arrangement]
        if fill not in folders:
            folder = tmp_path_factory.mktemp(fill.__name__) / "data"
            shutil.copytree(DATA, folder)
            write_example(folder / "pile")
            with pytest.MonkeyPatch.context() as patch, ngramdb.connect(folder / "database") as db:
                patch.chdir(folder)
                db.execute("SET auto_compact = FALSE")
                for name in CORPORA:
                    fill(db, name)
                Path("part.jsonl").unlink()
            folders[fill] = folder
        return folders[fill]

    return make


class Run:
    """A file's statements on a database, one after the other."""

    def __init__(self, file: Path, arrangement: str) -> None:
        self.is_opened_anew = arrangement == "opened anew"
        self._connect = crews.connect if arrangement.startswith("two members") else ngramdb.connect
        self._set_up = [f"USE {name}" for name in corpora(file)[:1]]
        if arrangement == "rules off":
            self._set_up.append(f"SET disabled_rules = '{','.join(rule_names())}'")
        self._versions: dict[str, int] = {}
        self._path = "database"
        if arrangement == "object store":
            self._path = f"memory://{file.stem}.ngdb"
            fsspec.filesystem("memory").put("database", f"/{file.stem}.ngdb", recursive=True)
        self.db = self._open()

    def _open(self) -> ngramdb.Connection:
        db = self._connect(self._path)
        for statement in self._set_up:
            db.execute(statement)
        return db

    def answer(self, case: Case) -> str:
        if self.is_opened_anew:
            self.db.close()
            self.db = self._open()
        if "version" in case.directives:
            self._versions[case.directives["version"]] = self.db.version
        statement = re.sub(r"\$(\w+)", lambda match: str(self._versions[match[1]]), case.statement)
        found = answer(self.db, statement, json.loads(case.directives.get("params", "null")))
        self._remember(statement, found)
        return found

    def _remember(self, statement: str, found: str) -> None:
        """Repeat statements that belong to the session after the database is reopened."""
        kinds = (ast.Use, ast.Attach, ast.Detach, ast.SetSetting, ast.ResetSetting)
        if "error: " not in found and any(isinstance(one, kinds) for one in parsed(statement)):
            self._set_up.append(statement)


def check(case: Case, found: str, wrong: dict[int, str], messages: list[str]) -> None:
    """Notes an answer that is not the expected one."""
    if not agrees(case.expected, found):
        wrong[case.line] = found
        messages.append(
            f"{case.file.name}, line {case.line}: {case.statement}\n{found}\n  instead of\n{case.expected}"
        )


def conclude(file: Path, wrong: dict[int, str], messages: list[str]) -> None:
    """Fail if an answer differs, after rewriting the file if that was requested."""
    if wrong and os.environ.get("NGRAMDB_REWRITE"):
        rewrite(file, wrong)
    assert not messages, "\n\n".join(messages)


RUNS = [
    pytest.param(file, arrangement, id=f"{file.stem}, {arrangement}")
    for file in FILES
    if corpora(file)
    for arrangement in ARRANGEMENTS
]


@pytest.mark.parametrize(("file", "arrangement"), RUNS)
def test_every_statement_gets_its_answer(
    file: Path, arrangement: str, made: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made(arrangement), tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    if arrangement == "object store":
        in_small_parts(monkeypatch, tmp_path / "cache")
    run = Run(file, arrangement)
    wrong: dict[int, str] = {}
    messages: list[str] = []
    for case in cases(file):
        found = run.answer(case)
        if case.runs_everywhere or arrangement == "one segment":
            check(case, found, wrong, messages)
    run.db.close()
    conclude(file, wrong if arrangement == "one segment" else {}, messages)


@pytest.mark.parametrize("file", [file for file in FILES if not corpora(file)], ids=lambda file: file.stem)
def test_what_is_no_statement_gets_its_message(file: Path) -> None:
    wrong: dict[int, str] = {}
    messages: list[str] = []
    for case in cases(file):
        check(case, message(case.statement), wrong, messages)
    conclude(file, wrong, messages)
