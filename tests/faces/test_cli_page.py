"""docs/cli.md: every console example runs as printed, and every command and flag has one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = ["", "load", "demo", "info", "check"]

FILES = {
    "animals.jsonl": (
        '{"text": "the cat sat on the mat", "kind": "tale", "year": 2020}\n'
        '{"text": "the dog sat on the log", "kind": "tale"}\n'
        '{"text": "dogs and cats, cats and dogs", "kind": "song", "year": 2021}\n'
    ),
    "mixed.jsonl": '{"page": {"body": "a good line"}}\n{"page": {}}\n',
    "questions.ngql": (
        "-- one result after the other\nUSE animals;\n"
        'COUNT DOCS WHERE "cat" OR "cats";\nDIST GIVEN "sat on" TOP 1;\n'
    ),
    "session.ngql": (
        ".help timer\n.mode jsonl\n.tables\n.timer on\nUSE animals;\n.timer off\n.output answers.jsonl\n"
        ".read questions.ngql\n.output stdout\n.mode\n.open\nSHOW CORPORA;\n.quit\n"
        'COUNT "never asked";\n'
    ),
}

if shutil.which("bash") is None:
    pytest.skip("the examples are for bash", allow_module_level=True)


@dataclass
class Example:
    """A command of the page and the output printed under it; `line` is the command's line on the page."""

    command: str
    expected: list[str]
    line: int


def examples() -> Iterator[Example]:
    """The commands of all console blocks, in the page's order."""
    inside = False
    current: Example | None = None
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            inside = line == "```console"
            if current is not None:
                yield current
            current = None
        elif inside and line.startswith("$ "):
            if current is not None:
                yield current
            current = Example(line[2:], [], number)
        elif inside and current is not None:
            current.expected.append(line)
    assert current is None


def pattern(expected: list[str]) -> str:
    """A regular expression for the output: `…` is anything on its line, alone on a line any lines."""
    parts = []
    for line in expected:
        any_lines = line == "…"
        parts.append("(?:.*\n)*" if any_lines else ".*".join(map(re.escape, line.split("…"))) + "\n")
    return "".join(parts)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `ngramdb` is this checkout's, and the files of the page lie in the folder."""
    script = tmp_path / "bin" / "ngramdb"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ngramdb "$@"\n')
    script.chmod(0o755)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONIOENCODING": "utf-8", "XDG_STATE_HOME": str(tmp_path / "state")}


def test_every_example_prints_what_the_page_says(environment: dict[str, str], tmp_path: Path) -> None:
    status = 0
    for example in examples():
        done = subprocess.run(
            ["bash", "-c", f"(exit {status}); {example.command}"],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        status = done.returncode
        assert "Traceback" not in done.stdout
        if re.fullmatch(pattern(example.expected), done.stdout) is None:
            pytest.fail(f"docs/cli.md, line {example.line}: $ {example.command}\nprinted:\n{done.stdout}")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_on_the_page_with_an_example(name: str) -> None:
    from ngramdb.cli.main import main

    parser_help = _help(main, name)
    flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", parser_help.split("\n\n")[0])) - {"-h"}
    page = PAGE.read_text(encoding="utf-8")
    used = {
        flag for example in examples() for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", example.command)
    }
    for flag in flags:
        assert f"`{flag}" in page, f"{flag} is not described"
        if flag != "--debug":  # its output is a traceback, which no page can promise
            assert flag in used, f"{flag} has no example"


def _help(main: object, name: str) -> str:
    import io
    from contextlib import redirect_stdout

    written = io.StringIO()
    with redirect_stdout(written):
        assert callable(main) and main([*([name] if name else []), "--help"]) == 0
    return written.getvalue()


def test_every_dot_command_is_on_the_page_with_an_example() -> None:
    from ngramdb.cli.dot import COMMANDS as DOT_COMMANDS

    page = PAGE.read_text(encoding="utf-8")
    for name in DOT_COMMANDS:
        assert f"`.{name}" in page
        assert re.search(rf"^\.{name}\b", FILES["session.ngql"], re.MULTILINE)
