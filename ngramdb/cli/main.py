"""The console entry point: find the command and call it. Each command is imported when it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from types import FrameType

from ngramdb.cli.common import TERMINATED, Command, glued, guarded
from ngramdb.cli.terminal.screen import tolerate_any_character, visible_streams

# Subcommand -> the module of `commands/` that holds it; everything else is `ngramdb [DB] …`.
COMMANDS = {
    **dict.fromkeys(("load", "build", "missing", "commit"), "building"),
    "demo": "demo",
    **dict.fromkeys(("info", "check", "compact", "warm"), "maintenance"),
    **dict.fromkeys(("export", "decontaminate"), "exporting"),
    "curate": "curate",
    "quality": "quality",
    "analyze": "maintenance",
    **dict.fromkeys(("perplexity", "agreement"), "evaluation"),
    **dict.fromkeys(("serve", "mcp"), "services"),
    "completion": "completion",
}

# Those that end by SIGTERM in a way of their own, or at once: mcp waits for its input in another thread.
OWN_SIGNALS = ("serve", "mcp")

# Flags whose values are anybody's text.
FREE_FLAGS = ("--param", "--separator", "--where")
# Flags without a value that may precede a subcommand.
_LEADING_FLAGS = ("--debug", "--no-progress")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line (`sys.argv` when no arguments are given) and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _replace_closed_streams()
    tolerate_any_character()
    name, rest = _choose(given)
    try:
        with visible_streams(), _ended_by_sigterm(name):
            code = _run(name, rest)
    except SystemExit as stop:  # argparse: --help, --version and wrong usage; SIGTERM
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt:  # while modules were imported
        return 130
    return code


@contextlib.contextmanager
def _ended_by_sigterm(name: str) -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does, so that what it has begun to write goes; a second one at once.

    An existing handler of SIGTERM, or ignoring it, is kept.
    """

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise SystemExit(TERMINATED)

    wanted = name not in OWN_SIGNALS and threading.current_thread() is threading.main_thread()
    if not wanted or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def command(name: str) -> Command:
    """Import the command of this name, "" for `ngramdb` itself."""
    module = import_module(f"ngramdb.cli.commands.{COMMANDS.get(name, 'query')}")
    found: Command = module.COMMANDS[name]
    return found


def _run(name: str, arguments: list[str]) -> int:
    chosen = command(name)
    parser = chosen.parser(name)
    # intermixed: a statement may follow flags that follow the database
    parse = parser.parse_args if name else parser.parse_intermixed_args
    options = parse(glued(arguments, FREE_FLAGS))
    return guarded(lambda: chosen.run(options), options.debug)


def _replace_closed_streams() -> None:
    """Replace standard streams that the caller has closed: they are empty, and discard all output."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _choose(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the command's name and its arguments: a subcommand wins over a database of its name."""
    if arguments in (["help"], ["version"]) and not os.path.exists(arguments[0]):
        return "", [f"--{arguments[0]}"]
    n_flags = 0
    while n_flags < len(arguments) and arguments[n_flags] in _LEADING_FLAGS:
        n_flags += 1
    if n_flags < len(arguments) and arguments[n_flags] in COMMANDS:
        return arguments[n_flags], arguments[:n_flags] + arguments[n_flags + 1 :]
    return "", arguments


if __name__ == "__main__":
    sys.exit(main())
