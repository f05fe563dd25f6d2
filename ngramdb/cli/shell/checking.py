"""What is noticed before the first statement runs: invalid statements, surplus values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngramdb.api.parsing import check_values, parsed
from ngramdb.cli.shell import dot
from ngramdb.cli.shell.parameters import Parameters
from ngramdb.cli.shell.script import Script, Unit

# Commands that run statements which do not stand in the script, or not once.
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
    """Raise at the first placeholder that has no value; nothing is run.

    The units have been parsed before. Comes back with what the values will be after them; None where that is
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
