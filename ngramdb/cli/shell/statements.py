"""Statements from the command line, from files or from standard input; at a terminal, the REPL."""

from __future__ import annotations

import argparse
import os
import sys

from ngramdb.cli.common import OK, UsageError
from ngramdb.cli.shell import running
from ngramdb.cli.shell.parameters import Parameters
from ngramdb.cli.shell.running import run_file, run_script
from ngramdb.cli.shell.script import Script, Unit, lines_of
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal.screen import is_terminal


def run(options: argparse.Namespace) -> int:
    """Run what the command line gives, in its order, else standard input; the exit code comes back."""
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
            from ngramdb.cli.prompt.session import Repl

            return Repl(shell, debug=options.debug, configured=not options.no_config).run()
        inputs = options.inputs or [("file", "-")]
        scripts = [_opened(kind, text, in_full=bool(options.parameters)) for kind, text in inputs]
        every = [(script, unit) for script, units in scripts if script for unit in units or ()]
        left = running.check_units(every, parameters)
        if left is not None:
            left.check_all_used()
        for (_, text), (script, units) in zip(inputs, scripts, strict=True):
            if script is None:
                run_file(shell, text)
            else:
                run_script(shell, script, units)
            if shell.finished:
                return OK
        parameters.check_all_used()
        return OK
    finally:
        shell.close()


def _opened(kind: str, text: str, in_full: bool) -> tuple[Script | None, list[Unit] | None]:
    """Return the script of an input and, if nothing may run before all of it is parsed, its units.

    That applies to typed input, and with `in_full` to files and standard input, which otherwise run while
    they are read. None for such a file.
    """
    if kind == "text":
        return _parsed(Script(lines_of(text)))
    if text == "-":
        script = Script(sys.stdin, name="standard input")
        return _parsed(script) if in_full else (script, None)
    if os.path.isdir(text):
        raise UsageError(f"{text} is a folder; -f takes a file of statements")
    if not in_full:
        return None, None
    with open(text, encoding="utf-8") as lines:
        return _parsed(Script(lines, name=text))


def _parsed(script: Script) -> tuple[Script, list[Unit]]:
    units = list(script)
    running.parse_all(script, units)
    return script, units
