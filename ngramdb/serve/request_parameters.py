"""Parameters of requests: their values from a query string or a JSON object, checked."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ngramdb.interrupts import check
from ngramdb.limits import MAX_INTEGER
from ngramdb.questions.requests import Given, Parameter
from ngramdb.serve.problem_details import Problem


def given(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> Given:
    """Return the values, checked. Raises Problem for an invalid value or an unknown parameter."""
    known = {one.name: one for one in parameters}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known)) or 'none'}"
            raise Problem(400, f"no parameter {shortened(name)!r}; {hint}", parameter=shortened(name))
    return Given(
        {
            name: one.default if values.get(name) is None else _value(one, values[name])
            for name, one in known.items()
        }
    )


def once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return values by name. Raises Problem for a name that is given twice, which is ambiguous."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise Problem(
                400,
                f"the parameter {shortened(name)!r} is given twice; give it once",
                parameter=shortened(name),
            )
        values[name] = value
    return values


def _value(one: Parameter, value: Any) -> Any:
    kinds = {
        "text": _text,
        "integer": _integer,
        "number": _number,
        "flag": _flag,
        "ids": _ids,
        "lengths": _lengths,
    }
    found = kinds[one.kind](one, value)
    if one.choices and found not in one.choices:
        raise _wrong(one, f"one of {', '.join(one.choices)}", value)
    return found


def _text(one: Parameter, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(one, "a string", value)
    return value


def _lengths(one: Parameter, value: Any) -> str:
    return _text(one, str(value) if type(value) is int else value)


def _integer(one: Parameter, value: Any) -> int:
    found = value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        found = int(value) if len(value) < 20 else MAX_INTEGER + 1
    if type(found) is not int or found < one.least:
        raise _wrong(one, f"a whole number of at least {one.least}", found)
    if found > MAX_INTEGER:
        raise _wrong(one, f"a whole number of at most {MAX_INTEGER}", value)
    return found


def _number(one: Parameter, value: Any) -> float:
    try:
        found = (
            float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
        )
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or found < 0:
        raise _wrong(one, "a number of at least 0", value)
    return found


def _flag(one: Parameter, value: Any) -> bool:
    shown = str(value).lower()
    if shown in ("", "1", "true", "yes", "on"):
        return True
    if shown in ("0", "false", "no", "off"):
        return False
    raise _wrong(one, "true or false", value)


def _ids(one: Parameter, value: Any) -> list[int]:
    if isinstance(value, str):
        inner = re.fullmatch(r"\s*(?:\[(.*)\]|([^\[\]]*))\s*", value, re.DOTALL)
        if inner is None:
            raise _wrong(one, "a list of token ids", value)
        listed = (inner[1] if inner[1] is not None else inner[2]).strip()
        value = []
        for number, part in enumerate(listed.split(",") if listed else ()):
            if number % 4096 == 0:
                check()
            value.append(_integer(one, part.strip()))
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise _wrong(one, "a list of token ids", value)
    return value


def _wrong(one: Parameter, wanted: str, value: Any) -> Problem:
    return Problem(400, f"{one.name} must be {wanted}, not {shortened(repr(value))}", parameter=one.name)


def shortened(text: str) -> str:
    """Return a client's text, cut to a length that fits in a message."""
    return text if len(text) <= 100 else text[:99] + "…"


def json_object(body: bytes | bytearray) -> dict[str, Any]:
    """Parse the JSON object in a body. Raises Problem."""
    try:
        value = json.loads(body, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"invalid JSON in the request body: {shortened(str(error))}") from None
    if not isinstance(value, dict):
        raise Problem(400, "the request body must be a JSON object")
    return value
