"""Statements from the command line, from files or from standard input; at a terminal, the REPL."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ngramdb.cli.common import OK, UsageError
from ngramdb.cli.parameters import Parameters
from ngramdb.cli.script import Script
from ngramdb.cli.shell import Shell
from ngramdb.cli.terminal import is_terminal


def run(options: argparse.Namespace) -> int:
    """Run what `-c` and `-f` name in their order, else standard input; the exit code comes back."""
    if options.read_only and options.database is None:
        raise UsageError("--read-only needs a database")
    parameters = Parameters(options.parameters)
    shell = Shell(
        options.database,
        read_only=options.read_only,
        mode=options.format,
        timer=options.timer,
        progress=not options.no_progress,
        timeout=options.timeout,
        parameters=parameters,
    )
    try:
        if not options.inputs and is_terminal(sys.stdin) and is_terminal(sys.stdout):
            # prompt_toolkit is loaded for a person at a terminal only
            from ngramdb.repl.session import Repl

            return Repl(shell, debug=options.debug, configured=not options.no_config).run()
        for kind, text in options.inputs or [("file", "-")]:
            _run_input(shell, kind, text)
            if shell.finished:
                return OK
        parameters.check_all_used()
        return OK
    finally:
        shell.close()


def _run_input(shell: Shell, kind: str, text: str) -> None:
    if kind == "text":
        shell.run_text(text)
    elif text == "-":
        shell.run(Script(sys.stdin, name="standard input"))
    elif Path(text).is_dir():
        raise UsageError(f"{text} is a folder; -f takes a file of statements")
    else:
        shell.run_file(text)
