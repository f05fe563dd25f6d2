"""Dot commands: what a session can do that is no question to the database.

Each is a function of the session and its arguments, listed in `COMMANDS` with the line that `.help` shows.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ngramdb.cli.render import MODES
from ngramdb.errors import InvalidArgument

if TYPE_CHECKING:
    from ngramdb.cli.shell import Shell

STATEMENTS = """\
COUNT "of the"                                      occurrences of an n-gram
COUNT DOCS WHERE "good" AND NOT "bad"               matching documents
PROB "language" GIVEN "natural" USING INFGRAM       P(language | natural)
DIST GIVEN "natural language" TOP 10                what comes next, and how often
SCORE "a whole sentence"                            probability token by token
DOCS WHERE "a b" OR "c" LIMIT 5                     documents with their metadata and text
EXPLAIN COUNT "of the"                              the plan of a question
CREATE CORPUS wiki TOKENIZER 'words'                a new, empty corpus
COPY wiki FROM 'data/*.jsonl.gz' (FORMAT jsonl)     documents into it
USE wiki; DESCRIBE wiki; CHECK wiki; DROP CORPUS wiki
SHOW CORPORA; SHOW SEGMENTS; SHOW VERSIONS; SHOW SETTINGS; SET threads = 2"""


@dataclass(frozen=True)
class Command:
    """A dot command: its name without the dot, its arguments as help shows them, what it does."""

    name: str
    arguments: str
    purpose: str
    run: Callable[[Shell, list[str]], None]
    n_arguments: tuple[int, int]


def run(shell: Shell, line: str) -> None:
    """Run a line that begins with a dot. A name may be cut short as long as only one command begins so.

    Raises InvalidArgument for an unknown command (naming the nearest), for wrong arguments, and OSError for
    files that cannot be read or written.
    """
    name, arguments = _words(line)
    command = find(name)
    fewest, most = command.n_arguments
    if not fewest <= len(arguments) <= most:
        raise InvalidArgument(f"usage: .{command.name} {command.arguments}".rstrip())
    command.run(shell, arguments)


def find(name: str) -> Command:
    """The command of this name or with this unique beginning."""
    name = {"exit": "quit"}.get(name.lower(), name.lower())
    if name in COMMANDS:
        return COMMANDS[name]
    begins = [other for other in COMMANDS if name and other.startswith(name)]
    if len(begins) == 1:
        return COMMANDS[begins[0]]
    near = begins or get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean .{' or .'.join(near)}?" if near else ".help lists them all"
    raise InvalidArgument(f"unknown command .{name}; {hint}")


def _words(line: str) -> tuple[str, list[str]]:
    name, _, rest = line.strip().removeprefix(".").partition(" ")
    try:
        return name.rstrip(";"), shlex.split(rest.strip().removesuffix(";"), posix=True)
    except ValueError as error:
        raise InvalidArgument(f".{name}: {str(error).lower()}") from error


def _help(shell: Shell, arguments: list[str]) -> None:
    if arguments:
        command = find(arguments[0].removeprefix("."))
        text = f".{command.name} {command.arguments}".rstrip() + f"\n  {command.purpose}\n"
    else:
        width = max(len(f"{c.name} {c.arguments}") for c in COMMANDS.values()) + 4
        lines = [f"{'.' + c.name + ' ' + c.arguments:<{width}}{c.purpose}" for c in COMMANDS.values()]
        text = "\n".join([*lines, "", "Statements end with ; and may span lines:", STATEMENTS]) + "\n"
    shell.screen().write(text)


def _mode(shell: Shell, arguments: list[str]) -> None:
    if arguments:
        shell.set_mode(None if arguments[0] == "auto" else arguments[0])
        return
    current = shell.effective_mode()
    names = [f"{mode} (current)" if mode == current else mode for mode in MODES]
    shell.screen().write(", ".join(names) + "; auto chooses by where results go\n")


def _timer(shell: Shell, arguments: list[str]) -> None:
    if not arguments:
        shell.screen().write(f"timer is {'on' if shell.timer else 'off'}\n")
    elif arguments[0].lower() in ("on", "off"):
        shell.timer = arguments[0].lower() == "on"
    else:
        raise InvalidArgument("usage: .timer on|off")


def _tables(shell: Shell, arguments: list[str]) -> None:
    shell.statement("SHOW CORPORA")


def _read(shell: Shell, arguments: list[str]) -> None:
    shell.run_file(arguments[0])


def _output(shell: Shell, arguments: list[str]) -> None:
    shell.send_to(None if not arguments or arguments[0] == "stdout" else arguments[0])


def _open(shell: Shell, arguments: list[str]) -> None:
    shell.reopen(arguments[0] if arguments else None)


def _quit(shell: Shell, arguments: list[str]) -> None:
    shell.finished = True


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "[COMMAND]", "this list, or one command", _help, (0, 1)),
        Command("mode", "[MODE]", f"how results look: {', '.join(MODES)}, auto", _mode, (0, 1)),
        Command("timer", "[on|off]", "show how long each statement took", _timer, (0, 1)),
        Command("tables", "", "the corpora of the database", _tables, (0, 0)),
        Command("read", "FILE", "run the statements of a file", _read, (1, 1)),
        Command(
            "output", "[FILE|stdout]", "send results to a file, or back to standard output", _output, (0, 1)
        ),
        Command("open", "[PATH]", "go on with another database (in memory without a path)", _open, (0, 1)),
        Command("quit", "", "leave; so does Ctrl-D", _quit, (0, 0)),
    )
}
