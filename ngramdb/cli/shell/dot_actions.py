"""Dot commands: functions of a session and the command's arguments; `dot.COMMANDS` lists them."""

from __future__ import annotations

import itertools
import re
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager

from ngramdb.cli.common import positive
from ngramdb.cli.shell.destination import LateFile
from ngramdb.cli.shell.session import AtPrompt, Shell
from ngramdb.cli.terminal.render import MODES
from ngramdb.errors import InvalidArgument

# Between two answers of `.watch`, in seconds, by default.
WATCH_S = 2.0
WATCH = re.compile(
    r"(?:(?P<seconds>\d+(?:\.\d+)?)\s+(?:(?P<times>\d+)\s+)?)?(?P<statement>[^\d\s].*)", re.DOTALL
)


def mode(shell: Shell, arguments: list[str]) -> None:
    """Set how results look, or list the ways."""
    if arguments:
        shell.set_mode(None if arguments[0] == "auto" else arguments[0])
        return
    current = shell.effective_mode()
    names = [f"{mode} (current)" if mode == current else mode for mode in MODES]
    shell.screen().write(", ".join(names) + "; auto chooses by where results go\n")


def rows(shell: Shell, arguments: list[str]) -> None:
    """Set the most rows of a table, or show it."""
    if not arguments:
        chosen = "" if shell.n_rows is None else " (.rows auto: what fits the screen)"
        shell.screen().write(f"tables show at most {shell.shown_rows():,} rows{chosen}\n")
    elif arguments[0].lower() == "auto":
        shell.n_rows = None
    else:
        try:
            shell.n_rows = positive(arguments[0])
        except ArgumentTypeError as error:
            raise InvalidArgument(f"usage: .rows N|auto; {error}") from error


def timer(shell: Shell, arguments: list[str]) -> None:
    """Switch the time after each result on or off, or show whether it is on."""
    if not arguments:
        shell.screen().write(f"timer is {'on' if shell.timer else 'off'}\n")
    else:
        shell.timer = _switch("timer", arguments[0])


def tables(shell: Shell, arguments: list[str]) -> None:
    """List the corpora."""
    shell.statement("SHOW CORPORA")


def read(shell: Shell, arguments: list[str]) -> str:
    """Name the file whose statements are to be run."""
    return arguments[0]


def output(shell: Shell, arguments: list[str]) -> None:
    """Send results to a file or a command, or back to standard output."""
    shell.send_to(None if not arguments or arguments[0] == "stdout" else arguments[0])


def once(shell: Shell, arguments: list[str]) -> None:
    """Send the next result alone to a file or a command."""
    name = arguments[0].removesuffix(";").strip()
    shell.once = LateFile(name if name.startswith("|") else name.strip("'\""))


def watch(shell: Shell, arguments: list[str]) -> None:
    """Ask again and again; Ctrl-C, the way to end it at a prompt, is not an error there."""
    match = WATCH.fullmatch(arguments[0])
    if match is None:
        raise InvalidArgument("usage: .watch [SECONDS [TIMES]] STATEMENT")
    seconds = float(match["seconds"] or WATCH_S)
    if match["times"] is not None and int(match["times"]) < 1:
        raise InvalidArgument("TIMES must be at least 1: the number of runs of .watch")
    try:
        with _without_pager(shell.prompt):
            for i in itertools.count() if match["times"] is None else range(int(match["times"])):
                if i:
                    time.sleep(seconds)
                if shell.screen().is_terminal:
                    shell.note(time.strftime("%H:%M:%S"))
                shell.statement(match["statement"])
    except KeyboardInterrupt:
        if shell.prompt is None:
            raise


@contextmanager
def _without_pager(prompt: AtPrompt | None) -> Iterator[None]:
    before = prompt is not None and prompt.pager
    if prompt is not None:
        prompt.pager = False
    try:
        yield
    finally:
        if prompt is not None:
            prompt.pager = before


def edit(shell: Shell, arguments: list[str]) -> None:
    """Open the last statement, or a file, in the editor."""
    _prompt(shell, "edit").edit(arguments[0] if arguments else None)


def pager(shell: Shell, arguments: list[str]) -> None:
    """Switch the pager on or off, or show whether it is on."""
    prompt = _prompt(shell, "pager")
    if arguments:
        prompt.pager = _switch("pager", arguments[0])
    else:
        shell.screen().write(f"pager is {'on' if prompt.pager else 'off'}\n")


def keys(shell: Shell, arguments: list[str]) -> None:
    """Choose the keys of emacs or of vi, or show them."""
    prompt = _prompt(shell, "keys")
    if not arguments:
        shell.screen().write(f"keys are those of {prompt.keys}\n")
    elif arguments[0].lower() in ("vi", "emacs"):
        prompt.keys = arguments[0].lower()
    else:
        raise InvalidArgument("usage: .keys vi|emacs")


def open_(shell: Shell, arguments: list[str]) -> None:
    """Open another database, or one in memory."""
    shell.reopen(arguments[0] if arguments else None)


def quit_(shell: Shell, arguments: list[str]) -> None:
    """End the session."""
    shell.finished = True


def _prompt(shell: Shell, name: str) -> AtPrompt:
    if shell.prompt is None:
        raise InvalidArgument(f".{name} works at a prompt only")
    return shell.prompt


def _switch(name: str, word: str) -> bool:
    if word.lower() not in ("on", "off"):
        raise InvalidArgument(f"usage: .{name} on|off")
    return word.lower() == "on"
