"""The console entry: find out which command is meant and hand over. A command is imported when it is run."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any

from ngramdb.cli.common import TERMINATED, glued, guarded
from ngramdb.cli.terminal.screen import tolerate_any_character, visible_streams

# Subcommand -> the module that holds it; everything else is `ngramdb [DB] …`.
_NAMES = (
    *("load", "build", "missing", "commit", "demo", "info", "check", "compact", "warm", "export"),
    "decontaminate",
    *("analyze", "perplexity", "agreement", "serve", "mcp", "completion"),
)
COMMANDS = {name: f"ngramdb.cli.commands.{name}" for name in _NAMES}

# The command without a name.
PROGRAM = "ngramdb.cli.commands.query"

# Those that end by SIGTERM in a way of their own, or at once: mcp waits for its input in another thread.
OWN_SIGNALS = (COMMANDS["serve"], COMMANDS["mcp"])

# Flags whose values are anybody's text.
FREE_FLAGS = ("--param", "--separator", "--where")
# Flags without a value that may precede a subcommand.
_LEADING_FLAGS = ("--debug", "--no-progress")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line (`sys.argv` when no arguments are given) and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _replace_closed_streams()
    tolerate_any_character()
    module, rest = _choose(given)
    try:
        with visible_streams(), _ended_by_sigterm(module):
            code = _run(import_module(module), rest)
    except SystemExit as stop:  # argparse: --help, --version and wrong usage; SIGTERM
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:  # while modules were imported
        return 130
    return code


@contextlib.contextmanager
def _ended_by_sigterm(module: str) -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does, so that what it has begun to write goes; a second one at once.

    An existing handler of SIGTERM, or ignoring it, is kept.
    """

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise SystemExit(TERMINATED)

    wanted = module not in OWN_SIGNALS and threading.current_thread() is threading.main_thread()
    if not wanted or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(command: Any, arguments: list[str]) -> int:
    """Run a command's module: `make_parser` defines its flags, and `run` executes it."""
    parser: ArgumentParser = command.make_parser()
    # intermixed: a statement may follow flags that follow the database
    parse = parser.parse_intermixed_args if command.__name__ == PROGRAM else parser.parse_args
    options = parse(glued(arguments, FREE_FLAGS))
    return guarded(lambda: command.run(options), options.debug)


def _replace_closed_streams() -> None:
    """Replace standard streams that the caller has closed: they are empty, and discard all output."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _choose(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the module to run and its arguments: a subcommand wins over a database of its name."""
    if arguments in (["help"], ["version"]) and not os.path.exists(arguments[0]):
        return PROGRAM, [f"--{arguments[0]}"]
    n_flags = 0
    while n_flags < len(arguments) and arguments[n_flags] in _LEADING_FLAGS:
        n_flags += 1
    if n_flags < len(arguments) and arguments[n_flags] in COMMANDS:
        return COMMANDS[arguments[n_flags]], arguments[:n_flags] + arguments[n_flags + 1 :]
    return PROGRAM, arguments


if __name__ == "__main__":
    sys.exit(main())
