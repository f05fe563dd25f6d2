"""`ngramdb completion SHELL`: print the script by which bash, zsh or fish completes the command line.

The scripts are made from the parsers of the commands, so that they know every flag and every choice.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from ngramdb.cli.commands.completion_scripts import SHELLS, Argument, Command
from ngramdb.cli.common import OK, add_common_flags, command_parser
from ngramdb.cli.main import COMMANDS, PROGRAM

DESCRIPTION = """\
Print the script by which a shell completes commands, flags and files. To have it from the next session on:

  bash   ngramdb completion bash > ~/.local/share/bash-completion/completions/ngramdb
  zsh    ngramdb completion zsh > a folder of $fpath/_ngramdb
  fish   ngramdb completion fish > ~/.config/fish/completions/ngramdb.fish
"""

# What the arguments of these names are, for shells that complete files and folders.
_FOLDERS = frozenset({"DB"})
_FILES = frozenset({"PATH", "FILE", "T", "OUT"})


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's flags."""
    parser = command_parser("completion", DESCRIPTION)
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="bash, zsh or fish")
    add_common_flags(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command; the exit code comes back."""
    sys.stdout.write(SHELLS[options.shell](commands()))
    return OK


def commands() -> list[Command]:
    """Every command with its arguments; the first, without a name, is `ngramdb` itself."""
    modules = {"": PROGRAM, **COMMANDS}
    return [_command(name, import_module(module).make_parser()) for name, module in modules.items()]


def _command(name: str, parser: argparse.ArgumentParser) -> Command:
    first_line = " ".join((parser.description or "").strip().splitlines()[:1])
    return Command(name, first_line.partition(". ")[0].rstrip("."), tuple(map(_argument, parser._actions)))


def _argument(action: argparse.Action) -> Argument:
    name = action.metavar if isinstance(action.metavar, str) else (action.dest or "").upper()
    takes_value = action.nargs != 0
    return Argument(
        flags=tuple(action.option_strings),
        name=name if takes_value else "",
        help=(action.help or "").partition("; ")[0].replace("%%", "%"),
        choices=tuple(map(str, action.choices or ())),
        is_folder=name in _FOLDERS,
        is_file=name in _FILES,
        repeats=action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction),
    )
