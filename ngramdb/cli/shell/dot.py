"""Dot commands: what a session can do that is not a question to the database.

Each is a function of a session and the command's arguments, which `_command` enters into `COMMANDS` with its
line of `.help`.
"""

from __future__ import annotations

import itertools
import re
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ngramdb.cli.common import positive
from ngramdb.cli.shell.examples import TOPICS, about, examples, examples_of, heads
from ngramdb.cli.shell.session import AtPrompt, LateFile, Shell
from ngramdb.cli.terminal.human import two_columns
from ngramdb.cli.terminal.screen import MODES, default_mode
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    import difflib
    import shlex
else:
    difflib, shlex = lazy_module("difflib"), lazy_module("shlex")


# Default width of paragraphs.
WIDEST = 110
_Run = Callable[[Shell, list[str]], str | None]

# Between two answers of `.watch`, in seconds, by default.
WATCH_S = 2.0
_WATCH = re.compile(
    r"(?:(?P<seconds>\d+(?:\.\d+)?)\s+(?:(?P<times>\d+)\s+)?)?(?P<statement>[^\d\s].*)", re.DOTALL
)


@dataclass(frozen=True)
class Command:
    """A dot command: its name without the dot, its arguments as help shows them, what it does.

    `choices` are the words that may be its argument, `takes_file` is whether a file's name may. A command
    whose arguments are `raw` gets all after its name as one argument, quotes included. What `run` returns,
    if anything, is a file whose statements are to be run.
    """

    name: str
    arguments: str
    purpose: str
    run: _Run
    choices: tuple[str, ...] = ()
    takes_file: bool = False
    raw: bool = False

    def check(self, n_arguments: int) -> None:
        """Raise InvalidArgument for too many arguments, or for one missing."""
        fewest = 1 if self.arguments and not self.arguments.endswith("]") else 0
        if not fewest <= n_arguments <= bool(self.arguments):
            raise InvalidArgument(f"usage: .{self.name} {self.arguments}".rstrip())


COMMANDS: dict[str, Command] = {}
_SWITCH = ("on", "off")


def _command(name: str, arguments: str, purpose: str, **rest: Any) -> Callable[[_Run], _Run]:
    def enter(run: _Run) -> _Run:
        COMMANDS[name] = Command(name, arguments, purpose, run, **rest)
        return run

    return enter


def run(shell: Shell, line: str) -> str | None:
    """Run a line that begins with a dot.

    Returns the file to run next, if the command names one. A command's name may be abbreviated if
    only one command begins so.

    Raises InvalidArgument for an unknown command (naming the nearest), for wrong arguments, and OSError for
    files that cannot be read or written.
    """
    command, arguments = parsed(line)
    return command.run(shell, arguments)


def parsed(line: str) -> tuple[Command, list[str]]:
    """Parse a line into the command and its arguments. Raises InvalidArgument."""
    name, _, rest = line.strip().removeprefix(".").partition(" ")
    command = find(name.rstrip(";"))
    arguments = _words(command, rest.strip())
    command.check(len(arguments))
    return command, arguments


def find(name: str) -> Command:
    """Return the command of this name or with this unique beginning."""
    name = {"exit": "quit"}.get(name.lower(), name.lower())
    if name in COMMANDS:
        return COMMANDS[name]
    begins = [other for other in COMMANDS if name and other.startswith(name)]
    if len(begins) == 1:
        return COMMANDS[begins[0]]
    near = begins or difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean .{' or .'.join(near)}?" if near else ".help lists them all"
    raise InvalidArgument(f"unknown command .{name}; {hint}")


def _words(command: Command, rest: str) -> list[str]:
    if command.raw:
        return [rest] if rest else []
    try:
        return shlex.split(rest.removesuffix(";"), posix=True)
    except ValueError as error:
        raise InvalidArgument(f".{command.name}: {str(error).lower()}") from error


# ---- The commands, in the order of `.help`.


@_command("help", "[WORD]", "this list, or help on WORD")
def _help(shell: Shell, arguments: list[str]) -> None:
    width = shell.screen().width
    if arguments:
        shell.write("".join(f"{line}\n" for line in _help_on(arguments[0], width)))
        return
    commands = two_columns(((f".{c.name} {c.arguments}", c.purpose) for c in COMMANDS.values()), width)
    statements = f"Statements (ended by ;): {', '.join(heads())}."
    more = ".help statements: examples of all."
    paragraph = wrap(f"{statements} {more}", width or WIDEST)
    shell.write("".join(f"{line}\n" for line in (*commands, "", *paragraph)))


def _help_on(word: str, width: int | None) -> Iterator[str]:
    """Yield the lines on one command, one statement or clause, or all statements."""
    if word.lower() in TOPICS:
        word, told = TOPICS[word.lower()]
        yield from (told, "")
    shapes, found = about(word), examples_of(word)
    if word.lower() == "statements":
        yield from two_columns(examples(), width)
    elif shapes and word.lower() not in COMMANDS:
        for shape in shapes:
            yield from [shape] if width is None else wrap(shape, width, subsequent_indent="  ")
        if found:
            yield ""
            yield from two_columns(found, width)
    else:
        try:
            command = find(word.removeprefix("."))
        except InvalidArgument as error:
            near = difflib.get_close_matches(
                word.lower(), [*COMMANDS, *map(str.lower, heads())], n=1, cutoff=0.6
            )
            hint = f"did you mean .help {near[0]}? " if near else ""
            what = f"no help on {word}; {hint}.help lists commands, .help statements all statements"
            raise InvalidArgument(what) from error
        yield f".{command.name} {command.arguments}".rstrip()
        yield f"  {command.purpose}"


@_command("mode", "[MODE]", "format of results; lists the modes", choices=(*MODES, "auto"))
def _mode(shell: Shell, arguments: list[str]) -> None:
    if arguments:
        shell.set_mode(None if arguments[0] == "auto" else arguments[0])
        return
    current = shell.mode or default_mode(shell.screen())
    names = [f"{mode} (current)" if mode == current else mode for mode in MODES]
    shell.screen().write(", ".join(names) + "; auto chooses by where results go\n")


@_command("rows", "[N|auto]", "maximum number of rows in a table", choices=("auto",))
def _rows(shell: Shell, arguments: list[str]) -> None:
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


@_command("timer", "[on|off]", "show how long each statement took", choices=_SWITCH)
def _timer(shell: Shell, arguments: list[str]) -> None:
    if arguments:
        shell.timer = _chosen("timer", arguments[0], _SWITCH) == "on"
    else:
        shell.screen().write(f"timer is {'on' if shell.timer else 'off'}\n")


@_command("tables", "", "the corpora of the database")
def _tables(shell: Shell, arguments: list[str]) -> None:
    shell.statement("SHOW CORPORA")


@_command("read", "FILE", "run the statements of a file", takes_file=True)
def _read(shell: Shell, arguments: list[str]) -> str:
    return arguments[0]


@_command(
    "output",
    "[FILE|stdout]",
    "send results to a file, or back to standard output",
    choices=("stdout",),
    takes_file=True,
)
def _output(shell: Shell, arguments: list[str]) -> None:
    shell.send_to(None if not arguments or arguments[0] == "stdout" else arguments[0])


@_command(
    "once", "FILE or |CMD", "send the next result to a file or into a command", takes_file=True, raw=True
)
def _once(shell: Shell, arguments: list[str]) -> None:
    name = arguments[0].removesuffix(";").strip()
    shell.once = LateFile(name if name.startswith("|") else name.strip("'\""))


@_command("watch", "[SECONDS [TIMES]] STATEMENT", "run a statement repeatedly", raw=True)
def _watch(shell: Shell, arguments: list[str]) -> None:
    """Ask again and again; Ctrl-C, the way to end it at a prompt, is not an error there."""
    match = _WATCH.fullmatch(arguments[0])
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


@_command("edit", "[FILE]", "$EDITOR on the last statement, or a file")
def _edit(shell: Shell, arguments: list[str]) -> None:
    _prompt(shell, "edit").edit(arguments[0] if arguments else None)


@_command("pager", "[on|off]", "show long answers in $PAGER", choices=_SWITCH)
def _pager(shell: Shell, arguments: list[str]) -> None:
    prompt = _prompt(shell, "pager")
    if arguments:
        prompt.pager = _chosen("pager", arguments[0], _SWITCH) == "on"
    else:
        shell.screen().write(f"pager is {'on' if prompt.pager else 'off'}\n")


@_command("keys", "[vi|emacs]", "the keys for editing", choices=("vi", "emacs"))
def _keys(shell: Shell, arguments: list[str]) -> None:
    prompt = _prompt(shell, "keys")
    if arguments:
        prompt.keys = _chosen("keys", arguments[0], ("vi", "emacs"))
    else:
        shell.screen().write(f"keys are those of {prompt.keys}\n")


@_command("open", "[PATH]", "open another database (in memory without a path)", takes_file=True)
def _open(shell: Shell, arguments: list[str]) -> None:
    shell.reopen(arguments[0] if arguments else None)


@_command("quit", "", "leave; so does Ctrl-D")
def _quit(shell: Shell, arguments: list[str]) -> None:
    shell.finished = True


def _prompt(shell: Shell, name: str) -> AtPrompt:
    if shell.prompt is None:
        raise InvalidArgument(f".{name} works at a prompt only")
    return shell.prompt


def _chosen(name: str, word: str, choices: tuple[str, str]) -> str:
    if word.lower() not in choices:
        raise InvalidArgument(f"usage: .{name} {'|'.join(choices)}")
    return word.lower()
