"""`ngramdb completion SHELL`: print the script by which bash, zsh or fish completes the command line.

The scripts are made from the parsers of the commands, so that they know every flag and every choice.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ngramdb.cli import main
from ngramdb.cli.common import Command

DESCRIPTION = """\
Print the script by which a shell completes commands, flags and files. To have it from the next session on:

  bash   ngramdb completion bash > ~/.local/share/bash-completion/completions/ngramdb
  zsh    ngramdb completion zsh > a folder of $fpath/_ngramdb
  fish   ngramdb completion fish > ~/.config/fish/completions/ngramdb.fish
"""

# Kinds of arguments with these names, for shells that complete files and folders.
_FOLDERS = frozenset({"DB"})
_FILES = frozenset({"PATH", "FILE", "T", "OUT"})


def _flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="bash, zsh or fish")


def _run(options: argparse.Namespace) -> None:
    sys.stdout.write(SHELLS[options.shell](commands()))


def commands() -> list[Described]:
    """Every command with its arguments; the first, without a name, is `ngramdb` itself."""
    return [_described(name, main.command(name).parser(name)) for name in ("", *main.COMMANDS)]


def _described(name: str, parser: argparse.ArgumentParser) -> Described:
    first_line = " ".join((parser.description or "").strip().splitlines()[:1])
    return Described(name, first_line.partition(". ")[0].rstrip("."), tuple(map(_argument, parser._actions)))


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


# ---- Completion scripts for bash, zsh and fish out of descriptions of commands. Pure functions to text.


@dataclass(frozen=True)
class Argument:
    """A flag, or without `flags` a positional argument; `name` is its value's, or '' without a value."""

    flags: tuple[str, ...]
    name: str
    help: str
    choices: tuple[str, ...] = ()
    is_folder: bool = False
    is_file: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Described:
    """A command of `ngramdb`, or with no name `ngramdb` itself."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]

    @property
    def flags(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.flags]

    @property
    def positionals(self) -> list[Argument]:
        return [argument for argument in self.arguments if not argument.flags]


# ---- bash -------------------------------------------------------------------------------------------------

_BASH = """\
# bash completion for ngramdb; made by `ngramdb completion bash`
_ngramdb() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command="" words="" n_words=0 i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in
            -*) ;;
            @names@)
                if ((n_words == 0)) && [[ -z $command ]]; then
                    command=${COMP_WORDS[i]}
                else
                    ((n_words++))
                fi ;;
            *) ((n_words++)) ;;
        esac
    done
    COMPREPLY=()
    case "$command $previous" in
@values@
    esac
    case "$command" in
@flags@
    esac
    if [[ $current != -* ]]; then
        words=""
        case "$command $n_words" in
@positionals@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -o bashdefault -F _ngramdb ngramdb
"""


def bash(commands: Sequence[Described]) -> str:
    """Return the script for bash; without a matching word, bash completes files."""
    names = [command.name for command in commands if command.name]
    values, flags, positionals = [], [], []
    for command in commands:
        for argument in command.flags:
            pattern = "|".join(f'"{command.name} {flag}"' for flag in argument.flags)
            if argument.choices:
                words = " ".join(argument.choices)
                reply = f'COMPREPLY=($(compgen -W "{words}" -- "$current")); return'
                values.append(f"        {pattern}) {reply} ;;")
            elif argument.name:
                values.append(f"        {pattern}) return ;;")
        words = " ".join(flag for argument in command.flags for flag in argument.flags)
        flags.append(f'        "{command.name}") words="{words}" ;;')
        for i, argument in enumerate(command.positionals):
            if argument.choices:
                words = " ".join(argument.choices)
                positionals.append(f'            "{command.name} {i}") words="{words}" ;;')
    positionals.append(f'            " 0") words="{" ".join(names)}" ;;')
    parts = {
        "names": "|".join(names),
        "values": "\n".join(values),
        "flags": "\n".join(flags),
        "positionals": "\n".join(positionals),
    }
    return re.sub("@(.*?)@", lambda match: parts[match[1]], _BASH)


# ---- zsh --------------------------------------------------------------------------------------------------

_ZSH = """\
#compdef ngramdb
# zsh completion for ngramdb; made by `ngramdb completion zsh`
_ngramdb() {
    local -a commands
    commands=(
@commands@
    )
    case "$words[2]" in
@cases@
        *)
            (( CURRENT == 2 )) && _describe -t commands command commands
@main@
            ;;
    esac
}
if [[ $funcstack[1] == _ngramdb ]]; then _ngramdb "$@"; else compdef _ngramdb ngramdb; fi
"""


def zsh(commands: Sequence[Described]) -> str:
    """Return the script for zsh, for a file `_ngramdb` in a folder of $fpath or to be sourced."""
    names, cases, main = [], [], ""
    for command in commands:
        specs = " \\\n".join(f"                {_zsh_spec(argument)}" for argument in command.arguments)
        call = f"            _arguments -s \\\n{specs}"
        if not command.name:
            main = call
            continue
        names.append(f"        {_quoted(f'{command.name}:{command.summary}')}")
        shift = "            shift words; (( CURRENT-- ))"
        cases.append(f"        {command.name})\n{shift}\n{call}\n            ;;")
    parts = {"commands": "\n".join(names), "cases": "\n".join(cases), "main": main}
    return re.sub("@(commands|cases|main)@", lambda match: parts[match[1]], _ZSH)


def _zsh_spec(argument: Argument) -> str:
    action = f"({' '.join(argument.choices)})" if argument.choices else " "
    if argument.is_folder:
        action = "_files -/"
    elif argument.is_file:
        action = "_files"
    value = f":{argument.name}:{action}" if argument.name else ""
    if not argument.flags:
        return _quoted(f"{'*' if argument.repeats else ''}{value}")
    help_text = re.sub(r"([\[\]:\\])", r"\\\1", argument.help)
    star = "*" if argument.repeats else ""
    specs = [_quoted(f"{star}{flag}[{help_text}]{value}") for flag in argument.flags]
    return " ".join(specs)


# ---- fish -------------------------------------------------------------------------------------------------


def fish(commands: Sequence[Described]) -> str:
    """Return the script for fish."""
    return "\n".join(_fish_lines(commands)) + "\n"


def _fish_lines(commands: Sequence[Described]) -> Iterator[str]:
    yield "# fish completion for ngramdb; made by `ngramdb completion fish`"
    names = " ".join(command.name for command in commands if command.name)
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name or names}"
        condition = f"-n '{seen}'" if command.name else f"-n 'not {seen}'"
        if command.name:
            first = f"-n 'not __fish_seen_subcommand_from {names}'"
            yield f"complete -c ngramdb {first} -a {command.name} -d {_quoted(command.summary)}"
        for argument in command.arguments:
            parts = ["complete -c ngramdb", condition]
            for flag in argument.flags:
                parts.append(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}")
            if argument.choices:
                parts.append(f"-x -a '{' '.join(argument.choices)}'")
            elif argument.flags and argument.name:
                parts.append("-r" if argument.is_file or argument.is_folder else "-x")
            elif not argument.flags:
                continue  # files, which fish completes without help
            yield " ".join([*parts, f"-d {_quoted(argument.help)}"])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


SHELLS: dict[str, Callable[[Sequence[Described]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

COMMANDS = {"completion": Command(DESCRIPTION, _flags, _run)}
