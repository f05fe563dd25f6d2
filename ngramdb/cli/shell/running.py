"""Running scripts in a session: statements and dot commands, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngramdb.cli.shell import dot
from ngramdb.cli.shell.parameters import Parameters
from ngramdb.cli.shell.script import Script, Unit, lines_of
from ngramdb.cli.shell.session import Shell
from ngramdb.errors import InvalidArgument
from ngramdb.questions.parsing import check_values, parsed
from ngramdb.regular_files import open_named

# Maximum depth of scripts that read scripts; a script that reads itself ends here.
DEEPEST_READ = 16


def run_script(shell: Shell, script: Script, units: Iterable[Unit] | None = None, depth: int = 0) -> None:
    """Run every statement and dot command of the script until the first error or `.quit`.

    `units` are those of the script if it has been read already; `depth` is the number of scripts around it.

    Raises the error of the statement, its place turned into the script's; for a script with a name it is
    a StatementFailed that begins with name and line.
    """
    from ngramdb.cli.shell import dot

    for unit in script if units is None else units:
        with script.placing(unit):
            if not unit.is_command:
                shell.statement(unit.text)
            elif (path := dot.run(shell, unit.text)) is not None:
                run_file(shell, path, depth)
        if shell.finished:
            return


def run_text(shell: Shell, text: str) -> None:
    """Run typed statements: all of them, or none if one is invalid."""
    script = Script(lines_of(text))
    units = list(script)
    if len(units) > 1:
        parse_all(script, units)
        check_units([(script, unit) for unit in units], shell.parameters)
    run_script(shell, script, units)


def run_file(shell: Shell, path: str, depth: int = 0) -> None:
    """Run the statements of a UTF-8 file."""
    if depth >= DEEPEST_READ:
        raise InvalidArgument(
            f"{path}: more than {DEEPEST_READ} scripts within scripts; does it read itself?"
        )
    with open(open_named(path), encoding="utf-8") as lines:
        run_script(shell, Script(lines, name=path), depth=depth + 1)


# ---- What is noticed before the first statement runs: invalid statements, surplus values.


# Commands that run statements from outside the script, or repeatedly.
RUN_OTHERS = ("read", "watch")

Units = Sequence[tuple[Script, Unit]]


def parse_all(script: Script, units: Iterable[Unit]) -> None:
    """Raise the first error that parsing the units gives, up to a `.quit`; nothing is run."""
    for unit in units:
        with script.placing(unit):
            if not unit.is_command:
                parsed(unit.text)
            elif dot.parsed(unit.text)[0].name == "quit":
                return


def check_units(units: Units, parameters: Parameters) -> Parameters | None:
    """Raise at the first placeholder without a value; nothing is run.

    The units have been parsed before. Returns the parameters as they are after them; None if that is
    not known, since some of them run other scripts.
    """
    left = parameters.copy()
    for script, unit in units:
        if unit.is_command:
            name = dot.parsed(unit.text)[0].name
            if name in RUN_OTHERS:
                return None
            if name == "quit":
                break
            continue
        with script.placing(unit):
            check_values(unit.text, left.for_statement(unit.text))
    return left
