"""Dot commands: what a session can do that is not a question to the database.

Each is listed in `COMMANDS` with its line of `.help`; the implementations are in `dot_actions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from ngramdb.cli.shell import dot_actions as actions
from ngramdb.cli.shell.examples import TOPICS, about, examples, examples_of, heads
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.terminal.human import two_columns
from ngramdb.cli.terminal.render import MODES
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    import difflib
    import shlex
else:
    difflib, shlex = lazy_module("difflib"), lazy_module("shlex")

# Default width of paragraphs.
WIDEST = 110


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
    run: Callable[[Shell, list[str]], str | None]
    n_arguments: tuple[int, int]
    choices: tuple[str, ...] = ()
    takes_file: bool = False
    raw: bool = False


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
    fewest, most = command.n_arguments
    if not fewest <= len(arguments) <= most:
        raise InvalidArgument(f"usage: .{command.name} {command.arguments}".rstrip())
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


def _help(shell: Shell, arguments: list[str]) -> None:
    width = shell.screen().width
    if arguments:
        shell.write("".join(f"{line}\n" for line in _help_on(arguments[0], width)))
        return
    commands = two_columns(((f".{c.name} {c.arguments}", c.purpose) for c in COMMANDS.values()), width)
    statements = f"Statements end with ; and may span lines: {', '.join(heads())}."
    more = ".help WORD: the syntax of a statement or clause; .help statements: examples of all."
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


_SWITCH = ("on", "off")

COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "[WORD]", "this list, or help on WORD", _help, (0, 1)),
        Command(
            "mode", "[MODE]", "how results look; lists the modes", actions.mode, (0, 1), (*MODES, "auto")
        ),
        Command("rows", "[N|auto]", "how many rows a table shows at most", actions.rows, (0, 1), ("auto",)),
        Command("timer", "[on|off]", "show how long each statement took", actions.timer, (0, 1), _SWITCH),
        Command("tables", "", "the corpora of the database", actions.tables, (0, 0)),
        Command("read", "FILE", "run the statements of a file", actions.read, (1, 1), takes_file=True),
        Command(
            "output",
            "[FILE|stdout]",
            "send results to a file, or back to standard output",
            actions.output,
            (0, 1),
            ("stdout",),
            takes_file=True,
        ),
        Command(
            "once",
            "FILE or |CMD",
            "send the next result to a file or into a command",
            actions.once,
            (1, 1),
            takes_file=True,
            raw=True,
        ),
        Command(
            "watch", "[SECONDS [TIMES]] STATEMENT", "ask again and again", actions.watch, (1, 1), raw=True
        ),
        Command("edit", "[FILE]", "the last statement, or a file, in $EDITOR", actions.edit, (0, 1)),
        Command("pager", "[on|off]", "show long answers in $PAGER", actions.pager, (0, 1), _SWITCH),
        Command("keys", "[vi|emacs]", "the keys for editing", actions.keys, (0, 1), ("vi", "emacs")),
        Command(
            "open",
            "[PATH]",
            "open another database (in memory without a path)",
            actions.open_,
            (0, 1),
            takes_file=True,
        ),
        Command("quit", "", "leave; so does Ctrl-D", actions.quit_, (0, 0)),
    )
}
