"""Runs the examples of a page of documentation, so that what it prints is what the program prints.

A page's fenced blocks run in its order, in one folder and as one story: databases, files, variables of
Python, the shell's `$?` and the prompt's current corpus are still there in the next block.

    ```console   lines that begin with `$ ` are commands for bash (a here-document runs to its end mark), the
                 lines below are what they print, standard error included. Lines that begin with a prompt, as
                 in `wiki> COUNT "the";`, are typed into the session that the last `$ ngramdb DB` opened.
    ```python    `>>>` examples as in doctest, or plain code; the output of plain code is in the next block,
    ```text      which is of this kind. Plain code may have `await` at its top level, as in a notebook.

In what is printed `…` stands for anything on its line, and alone on a line for any lines. With
NGRAMDB_REWRITE=1 in the environment, what differs is replaced in the page by what is printed (look at the
difference before you keep it).
"""

from __future__ import annotations

import ast
import asyncio
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

# Words that a shell passes on literally; a command of nothing else needs no shell.
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
PLAIN = re.compile(r"ngramdb [\w\s./=:,-]*")
HERE_DOCUMENT = re.compile(r"<<'?(\w+)'?")
PROMPT = re.compile(r"(?P<prompt>\w+> | *\.\.\.> )(?P<typed>.*)")
# The size of the terminal that prompts are shown in.
COLUMNS = 100
LINES = 50


@dataclass
class Block:
    """A fenced block: its kind, its lines, and the page's line of the first of them."""

    kind: str
    lines: list[str]
    line: int


@dataclass
class Example:
    """A command of a console block and what is printed under it; `line` is the command's line on the page."""

    command: str
    expected: list[str] = field(default_factory=list)
    line: int = 0
    prompt: str | None = None


@dataclass
class Change:
    """The page's lines `first …`, `n` of them, that should read otherwise."""

    first: int
    n: int
    lines: list[str]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in its order."""
    found: list[Block] = []
    current: Block | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("```"):
            if current is not None:
                current.lines.append(line)
        elif current is None:
            current = Block(line[3:], [], number + 1)
        else:
            assert line == "```", f"{page.name}, line {number}: a block ends with ``` alone"
            found.append(current)
            current = None
    assert current is None, f"{page.name}: the block of line {current.line} does not end"
    return found


def console_examples(block: Block) -> Iterator[Example]:
    """The commands of a console block, those typed at a prompt included."""
    lines = iter(enumerate(block.lines, start=block.line))
    current: Example | None = None
    for number, line in lines:
        typed = PROMPT.fullmatch(line)
        if not line.startswith("$ ") and typed is None:
            assert current is not None, f"line {number}: output without a command"
            current.expected.append(line)
            continue
        if typed is not None and typed["prompt"].startswith(" "):
            assert current is not None and current.prompt is not None
            current.command += "\n" + typed["typed"]
            continue
        if current is not None:
            yield current
        if typed is not None:
            current = Example(typed["typed"], [], number, typed["prompt"])
            continue
        current = Example(line[2:], [], number)
        if mark := HERE_DOCUMENT.search(line):
            while not current.command.endswith("\n" + mark[1]):
                current.command += "\n" + next(lines)[1]
    if current is not None:
        yield current


def all_examples(page: Path) -> list[Example]:
    """The examples of all console blocks of a page."""
    return [
        example for block in blocks(page) if block.kind == "console" for example in console_examples(block)
    ]


def pattern(expected: list[str]) -> str:
    """A regular expression for what is printed."""
    parts = []
    for line in expected:
        any_lines = line == "…"
        # Several `…` are one, so that a column of a table can keep its width.
        parts.append("(?:.*\n)*" if any_lines else ".*".join(map(re.escape, re.split("…+", line))) + "\n")
    return "".join(parts)


def agrees(expected: list[str], printed: str) -> bool:
    """Return True if the output agrees with the page."""
    return re.fullmatch(pattern(expected), printed) is not None


class Runner(doctest.DocTestRunner):
    """Runs `>>>` examples; `changes` gathers what would make the page right."""

    def __init__(self) -> None:
        super().__init__(checker=Checker(), verbose=False)
        self.changes: list[Change] = []

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        super().report_failure(out, test, example, got)
        self._change(test, example, got)

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        super().report_unexpected_exception(out, test, example, exc_info)
        self._change(test, example, "".join(traceback.format_exception(*exc_info)))

    def _change(self, test: Any, example: Any, got: str) -> None:
        lines = got.splitlines()
        head = "Traceback (most recent call last):"
        if head in lines:
            # The stack is ignored: only the lines after the last one are compared.
            lines = lines[len(lines) - lines[::-1].index(head) :]
            stop = next(i for i, line in enumerate(lines) if not line.startswith(" "))
            lines = [head, "    ...", *lines[stop:]]
        first = test.lineno + 1 + example.lineno + example.source.count("\n")
        self.changes.append(Change(first, example.want.count("\n"), lines))


class Checker(doctest.OutputChecker):
    """Compares the output of `>>>` examples with the page's rule for `…`."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return agrees(want.splitlines(), got)


class TerminalText(io.StringIO):
    """A stream that the program takes for a terminal with a reader."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Story:
    """The examples of a page, and of pages that continue it, run in `folder`."""

    def __init__(self, page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = page
        self.folder = folder
        self.status = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._repl: Any = None
        self._has_loop = False
        self._changes: list[Change] | None = [] if os.environ.get("NGRAMDB_REWRITE") else None
        commands = folder / "bin"
        commands.mkdir()
        for name, flags in (("ngramdb", "-m ngramdb"), ("python", "")):
            script = commands / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {flags} "$@"\n')
            script.chmod(0o755)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "configuration"))
        for name in ("COLUMNS", "LINES"):
            monkeypatch.delenv(name, raising=False)
        self._monkeypatch = monkeypatch

    def run(self, *continued: Path) -> None:
        """Run every block of the page and of those that continue it, up to the first wrong output."""
        for page in (self.page, *continued):
            self.page = page
            every = blocks(page)
            for block, behind in zip(every, [*every, None][1:], strict=True):
                if block.kind == "console":
                    for example in console_examples(block):
                        self.console(example)
                elif block.kind == "python":
                    self.python(block, behind)
            self._rewrite()
        self.close()
        if self._has_loop:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        self._has_loop = True
        return asyncio.new_event_loop()

    def close(self) -> None:
        """Leave the prompt, if there is one."""
        if self._repl is not None:
            self._repl.shell.close()
            self._repl = None

    def _compare(self, expected: list[str], printed: str, first: int, what: str) -> None:
        """Compare `printed` with the page from line `first` on."""
        assert "internal error" not in printed
        if agrees(expected, printed):
            return
        if self._changes is None:
            pytest.fail(f"{self.page.name}, line {first}: {what}\nprinted:\n{printed}", pytrace=False)
        self._changes.append(Change(first, len(expected), printed.splitlines()))

    def _rewrite(self) -> None:
        if not self._changes:
            return
        lines = self.page.read_text(encoding="utf-8").splitlines()
        for change in sorted(self._changes, key=lambda change: change.first, reverse=True):
            lines[change.first - 1 : change.first - 1 + change.n] = change.lines
        self.page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._changes = []

    # ---- bash and the prompt -----------------------------------------------------------------------------

    def console(self, example: Example) -> None:
        """One command of a console block."""
        if example.prompt is not None:
            printed = self._typed(example)
        elif re.fullmatch(r"ngramdb( [\w.]+\.ngdb)?", example.command):
            printed = self._open_prompt(example.command)
        else:
            printed = self._command(example.command)
        assert "Traceback" not in printed, printed
        first = example.line + 1 + example.command.count("\n")
        self._compare(example.expected, printed, first, (example.prompt or "$ ") + example.command)

    def _command(self, command: str) -> str:
        """Return the output of a command. One of ours that needs no shell runs in this process, for speed."""
        self.close()
        if PLAIN.fullmatch(QUOTED.sub("", command)):
            return self._ours(shlex.split(command)[1:])
        return self._bash(command)

    def _ours(self, arguments: list[str]) -> str:
        from ngramdb.cli.main import main

        printed = io.BytesIO()
        stream = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
        with open(os.devnull) as nothing, self._monkeypatch.context() as streams:
            streams.setattr(sys, "stdin", nothing)
            streams.setattr(sys, "stdout", stream)
            streams.setattr(sys, "stderr", stream)
            self.status = main(arguments)
        return printed.getvalue().decode()

    def _bash(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status}); {command}"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=300,
        )
        self.status = done.returncode
        return done.stdout

    def _open_prompt(self, command: str) -> str:
        from prompt_toolkit.input import create_pipe_input
        from prompt_toolkit.output import DummyOutput

        from ngramdb.cli.shell.prompt import Repl
        from ngramdb.cli.shell.session import Shell

        self.close()
        with create_pipe_input() as keys, self._terminal() as printed:
            keys.send_text("\x04")  # Ctrl-D: the banner, and back
            path = shlex.split(command)[1:]
            self._repl = Repl(Shell(path[0] if path else None), input=keys, output=DummyOutput())
            self._repl.run()
        return printed.getvalue()

    def _typed(self, example: Example) -> str:
        from ngramdb.cli.shell.prompt import prompt_text

        assert self._repl is not None, f"line {example.line}: no `$ ngramdb DB` has opened a prompt"
        assert prompt_text(self._repl.shell) == example.prompt, f"line {example.line}: the prompt"
        with self._terminal() as printed:
            self._repl.execute(example.command)
        if self._repl.shell.finished:
            self.close()
        return printed.getvalue()

    @contextmanager
    def _terminal(self) -> Iterator[TerminalText]:
        with self._monkeypatch.context() as environment, redirect_stdout(TerminalText()) as printed:
            environment.setenv("NO_COLOR", "1")
            environment.setenv("COLUMNS", str(COLUMNS))
            environment.setenv("LINES", str(LINES))
            yield printed

    # ---- Python ------------------------------------------------------------------------------------------

    def python(self, block: Block, behind: Block | None) -> None:
        """One block of Python; `behind` is the block after it."""
        source = "\n".join(block.lines) + "\n"
        if source.startswith(">>> "):
            self._doctest(source, block.line)
            return
        with redirect_stdout(io.StringIO()) as printed:
            # Blank lines in front, so that tracebacks name the page's own lines.
            text = "\n" * (block.line - 1) + source
            waiting = eval(compile(text, str(self.page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), self.names)
            if waiting is not None:
                self._loop.run_until_complete(waiting)
        if behind is not None and behind.kind == "text":
            self._compare(behind.lines, printed.getvalue(), behind.line, "this code's output")
        else:
            assert printed.getvalue() == "", f"line {block.line}: no block for what this code prints"

    def _doctest(self, source: str, line: int) -> None:
        parser = doctest.DocTestParser()
        test = parser.get_doctest(source, self.names, self.page.name, str(self.page), line - 1)
        test.globs = self.names  # not the copy: the next block uses the names of this one
        report: list[str] = []
        runner = Runner()
        if not runner.run(test, out=report.append, clear_globs=False).failed:
            return
        if self._changes is None:
            pytest.fail("".join(report), pytrace=False)
        self._changes.extend(runner.changes)
