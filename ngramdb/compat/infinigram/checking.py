"""What the peer says of arguments that make no sense, in its words: scripts compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from typing_extensions import ParamSpec

from ngramdb.compat.infinigram.answers import ErrorAnswer


class Refused(Exception):
    """An argument that makes no sense; the message becomes `{"error": …}`."""


Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def answers_errors(method: Callable[Given, Answer]) -> Callable[Given, Answer | ErrorAnswer]:
    """A method whose refusals are dicts, as the peer has them."""

    @wraps(method)
    def answering(*arguments: Given.args, **named: Given.kwargs) -> Answer | ErrorAnswer:
        try:
            return method(*arguments, **named)
        except Refused as refusal:
            return {"error": str(refusal)}

    return answering


def is_id(value: Any, largest: int) -> bool:
    """Whether it is a token id of the index's type."""
    return type(value) is int and 0 <= value <= largest


def check_ids(name: str, ids: Any, largest: int) -> None:
    """Raises Refused when it is not a list of token ids."""
    # Without a call per id: this check took longer than most questions.
    fine = type(ids) is list and set(map(type, ids)) <= {int}
    if not fine or (ids and not 0 <= min(ids) <= max(ids) <= largest):
        raise Refused(f"{name} must be a list of integers in range [0, {largest}]")


def check_id(name: str, value: Any, largest: int) -> None:
    """Raises Refused when it is not a token id."""
    if not is_id(value, largest):
        raise Refused(f"{name} must be an integer in range [0, {largest}]")


def check_cnf(cnf: Any, largest: int) -> None:
    """Raises Refused when it is not a list of lists of n-grams, none of them empty."""
    fine = type(cnf) is list and len(cnf) > 0
    for clause in cnf if fine else ():
        fine = fine and type(clause) is list and len(clause) > 0
        for ids in clause if fine else ():
            fine = fine and type(ids) is list and len(ids) > 0 and all(is_id(one, largest) for one in ids)
    if not fine:
        raise Refused(f"cnf must be a non-empty, triply-nested list of integers in range [0, {largest}]")


def positive(name: str, value: Any, default: int | None) -> int:
    """The value, or the default for None. Raises Refused when it is not a whole number from 1 on."""
    chosen = default if value is None else value
    if type(chosen) is not int or chosen <= 0:
        raise Refused(f"{name} must be a positive integer")
    return chosen


def check_not_negative(**values: Any) -> None:
    """Raises Refused when one is not a whole number from 0 on."""
    for name, value in values.items():
        if type(value) is not int or value < 0:
            raise Refused(f"{name} must be a non-negative integer")


def check_below(name: str, value: Any, limit: int, step: int = 1) -> None:
    """Raises Refused when it is not in [0, limit), or not a multiple of `step`."""
    if type(value) is not int or not 0 <= value < limit or value % step:
        form = {1: "an integer", 2: "an even integer"}.get(step, f"a multiple of {step}")
        raise Refused(f"{name} must be {form} in range [0, {limit})")


def check_all(checked: Callable[[Any], None], values: Iterable[Any]) -> None:
    """Checks each."""
    for value in values:
        checked(value)
